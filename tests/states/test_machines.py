"""Machines as values: reading, shortest words, the smallest machine, languages of answers; the deciders without positions."""

from itertools import product

import numpy as np
import pytest
from tests.states.sampling import harsh, sampled, short_texts

from glyptic import languages, programs
from glyptic.errors import FormatError, InputError
from glyptic.exact import load
from glyptic.programs.registry import ENDLESS
from glyptic.states import machine

# Each decider and its language, written as an expression over its vocabulary.
LANGUAGES = {
    "occurs": "0*1.*",
    "occurs:a,abc": ".*a.*",
    "at-least:3": ".*1.*1.*1.*",
    "exactly:2": "0*10*10*",
    "subsequence:0110": ".*0.*1.*1.*0.*",
    "same-ends": ".|0.*0|1.*1",
    "starts-with": "1.*",
    "ends-with:011": ".*011",
    "factor:101": ".*101.*",
    "last-of": ".*a(c*)",
    "nested": "(a(ab)*b)*",
}
FORMATS = ("fixed:2", "fixed:3", "fixed:6", "float:2,1", "ieee:3,2", "float:3,2/even")


@pytest.mark.parametrize("name", LANGUAGES)
def test_deciders_without_positions_decide_their_language_at_every_length(name: str) -> None:
    for format in FORMATS:
        transformer = programs.open(name if name != "nested" else "nested:ab", format)
        found, meant = transformer.machine(), languages.regular(LANGUAGES[name], "".join(transformer.vocabulary))
        texts = found.language("YES") | found.language("NO")
        assert texts.equivalent(languages.regular("..*", "".join(transformer.vocabulary))), "decisive"
        difference = found.language("YES").difference(meant & texts)
        assert difference is None, (format, difference)


def test_every_name_is_tried() -> None:
    named = {name.partition(":")[0] for name in LANGUAGES}
    assert named | {"averaging-majority", "counting-majority"} == set(ENDLESS) and len(ENDLESS) >= 10


def test_averaging_majority() -> None:
    """As large as was found by others before, in F(1), F(2) and F(3); and wrong from a length on."""
    sizes = [len(programs.open("averaging-majority", f"fixed:{s}").machine().language().moves) for s in (1, 2, 3, 4)]
    assert sizes == [7, 31, 127, 511]


def test_deciders_refuse_formats_in_which_they_are_wrong() -> None:
    with pytest.raises(FormatError, match="counts to 3, and fixed:1 has the whole numbers only up to 1"):
        programs.open("at-least:3", "fixed:1")
    with pytest.raises(InputError, match="subsequence: 'x' is not in the vocabulary"):
        programs.open("subsequence:x0")


def test_words_are_shortest_and_lead_to_their_state() -> None:
    for seed in (0, 3, 14, 20):
        found = machine(sampled(seed))
        first: dict[int, tuple[str, ...]] = {0: ()}
        for text in short_texts(sampled(seed), 6):
            first.setdefault(found.state(text), text)
        for state, text in first.items():
            assert found.word(state) == text


def test_the_smallest_machine_has_the_same_answers() -> None:
    for seed in range(12):
        transformer = sampled(seed)
        found = machine(transformer)
        small = found.minimal()
        assert len(small.minimal()) == len(small) <= len(found)
        texts = short_texts(transformer, 6)
        assert [small.answer(text) for text in texts] == list(transformer.run_batch(texts).answers)
        tokens = np.array([[transformer.vocabulary.index(t) for t in text] for text in texts if len(text) == 6]).T
        assert (found.numbers[found.read(tokens)] == small.numbers[small.read(tokens)]).all()
        for answer in (*transformer.answers, "TIE", "UNDEFINED"):
            language = found.language(answer)
            assert len(language.minimal().moves) == len(language.moves)
            assert all(language.accepts(text) == (found.answer(text) == answer) for text in texts)


def test_the_place_of_an_undefined_run() -> None:
    met = 0
    for seed in range(8):
        transformer = harsh(seed, "softmax", "pre")
        found = machine(transformer, 20_000)
        texts = short_texts(transformer, 5)
        failures = transformer.run_batch(texts).failures
        for k, text in enumerate(texts):
            told = found.undefined(text)
            assert (told is None) == (k not in failures)
            if told is not None:
                met += 1
                assert (type(told), told.place) == (type(failures[k]), failures[k].place)
    assert met > 20


def test_a_machine_with_a_table_of_positions_ends() -> None:
    transformer = programs.open("first-equals-last:6", "fixed:2")
    found = transformer.machine()
    assert not found.endless and found.answer("011010") == "YES"
    with pytest.raises(InputError, match="more tokens than the 6"):
        found.answer("0110101")
    language = found.language()
    for text in product("01", repeat=7):
        assert not language.accepts(text)
    assert language.accepts("011010")


def test_what_a_machine_says_to_bad_questions() -> None:
    found = programs.open("occurs", "fixed:2").machine()
    with pytest.raises(InputError, match="unknown token 'x' at position 1"):
        found.answer("0x")
    with pytest.raises(InputError, match="no answer of this machine; there are NO, YES, UNDEFINED, TIE"):
        found.language("PERHAPS")
    with pytest.raises(InputError, match="no state 99"):
        found.word(99)
    with pytest.raises(InputError, match="states is 0"):
        programs.open("occurs", "fixed:2").machine(0)


def test_positions_that_repeat_are_kept_in_files(tmp_path) -> None:
    for seed in (3, 6, 8):
        transformer = sampled(seed)
        transformer.save(tmp_path / str(seed))
        assert load(tmp_path / str(seed)).same_as(transformer)
