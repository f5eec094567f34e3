"""From SMT-LIB 2 to DIMACS: bit-vectors (the part of QF_BV that question.smt2 uses) as clauses. Standard library only.

    python blast.py question.smt2                  writes the clauses to the screen
    python blast.py question.smt2 question.cnf     makes them again and compares: exit status 0 if they are the same

Three steps, each short enough to be read:
 1. `read` takes the text apart into nested lists.
 2. `Circuit` holds gates (and, exclusive or, if-then-else) over the bits of the declared constants; `Reader` turns every
    operation of the file into gates as one does on paper: sums by full adders, products by shifted sums, quotients by long
    division. What is constant folds, and equal gates are one gate.
 3. `clauses` writes each gate that an assertion needs as its three or four clauses (Tseitin).

A literal is a number: gate k, or −k for its opposite. Gate 1 is the constant true. The result depends on the text alone, so that
anyone can make it again. `run` computes the assertions for many values at once, which is how the gates can be tried.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this folder: a file in it that is called re.py is not what is meant by re

import re
from typing import Any

TRUE, FALSE = 1, -1
Literal = int
Vector = list[Literal]  # the lowest bit first
Value = Any  # a Literal for a truth value, a Vector for a vector of bits


MEANINGLESS = (ValueError, TypeError, AttributeError, IndexError, KeyError, RecursionError)  # what nonsense may lead to


class Refused(Exception):
    """The text is not of the part of SMT-LIB that is read here."""


# 1. Reading ------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'\s+|;[^\n]*|(\(|\)|\|[^|]*\||"(?:[^"]|"")*"|[^\s();"|]+)')


def read(text: str) -> list[Any]:
    """The commands of a script as nested lists of words; quotes around |names| are dropped.

    >>> read("(assert (= |a b| x)) ; a comment")
    [['assert', ['=', 'a b', 'x']]]
    """
    stack: list[list[Any]] = [[]]
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise Refused(f"the text at character {place} is not SMT-LIB.")
        place, word = found.end(), found.group(1)
        if word == "(":
            stack.append([])
        elif word == ")":
            if len(stack) < 2:
                raise Refused("a closing parenthesis too many.")
            inner = stack.pop()
            stack[-1].append(inner)
        elif word is not None:
            stack[-1].append(word[1:-1] if word.startswith("|") else word)
    if len(stack) > 1:
        raise Refused("the text ends inside parentheses.")
    return stack[0]


# 2. Gates ---------------------------------------------------------------------------------------------------------------


class Circuit:
    """Gates in the order in which they were made; a gate reads only gates before it."""

    def __init__(self) -> None:
        self.gates: dict[int, tuple[Any, ...]] = {}  # number -> ("and" | "xor" | "ite", literals)
        self.inputs: dict[str, Vector] = {}  # name -> its bits, the lowest first
        self._known: dict[tuple[Any, ...], int] = {}
        self._last = TRUE

    def new(self) -> int:
        self._last += 1
        return self._last

    def _gate(self, kind: str, *literals: Literal) -> int:
        key = (kind, *literals)
        if key not in self._known:
            self._known[key] = self.new()
            self.gates[self._last] = key
        return self._known[key]

    def both(self, a: Literal, b: Literal) -> Literal:
        if a == -b or FALSE in (a, b):
            return FALSE
        if a == b or b == TRUE:
            return a
        return b if a == TRUE else self._gate("and", *sorted((a, b)))

    def either(self, a: Literal, b: Literal) -> Literal:
        return -self.both(-a, -b)

    def differ(self, a: Literal, b: Literal) -> Literal:
        if abs(a) == abs(b):
            return FALSE if a == b else TRUE
        if abs(a) == TRUE:
            return b if a == FALSE else -b
        if abs(b) == TRUE:
            return a if b == FALSE else -a
        gate = self._gate("xor", *sorted((abs(a), abs(b))))  # signs go outside
        return gate if (a < 0) == (b < 0) else -gate

    def choose(self, condition: Literal, a: Literal, b: Literal) -> Literal:
        """a where the condition holds, else b."""
        if a == b or condition == TRUE:
            return a
        if condition == FALSE:
            return b
        if condition < 0:
            condition, a, b = -condition, b, a
        if a in (TRUE, condition):
            return self.either(condition, b)
        if a in (FALSE, -condition):
            return self.both(-condition, b)
        if b in (FALSE, condition):
            return self.both(condition, a)
        if b in (TRUE, -condition):
            return self.either(-condition, a)
        if a == -b:
            return self.differ(condition, b)
        return self._gate("ite", condition, a, b) if a > 0 else -self._gate("ite", condition, -a, -b)

    # Vectors of bits, the lowest first ----------------------------------------------------------------------------------

    def add(self, a: Vector, b: Vector, carry: Literal = FALSE) -> Vector:
        """a + b + carry, as many bits as a has."""
        out = []
        for x, y in zip(a, b, strict=True):
            one = self.differ(x, y)
            out.append(self.differ(one, carry))
            carry = self.choose(one, carry, x)
        return out

    def subtract(self, a: Vector, b: Vector) -> Vector:
        return self.add(a, [-y for y in b], TRUE)

    def multiply(self, a: Vector, b: Vector) -> Vector:
        if sum(abs(x) == TRUE for x in a) > sum(abs(y) == TRUE for y in b):  # rows that are 0 cost nothing
            a, b = b, a
        total = [FALSE] * len(a)
        for place, bit in enumerate(b):
            row = [FALSE] * place + [self.both(bit, x) for x in a[: len(a) - place]]
            total = self.add(total, row)
        return total

    def divide(self, a: Vector, b: Vector) -> tuple[Vector, Vector]:
        """Quotient and remainder by long division; where b is 0: all ones, and a, as SMT-LIB has it."""
        wide, rest, quotient = [*b, FALSE], [FALSE] * (len(b) + 1), list[int]()
        for bit in reversed(a):
            rest = [bit, *rest[:-1]]
            fits = -self.below(rest, wide)
            rest = self.each(fits, self.subtract(rest, wide), rest)
            quotient.append(fits)
        return quotient[::-1], rest[:-1]

    def each(self, condition: Literal, a: Vector, b: Vector) -> Vector:
        return [self.choose(condition, x, y) for x, y in zip(a, b, strict=True)]

    def equal(self, a: Vector, b: Vector) -> Literal:
        same = TRUE
        for x, y in zip(a, b, strict=True):
            same = self.both(same, -self.differ(x, y))
        return same

    def below(self, a: Vector, b: Vector) -> Literal:
        """Unsigned <: the highest bit in which they differ decides."""
        less = FALSE
        for x, y in zip(a, b, strict=True):
            less = self.choose(self.differ(x, y), y, less)
        return less

    def less(self, a: Vector, b: Vector) -> Literal:
        """Signed <: the highest bit counts negative."""
        return self.below([*a[:-1], -a[-1]], [*b[:-1], -b[-1]])

    def shift(self, a: Vector, by: Vector, left: bool, fill: Literal) -> Vector:
        """a shifted by a number; what is shifted in is `fill`. Each bit of the number shifts by a power of two, or not."""
        for place, bit in enumerate(by):
            step = min(1 << place, len(a)) if place < 64 else len(a)
            padding = [fill] * step
            moved = (padding + a)[: len(a)] if left else (a + padding)[step:]
            a = self.each(bit, moved, a)
        return a


# 3. The operations of the file --------------------------------------------------------------------------------------------


_OPERATIONS = {
    *("and", "or", "not", "=>", "=", "ite", "let", "bvneg", "bvnot", "bvult", "bvslt", "bvsle", "bvadd", "bvsub", "bvmul"),
    *("bvudiv", "bvurem", "bvor", "bvand", "bvxor", "bvshl", "bvlshr", "bvashr"),
}


def size(word: Any) -> int:
    """A number of bits, as the text has it."""
    if not isinstance(word, str) or not re.fullmatch(r"[0-9]{1,4}", word):
        raise Refused(f"{str(word)[:80]!r} is not a number of bits.")
    return int(word)


class Reader:
    """A script as a circuit: every definition in turn, then the assertions. A truth value is a literal, a vector a list."""

    def __init__(self, text: str) -> None:
        self.circuit = Circuit()
        self.values: dict[str, Value] = {"true": TRUE, "false": FALSE}
        self.functions: dict[str, tuple[Any, Any, Any]] = {}  # parameters, sort and body, as they are written
        self.assertions: list[Literal] = []
        self.terms: list[Any] = []  # what is asserted, as it is written
        self.status: str | None = None  # the expected answer
        self._calls: dict[tuple[Any, ...], Value] = {}
        self._quotients: dict[tuple[Any, ...], tuple[Vector, Vector]] = {}
        commands = read(text)
        if ["check-sat"] in commands[:-1]:
            raise Refused("the question is asked once, at the end: what comes after (check-sat) is no part of it.")
        for command in commands:
            self._obey(command)

    def _obey(self, command: Any) -> None:
        match command:
            case ["set-logic", "QF_BV"] | ["check-sat"]:
                pass
            case ["set-info", ":status", status]:
                self.status = status
            case ["set-info", _, _]:
                pass
            case ["declare-const" | "define-fun", str(name), *_] if name in _OPERATIONS or not re.fullmatch(r"[\w.?!]+", name):
                raise Refused(f"{name[:80]!r} is not a name that can be given here.")
            case ["declare-const", str(name), sort] if name not in self.values:
                width = self._width(sort)
                bits = [self.circuit.new() for _ in range(width or 1)]
                self.circuit.inputs[name] = bits
                self.values[name] = bits if width else bits[0]
            case ["define-fun", str(name), [], sort, body] if name not in self.values:
                self.values[name] = self._of_sort(self._value(body, {}), sort, name)
            case ["define-fun", str(name), list(parameters), sort, body] if name not in self.functions:
                self.functions[name] = (parameters, sort, body)
            case ["assert", condition]:
                self.assertions.append(self._truth(self._value(condition, {})))
                self.terms.append(condition)
            case _:
                raise Refused(f"the command {str(command)[:80]} is not read here.")

    @staticmethod
    def _width(sort: Any) -> int:
        match sort:
            case "Bool":
                return 0
            case ["_", "BitVec", width] if size(width) > 0:
                return size(width)
        raise Refused(f"{sort} is not a sort that is read here.")

    def _of_sort(self, value: Value, sort: Any, name: str) -> Value:
        width = self._width(sort)
        if (isinstance(value, int) and width) or (isinstance(value, list) and len(value) != width):
            raise Refused(f"{name} is not of the sort that is said.")
        return value

    @staticmethod
    def _truth(value: Value) -> Literal:
        if not isinstance(value, int):
            raise Refused("a vector of bits is used as a truth value.")
        return value

    def value(self, term: Any, names: dict[str, Value]) -> Value:
        """The gates of a term in which some names mean other bits."""
        return self._value(term, names)

    def called(self, name: str, values: list[Value]) -> Value:
        """The gates of a function of the file, of given bits."""
        return self._called(name, values)

    def fresh(self, name: str, width: int) -> Vector:
        """The bits of one more input, for trying things out."""
        self.circuit.inputs[name] = [self.circuit.new() for _ in range(width)]
        return self.circuit.inputs[name]

    def _value(self, term: Any, local: dict[str, Value]) -> Value:
        """The gates of a term; `local` holds parameters and what let binds."""
        while isinstance(term, list) and len(term) == 3 and term[0] == "let":
            local = {**local, **{name: self._value(inner, local) for name, inner in term[1]}}
            term = term[2]
        match term:
            case str(name):
                found = local.get(name, self.values.get(name))
                if found is None:
                    raise Refused(f"{name} is not defined.")
                return found
            case ["_", str(number), width] if number.startswith("bv"):
                return [TRUE if int(number[2:]) >> k & 1 else FALSE for k in range(size(width))]
            case [operation, *arguments]:
                values = [self._value(argument, local) for argument in arguments]
                if str(operation) in self.functions:
                    return self._called(str(operation), values)
                return self._apply(operation, values)
        raise Refused(f"{str(term)[:80]} is not a term that is read here.")

    def _called(self, name: str, values: list[Value]) -> Value:
        """A function of the file: its body with the arguments in place; each combination once."""
        key = (name, *(tuple(value) if isinstance(value, list) else value for value in values))
        if key not in self._calls:
            parameters, sort, body = self.functions[name]
            if len(parameters) != len(values):
                raise Refused(f"{name} takes {len(parameters)} arguments.")
            local = {p: self._of_sort(value, s, p) for (p, s), value in zip(parameters, values, strict=True)}
            self._calls[key] = self._of_sort(self._value(body, local), sort, name)
        return self._calls[key]

    def _apply(self, operation: Any, values: list[Value]) -> Value:
        if operation in ("and", "or", "not", "=>"):
            return self._logic(operation, [self._truth(value) for value in values])
        if operation == "ite" and len(values) == 3:
            condition, a, b = values
            self._truth(condition)
            if isinstance(a, int) and isinstance(b, int):
                return self.circuit.choose(condition, a, b)
            self._same_width(a, b)
            return self.circuit.each(condition, a, b)
        if operation == "=" and len(values) == 2 and all(isinstance(value, int) for value in values):
            return -self.circuit.differ(*values)
        if not all(isinstance(value, list) for value in values):
            raise Refused(f"{operation} needs vectors of bits.")
        return self._of_vectors(operation, values)

    def _logic(self, operation: str, values: list[Literal]) -> Literal:
        if operation == "not" and len(values) == 1:
            return -values[0]
        if operation == "=>" and len(values) == 2:
            return self.circuit.either(-values[0], values[1])
        if operation not in ("and", "or"):
            raise Refused(f"{operation} has too many arguments or too few.")
        out = TRUE if operation == "and" else FALSE
        for value in values:
            out = self.circuit.both(out, value) if operation == "and" else self.circuit.either(out, value)
        return out

    @staticmethod
    def _same_width(a: Value, b: Value) -> None:
        if not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b)):
            raise Refused("an operation on vectors of different widths.")

    def _of_vectors(self, operation: Any, values: list[Vector]) -> Value:
        match operation, values:
            case ["_", "extract", high, low], [a] if size(low) <= size(high) < len(a):
                return a[size(low) : size(high) + 1]
            case ["_", "zero_extend", count], [a]:
                return a + [FALSE] * size(count)
            case ["_", "sign_extend", count], [a]:
                return a + [a[-1]] * size(count)
            case "bvneg", [a]:
                return self.circuit.subtract([FALSE] * len(a), a)
            case "bvnot", [a]:
                return [-x for x in a]
            case str(), [a, b]:
                self._same_width(a, b)
                return self._of_two(operation, a, b)
        raise Refused(f"the operation {operation} on {len(values)} arguments is not read here.")

    def _of_two(self, operation: str, a: Vector, b: Vector) -> Value:
        gates = self.circuit
        match operation:
            case "=":
                return gates.equal(a, b)
            case "bvult":
                return gates.below(a, b)
            case "bvslt":
                return gates.less(a, b)
            case "bvsle":
                return -gates.less(b, a)
            case "bvadd":
                return gates.add(a, b)
            case "bvsub":
                return gates.subtract(a, b)
            case "bvmul":
                return gates.multiply(a, b)
            case "bvudiv" | "bvurem":
                key = (tuple(a), tuple(b))
                if key not in self._quotients:
                    self._quotients[key] = gates.divide(a, b)
                return self._quotients[key][operation == "bvurem"]
            case "bvor":
                return [gates.either(x, y) for x, y in zip(a, b, strict=True)]
            case "bvand":
                return [gates.both(x, y) for x, y in zip(a, b, strict=True)]
            case "bvxor":
                return [gates.differ(x, y) for x, y in zip(a, b, strict=True)]
            case "bvshl":
                return gates.shift(a, b, True, FALSE)
            case "bvlshr":
                return gates.shift(a, b, False, FALSE)
            case "bvashr":
                return gates.shift(a, b, False, a[-1])
        raise Refused(f"the operation {operation} is not read here.")


# 4. Clauses -----------------------------------------------------------------------------------------------------------------

# Each gate g with its arguments 1, 2, 3 as clauses: "g is what its arguments make it".
_CLAUSES: dict[str, list[tuple[Any, ...]]] = {
    "and": [("g", -1, -2), ("-g", 1), ("-g", 2)],
    "xor": [("-g", 1, 2), ("-g", -1, -2), ("g", -1, 2), ("g", 1, -2)],
    "ite": [("-g", -1, 2), ("-g", 1, 3), ("g", -1, -2), ("g", 1, -3)],
}


def needed(script: Reader) -> list[int]:
    """The gates that the assertions read, in order."""
    seen, stack = set[int](), [abs(literal) for literal in script.assertions]
    while stack:
        gate = stack.pop()
        if gate in script.circuit.gates and gate not in seen:
            seen.add(gate)
            stack.extend(abs(literal) for literal in script.circuit.gates[gate][1:])
    return sorted(seen)


def clauses(script: Reader) -> tuple[list[list[int]], int]:
    """The clauses (lists of DIMACS literals) and the number of variables: the inputs' bits come first, then the gates."""
    number: dict[int, int] = {}
    for bits in script.circuit.inputs.values():
        for bit in bits:
            number[bit] = len(number) + 1
    gates = needed(script)
    for gate in gates:
        number[gate] = len(number) + 1
    literal = lambda x: number[x] if x > 0 else -number[-x]  # noqa: E731
    out: list[list[int]] = []
    for gate in gates:
        kind, *arguments = script.circuit.gates[gate]
        names: dict[Any, int] = {"g": number[gate], "-g": -number[gate]}
        for k, argument in enumerate(arguments, 1):
            names[k], names[-k] = literal(argument), -literal(argument)
        out += [[names[part] for part in clause] for clause in _CLAUSES[kind]]
    for assertion in script.assertions:
        if assertion != TRUE:
            out.append([] if assertion == FALSE else [literal(assertion)])
    return out, len(number)


