"""Automata and expressions against Python's own `re` and sets of words, and Tomita's languages against their descriptions."""

import doctest
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glyptic.errors import InputError
from glyptic.languages import Automaton, regular, tomita
from glyptic.languages.named import TOMITA_EXPRESSIONS, named_truly
from glyptic.programs.registry import KINDS

TEXTS = ["".join(text) for n in range(11) for text in product("01", repeat=n)]
SIZES = {1: 2, 2: 3, 3: 5, 4: 4, 5: 4, 6: 3, 7: 5}  # of the minimal complete automata
PLAIN = [expression for expression in TOMITA_EXPRESSIONS.values() if "~" not in expression]
PLAIN += ["((0|1)*0)?1(11)*0(00)*(1(0|1)*)?", "", ".", "1?0+", "(0|1(01*0)*1)*", "((0|1)(0|1))*", "0|1|(00)+"]


def by_re(expression: str) -> set[str]:
    oracle = re.compile(expression)
    return {text for text in TEXTS if oracle.fullmatch(text)}


def language(automaton: Automaton, texts: list[str] = TEXTS) -> set[str]:
    return {text for text in texts if automaton.accepts(text)}


@pytest.mark.parametrize("expression", PLAIN)
def test_regular_expressions_are_those_of_re(expression):
    assert language(regular(expression)) == by_re(expression)


@pytest.mark.parametrize(("one", "other"), zip(PLAIN, PLAIN[3:] + PLAIN[:3], strict=True))
def test_intersection_and_complement_are_those_of_sets(one, other):
    r, s, everything = by_re(one), by_re(other), set(TEXTS)
    for expression, expected in {
        f"({one})&({other})": r & s,
        f"~({one})": everything - r,
        f"~~({one})": r,
        f"~({one})&~({other})": everything - r - s,
        f"({one})&({other})|~({one})": (r & s) | (everything - r),
        f"~(({one})|~({other}))": s - r,
    }.items():
        assert language(regular(expression)) == expected, expression
    a, b = regular(one), regular(other)
    for automaton, expected in ((a & b, r & s), (a | b, r | s), (~a, everything - r), (a.product(b, bool.__xor__), r ^ s)):
        assert language(automaton) == expected
    assert (a & b).moves == regular(f"({one})&({other})").moves  # both minimal, states in the order of discovery


# What an expression means, by its grammar, on all words up to a length: (expression, its words).
SHORT = [text for text in TEXTS if len(text) <= 5]
Meant = tuple[str, frozenset[str]]


def then(r: Meant, s: Meant) -> Meant:
    return r[0] + s[0], frozenset(a + b for a in r[1] for b in s[1] if len(a + b) <= 5)


def repeated(r: Meant, sign: str) -> Meant:
    words = r[1] if sign == "+" else r[1] | {""}
    while sign != "?" and (longer := words | then(("", words), r)[1]) != words:
        words = longer
    return f"({r[0]}){sign}", words


ATOMS = st.sampled_from([("0", frozenset("0")), ("1", frozenset("1")), (".", frozenset("01")), ("()", frozenset({""}))])
MEANT = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(lambda r, s: then((f"({r[0]})", r[1]), (f"({s[0]})", s[1])), inner, inner),
        st.builds(lambda r, s: (f"({r[0]}|{s[0]})", r[1] | s[1]), inner, inner),
        st.builds(lambda r, s: (f"(({r[0]})&({s[0]}))", r[1] & s[1]), inner, inner),
        st.builds(lambda r: (f"~({r[0]})", frozenset(SHORT) - r[1]), inner),
        st.builds(repeated, inner, st.sampled_from("*+?")),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(MEANT)
def test_expressions_at_random_mean_their_words(meant):
    expression, words = meant
    if expression.count("(") <= 20:
        assert language(regular(expression), SHORT) == words


def test_signs_bind_as_the_grammar_says():
    same_as = {"01&.1|0": "(((01)&(.1))|0)", "0|1&~(1)": "0|(1&(~(1)))", "0~(1)1": "(0(~(1)))1", "01*": "0(1*)"}
    for expression, same in same_as.items():
        assert regular(expression).equivalent(regular(same))


@settings(max_examples=60, deadline=None)
@given(MEANT, MEANT)
def test_the_word_of_difference_is_a_shortest(one, other):
    if max(one[0].count("("), other[0].count("(")) > 20:
        return
    a, b = regular(one[0]), regular(other[0])
    word, differing = a.difference(b), sorted(map(len, one[1] ^ other[1]))
    assert a.equivalent(b) == (word is None) == (a.moves == b.moves and a.accepting == b.accepting)
    if differing:
        assert word is not None and len(word) == differing[0] and a.accepts(word) != b.accepts(word)
    else:
        assert word is None or len(word) > 5


