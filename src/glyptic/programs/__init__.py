"""Programs compiled to exact transformers, and every transformer by its name.

    automata     a recogniser of any finite automaton
    registry     `open`: a folder, or a name such as `parity:8` or `regex:(01)*,8`; further names are registered
    combining    one decider from several, by an expression

>>> from glyptic import programs
>>> programs.open("regex:(01)*,8").answer("0101")
'YES'
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.programs.automata import recogniser as recogniser
    from glyptic.programs.combining import combine as combine
    from glyptic.programs.registry import ModelKind as ModelKind
    from glyptic.programs.registry import by_name as by_name
    from glyptic.programs.registry import open as open
    from glyptic.programs.registry import register as register
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
