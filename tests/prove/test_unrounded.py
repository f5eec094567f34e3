"""The reading of inner products whose first product is not rounded: runs and enumeration know it, all else refuses it by name."""

import numpy as np
import pytest

from glyptic import carve, prove
from glyptic.errors import GlypticError, InputError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.prove import Claim, Proved, Unknown, after, answer, inputs, layers

SIZES = Sizes(layers=1, heads=0, width=2, hidden=2, max_length=3)


def unrounded() -> Transformer:
    return random_transformer("fixed:2", 3, SIZES, Options(products="unrounded", answer="logits", ties="first"))


@pytest.mark.parametrize("method", ["smt", "bounds"])
def test_what_does_not_know_the_reading_leaves_a_block_open(method: str) -> None:
    claim = Claim(layers(unrounded()), after("x0") <= prove.B)
    found = prove.check(claim, method=method)  # type: ignore[arg-type]
    assert isinstance(found, Unknown) and "'unrounded'" in found.reason
    assert isinstance(prove.check(claim, method="enumerate"), Proved)


def test_diagrams_leave_inputs_open_that_enumeration_decides(tmp_path) -> None:
    claim = Claim(inputs(unrounded(), max_length=3), answer() != "TIE")
    found = prove.check(claim, method="symbolic")
    assert isinstance(found, Unknown) and "'unrounded'" in found.reason
    verdict = prove.check(claim, method="enumerate")
    assert isinstance(verdict, Proved)
    with pytest.raises(InputError, match="'unrounded', which the checker of a folder does not know"):
        prove.export(tmp_path / "folder", claim, verdict)


@pytest.mark.parametrize(
    "construct",
    [
        lambda T: carve.widen(T, ["flag"]),
        lambda T: carve.zero.everywhere(T),
        lambda T: carve.normalize.zero_one(T),
        lambda T: T & T,
        lambda T: carve.permute(T, ("x1", "x0")),
        lambda T: carve.linear.in_place(T, np.eye(2)),
        lambda T: carve.compose.sequence(T.replace(answers=("0", "1")), T, yes="1"),
    ],
)
def test_no_construction_is_carved_into_it(construct) -> None:
    with pytest.raises(GlypticError, match=r"options\.products is 'unrounded'"):
        construct(unrounded())
