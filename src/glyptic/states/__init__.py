"""What a causal transformer keeps of a prefix is finite: its exact automaton, for every length.

>>> from glyptic import programs, states
>>> states.machine(programs.open("occurs", "fixed:2")).minimal()
<Machine of occurs in fixed:2: 3 states over 0 1>
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.states.budget import SearchProgress as SearchProgress
    from glyptic.states.budget import TooManyStates as TooManyStates
    from glyptic.states.intended import Intended as Intended
    from glyptic.states.intended import first_difference as first_difference
    from glyptic.states.kinds import LanguageKind as LanguageKind
    from glyptic.states.kinds import kind_of as kind_of
    from glyptic.states.machines import Machine as Machine
    from glyptic.states.machines import machine as machine
    from glyptic.states.studies import by_precision as by_precision
    from glyptic.states.thoughts import ClosedLoop as ClosedLoop
    from glyptic.states.thoughts import closed_loop as closed_loop
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