def test_tokens_are_words():
    """Symbols of any length, and their order in another alphabet is no matter."""
    ends = Automaton(("the", "cat"), ((1, 0), (1, 0)), frozenset({1}), name="ends in the")
    even = Automaton(("cat", "the"), ((1, 1), (0, 0)), frozenset({0}), name="even")
    assert (ends & even).accepts(["cat", "the"]) and not (ends & even).accepts(["the"])
    assert (~(ends | even)).name == "not (ends in the or even)"
    assert ends.difference(even) == () and even.difference(~ends) == ("cat",)
    texts = np.array(list(product(range(2), repeat=3))).T
    said = (ends & ~even).accepts_all(texts, ["cat", "the"])
    assert said.tolist() == [text[-1] == 1 for text in texts.T]
    with pytest.raises(InputError, match="have two alphabets, the cat and 0 1; they must have one"):
        ends & tomita(1)


def test_an_oracle_that_we_did_not_write():
    """Automata of as many states, and none with a word that tells them apart."""
    dfa, nfa = pytest.importorskip("automata.fa.dfa"), pytest.importorskip("automata.fa.nfa")

    def by_library(expression: str):
        return dfa.DFA.from_nfa(nfa.NFA.from_regex(expression, input_symbols={"0", "1"}), minify=True).to_complete()

    for one, other in zip(PLAIN, PLAIN[5:] + PLAIN[:5], strict=True):
        r, s = by_library(one), by_library(other)
        for expression, expected in {one: r, f"~({one})": ~r, f"({one})&({other})": r & s, f"~({one})|({other})": ~r | s}.items():
            ours = regular(expression)
            moves = {state: dict(zip(ours.alphabet, row, strict=True)) for state, row in enumerate(ours.moves)}
            states = dfa.DFA(
                states=set(moves), input_symbols={"0", "1"}, transitions=moves, initial_state=0, final_states=set(ours.accepting)
            )
            assert states == expected and len(moves) == len(expected.minify().to_complete().states), expression


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


def test_names_that_say_a_language_are_compared():
    twice = regular("~(.*11.*)&(..)*")
    assert named_truly(twice) and named_truly(~twice)
    lying = Automaton(("0", "1"), ((0, 0),), frozenset(), name="~(.*11.*)&(..)*")
    assert named_truly(lying) is False and named_truly(regular("0", name="~0*")) is None
    assert named_truly(regular("(0|1)*1" + "(0|1)" * 10)) is None  # too many states to be compared
    assert named_truly(regular("0", name="(0|1)*1" + "(0|1)" * 10)) is False  # but a word early on tells


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: regular("(01"), "a \\( is not closed"),
        (lambda: regular("01)"), "nothing opens"),
        (lambda: regular("0a"), "'a' at place 1 is not in the alphabet"),
        (lambda: regular("*0"), "at place 0"),
        (lambda: regular("(())", "()"), r"'\(' is a sign of expressions and a symbol of the alphabet"),
        (lambda: regular("a.", ["a", "b", "."]), r"'\.' is a sign of expressions and a symbol"),
        (lambda: regular("a&b", ["a", "b", "&"]), "'&' is a sign of expressions and a symbol"),
        (lambda: regular("~(a)", "a~"), "'~' is a sign of expressions and a symbol"),
        (lambda: regular("~0*"), r"how far the ~ at place 0 goes can be read in two ways; write ~\(…\)"),
        (lambda: regular("1~(01)*"), r"the ~ at place 1 .* write ~\(\(…\)\*\) or \(~\(…\)\)\*"),
        (lambda: regular("0~"), "the ~ at place 1"),
        (lambda: regular("0&"), r"a side of the & at place 1 is empty; write \(\) for the empty text"),
        (lambda: regular("1|&0"), "a side of the & at place 2 is empty"),
        (lambda: regular("0+~(1)"), "could be a union"),
        (lambda: regular("(" * 2000 + "0" + ")" * 2000), "nested too deeply"),
        (lambda: regular("01" * 4000), "too long"),
        (lambda: regular("(0|1)*1" + "(0|1)" * 40), "has more than 16,384 states"),
        (lambda: tomita(8), "must be a whole number from 1 to 7"),
        (lambda: tomita(1).accepts("2"), "'2' is not in the alphabet"),
        (lambda: tomita(1).accepts_all(np.zeros((1, 1), int), "02"), "'2' is not in the alphabet"),
        (lambda: Automaton(("0",), ((1,),), frozenset()), "there is no state 1"),
        (lambda: Automaton(("0", "1"), ((0,),), frozenset()), "state 0 has 1 moves"),
    ],
)
def test_what_is_not_a_language_is_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


def test_the_page_on_languages_runs(monkeypatch):
    monkeypatch.setitem(KINDS, "odd", None)  # which the page registers: gone when this ends
    del KINDS["odd"]
    page = Path(__file__).parents[2] / "docs" / "languages.md"
    failures, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried >= 10 and failures == 0


