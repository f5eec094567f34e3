"""The verdict by states: a claim holds of every input if it holds at every state that inputs lead to."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import isinf
from typing import Any

import numpy as np

from glyptic.errors import GlypticError
from glyptic.numbers.hosts import Engine, engine_for
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.claims.evaluation import Inexpressible
from glyptic.prove.elements.batches import judge
from glyptic.prove.elements.counting import describe
from glyptic.prove.methods.states.product import Machines, Walked, levels, machines_of, refuse_unreadable, walked
from glyptic.prove.methods.states.reading import setting_of_level
from glyptic.prove.verdicts.answers import Counterexample, Proved, Refuted, Unknown, Vacuous, Verdict, settled
from glyptic.prove.verdicts.assumptions import KERNELS, of_meaning
from glyptic.prove.verdicts.minimise import input_alone, run_again
from glyptic.states.budget import MOST_STATES, Budget, TooManyStates

METHOD = "states"
_IN_FRACTIONS, _AT_LEAST = 20.0, 1.0  # seconds for a counterexample: in fractions, and by the compiled engine
_TOO_LONG = "the counterexample, too long for fractions in the time that there was, was run by the compiled engine alone"
_RAISED = {"time limit": "the time limit"}  # of what passes a budget; here nobody sets the number of states
_TRIED, _TRIED_LENGTH = 64, 40  # random inputs that are run as well, and their greatest length


@settled
def check(
    claim: Claim, *, seconds: float | None = None, states: int = MOST_STATES, report: Callable[[Any], object] | None = None
) -> Verdict:
    """Decide a claim on inputs by the automata of its transformers, within so many states and seconds.

    >>> from glyptic import programs
    >>> from glyptic.prove.questions import decisiveness
    >>> print(check(decisiveness(programs.open("occurs", "fixed:2"))))
    Proved, for every length: decisive: for all inputs of every length of occurs in fixed:2: answer ≠ TIE ∧ answer ≠ UNDEFINED
      over all inputs of every length of occurs in fixed:2, over 0 1
      by states: 4 states
    """
    if not isinstance(claim.subject, Inputs):
        return Unknown(str(claim), METHOD, str(claim.subject), "the method: values are not read one after the other")
    start, budget = time.perf_counter(), Budget(states, seconds=seconds, report=report, names=_RAISED)
    try:
        steps = claim.subject.steps[-1]
        refuse_unreadable(claim, steps)
        machines = machines_of(claim, budget)
        return _decided(claim, machines, budget, start)
    except Inexpressible as error:
        reason = f"the method: {error}"
    except TooManyStates as error:
        reason = str(error)
    except GlypticError as error:  # a mask or a part of which no states are known
        reason = f"the method: {error}"
    return Unknown(str(claim), METHOD, describe(claim), reason, seconds=time.perf_counter() - start)


def _decided(claim: Claim, machines: Machines, budget: Budget, start: float) -> Verdict:
    subject, walk = machines.subject, walked(machines)
    reads_token = any(isinstance(node, e.Token) for node in claim.parts())
    satisfying = False
    text, over = str(claim), describe(claim)
    for level in levels(walk, budget, reads_token):
        if level.length < subject.min_length:
            continue
        met, failing = judge(claim, setting_of_level(machines, level))
        satisfying |= bool(met.any())
        if failing.any():
            word = walk.word(int(level.numbers[np.flatnonzero(failing)[0]]))
            return _refuted(claim, word, over, _about(claim, machines, walk), budget, start)
    wrong = _disagreement(machines)
    if wrong is not None:
        return Unknown(text, METHOD, over, f"a fault in the states: {wrong}; please report this claim")
    about = {**_about(claim, machines, walk), "seconds": time.perf_counter() - start}
    if not satisfying:
        return Vacuous(text, METHOD, over, str(claim.requires), **about)
    return Proved(text, METHOD, over, **about)


def _about(claim: Claim, machines: Machines, walk: Walked) -> dict[str, Any]:
    sizes = [len(each.moves) for each in machines.found.values()]
    side_by_side = f", {len(walk.table):,} side by side" if len(sizes) + len(machines.automata) > 1 and len(sizes) > 1 else ""
    by = " and ".join(f"{size:,} states" for size in sizes) + side_by_side
    trusted = "what later positions need of a prefix is its state (docs/every-length.md)"
    return {"solvers": (by,), "assumptions": (*of_meaning(claim), trusted)}


def _refuted(
    claim: Claim, word: tuple[int, ...], over: str, about: dict[str, Any], budget: Budget, start: float
) -> Verdict:
    """A counterexample counts when a run confirms it: in fractions, or by the compiled engine where these take too long."""
    ran = _run_within(claim, word, "reference", min(_IN_FRACTIONS, budget.left / 2))
    if ran is None and _is_compiled(claim):
        ran = _run_within(claim, word, "auto", max(_AT_LEAST, budget.left))
        about = {**about, "assumptions": (*about["assumptions"], KERNELS, _TOO_LONG)}
    about = {**about, "seconds": time.perf_counter() - start}
    if ran is None:
        reason = f"a counterexample of {len(word):,} tokens was found, and no run confirmed it within the time limit"
        return Unknown(str(claim), METHOD, over, reason, (str(input_alone(claim, word)),), seconds=about["seconds"])
    broken, example = ran
    if not broken:
        reason = "a contradiction between the states and a run; please report this claim"
        return Unknown(str(claim), METHOD, over, reason, (str(example),))
    return Refuted(str(claim), METHOD, over, example, **about)


def _run_within(claim: Claim, word: tuple[int, ...], engine: Engine, seconds: float) -> tuple[bool, Counterexample] | None:
    """Whether the claim fails for a word, and the word with what is observed; None if the time is over before."""
    limit = Budget(seconds=None if isinf(seconds) else seconds)
    try:
        return run_again(claim, word, engine, limit.ask)
    except TooManyStates:
        return None


def _is_compiled(claim: Claim) -> bool:
    """Whether all transformers of a claim can be run by the compiled engine."""
    assert isinstance(claim.subject, Inputs)
    return all(engine_for(t.format, t.options.products, "auto") == "fast" for t in claim.subject.transformers.values())


def _disagreement(machines: Machines) -> str | None:
    """An input at which a run says something else than the states, among some at random."""
    rng, subject = np.random.default_rng(0), machines.subject
    longest = int(min(subject.max_length, _TRIED_LENGTH))
    for name, transformer in subject.transformers.items():
        found = machines.found[name]
        tokens = rng.integers(0, len(subject.vocabulary), (longest, _TRIED))
        lengths = rng.integers(1, longest + 1, _TRIED)
        texts = [tuple(subject.vocabulary[t] for t in tokens[:n, k]) for k, n in enumerate(lengths.tolist())]
        numbers = transformer.run_batch(texts).numbers
        for k, text in enumerate(texts):
            state = 0
            for token in tokens[: lengths[k], k]:
                state = int(found.moves[state, token])
            if found.answers[state] != numbers[k]:
                return f"a run differs from them at the input {' '.join(text)}"
    return None
