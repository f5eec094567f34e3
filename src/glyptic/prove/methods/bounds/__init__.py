"""Deciding a claim on values or on dense layers by bounds: boxes of values, split until the claim is certain on each.

`spans` are intervals and truth values that may be uncertain; `boxes` bounds what dense layers make of one; `deciding` splits.
"""

from glyptic.prove.methods.bounds.deciding import check

__all__ = ["check"]
