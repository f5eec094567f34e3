"""The examples of docs/proving.md and docs/referees.md run and print what the pages say."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "proving.md"


def test_the_page_says_what_happens():
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 20
    assert result.failed == 0


def test_the_page_for_referees_says_what_happens():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS  # how long a proof is depends on the solver
    result = doctest.testfile(str(PAGE.with_name("referees.md")), module_relative=False, optionflags=flags)
    assert result.attempted > 10
    assert result.failed == 0
