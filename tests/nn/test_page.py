"""The examples of docs/architecture-on-pytorch.md run and print what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

import torch

PAGE = Path(__file__).parents[2] / "docs" / "architecture-on-pytorch.md"


def test_every_example_of_the_page_runs() -> None:
    torch.manual_seed(0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 30
    assert failed == 0
