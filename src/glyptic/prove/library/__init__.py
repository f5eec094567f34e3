"""The theorems of the constructions: what each construction of `glyptic.carve` promises, proved for all values of a format.

`primitives` and `deciders` state them, `catalogue` lists them, `proving` runs them over formats, `breaking` shows that each
would notice a broken weight, `page` writes docs/theorems.md.
"""
