"""Programs compiled to exact transformers: `automata` makes a recogniser of any finite automaton.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.programs.automata import recogniser as recogniser
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
