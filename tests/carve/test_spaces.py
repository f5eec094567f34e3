"""Groups of coordinates, and drafts that are made of them."""

import pytest

from glyptic.carve import Draft, Space, Unit
from glyptic.errors import GlypticError, ModelError
from glyptic.exact import Layer
from glyptic.numbers import Fixed


def test_a_value_has_one_coordinate_and_a_number_one_code() -> None:
    for count in (1, 2, 3, 8, 9):
        here = Space.binary("here", count)
        codes = [tuple(here.signs(i).values()) for i in range(count)]
        assert len({*codes}) == count and {x for code in codes for x in code} <= {1, -1}
        assert len(here) == max(1, (count - 1).bit_length()) == len(here.coordinates)
    assert [Space("f", [(0, 1)], "")[0, 1], Space("level", [3])[3], Space("is", "é", "_")["é"]] == ["f0→1", "level.3", "is_é"]
    assert Space("x", [1, 2]) == Space("x", (1, 2)) and len({Space("x", [1]), Space("x", [1])}) == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Space("x", [1, 1]), "two values have one coordinate"),
        (lambda: Space("x", [1, "1"]), "two values have one coordinate"),
        (lambda: Space("x", []), "values is empty"),
        (lambda: Space("x", 3), "values is 3"),  # type: ignore[arg-type]
        (lambda: Space("is", "ab")["c"], "a value of is is 'c'"),
        (lambda: Space("is", "ab").signs(1), "a number in is is 1"),
        (lambda: Space.binary("here", 4).signs(4), "a number in here is 4"),
        (lambda: Space.binary("here", 4).signs(-1), "a number in here is -1"),
        (lambda: Draft("fixed:4", ["x", Space("x", [])]), "values is empty"),
        (lambda: Draft("fixed:4", "xy"), "coordinates is 'xy'"),
        (lambda: Draft("fixed:4", ["x", "x"]).rows([{"x": 1}]), "a coordinate comes twice"),
        (lambda: Draft("fixed:4", ["x"]).feed_forward([Unit({"y": 1}, {})]), "no coordinate 'y'"),
        (lambda: Draft("fixd:4", ["x"]), "fixd"),
    ],
)
def test_what_is_no_space_or_draft_is_told(call: object, says: str) -> None:
    with pytest.raises(GlypticError, match=says):
        call()  # type: ignore[operator]


def test_a_draft_lists_spaces_where_they_stand() -> None:
    draft = Draft("fixed:4", ["one", Space.binary("here", 3), "yes"])
    assert draft.coordinates == ("one", "here.0", "here.1", "yes") and draft.format == Fixed(4)
    assert Draft(Fixed(4), draft.coordinates) == draft
    layer = Layer((), draft.feed_forward([]))
    with pytest.raises(ModelError, match="is in fixed:4, not in fixed:8"):
        Draft("fixed:8", draft.coordinates).transformer({"a": {}}, {"NO": {}}, [{}], [layer])
