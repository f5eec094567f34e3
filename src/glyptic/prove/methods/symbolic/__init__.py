"""Deciding a claim on inputs without running them one by one: every quantity is a decision diagram over the tokens.

`diagrams` are functions of free tokens, each stored once; `arithmetic` is rounded arithmetic on them, over which the forward pass
runs as it is; `inputs` reads a claim off such runs; `deciding` counts the inputs that break it, and finds the first.
"""

from glyptic.prove.methods.symbolic.deciding import check

__all__ = ["check"]
