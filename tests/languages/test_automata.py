"""Automata and regular expressions against Python's own `re`, and Tomita's languages against their descriptions."""

import re
from itertools import product

import pytest

from glyptic.errors import InputError
from glyptic.languages.automata import TOMITA_3_FORBIDDEN, TOMITA_EXPRESSIONS, Automaton, regular, tomita

TEXTS = ["".join(text) for n in range(11) for text in product("01", repeat=n)]
SIZES = {1: 2, 2: 3, 3: 5, 4: 4, 5: 4, 6: 3, 7: 5}  # of the minimal complete automata


@pytest.mark.parametrize(
    "expression",
    [*TOMITA_EXPRESSIONS.values(), TOMITA_3_FORBIDDEN, "", ".", "1?0+", "(0|1(01*0)*1)*", "((0|1)(0|1))*", "0|1|(00)+"],
)
def test_regular_expressions_are_those_of_re(expression):
    automaton, oracle = regular(expression), re.compile(expression)
    assert [automaton.accepts(text) for text in TEXTS] == [oracle.fullmatch(text) is not None for text in TEXTS]


DESCRIBED = {
    1: lambda t: "0" not in t,
    2: lambda t: t == "10" * (len(t) // 2),
    3: lambda t: not re.search(r"(?<!1)1(11)*0(00)*(?!0)", t),
    4: lambda t: "000" not in t,
    5: lambda t: t.count("0") % 2 == t.count("1") % 2 == 0,
    6: lambda t: (t.count("0") - t.count("1")) % 3 == 0,
    7: lambda t: len(re.findall("1+", t)) <= 2 and not re.match("0*1+0+1+0", t),
}


@pytest.mark.parametrize("number", range(1, 8))
def test_tomita(number):
    automaton = tomita(number)
    assert [automaton.accepts(t) for t in TEXTS] == [bool(DESCRIBED[number](t)) for t in TEXTS]
    assert len(automaton.moves) == SIZES[number]
    complement = automaton.complement()
    assert not any(automaton.accepts(t) and complement.accepts(t) for t in TEXTS)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: regular("(01"), "a \\( is not closed"),
        (lambda: regular("01)"), "nothing opens"),
        (lambda: regular("0a"), "'a' at place 1 is not in the alphabet"),
        (lambda: regular("*0"), "at place 0"),
        (lambda: regular("(())", "()"), r"'\(' is a sign of expressions and a symbol of the alphabet"),
        (lambda: regular("a.", ["a", "b", "."]), r"'\.' is a sign of expressions and a symbol"),
        (lambda: regular("(" * 2000 + "0" + ")" * 2000), "nested too deeply"),
        (lambda: regular("01" * 4000), "too long"),
        (lambda: tomita(8), "must be a whole number from 1 to 7"),
        (lambda: tomita(1).accepts("2"), "'2' is not in the alphabet"),
        (lambda: Automaton(("0",), ((1,),), frozenset()), "there is no state 1"),
        (lambda: Automaton(("0", "1"), ((0,),), frozenset()), "state 0 has 1 moves"),
    ],
)
def test_what_is_not_a_language_is_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
