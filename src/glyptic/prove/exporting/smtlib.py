"""An exported question as SMT-LIB 2 that people can read: functions with comments, then steps, then what is asserted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from glyptic.prove.exporting.named_terms import CALL, Function
from glyptic.prove.methods.smt.attention_terms import Enclosed
from glyptic.prove.methods.smt.bits import BOOLEAN, Bits, in_order

LONGEST = 72  # characters of a part that is written in place
MOST_INLINE = 100_000  # and of what is asserted


def comment(text: str) -> str:
    """Lines of comment; what is not ASCII is allowed there, and a line break in a name is not.

    >>> print(comment("x = 1\\ny = 2"))
    ; x = 1
    ; y = 2
    """
    return "\n".join(f"; {line}".rstrip() for line in text.splitlines())


def sort(node: Bits) -> str:
    return "Bool" if node.width == BOOLEAN else f"(_ BitVec {node.width})"


@dataclass(frozen=True)
class Assertion:
    """A condition that is asserted, and what it says."""

    condition: Bits
    says: str


@dataclass(frozen=True)
class Body:
    """What a script is about: functions, what is free, what is asserted; and what the nodes in between are.

    `expressions` are nodes that are values of the claim's own expressions; `residuals` says by id which are places of a run;
    `exps` are (x, [exp x]) where exp is only enclosed.
    """

    functions: Sequence[Function]
    tables: Mapping[str, str]  # comments before a function
    variables: Sequence[tuple[Bits, str]]
    assertions: Sequence[Assertion]
    expressions: Sequence[tuple[Bits, str]]
    residuals: Mapping[int, Sequence[str]]
    exps: Sequence[Enclosed]

    def __str__(self) -> str:
        steps = _Steps(self)
        lines = [comment("The arithmetic: every function rounds its exact result once.")]
        for function in self.functions:
            lines += [comment(self.tables[function.name])] if function.name in self.tables else []
            lines.append(_definition(function))
        lines += ["", comment("What is free.")]
        for variable, says in self.variables:
            lines += [comment(says), *steps.about(variable), f"(declare-const {variable.detail} {sort(variable)})"]
        lines += ["", comment("The run, step by step."), *steps.lines, "", comment("What is asserted.")]
        for x, image, _ in self.exps:
            lines.append(
                comment(f"{image.detail} is the code of [exp x] for the x with the code {steps.names.written(x)}")
            )
        for one in self.assertions:
            lines += [comment(one.says), f"(assert {steps.names.written(one.condition)})"]
        return "\n".join(lines) + "\n"


@dataclass
class _Names:
    """What nodes are called; a node without a name is written out."""

    of: dict[int, str] = field(default_factory=dict)

    def written(self, node: Bits) -> str:
        if id(node) in self.of:
            return self.of[id(node)]
        if node.operation == "constant":
            return str(node.detail).lower() if node.width == BOOLEAN else f"(_ bv{node.detail} {node.width})"
        if node.operation == "variable":
            return str(node.detail)
        parts = self._chain(node, node.operation) if node.operation in ("and", "or") else node.arguments
        return f"({_operator(node)} {' '.join(map(self.written, parts))})"

    def _chain(self, node: Bits, operation: str) -> list[Bits]:
        """The parts of (a and b) and c, as one list."""
        if node.operation != operation or id(node) in self.of:
            return [node]
        return [part for argument in node.arguments for part in self._chain(argument, operation)]


def _operator(node: Bits) -> str:
    if node.operation == CALL:
        return str(node.detail)
    if node.operation == "extract":
        return f"(_ extract {node.detail[0]} {node.detail[1]})"
    return f"(_ {node.operation} {node.detail})" if node.operation.endswith("_extend") else node.operation


def _named(roots: Sequence[Bits], wanted: Container[int] = (), never: Container[int] = ()) -> Iterable[Bits]:
    """The nodes that deserve a name, arguments first: used twice, or too long to be written in place, or asked for."""
    order = in_order(roots)
    uses = Counter(id(argument) for node in order for argument in node.arguments)
    length: dict[int, int] = {}
    for node in order:
        if not node.arguments:
            length[id(node)] = 12
            continue
        size = 8 + sum(length[id(argument)] for argument in node.arguments)
        chosen = uses[id(node)] > 1 or size > LONGEST or id(node) in wanted
        chosen = chosen and id(node) not in never
        length[id(node)] = 5 if chosen else size
        if chosen:
            yield node


def _definition(function: Function) -> str:
    """A function, its parts as nested lets."""
    names, lines = _Names(), [comment(function.comment)]
    parameters = " ".join(f"({p.detail} {sort(p)})" for p in function.parameters)
    lines.append(f"(define-fun {function.name} ({parameters}) {sort(function.body)}")
    count = 0
    for node in _named([function.body]):
        if node is not function.body:
            count += 1
            lines.append(f"  (let ((x{count} {names.written(node)}))")
            names.of[id(node)] = f"x{count}"
    return "\n".join([*lines, f"  {names.written(function.body)}" + ")" * (count + 1)])


def _conditions(roots: Sequence[Bits]) -> set[int]:
    """The truth values between the roots and the values that they compare; none if written out they would be too long."""
    seen: dict[int, Bits] = {}
    stack = [root for root in roots if root.width == BOOLEAN]
    while stack:
        node = stack.pop()
        if id(node) not in seen and node.operation != CALL:
            seen[id(node)] = node
            stack.extend(argument for argument in node.arguments if argument.width == BOOLEAN)
    size: dict[int, int] = {}
    for node in in_order(roots):
        size[id(node)] = 10 + sum(size[id(part)] for part in node.arguments if id(part) in seen)
    return set(seen) if sum(size[id(root)] for root in roots) < MOST_INLINE else set()


class _Steps:
    """The nodes between what is free and what is asserted, as definitions t1, t2, …, each with what it is.

    Conditions are written out in the assertions themselves, so that these can be read (and tried) over the values alone.
    """

    def __init__(self, body: Body) -> None:
        self.body, self.names, self.lines = body, _Names(), list[str]()
        self.texts: dict[int, list[str]] = {}
        for node, text in body.expressions:
            self.texts.setdefault(id(node), []).append(text)
        asserted = [one.condition for one in body.assertions]
        named = [*(x for x, _, _ in body.exps), *(x for x, _ in body.expressions)]
        calls = {id(node) for node in in_order([*asserted, *named]) if node.operation == CALL}
        wanted = calls | body.residuals.keys() | {id(node) for node in named}
        for node in _named([*asserted, *named], wanted, _conditions(asserted) - self.texts.keys()):
            name = f"t{len(self.names.of) + 1}"
            written = self.names.written(node)
            self.names.of[id(node)] = name
            self.lines += [*self.about(node), f"(define-fun {name} () {sort(node)} {written})"]

    def about(self, node: Bits) -> list[str]:
        """Comments that say what a node is."""
        name = self.names.written(node)
        found = [f"{name} is {text}" for text in self.texts.get(id(node), ())]
        found += [f"{name} holds {text}" for text in self.body.residuals.get(id(node), ())]
        return [comment(one_line(text)) for text in found]


def one_line(text: str) -> str:
    """A text without line breaks, which would end a comment."""
    return " ".join(text.split())
