"""An exact run as a view: the transformer itself, an input, and what it is held against; the page runs it again, bit for bit.

Where doubles do not carry the format, or the transformer has parts that the page's engine does not know (biases, activations,
positions inside attention: `exact.parts.newer_parts`), the page cannot compute (`Engine.refusalOf` says why): then the run
is recorded, as texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.arguments import checked, refused
from glyptic.errors import InputError
from glyptic.exact.parts import newer_parts, parts
from glyptic.exact.report import show_number
from glyptic.exact.running import Run, run
from glyptic.exact.transformer import Input, Transformer
from glyptic.exact.undefined import Undefined, ZeroAttention, ZeroOutput, ZeroVariance
from glyptic.look.pages import View, pack
from glyptic.look.values.exact_data import exact_data
from glyptic.numbers import AnyFormat, Exact

_MOST_WEIGHTS = 8_000_000  # of a page: more is read slowly by a browser, and by nobody
_MOST_RECORDED = 400_000  # cells of a recording; residual streams come first
_SHORT = 8  # tokens of an input that nobody chose
_MOST_BITS = 12_000  # of a numerator that is written out: Python refuses beyond 4,300 digits
_ZEROS = {ZeroAttention: "zero_attention", ZeroVariance: "zero_variance", ZeroOutput: "zero_output"}
_DOUBLES = (51, 450)  # bits of precision, and the exponents that doubles carry: as Engine.refusal has it


@checked
def exact_view(
    transformer: Transformer,
    input: Input | None = None,
    *,
    steps: int = 1,
    against: Transformer | tuple[Transformer, Input] | None = None,
) -> View:
    """The page of a transformer on an input, live; `against` opens another run beside it, at the first cell that differs:
    another transformer on the same input, or with an input of its own.

    >>> from glyptic import programs
    >>> view = exact_view(programs.open("parity:4", "fixed:4"), "0111")
    >>> view.kind, view.title, view.data["sides"][0]["input"]
    ('exact', 'parity:4 in fixed:4 on 0111', ['0', '1', '1', '1'])
    """
    tokens = _chosen(transformer) if input is None else transformer.tokens(input)
    sides = [_side(transformer, tokens, steps)]
    if against is not None:
        other = (against, tokens) if isinstance(against, Transformer) else _pair(against)
        sides.append(_side(other[0], other[0].tokens(other[1]), 1))
    return View("exact", _title(transformer, tokens), {"sides": sides})


@checked
def run_view(run: Run, *, against: Transformer | tuple[Transformer, Input] | None = None) -> View:
    """The page of a run: its own transformer, input and steps.

    >>> from glyptic import programs
    >>> run_view(programs.open("parity:4", "fixed:4").run("01")).title
    'parity:4 in fixed:4 on 01'
    """
    steps = len(run.chain)
    return exact_view(run.transformer, run.tokens[: len(run.tokens) - steps + 1], steps=steps, against=against)


def _pair(against: Any) -> tuple[Transformer, Input]:
    if not isinstance(against, tuple) or len(against) != 2 or not isinstance(against[0], Transformer):
        raise refused("against", against, "a Transformer, or a pair of one and an input")
    return against


def _title(transformer: Transformer, tokens: tuple[str, ...]) -> str:
    between = "" if all(len(token) == 1 for token in transformer.vocabulary) else " "
    text = between.join(tokens)
    return f"{transformer.name or 'transformer'} in {transformer.format} on {text if len(text) <= 60 else text[:59] + '…'}"


def _chosen(transformer: Transformer) -> tuple[str, ...]:
    """An input when none was given: tokens of the vocabulary in turn, the last first, and where there are answers that are said
    on few inputs, one on which the first two answers are not tied; short, and within the longest that is read."""
    length = min(int(min(transformer.max_length, _SHORT)), max(4, len(transformer.vocabulary)), _SHORT)
    vocabulary = transformer.vocabulary
    turns = [tuple(vocabulary[(i + shift) % len(vocabulary)] for i in range(length)) for shift in range(min(4, len(vocabulary)))]
    answers = transformer.run_batch(turns).answers
    wanted = next((text for text, answer in zip(turns, answers, strict=True) if answer == "YES"), None)
    defined = next((text for text, answer in zip(turns, answers, strict=True) if answer in transformer.answers), None)
    return wanted or defined or turns[0]


def _side(transformer: Transformer, tokens: tuple[str, ...], steps: int) -> dict[str, Any]:
    weights = sum(array.size for _, array, _ in parts(transformer))
    if weights > _MOST_WEIGHTS:
        raise InputError(
            f"the transformer has {weights} weights, and a page carries at most {_MOST_WEIGHTS}; "
            "show a smaller one, or trace the run in Python: T.run(input, trace=[…])."
        )
    computed = carried(transformer.format) and not newer_parts(transformer)
    recorded = None if computed else _recorded(transformer, tokens, steps)
    return {"transformer": exact_data(transformer), "input": list(tokens), "steps": steps, "recorded": recorded}


def carried(format: AnyFormat) -> bool:
    """Whether the page's engine computes in the format: what Engine.refusal says, which a test holds it against.

    >>> from glyptic.numbers import Fixed
    >>> carried(Fixed(25)), carried(Fixed(26))
    (True, False)
    """
    if isinstance(format, Exact):
        return False
    bits, exponents = _DOUBLES
    high = format.greatest_exponent + format.precision
    return format.precision <= bits and format.least_exponent >= -exponents and high <= exponents and format.max_code < 1 << 53


def _recorded(transformer: Transformer, tokens: tuple[str, ...], steps: int) -> dict[str, Any]:
    """What the page shows where it cannot compute: every stage as texts, as far as there is room; what is left out is named."""
    try:
        done = run(transformer, tokens, steps=steps, trace=True)
    except Undefined as error:
        return {"words": list(tokens), "chain": ["UNDEFINED"], "stages": {}, "left_out": [], "why": _why(error)}
    room, stages, left_out = _MOST_RECORDED, {}, []
    by_need = sorted(done.trace, key=lambda name: not _is_residual(name))  # stable: residual streams first
    for name in by_need:
        if done.trace[name].size > room:
            left_out.append(name)
            continue
        room -= done.trace[name].size
        stages[name] = _texts(done.trace[name], transformer)
    in_order = {name: stages[name] for name in done.trace if name in stages}
    return {
        "words": list(done.tokens),
        "chain": list(done.chain),
        "stages": in_order,
        "left_out": left_out,
        "why": None,
        "logits": _shown(done.logits, transformer),
        "probabilities": _shown(done.probabilities, transformer),
        "limits": {} if isinstance(transformer.format, Exact) else _limits(transformer),
    }


def _why(error: Undefined) -> dict[str, Any]:
    """Where 0/0 was met, as a word of the page's engine, which has it in both languages."""
    key = _ZEROS[type(error)] if error.layer is not None or not isinstance(error, ZeroVariance) else "zero_final_variance"
    return {"key": f"engine.{key}", "values": {"layer": error.layer, "head": error.head, "position": error.position}}


