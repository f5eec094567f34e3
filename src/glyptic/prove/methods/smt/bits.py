"""Bit-vectors as values: expressions that fold what is constant, compute in Python, and print as SMT-LIB.

A question to a solver is a graph of these. Equal expressions are one object, so that a graph is as small as its sharing allows;
`compute` runs it on integers (or on whole arrays of them), which is how the solvers' arithmetic is checked without a solver;
`script` writes it as SMT-LIB 2, the text that every solver reads.

>>> x = variable("x", 8)
>>> add(x, constant(0, 8)) is x
True
>>> compute([less(x, constant(100, 8))], {"x": 250})      # signed: 250 is −6
[True]
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

BOOLEAN = 0  # the width of a truth value


@dataclass(frozen=True, eq=False)
class Bits:
    """One node: an operation, its arguments, and a width (0 for truth values)."""

    operation: str
    arguments: tuple[Bits, ...]
    width: int
    detail: Any = None  # the value of a constant, the name of a variable, the ends of an extract

    def __bool__(self) -> bool:
        raise TypeError("a solver's condition has no truth value here; combine it with both, either and negate.")

    @property
    def is_constant(self) -> bool:
        return self.operation == "constant"

    def __repr__(self) -> str:
        return f"<{self.operation}{'' if self.detail is None else f' {self.detail}'}: {self.width} bits>"


_KNOWN: WeakValueDictionary[tuple[Any, ...], Bits] = WeakValueDictionary()


def _node(operation: str, arguments: tuple[Bits, ...], width: int, detail: Any = None) -> Bits:
    """The one node of this content; constants are computed at once."""
    if arguments and all(argument.is_constant for argument in arguments):
        values = [argument.detail for argument in arguments]
        value = _apply(operation, values, width, detail, arguments[0].width)
        return truth(bool(value)) if width == BOOLEAN else constant(int(value), width)
    key = (operation, tuple(map(id, arguments)), width, detail)
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = Bits(operation, arguments, width, detail)
    return found


# Building ----------------------------------------------------------------------------------------------------------------


def constant(value: int, width: int) -> Bits:
    return _node("constant", (), width, value & _mask(width))


def truth(value: bool) -> Bits:
    return TRUE if value else FALSE


TRUE = Bits("constant", (), BOOLEAN, True)
FALSE = Bits("constant", (), BOOLEAN, False)


def variable(name: str, width: int) -> Bits:
    return _node("variable", (), width, name)


def _binary(operation: str, a: Bits, b: Bits, width: int | None = None) -> Bits:
    assert a.width == b.width, (operation, a, b)
    return _node(operation, (a, b), a.width if width is None else width)


def _is(a: Bits, value: int) -> bool:
    return a.is_constant and a.detail == value


def add(a: Bits, b: Bits) -> Bits:
    return a if _is(b, 0) else b if _is(a, 0) else _binary("bvadd", a, b)


def subtract(a: Bits, b: Bits) -> Bits:
    return a if _is(b, 0) else _binary("bvsub", a, b)


def negate(a: Bits) -> Bits:
    return _node("bvneg", (a,), a.width)


def multiply(a: Bits, b: Bits) -> Bits:
    """a · b; a constant of few digits (B = 2^k − 1 has two) as shifts and sums, which solvers find far easier."""
    if a.is_constant and not b.is_constant:
        a, b = b, a
    if _is(b, 1):
        return a
    digits = _digits(_signed(b.detail, b.width)) if b.is_constant else None
    if digits is None or len(digits) > 3:
        return _binary("bvmul", a, b)
    total = constant(0, a.width)
    for place, sign in digits:
        shifted = shift_left(a, constant(place, a.width))
        total = add(total, shifted) if sign > 0 else subtract(total, shifted)
    return total


def _digits(value: int) -> list[tuple[int, int]]:
    """A number as a sum of ± powers of two, no two of them neighbours; the highest first."""
    digits, place = [], 0
    while value:
        if value & 1:
            sign = 2 - (value & 3)  # …01 is +1, …11 is −1 and a carry
            digits.append((place, sign))
            value -= sign
        value, place = value >> 1, place + 1
    return digits[::-1]


def quotient(a: Bits, b: Bits) -> Bits:
    """Unsigned; all ones where b is 0, as SMT-LIB has it."""
    return _binary("bvudiv", a, b)


def remainder(a: Bits, b: Bits) -> Bits:
    return _binary("bvurem", a, b)


def either_bits(a: Bits, b: Bits) -> Bits:
    return a if _is(b, 0) else b if _is(a, 0) else _binary("bvor", a, b)


def shift_left(a: Bits, by: Bits) -> Bits:
    return a if _is(by, 0) else _binary("bvshl", a, by)


def shift_right(a: Bits, by: Bits) -> Bits:
    """Unsigned: zeros come in."""
    return a if _is(by, 0) else _binary("bvlshr", a, by)


def shift_signed(a: Bits, by: Bits) -> Bits:
    """Signed: rounds down."""
    return a if _is(by, 0) else _binary("bvashr", a, by)


def extract(a: Bits, high: int, low: int = 0) -> Bits:
    """Bits `high` to `low`, both included."""
    return a if (high, low) == (a.width - 1, 0) else _node("extract", (a,), high - low + 1, (high, low))


def widen(a: Bits, width: int) -> Bits:
    """Zeros in front."""
    return a if a.width == width else _node("zero_extend", (a,), width, width - a.width)


def widen_signed(a: Bits, width: int) -> Bits:
    """The sign in front."""
    return a if a.width == width else _node("sign_extend", (a,), width, width - a.width)


def low_bits(a: Bits, width: int) -> Bits:
    """A number modulo 2^width, signed if it must grow: what sums and products need of one, if their result has that many bits.

    >>> x = variable("x", 4)
    >>> low_bits(widen_signed(x, 9), 4) is x, low_bits(x, 9) is widen_signed(x, 9)
    (True, True)
    """
    while a.operation in ("sign_extend", "zero_extend") and a.arguments[0].width >= width:
        a = a.arguments[0]
    if a.width >= width:
        if a.operation not in ("sign_extend", "zero_extend"):
            return extract(a, width - 1)
        return (widen if a.operation == "zero_extend" else widen_signed)(a.arguments[0], width)
    return widen_signed(a, width)


def signed_width(low: int, high: int) -> int:
    """The bits that hold every integer from low to high, with a sign.

    >>> signed_width(-8, 7), signed_width(0, 8), signed_width(0, 0)
    (4, 5, 1)
    """
    return max((-low - 1).bit_length() if low < 0 else low.bit_length(), (-high - 1 if high < 0 else high).bit_length()) + 1


def fitted(a: Bits, low: int, high: int, width: int) -> Bits:
    """A signed number that lies between two others, in `width` bits of which no more than these need are its own."""
    if low >= 0:
        own = max(1, high.bit_length())
        return widen(low_bits(a, own), width) if own < width else low_bits(a, width)
    own = signed_width(low, high)
    return widen_signed(low_bits(a, own), width) if own < width else low_bits(a, width)


def equal(a: Bits, b: Bits) -> Bits:
    return TRUE if a is b else _binary("=", a, b, BOOLEAN)


def less(a: Bits, b: Bits) -> Bits:
    """Signed <."""
    return FALSE if a is b else _binary("bvslt", a, b, BOOLEAN)


def below(a: Bits, b: Bits) -> Bits:
    """Unsigned <."""
    return FALSE if a is b else _binary("bvult", a, b, BOOLEAN)


def both(a: Bits, b: Bits) -> Bits:
    if FALSE in (a, b):
        return FALSE
    return b if a is TRUE or a is b else a if b is TRUE else _binary("and", a, b)


def conjuncts(a: Bits) -> list[Bits]:
    """The conditions that together are this one, each once: of `true` none.

    >>> x = variable("x", BOOLEAN)
    >>> conjuncts(both(x, both(opposite(x), x))) == [x, opposite(x)], conjuncts(TRUE)
    (True, [])
    """
    found, stack = dict[int, Bits](), [a]
    while stack:
        node = stack.pop()
        if node.operation == "and":
            stack.extend(reversed(node.arguments))
        elif node is not TRUE:
            found.setdefault(id(node), node)
    return list(found.values())


def either(a: Bits, b: Bits) -> Bits:
    if TRUE in (a, b):
        return TRUE
    return b if a is FALSE or a is b else a if b is FALSE else _binary("or", a, b)


def opposite(a: Bits) -> Bits:
    return a.arguments[0] if a.operation == "not" else _node("not", (a,), BOOLEAN)


def choose(condition: Bits, a: Bits, b: Bits) -> Bits:
    """a where the condition holds, else b."""
    if condition.is_constant or a is b:
        return a if a is b or condition is TRUE else b
    assert a.width == b.width, (a, b)
    return _node("ite", (condition, a, b), a.width)


def bit(condition: Bits, width: int) -> Bits:
    """1 where the condition holds, else 0."""
    return choose(condition, constant(1, width), constant(0, width))


_BUILDERS: dict[str, Callable[..., Bits]] = {
    **{"bvadd": add, "bvsub": subtract, "bvneg": negate, "bvmul": multiply, "bvudiv": quotient, "bvurem": remainder},
    **{"bvor": either_bits, "bvshl": shift_left, "bvlshr": shift_right, "bvashr": shift_signed},
    **{"=": equal, "bvslt": less, "bvult": below, "and": both, "or": either, "not": opposite, "ite": choose},
}


# Computing -----------------------------------------------------------------------------------------------------------------


def _mask(width: int) -> int:
    return (1 << width) - 1


def _signed(value: Any, width: int) -> Any:
    return value - ((value >> (width - 1)) << width)


def _divide(a: Any, b: Any, width: int) -> Any:
    """SMT-LIB's quotient; numbers or arrays."""
    safe = np.where(b == 0, 1, b) if isinstance(b, np.ndarray) else b or 1
    return (
        np.where(b == 0, _mask(width), a // safe) if isinstance(b, np.ndarray) else (a // safe if b else _mask(width))
    )


def _apply(operation: str, v: Sequence[Any], width: int, detail: Any, inner: int) -> Any:
    """One operation on unsigned integers, or on object arrays of them; `inner` is the width of the arguments."""
    match operation:
        case "bvadd":
            return (v[0] + v[1]) & _mask(width)
        case "bvsub":
            return (v[0] - v[1]) & _mask(width)
        case "bvneg":
            return -v[0] & _mask(width)
        case "bvmul":
            return (v[0] * v[1]) & _mask(width)
        case "bvudiv":
            return _divide(v[0], v[1], width)
        case "bvurem":
            return (v[0] - v[1] * _divide(v[0], v[1], width)) & _mask(width)
        case "bvor":
            return v[0] | v[1]
        case "bvshl":
            return (v[0] << _capped(v[1], width)) & _mask(width)
        case "bvlshr":
            return v[0] >> _capped(v[1], width)
        case "bvashr":
            return (_signed(v[0], width) >> _capped(v[1], width)) & _mask(width)
        case "extract":
            return (v[0] >> detail[1]) & _mask(width)
        case "zero_extend":
            return v[0]
        case "sign_extend":
            return _signed(v[0], inner) & _mask(width)
        case "=":
            return v[0] == v[1]
        case "bvslt":
            return _signed(v[0], inner) < _signed(v[1], inner)
        case "bvult":
            return v[0] < v[1]
        case "and":
            return v[0] & v[1]
        case "or":
            return v[0] | v[1]
        case "not":
            return v[0] ^ True
        case "ite":
            if any(isinstance(value, np.ndarray) for value in v):
                return np.where(np.asarray(v[0], bool), v[1], v[2])
            return v[1] if v[0] else v[2]
    raise ValueError(operation)


def _capped(shift: Any, width: int) -> Any:
    return np.minimum(shift, width) if isinstance(shift, np.ndarray) else min(shift, width)


def in_order(roots: Iterable[Bits], known: Container[int] = ()) -> list[Bits]:
    """Every node below the roots, arguments first, but those that are known (by id) and what is below them."""
    seen: set[int] = set()
    out: list[Bits] = []
    stack = [(root, False) for root in roots]
    while stack:
        node, ready = stack.pop()
        if ready:
            out.append(node)
        elif id(node) not in seen and id(node) not in known:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((argument, False) for argument in node.arguments)
    return out


def replaced(roots: Sequence[Bits], instead: Mapping[int, Bits]) -> list[Bits]:
    """The roots built anew with other nodes in the places of some, which are given by id.

    >>> x, y = variable("x", 8), variable("y", 8)
    >>> replaced([add(x, y)], {id(y): constant(0, 8)})[0] is x
    True
    """
    new = dict(instead)
    for node in in_order(roots, new):
        arguments = [new[id(argument)] for argument in node.arguments]
        same = all(a is b for a, b in zip(arguments, node.arguments, strict=True))
        new[id(node)] = node if same else _built(node, arguments)
    return [new[id(root)] for root in roots]


def _built(node: Bits, arguments: Sequence[Bits]) -> Bits:
    """The node of these arguments, by the function that folds what is constant in it."""
    match node.operation:
        case "extract":
            return extract(arguments[0], *node.detail)
        case "zero_extend":
            return widen(arguments[0], node.width)
        case "sign_extend":
            return widen_signed(arguments[0], node.width)
    return _BUILDERS[node.operation](*arguments)


def compute(roots: Sequence[Bits], inputs: Mapping[str, Any], values: dict[int, Any] | None = None) -> list[Any]:
    """The roots' values (unsigned) for integers, or arrays of them, in the variables' places.

    Arrays are of objects, or of int64 where no node has more than 62 bits. `values` keeps what was computed, for further roots.
    """
    values = {} if values is None else values
    wide = any(isinstance(x, np.ndarray) and x.dtype == object for x in inputs.values())
    for node in in_order(roots, values):
        if node.operation == "constant":
            values[id(node)] = node.detail
        elif node.operation == "variable":
            values[id(node)] = inputs[node.detail] & _mask(node.width)
        else:
            arguments = [values[id(argument)] for argument in node.arguments]
            result = _apply(node.operation, arguments, node.width, node.detail, node.arguments[0].width)
            if wide and isinstance(result, np.ndarray) and result.dtype.kind == "i":  # a choice of two constants
                result = result.astype(object)
            values[id(node)] = result
    return [values[id(root)] for root in roots]


# Printing ----------------------------------------------------------------------------------------------------------------


def script(assertions: Sequence[Bits]) -> str:
    """SMT-LIB 2 that declares the variables, names every node, and asserts the conditions."""
    lines = ["(set-logic QF_BV)"]
    names: dict[int, str] = {}
    for number, node in enumerate(in_order(assertions)):
        sort = "Bool" if node.width == BOOLEAN else f"(_ BitVec {node.width})"
        if node.operation == "constant":
            names[id(node)] = _literal(node)
        elif node.operation == "variable":
            names[id(node)] = f"|{node.detail}|"
            lines.append(f"(declare-const |{node.detail}| {sort})")
        else:
            names[id(node)] = f"n{number}"
            inner = " ".join(names[id(argument)] for argument in node.arguments)
            lines.append(f"(define-fun n{number} () {sort} ({_operator(node)} {inner}))")
    return "\n".join([*lines, *(f"(assert {names[id(a)]})" for a in assertions)]) + "\n"


def _literal(node: Bits) -> str:
    return ("true" if node.detail else "false") if node.width == BOOLEAN else f"(_ bv{node.detail} {node.width})"


def _operator(node: Bits) -> str:
    if node.operation == "extract":
        return f"(_ extract {node.detail[0]} {node.detail[1]})"
    return f"(_ {node.operation} {node.detail})" if node.operation.endswith("_extend") else node.operation
