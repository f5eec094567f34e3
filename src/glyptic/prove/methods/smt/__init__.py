"""Deciding a claim on free values by solvers, over bit-vectors that compute exactly what the engines compute.

From the bottom up: `bits` are expressions; `circuits_fixed` and `circuits_float` round them as a format does; `terms` (with its
`known_facts`, and `attention_terms`) is the arithmetic that a forward pass runs over, `plain_terms` the same without any
simplification; `questions` turns a claim into a script; `solvers` answer it; `smallest` makes a counterexample small; `deciding`
puts them together.
"""

from glyptic.prove.methods.smt.deciding import check

__all__ = ["check"]
