"""Operations as functions of an SMT-LIB file: each defined once, with a comment, and called by name.

`methods.smt.bits` folds and shares, and prints a graph of numbered steps; a file for readers keeps [x + y] as `(add x y)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits

CALL = "call"  # the operation of a node that calls a function; its detail is the function's name


@dataclass(frozen=True)
class Function:
    """A function of the file."""

    name: str
    parameters: tuple[Bits, ...]  # variables
    body: Bits
    comment: str


@dataclass
class Functions:
    """The functions of a file, in the order in which they must be defined.

    >>> functions = Functions()
    >>> x = bits.variable("x", 4)
    >>> functions.call("double", "2·a", lambda a: bits.add(a, a), x)
    <call double: 4 bits>
    >>> functions.call("double", "2·a", lambda a: bits.add(a, a), bits.constant(3, 4))      # of a constant: a constant
    <constant 6: 4 bits>
    >>> [function.name for function in functions.defined.values()]
    ['double']
    """

    defined: dict[str, Function] = field(default_factory=dict)

    def call(self, name: str, comment: str, circuit: Callable[..., Bits], *arguments: Bits) -> Bits:
        """A call of the function that a circuit computes; the first call defines it."""
        if all(argument.is_constant for argument in arguments):
            return circuit(*arguments)
        if name not in self.defined:
            parameters = tuple(bits.variable("abcdef"[k], x.width) for k, x in enumerate(arguments))
            body = circuit(*parameters)  # which may define others first
            self.defined[name] = Function(name, parameters, body, comment)
        function = self.defined[name]
        assert tuple(x.width for x in function.parameters) == tuple(x.width for x in arguments), (name, arguments)
        return bits._node(CALL, arguments, function.body.width, name)
