"""Deciding a claim on free values by solvers, over bit-vectors that compute exactly what the engines compute.

From the bottom up: `bits` are expressions; `circuits_fixed` and `circuits_float` round them as a format does,
`circuits_ranged` in no more bits than ranges need; `terms` (with its `known_facts`, and `attention_terms`) is the arithmetic
that a forward pass runs over, `plain_terms` the same without any simplification; `questions` turns a claim into a script,
whose terms know the box that the `preconditions` set; `solvers` answer it, in turn or at the same time (`portfolio`);
`smallest` makes a counterexample small; `deciding` puts them together.
"""

from glyptic.prove.methods.smt.deciding import check

__all__ = ["check"]
