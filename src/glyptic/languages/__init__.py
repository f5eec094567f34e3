"""Regular languages: automata, regular expressions with intersection and complement, the languages of Tomita.

>>> from glyptic import languages
>>> languages.regular("(0*10*1)*0*").accepts("0110")
True
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.languages.automata import Automaton as Automaton
    from glyptic.languages.expressions import regular as regular
    from glyptic.languages.named import tomita as tomita
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
