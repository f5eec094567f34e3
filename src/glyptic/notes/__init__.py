"""The notes' constructions exactly as printed, and the errata: where each fails, found by search.

    primitives      *Primitives of transformers*: flags, add, make zero, ignore, h_j ← M h_i
    normalization   *Normalización de transformers*: 0–1 and ∞
    bench           data put straight into the residual stream
    values          what the proofs say of numbers, counted over whole formats
    failures        the smallest input on which a printed construction fails, and the same for what replaces it
    tables          the figures of docs/errata.md and docs/errata.es.md
    documents       … put into them: `python -m glyptic.notes`

What works is in `glyptic.carve` itself.
"""

from glyptic.notes.normalization import comparison, infinity, one_in_the_first, projection, zero_one
from glyptic.notes.primitives import add_vector, embedding_with_flag, ignoring, linear, linear_head, make_zero

__all__ = [
    "add_vector",
    "comparison",
    "embedding_with_flag",
    "ignoring",
    "infinity",
    "linear",
    "linear_head",
    "make_zero",
    "one_in_the_first",
    "projection",
    "zero_one",
]
