"""Look-up by position: each position fetches coordinates of the position that a pointer names, by one head.

A pointer is a position's number in binary, a coordinate ±1 for each bit. Query and key interleave a bit of each with a
constant: q = (p_1, 1, p_2, 1, …), k = (B·c_1, −B, B·c_2, −B, …). The score adds up, for each bit, +B − B where they agree and
−B − B where they differ; from 0 the first leads to 0 and the second to −B (saturated), and from −B both lead back to −B. So it
is 0 where pointer and position match, −B elsewhere; exp gives 1 and 0, and the weights are exactly 1 and 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glyptic.arguments import checked
from glyptic.carve import names as named
from glyptic.carve.building import Draft, Row
from glyptic.carve.coordinates import append, refuse_norms, widen
from glyptic.carve.facts import EXP_VANISHES, ONE, Fact, require, scaled_exp_vanishes
from glyptic.carve.flags import code_columns, ensure, pointed, refuse_repeating
from glyptic.carve.frames import carved, reads, writes
from glyptic.carve.spaces import Space
from glyptic.errors import ModelError
from glyptic.exact import Transformer


@checked
def position(
    transformer: Transformer,
    source: Sequence[str],
    target: Sequence[str],
    of: Callable[[int], int],
    *,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """target += source of position of(i), at every position i: 1 head; targets that do not exist are made.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = position(random_transformer(Fixed(4), sizes=Sizes(layers=0)), ["x0"], ["before"], lambda i: i // 2)
    >>> h = T.run("01101", trace=True).residual["layer.0.after_attention"]
    >>> all(h[i]["before"] == h[i // 2]["x0"] for i in range(5))
    True
    """
    pointers = pointed(transformer, of)
    for i, p in enumerate(pointers):
        check_seen(transformer, i, p)
    columns = {} if pointers == [*range(len(pointers))] else code_columns("to", pointers)
    made = _with_targets(transformer, target)  # first, so that no flag gets the name of a target
    wide, names = ensure(made, columns)
    pointer = [names[name] for name in columns] if columns else None
    return _fetch(transformer, wide, pointer, source, target, "lookup.position", place, force)


@checked
def fetch(
    transformer: Transformer,
    source: Sequence[str],
    target: Sequence[str],
    pointer: Sequence[str],
    *,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """target += source of the position that the pointer's coordinates (±1, lowest bit first) name where the head stands.

    The pointer must be ±1 and name a position that is seen. Where it names a hidden one nothing matches: softmax is 0/0
    there, and says so when it runs; under the other kinds of attention, which always have a largest score, and at the
    first position of a strict mask, the result means nothing.
    """
    pointer = named.existing(transformer, pointer, "pointer")
    bits = len(places_space(transformer))
    if len(pointer) != bits:
        raise ModelError(f"a pointer to {transformer.max_length} positions has {bits} bits, not {len(pointer)}.")
    return _fetch(transformer, _with_targets(transformer, target), list(pointer), source, target, "lookup.fetch", place, force)


def _fetch(
    before: Transformer,
    wide: Transformer,
    pointer: list[str] | None,
    source: Sequence[str],
    target: Sequence[str],
    construction: str,
    place: int | None,
    force: bool,
) -> Transformer:
    refuse_norms(before)
    facts = matching_facts(before)
    require(facts, before.format, construction, force)
    source = named.existing(before, source, "source")
    if len(source) != len(target):
        raise ModelError(f"{len(source)} sources and {len(target)} targets; they must be as many.")
    wide, code, one = with_codes(wide)
    values: list[Row] = [{name: 1} for name in source]
    outputs: list[Row] = [{name: 1} for name in target]
    head = Draft(wide.format, wide.coordinates).matching_head(pointer or code, code, one, values, outputs)
    fetched = [writes([t], f"+ {s} there") for s, t in zip(source, target, strict=True)]
    touches = [reads((*source, *(pointer or ()))), *fetched]
    return carved(before, append(wide, head, place=place), construction, touches, facts, place)


def _with_targets(transformer: Transformer, target: Sequence[str]) -> Transformer:
    return widen(transformer, [name for name in named.targets(target) if name not in transformer.coordinates])


def with_codes(transformer: Transformer) -> tuple[Transformer, list[str], str]:
    """The transformer with codes of its positions and a constant 1, and the names of both."""
    refuse_repeating(transformer, "a code of its positions")
    columns = code_columns("place", range(len(transformer.position_embedding)))
    columns["one"] = [1] * len(transformer.position_embedding)
    wide, names = ensure(transformer, columns)
    *code, one = (names[name] for name in columns)
    return wide, code, one


def matching_facts(transformer: Transformer) -> list[Fact]:
    """Soft attention needs scores of −B to vanish; hard attention takes the one largest score as it is."""
    if transformer.options.attention not in ("softmax", "max-subtracted"):
        return [ONE]
    key_width = 2 * len(places_space(transformer))
    return [ONE, scaled_exp_vanishes(key_width) if transformer.options.scale else EXP_VANISHES]


def check_seen(transformer: Transformer, i: int, j: int) -> None:
    """Refuse where position i does not see position j, or cannot tell that an input has ended before it."""
    mask, attention = transformer.options.mask, transformer.options.attention
    if not {"causal": j <= i, "strict": j < i, "full": True}[mask]:
        raise ModelError(f"position {i} cannot look up position {j}: the {mask} mask hides it.")
    if j > i and attention != "softmax":
        raise ModelError(
            f"position {i} looks up position {j}, which shorter inputs do not have; {attention} attention would then take "
            "another without a word, where softmax is 0/0 and says so: choose softmax, or look back."
        )


def places_space(transformer: Transformer) -> Space:
    """The code of a position's number."""
    refuse_repeating(transformer, "a code of its positions")
    return Space.binary("place", len(transformer.position_embedding))


__all__ = ["fetch", "position"]
