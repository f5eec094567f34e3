"""The stages of a run, by name, and who is shown them: observers.

`embedding`, `embedding_norm`; `layer.L.head.H.` query, key, value, scores, weights, mixed, output; `layer.L.` attention,
after_attention, hidden, feed_forward, after_feed_forward; `final_norm`; `logits`, `probabilities`. Layers and heads count
from 0. A pattern that names no stage is refused, with the names that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import reduce
from typing import Any

import numpy as np

from glyptic.arguments import checked, refused, shown
from glyptic.errors import InputError
from glyptic.exact.transformer import Trace, Transformer
from glyptic.exact.undefined import Undefined

Array = Any
ErrorAt = Callable[[int], Undefined]  # the error at a position

OF_A_HEAD = ("query", "key", "value", "scores", "weights", "mixed", "output")
OF_A_LAYER = ("attention", "after_attention", "hidden", "feed_forward", "after_feed_forward")
# Not every transformer has these, and lists of patterns for any may name them.
OF_SOME = ("embedding_norm", "final_norm", "probabilities")


@checked
def stages(transformer: Transformer) -> tuple[str, ...]:
    """Every stage of a run of this transformer, in order.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> stages(random_transformer("fixed:4", sizes=Sizes(layers=1, heads=0)))
    ('embedding', 'layer.0.after_attention', 'layer.0.hidden', 'layer.0.feed_forward', 'layer.0.after_feed_forward',
     'logits', 'probabilities')
    """
    found = ["embedding", *(["embedding_norm"] if transformer.embedding_norm is not None else [])]
    for l, layer in enumerate(transformer.layers):
        found += [f"layer.{l}.head.{h}.{part}" for h in range(len(layer.heads)) for part in OF_A_HEAD]
        missing = set() if layer.heads else {"attention"}
        missing |= set() if layer.feed_forward is not None else {"hidden", "feed_forward"}
        found += [f"layer.{l}.{part}" for part in OF_A_LAYER if part not in missing]
    found += ["final_norm"] if transformer.final_norm is not None else []
    return (*found, "logits", *(["probabilities"] if transformer.options.answer == "softmax" else []))


class Observer:
    """Is shown a run as it goes: each stage, and where 0/0 is met. This one looks away; others say what they look at."""

    def record(self, stage: str, array: Array) -> None:
        """A stage in the numbers of the arithmetic: (coordinates, positions, batch), or (queries, keys, batch)."""

    def looks_at(self, stage: str) -> bool:
        """Whether it is to be shown this stage; what nobody looks at need not be there as an array."""
        return type(self).record is not Observer.record

    def undefined(self, error_at: ErrorAt, where: Array) -> None:
        """Where 0/0 is met, (positions, batch) of truth values or conditions, and the error that it is at a position."""


UNWATCHED = Observer()


@dataclass
class Watch(Observer):
    """Keeps the stages that are wanted, and all places of 0/0 in the order in which they are met."""

    stages: Container[str] = ()
    taken: Callable[[Array], Array] | None = None  # what is kept of a stage, such as an arithmetic's `codes`
    traced: dict[str, Array] = field(default_factory=dict)
    met: list[tuple[ErrorAt, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if isinstance(self.stages, str):  # in which part of a name would be found as well
            self.stages = (self.stages,)

    def check_stages(self, transformer: Transformer) -> None:
        """Refuse a name that is no stage of this transformer: it would never be shown."""
        known = stages(transformer)
        for stage in self.stages if isinstance(self.stages, Iterable) else ():
            if stage not in known:
                near = get_close_matches(str(stage), known, 1)
                remedy = f"is it {near[0]}?" if near else "exact.stages(transformer) lists them."
                raise InputError(f"Watch: {shown(stage)} is no stage of this transformer; {remedy}")

    def record(self, stage: str, array: Array) -> None:
        if stage in self.stages:
            self.traced[stage] = array if self.taken is None else self.taken(array)

    def looks_at(self, stage: str) -> bool:
        return stage in self.stages

    def undefined(self, error_at: ErrorAt, where: Array) -> None:
        self.met.append((error_at, where))

    @property
    def zero(self) -> Array:
        """Where 0/0 was met, (positions, batch); False where nothing can be."""
        return reduce(np.logical_or, (where for _, where in self.met), False)

    @property
    def failed(self) -> Array:
        """Who met 0/0 at any position, (batch,)."""
        return np.any(np.atleast_2d(self.zero), axis=0)

    def failures(self, first: int = 0) -> dict[int, Undefined]:
        """The first error of each member of the batch, positions counted from `first`."""
        found: dict[int, Undefined] = {}
        for error_at, where in self.met:
            for position, item in np.argwhere(where) if np.any(where) else ():
                found.setdefault(int(item), error_at(first + int(position)))
        return found


def matching(transformer: Transformer, patterns: Sequence[str]) -> frozenset[str]:
    """The stages that patterns name."""
    return frozenset(stage for stage in stages(transformer) if any(fnmatchcase(stage, each) for each in patterns))


def patterns_of(transformer: Transformer, trace: Trace) -> list[str]:
    """What `trace=` asks for, as patterns: each names a stage that there may be, and together they name one that there is."""
    if isinstance(trace, bool):
        return ["*"] if trace else []
    patterns = [trace] if isinstance(trace, str) else trace
    if not isinstance(patterns, list | tuple) or not all(isinstance(each, str) for each in patterns):
        raise refused("trace", trace, "True, False, the name of a stage, or a list of such names")
    own = stages(transformer)
    unknown = [each for each in patterns if not _names(each, own) and not _may_name(each)]
    if unknown or (patterns and not any(_names(each, own) for each in patterns)):
        raise InputError(
            f"trace: {shown((unknown or patterns)[0])} is no stage of this transformer; stages are embedding, embedding_norm, "
            f"layer.L.head.H. {' '.join(OF_A_HEAD)}, layer.L. {' '.join(OF_A_LAYER)}, final_norm, logits, probabilities, "
            f"as far as it has them, L from 0 to {len(transformer.layers) - 1}; * stands for anything."
        )
    return list(patterns)


def _names(pattern: str, stages: Sequence[str]) -> bool:
    return any(fnmatchcase(stage, pattern) for stage in stages)


def _may_name(pattern: str) -> bool:
    """Whether some transformer has a stage of this pattern, which is more than a plain name."""
    anywhere = [f"layer.0.head.0.{part}" for part in OF_A_HEAD] + [f"layer.0.{part}" for part in OF_A_LAYER]
    return pattern in OF_SOME or (any(sign in pattern for sign in "*?[") and _names(pattern, [*anywhere, *OF_SOME]))
