"""The theorems of the constructions: what each construction of `glyptic.carve` promises, proved for all values of a format.

`primitives` and `deciders` state them, `proving` lists them and runs them over formats, `mutation` shows that each
would notice a broken weight, `page` writes docs/theorems.md.
`lemma_base` is what the notes take for granted of numbers, decided for a format.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.theorems.lemma_base import lemmas as lemmas
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
