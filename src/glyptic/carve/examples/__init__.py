"""Built-in deciders, to play with and to test on: each `name(format, …) -> Transformer`, right on every input up to its length.

    tokens      contains, first_equals_last, palindromes
    counting    majority, modular, parity
    balanced    brackets, of several kinds, up to a depth
    endless     without positions, for every length: occurs, at_least, exactly, subsequence, same_ends,
                averaging_majority, counting_majority
    endless_hard   the same by hard attention: starts_with, last_of, ends_with, factor, nested
    parts       what they are made of: look-up, total, position codes

>>> from glyptic.carve import examples
>>> examples.parity("fixed:4", 8).answer("0111")
'YES'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from glyptic.arguments import Count, Seed, checked
from glyptic.carve.examples.parts import Length
from glyptic.carve.examples.parts import whole_numbers as whole_numbers
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat, as_format

if TYPE_CHECKING:
    from glyptic.carve.examples.balanced import brackets as brackets
    from glyptic.carve.examples.counting import majority as majority
    from glyptic.carve.examples.counting import modular as modular
    from glyptic.carve.examples.counting import parity as parity
    from glyptic.carve.examples.endless import at_least as at_least
    from glyptic.carve.examples.endless import averaging_majority as averaging_majority
    from glyptic.carve.examples.endless import counting_majority as counting_majority
    from glyptic.carve.examples.endless import exactly as exactly
    from glyptic.carve.examples.endless import occurs as occurs
    from glyptic.carve.examples.endless import same_ends as same_ends
    from glyptic.carve.examples.endless import subsequence as subsequence
    from glyptic.carve.examples.endless_hard import ends_with as ends_with
    from glyptic.carve.examples.endless_hard import factor as factor
    from glyptic.carve.examples.endless_hard import last_of as last_of
    from glyptic.carve.examples.endless_hard import nested as nested
    from glyptic.carve.examples.endless_hard import starts_with as starts_with
    from glyptic.carve.examples.tokens import contains as contains
    from glyptic.carve.examples.tokens import first_equals_last as first_equals_last
    from glyptic.carve.examples.tokens import palindromes as palindromes
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, _ = lazily(__name__)


@checked
def random(
    format: AnyFormat | str, seed: Seed = 0, layers: Annotated[int, Count(0, 1000)] = 2, max_length: Length = 12
) -> Transformer:
    """A random transformer by seed; it decides nothing in particular, and need not be decisive.

    >>> from glyptic.numbers import Fixed
    >>> random(Fixed(4), seed=7).same_as(random(Fixed(4), seed=7))
    True
    """
    from glyptic.exact import Sizes, random_transformer  # when it is asked for

    made = random_transformer(as_format(format), seed, Sizes(layers=layers, max_length=max_length))
    return made.replace(name=f"random:{seed},{layers},{max_length}")
