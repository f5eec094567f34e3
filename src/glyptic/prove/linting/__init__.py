"""Warnings about a transformer: what the errata of hand-made constructions taught to look for.

Some are read off the `weights`, others seen on `runs`, of all inputs up to some length, then of longer ones; `sums` does every
sum again in the other order. A warning is not an error: a construction may saturate on purpose. What must hold is proved, not
linted.
"""

from glyptic.exact import Transformer
from glyptic.prove.linting.runs import masked_keys, saturation
from glyptic.prove.linting.seen import Warning, look, sample_inputs
from glyptic.prove.linting.sums import sum_order
from glyptic.prove.linting.weights import dead_heads, dead_layers, fixed_last_position, flags_left_over, never_read

CHECKS = (
    *(never_read, dead_heads, dead_layers, flags_left_over, fixed_last_position),
    *(masked_keys, saturation, sum_order),
)


def lint(transformer: Transformer, runs: int = 512) -> list[Warning]:
    """All warnings, in the order of the checks.

    >>> from glyptic.exact.random import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> sorted({warning.kind for warning in lint(random_transformer(Fixed(3), seed=1), runs=30)})
    ['masked keys', 'order of a sum', 'saturation']
    """
    seen = look(transformer, runs)
    return [warning for check in CHECKS for warning in check(seen)]


__all__ = ["CHECKS", "Warning", "lint", "sample_inputs"]
