"""Regular languages beside automata-lib, interegular and greenery, where these are installed: how many times as fast ours are."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.timing import contest, row
from glyptic import languages

PEERS = {"automata-lib": "automata", "interegular": "interegular", "greenery": "greenery"}
TOMITA_5 = "(00|11|(01|10)(00|11)*(01|10))*"
FIVE_WORDS = "(0|1)*(00101101|11010011|01110100|10001011|11110000)(0|1)*"
ELEVENTH = "(0|1)*1" + "(0|1)" * 10
TEXTS = ["".join(text) for text in product("01", repeat=16)]
NUMBERS = np.array([[int(symbol) for symbol in text] for text in TEXTS]).T


def minimal(peer: str, expression: str) -> Any:
    """The smallest automaton of an expression, by a library."""
    if peer == "automata-lib":
        from automata.fa.dfa import DFA
        from automata.fa.nfa import NFA

        return DFA.from_nfa(NFA.from_regex(expression, input_symbols={"0", "1"}), retain_names=False, minify=True)
    if peer == "interegular":
        import interegular

        return interegular.parse_pattern(expression).to_fsm().reduce()
    from greenery import parse

    return parse(expression).to_fsm().reduce()


def one_by_one(accepts: Callable[[str], bool]) -> list[bool]:
    return [accepts(text) for text in TEXTS]


def rows() -> list[dict[str, object]]:
    there = [peer for peer, module in PEERS.items() if importlib.util.find_spec(module)]
    quick = [peer for peer in there if peer != "greenery"]  # which takes seconds to minutes where others take milliseconds
    questions = [("Tomita 5, minimal", TOMITA_5, there), ("five words of length 8 to be found", FIVE_WORDS, quick)]
    questions += [("the eleventh symbol from the end, 2048 states", ELEVENTH, quick)]
    found = []
    for name, expression, peers in questions:
        made: dict[str, Callable[[], Any]] = {peer: lambda p=peer, e=expression: minimal(p, e) for peer in peers}
        found += compared(name, {"ours": lambda e=expression: languages.regular(e), **made})
    ours, theirs = languages.regular(TOMITA_5), {peer: minimal(peer, TOMITA_5) for peer in there}
    said = {"automata-lib": "accepts_input", "interegular": "accepts", "greenery": "accepts"}
    by_text = {peer: partial(one_by_one, getattr(fsm, said[peer])) for peer, fsm in theirs.items()}
    return found + compared("65,536 texts of length 16", {"ours": lambda: ours.accepts_all(NUMBERS, ("0", "1")), **by_text})


def compared(name: str, contestants: Mapping[str, Callable[[], Any]]) -> list[dict[str, object]]:
    timings = contest(contestants, rounds=5)
    note = f"ours {timings.seconds('ours') * 1000:.3g} ms"
    return [row(f"{name}: {peer}", timings.speed("ours", peer), "", note) for peer in contestants if peer != "ours"]
