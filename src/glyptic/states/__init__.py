"""What a causal transformer keeps of a prefix is finite: its exact automaton, for every length.

>>> from glyptic import programs, states
>>> states.machine(programs.open("occurs:1", "fixed:2")).minimal()
<Machine of occurs:1 in fixed:2: 3 states over 0 1>
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.states.budget import Progress as Progress
    from glyptic.states.budget import TooManyStates as TooManyStates
    from glyptic.states.machines import Machine as Machine
    from glyptic.states.machines import machine as machine
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