BLOWN_UP = {
    "0" + "+" * 390: 3,
    "(((((((0?1?)*0?)*1?)*0?)*1?)*0)*1)*" * 9: 2,
    "~(" + ".*".join(f"~(.*{k % 2}{'.' * k})" for k in range(12)) + ")": 1,
    "&".join(f"(({'.' * k})*)" for k in (3, 5, 7, 11, 13)): 15_015,  # as many rounds of refinement as states
}


@pytest.mark.parametrize(("expression", "states"), BLOWN_UP.items())
def test_short_expressions_take_no_longer_than_their_automata(expression, states):
    begun = perf_counter()
    assert len(regular(expression).moves) == states
    assert perf_counter() - begun < 30  # they took minutes, or never ended


def test_an_expression_that_grows_too_large_is_refused(monkeypatch):
    automaton = regular("(.*1.......)*")
    monkeypatch.setattr("glyptic.languages.expressions._MOST_WORK", 1000)
    with pytest.raises(InputError, match="an expression whose derivatives grow too large; make an Automaton"):
        regular("(.*1.......)*")
    assert named_truly(automaton) is None


def test_a_name_that_grows_is_compared_all_the_same():
    """It may stand in a file that somebody sent."""
    assert named_truly(replace(regular("0+"), name="0" + "+" * 150)) is True
    assert named_truly(replace(regular("1+"), name="0" + "+" * 150)) is False


MOVES = ((0, 1), (0, 1))


def test_the_smallest_automaton_of_any():
    """Of automata at random: as many states as there are different rows of answers to all short texts."""
    random = np.random.default_rng(5)
    short = [text for text in TEXTS if len(text) <= 6]
    for _ in range(60):
        size = int(random.integers(1, 7))
        rows = random.integers(0, size, (size, 2)).tolist()
        whole = Automaton("01", rows, {s for s in range(size) if random.random() < 0.5}, int(random.integers(size)))
        smallest = whole.minimal()
        assert language(smallest, short) == language(whole, short)
        reached = {smallest.start} | {s for row in smallest.moves for s in row}
        answers = {tuple(replace(smallest, start=s).accepts(text) for text in short) for s in reached}
        assert len(answers) == len(reached) == len(smallest.moves)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Automaton(("0", "0"), MOVES, frozenset({1})), "automaton: a symbol is twice in the alphabet 0 0."),
        (lambda: regular("0", "00"), "0: a symbol is twice in the alphabet 0 0."),
        (lambda: Automaton("01", MOVES, frozenset({1})).accepts(["01"]), "'01' is not in the alphabet 0 1."),
        (lambda: Automaton((0, 1), MOVES, frozenset({1})), "must be a list of symbols, which are texts."),
        (lambda: Automaton("01", ((0, 1.0), (0, 1)), frozenset({1})), "there is no state 1.0; states are 0 to 1."),
        (lambda: Automaton("01", 3, frozenset({1})), "moves is 3, and must be a list, for each state, of its next states."),
        (lambda: Automaton("01", MOVES, 1), "accepting is 1, and must be a set of states."),
        (lambda: Automaton("01", MOVES, frozenset({1}), name=3), "name is 3, and must be a text."),
        (lambda: Automaton("01", MOVES, frozenset({7}), name="a\x1b"), r"a\x1b: there is no state 7; states are 0 to 1."),
        (lambda: tomita(1) & 3, "other is 3, and must be an Automaton."),
        (lambda: tomita(1) | None, "other is None, and must be an Automaton."),
        (lambda: tomita(1).equivalent("1*"), "other is '1*', and must be an Automaton."),
        (lambda: tomita(1).product(tomita(2), 3), "joined is 3, and must be a function."),
        (lambda: tomita(1).accepts(3), "text is 3, and must be a text, or a list of tokens."),
        (lambda: tomita(1).accepts_all(np.array([[-1]]), "01"), "must be numbers from 0 to 1, of the vocabulary's tokens."),
        (lambda: tomita(1).accepts_all(np.array([[2]]), "01"), "must be numbers from 0 to 1, of the vocabulary's tokens."),
        (lambda: tomita(1).accepts_all([[1]], "01"), "must be an array of whole numbers, (length, batch)."),
    ],
)
def test_what_is_no_automaton_or_no_text_is_refused(wrong, said):
    with pytest.raises(InputError) as told:
        wrong()
    assert str(told.value).endswith(said)


def test_lists_make_the_same_automaton():
    assert Automaton(["0", "1"], [[0, 1], [0, 1]], {1}) == Automaton(("0", "1"), MOVES, frozenset({1}))
    assert hash(Automaton("01", [[0, 1], [0, 1]], [1])) == hash(Automaton(("0", "1"), MOVES, frozenset({1})))


def test_symbols_of_several_characters_cannot_be_written_in_expressions() -> None:
    with pytest.raises(InputError, match="every character is a symbol, so 'x y' cannot be written: make an Automaton"):
        regular("x y", ("é", "x y"))
    assert regular("é.*", ("é", "x y")).accepts(("é", "x y"))  # but a dot is any of them
    with pytest.raises(InputError, match=r"is not in the alphabet 0 1\.$"):
        regular("2", "01")
