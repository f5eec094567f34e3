"""The notes' constructions are what is printed, to the letter; and what is true of them there is true here."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from glyptic import notes
from glyptic.errors import InputError, ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.notes.bench import all_codes, answers, carrier, push, random_data, stream
from glyptic.numbers import Fixed, Float, Format, decode, encode

FORMATS = [f.with_ties(t) for f in (Fixed(2), Fixed(4), Float(2, 2), Float(3, 3)) for t in ("zero", "even")]


def numbers(codes: np.ndarray, format: Format) -> list:
    """Codes as numbers, with ∞ for B."""
    names = {format.max: "∞", -format.max: "−∞"}
    return [[names.get(x, x) for x in row] if np.ndim(row) else names.get(row, row) for row in decode(codes, format)]


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_matrices_of_the_linear_transformation(format: Format) -> None:
    head = notes.linear_head(format, 4, [[1, 2], [3, 0]])
    assert numbers(head.query, format) == [[0] * 4] * 3 + [[0, 0, 0, "−∞"]]
    assert numbers(head.key, format) == [[0] * 4] * 3 + [[0, 0, 0, 1]]
    assert numbers(head.value, format) == np.eye(4, dtype=int).tolist()
    assert numbers(head.output, format) == [[1, 2, 0, 0], [3, 0, 0, 0], [0] * 4, [0] * 4]


def test_matrices_of_add_and_make_zero() -> None:
    format = Fixed(3)
    flagged = notes.embedding_with_flag(carrier(format, 2, 4), 2)
    assert numbers(flagged.position_embedding, format) == [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    added = notes.add_vector(flagged, "flag", [3, "-1/2", 0]).layers[0].feed_forward
    assert added is not None
    assert numbers(added.w1, format) == np.eye(3, dtype=int).tolist()
    assert numbers(added.w2, format) == [[0, 0, 3], [0, 0, Fraction(-1, 2)], [0, 0, 0]]
    assert not added.b1.any()
    assert not added.b2.any()
    thrice = [layer.feed_forward.w2[:, 2] for layer in notes.make_zero(flagged, "flag").layers]
    assert [numbers(v, format) for v in thrice] == [["∞"] * 3, ["∞"] * 3, ["−∞"] * 3]


def test_matrices_of_the_normalizations() -> None:
    format = Fixed(3)
    compare = notes.comparison(format, 5).feed_forward
    last = notes.one_in_the_first(format, 5).feed_forward
    assert compare is not None
    assert last is not None
    assert numbers(compare.w1, format) == [[0] * 5] * 4 + [[0, 0, 0, -1, 1]]
    assert numbers(compare.w2, format) == numbers(last.w1, format) == numbers(last.w2, format) == np.eye(5).tolist()
    assert numbers(last.b2, format) == [1, 0, 0, 0, 0]
    made = notes.zero_one(carrier(format, 3, 2), 2)
    assert numbers(made.output, format) == np.eye(2, made.width).tolist()
    assert numbers(made.layers[-1].heads[0].output, format)[:3] == [[1, 0, 0] + [0] * 3, [0, 1, 0] + [0] * 3, [0] * 6]
    assert len(made.layers) == 4  # ∞, ∞, −∞, and the head


def test_ignoring_zeroes_row_and_column() -> None:
    sizes = Sizes(layers=2, width=4, key_width=4, value_width=4, hidden=6, density=1)
    made = notes.ignoring(random_transformer(Fixed(4), sizes=sizes), "x2")
    for layer in made.layers:
        for head in layer.heads:
            for matrix in (head.query, head.key, head.value, head.output):
                assert not matrix[2].any()
                assert not matrix[:, 2].any()
                assert matrix[[0, 1, 3]][:, [0, 1, 3]].any()
        ff = layer.feed_forward
        assert ff is not None
        assert not ff.w1[2].any()
        assert not ff.w2[:, 2].any()
        assert (ff.b1[2], ff.b2[2]) == (0, 0)


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_appended_zeros_change_nothing(format: Format) -> None:
    """Right as printed: an embedding with a flag leaves every logit as it was."""
    for seed in range(5):
        made = random_transformer(format, seed)
        texts = ["0", "01", "1101", "00101101"]
        before, after = made.run_batch(texts), notes.embedding_with_flag(made, 3).run_batch(texts)
        assert np.array_equal(before.logits, after.logits)
        assert before.answers == after.answers


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_add_vector_adds_it_there_and_only_there(format: Format) -> None:
    bench = notes.embedding_with_flag(carrier(format, 2, 3), 1)
    made = notes.add_vector(bench, "flag", [Fraction(1, 2), "-B", 0])
    data = random_data(format, 2, 3, 60)
    out, failures = push(made, stream(made, data))
    assert not failures
    v = [Fraction(1, 2), -format.max]
    expected = data.copy()
    for k in range(2):
        expected[k, 1] = [format.code(format.round(format.value(int(c)) + v[k])) for c in data[k, 1]]
    assert np.array_equal(out[:2], expected)


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_one_in_the_first_gives_one_and_infinity(format: Format) -> None:
    """Right as printed: (0, 0) becomes (1, 0), and (0, ∞) becomes (1, ∞), for ∞ + ∞ = ∞."""
    made = carrier(format, 3).replace(layers=(notes.one_in_the_first(format, 3),))
    data = encode([[[0, 0]], [[0, "B"]], [[0, 0]]], format)
    out, _ = push(made, data)
    assert numbers(out[:, 0].T, format) == [[1, 0, 0], [1, "∞", 0]]


def test_make_zero_in_chosen_coordinates_keeps_the_flag() -> None:
    format = Fixed(2)
    bench = notes.embedding_with_flag(carrier(format, 2, 2), 0)
    made = notes.make_zero(bench, "flag", ["h1"])
    data = np.stack([all_codes(format)] * 4).reshape(2, 2, -1)
    out, _ = push(made, stream(made, data))
    assert not out[0, 0].any()
    assert np.array_equal(out[1], data[1])
    assert np.array_equal(out[0, 1], data[0, 1])
    assert (out[2, 0] == format.code(1)).all()


def test_flags_may_not_lie_outside() -> None:
    bench = carrier(Fixed(2), 2, 3)
    with pytest.raises(InputError, match="no place 3 in position_embedding, which has 3 rows"):
        notes.embedding_with_flag(bench, 3)
    with pytest.raises(InputError, match="must not come after the target"):
        notes.linear(bench, [[1, 0], [0, 1]], 2, 1)
    with pytest.raises(ModelError, match="needs d ≥ 3"):
        notes.infinity(bench, lambda made, matrix: made)


def test_the_bench_is_the_engine() -> None:
    """Pushing an embedding through gives what a run gives."""
    for seed in range(4):
        made = random_transformer(Fixed(4), seed, Sizes(layers=2), Options(products="fused" if seed % 2 else "rounded"))
        run = _run_or_none(made, "0110")
        if run is None:
            continue
        embedding = encode(run.trace["embedding"], made.format)[:, :, None]
        out, failures = push(made, embedding)
        assert not failures
        assert np.array_equal(decode(out[:, :, 0], made.format), run.trace["layer.1.after_feed_forward"])
        said = int(answers(made, out[:, -1])[0])
        assert run.answer == ("TIE" if said == -1 else made.answers[said])


def _run_or_none(made: Transformer, text: str):  # type: ignore[no-untyped-def]
    try:
        return made.run(text, trace=True)
    except ArithmeticError:
        return None
