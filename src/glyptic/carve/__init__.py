"""Constructions: `Transformer -> Transformer`, by the names of coordinates, each with a frame and a price.

    building      weights by name: Draft, Unit                     coordinates   widen, rename, permute, free, append
    spaces        groups of coordinates: Space                     facts         what a construction needs of a format
    flags         where we are: positions, complements, codes
    frames        what a construction did: `T.frame()`             amplify       from the least value to B
    add           add a vector, set it, copy coordinates           zero          clear coordinates
    ignore        layers that leave coordinates alone              linear        h_j ← M h_i; in place; affine
    lookup        fetch from the position that a code names        deciding      from logits to a decision
    normalize     0–1, ∞, ±∞                                       closure       ~a, a & b, a | b, a ^ b, majority, …
    beside        several transformers side by side in one         compose       b after a; b on a's chain of thought
    loop          a block several times

Arguments come in one order: the transformer (or a list of them), what is done, in which coordinates, then where. `names` are
coordinates, `at` positions (None: all of either), `source` and `target` coordinates that are read and written, `of` or
`pointer` the position to fetch from; `place` is the layer before which new ones go, and `force` builds what a fact forbids.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.carve import add as add
    from glyptic.carve import amplify as amplify
    from glyptic.carve import beside as beside
    from glyptic.carve import building as building
    from glyptic.carve import closure as closure
    from glyptic.carve import compose as compose
    from glyptic.carve import coordinates as coordinates
    from glyptic.carve import deciding as deciding
    from glyptic.carve import examples as examples
    from glyptic.carve import facts as facts
    from glyptic.carve import flags as flags
    from glyptic.carve import frames as frames
    from glyptic.carve import ignore as ignore
    from glyptic.carve import linear as linear
    from glyptic.carve import lookup as lookup
    from glyptic.carve import loop as loop
    from glyptic.carve import normalize as normalize
    from glyptic.carve import spaces as spaces
    from glyptic.carve import zero as zero
    from glyptic.carve.building import Draft as Draft
    from glyptic.carve.building import Unit as Unit
    from glyptic.carve.coordinates import append as append
    from glyptic.carve.coordinates import free as free
    from glyptic.carve.coordinates import permute as permute
    from glyptic.carve.coordinates import rename as rename
    from glyptic.carve.coordinates import widen as widen
    from glyptic.carve.facts import FactError as FactError
    from glyptic.carve.spaces import Space as Space
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
