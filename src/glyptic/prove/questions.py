"""The questions that are asked most, each one line: the same answers, a language, always decided, never 0/0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Unpack

from glyptic.arguments import Count, checked
from glyptic.exact import Transformer
from glyptic.languages.automata import Automaton
from glyptic.prove.checking import Limits, check
from glyptic.prove.claims.claim import Claim, inputs
from glyptic.prove.claims.expressions import ClaimError, Condition, Defined, SameChains, accepted, answer, holds
from glyptic.prove.verdicts.answers import Verdict

Steps = Annotated[int, Count()] | Callable[[int], int]
Length = Annotated[int, Count()]
Language = Automaton | Callable[[Any], bool]  # a predicate is true of the texts in it


@checked
def equivalent(
    a: Transformer, b: Transformer, max_length: Length | None = None, *, min_length: Length = 1, steps: Steps = 1,
    **limits: Unpack[Limits],
) -> Verdict:  # fmt: skip
    """Whether two transformers give the same answer to every input up to a length; TIE and 0/0 count as answers.

    Without a length: up to the longest that both read, which is every length where positions repeat in both.

    With several steps of chain of thought, every step's answer is compared.
    """
    return check(equivalence(a, b, max_length, min_length=min_length, steps=steps), **limits)


@checked
def equivalence(
    a: Transformer, b: Transformer, max_length: Length | None = None, *, min_length: Length = 1, steps: Steps = 1
) -> Claim:
    """The claim behind `equivalent`."""
    subject = inputs(a, b, max_length=max_length, min_length=min_length, steps=steps)
    same: Condition = answer("a") == answer("b") if max(subject.steps) == 1 else SameChains("a", "b")
    return Claim(subject, same, name="equivalent")


@checked
def language(
    transformer: Transformer, of: Language, max_length: Length | None = None, *, yes: str = "YES", no: str = "NO",
    min_length: Length = 1, steps: Steps = 1, **limits: Unpack[Limits],
) -> Verdict:  # fmt: skip
    """Whether a decider answers yes exactly on a language, given by an automaton or a predicate, and no elsewhere."""
    return check(recognition(transformer, of, max_length, yes=yes, no=no, min_length=min_length, steps=steps), **limits)


@checked
def recognition(
    transformer: Transformer, of: Language, max_length: Length | None = None, *, yes: str = "YES", no: str = "NO",
    min_length: Length = 1, steps: Steps = 1,
) -> Claim:  # fmt: skip
    """The claim behind `language`."""
    for word in (yes, no):
        if word not in transformer.answers:
            shown = ", ".join(transformer.answers)
            raise ClaimError(f"the transformer never answers {word!r}; its answers are {shown}: say yes= and no=.")
    subject = inputs(transformer, max_length=max_length, min_length=min_length, steps=steps)
    inside = accepted(of) if isinstance(of, Automaton) else holds(of)
    return Claim(subject, (inside >> (answer() == yes)) & (~inside >> (answer() == no)), name="language")


@checked
def decisive(
    transformer: Transformer, max_length: Length | None = None, *, min_length: Length = 1, steps: Steps = 1,
    **limits: Unpack[Limits],
) -> Verdict:  # fmt: skip
    """Whether every input gets an answer: no tie, no 0/0."""
    return check(decisiveness(transformer, max_length, min_length=min_length, steps=steps), **limits)


@checked
def decisiveness(
    transformer: Transformer, max_length: Length | None = None, *, min_length: Length = 1, steps: Steps = 1
) -> Claim:
    """The claim behind `decisive`."""
    subject = inputs(transformer, max_length=max_length, min_length=min_length, steps=steps)
    return Claim(subject, (answer() != "TIE") & (answer() != "UNDEFINED"), name="decisive")


@checked
def never_zero_attention(
    transformer: Transformer, max_length: Length | None = None, *, min_length: Length = 1, **limits: Unpack[Limits]
) -> Verdict:
    """Whether no query of any head, at any input, has all its exps rounded to 0; nor, where there are norms, is a variance 0.

    So no 0/0 is met in the layers; the output's softmax may still be one (see `decisive`).
    """
    return check(defined_attention(transformer, max_length, min_length), **limits)


@checked
def defined_attention(transformer: Transformer, max_length: Length | None = None, min_length: Length = 1) -> Claim:
    """The claim behind `never_zero_attention`."""
    subject = inputs(transformer, max_length=max_length, min_length=min_length)
    return Claim(subject, Defined(attention=True), name="never 0/0 in the layers")
