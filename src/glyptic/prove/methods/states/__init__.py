"""Deciding a claim on inputs by states: where a transformer is an automaton, its states are all that inputs can come to.

`product` walks the machines of a claim's transformers and automata side by side, the shortest words first; `reading` gives what
the claim's names stand for at their states; `deciding` is the verdict, for every length where positions repeat.
"""

from glyptic.prove.methods.states.deciding import check

__all__ = ["check"]