def _limits(transformer: Transformer) -> dict[str, str]:
    limits = {"max": transformer.format.max, "least": transformer.format.least}
    return {name: str(x) for name, x in limits.items()} if all(map(_writable, limits.values())) else {}


def _writable(x: Fraction) -> bool:
    return max(x.numerator.bit_length(), x.denominator.bit_length()) <= _MOST_BITS


def _is_residual(name: str) -> bool:
    return name in ("embedding", "embedding_norm", "final_norm", "logits", "probabilities") or ".after_" in name


def _shown(values: Iterable[Fraction], transformer: Transformer) -> list[str]:
    values, infinite = list(values), None if isinstance(transformer.format, Exact) else transformer.format.max
    if not all(_writable(x) for x in values if abs(x) != infinite):  # that is written as ∞
        raise InputError(
            f"numbers of this run in {transformer.format} have more than {_MOST_BITS} bits, and a page writes them out; "
            "look at it in a narrower format: T.in_format(…), or --format."
        )
    return [show_number(x, transformer.format) for x in values]


def _texts(array: np.ndarray, transformer: Transformer) -> dict[str, Any]:
    """An array of fractions: each number once, as text and (for its colour) as a double, and which it is at each place."""
    numbers = sorted({Fraction(x) for x in array.ravel()})
    place = {x: i for i, x in enumerate(numbers)}
    index = np.array([place[Fraction(x)] for x in array.ravel()], np.int32).reshape(array.shape)
    return {"texts": _shown(numbers, transformer), "sizes": [_double(x) for x in numbers], "index": pack(index)}


def _double(x: Fraction) -> float:
    """Near enough for a colour; never 0 for what is not."""
    try:
        return float(x) or (0.0 if x == 0 else 5e-324 if x > 0 else -5e-324)
    except OverflowError:
        return 1e308 if x > 0 else -1e308


__all__ = ["exact_view", "run_view"]