def dimacs(text: str) -> str:
    """The whole file, from the SMT-LIB text.

    >>> print(dimacs("(declare-const x (_ BitVec 1)) (assert (= x (_ bv1 1)))"))
    c made from question.smt2 by blast.py
    c bits of x, the lowest first: 1
    p cnf 1 1
    1 0
    <BLANKLINE>
    """
    script = Reader(text)
    made, count = clauses(script)
    lines, first = ["c made from question.smt2 by blast.py"], 1
    for name, bits in script.circuit.inputs.items():
        lines.append(f"c bits of {name}, the lowest first: {' '.join(str(first + k) for k in range(len(bits)))}")
        first += len(bits)
    lines.append(f"p cnf {count} {len(made)}")
    return "\n".join([*lines, *(" ".join(map(str, [*clause, 0])) for clause in made)]) + "\n"


# 5. Trying the gates ---------------------------------------------------------------------------------------------------------


def run(script: Reader, columns: dict[str, list[int]], wanted: list[Literal] | None = None) -> list[list[bool]]:
    """Whether the assertions (or other literals) hold, for many values at once: bit i of a number is about the i-th values.

    columns[name] lists the values of a constant of the file, all lists equally long; negative ones in two's complement.

    >>> script = Reader("(declare-const x (_ BitVec 4)) (assert (bvslt x (_ bv2 4)))")
    >>> run(script, {"x": [-8, 1, 2, 7]})
    [[True, True, False, False]]
    """
    size = len(next(iter(columns.values())))
    everywhere = (1 << size) - 1
    held = {TRUE: everywhere}
    for name, values in columns.items():
        for k, gate in enumerate(script.circuit.inputs[name]):
            held[gate] = _packed(values, k)
    read_literal = lambda x: held[x] if x > 0 else held[-x] ^ everywhere  # noqa: E731
    for gate, (kind, *arguments) in script.circuit.gates.items():
        if any(abs(literal) not in held for literal in arguments):
            continue  # it reads an input that has no values here
        first, second, *third = map(read_literal, arguments)
        if kind == "and":
            held[gate] = first & second
        elif kind == "xor":
            held[gate] = first ^ second
        else:
            held[gate] = (first & second) | (third[0] & ~first)
    found = [read_literal(literal) for literal in (script.assertions if wanted is None else wanted)]
    return [_unpacked(bits, size) for bits in found]


def _packed(values: list[int], k: int) -> int:
    return int("".join("1" if value >> k & 1 else "0" for value in reversed(values)), 2)


def _unpacked(bits: int, size: int) -> list[bool]:
    return [letter == "1" for letter in reversed(format(bits, f"0{size}b"))]


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__)
        return 2
    try:
        with open(arguments[0], encoding="utf-8") as file:
            made = dimacs(file.read())
        if len(arguments) == 1:
            print(made, end="")
            return 0
        with open(arguments[1], encoding="utf-8") as file:
            same = file.read() == made
    except (Refused, OSError, *MEANINGLESS) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    print(f"{arguments[1]} {'is exactly' if same else 'is NOT'} what {arguments[0]} bit-blasts to")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
