"""An exported question as SMT-LIB 2 that people can read: functions with comments, then steps, then what is asserted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from glyptic.prove.export.functions import CALL, Function
from glyptic.prove.smt.bits import BOOLEAN, Bits, in_order

LONGEST = 72  # characters of a part that is written in place


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


def write(
    functions: Iterable[Function],
    variables: Sequence[tuple[Bits, str]],
    assertions: Sequence[Assertion],
    labels: Mapping[int, Sequence[str]],
    before_functions: Mapping[str, str],
) -> str:
    """The body of a script: everything but its heading and the question itself."""
    lines = [comment("The arithmetic: every function rounds its exact result once.")]
    for function in functions:
        if function.name in before_functions:
            lines.append(comment(before_functions[function.name]))
        lines.append(_definition(function))
    lines += ["", comment("What is free.")]
    for variable, says in variables:
        lines += [comment(says), f"(declare-const {variable.detail} {sort(variable)})"]
    lines += ["", comment("The run, step by step.")]
    steps = _Steps([one.condition for one in assertions], labels)
    lines += steps.lines
    lines += ["", comment("What is asserted.")]
    for one in assertions:
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
        return f"({_operator(node)} {' '.join(map(self.written, node.arguments))})"


def _operator(node: Bits) -> str:
    if node.operation == CALL:
        return str(node.detail)
    if node.operation == "extract":
        return f"(_ extract {node.detail[0]} {node.detail[1]})"
    return f"(_ {node.operation} {node.detail})" if node.operation.endswith("_extend") else node.operation


def _named(roots: Sequence[Bits], wanted: Mapping[int, object] = {}, calls: bool = False) -> Iterable[Bits]:  # noqa: B006
    """The nodes that deserve a name, arguments first: used twice, or too long to be written in place, or asked for."""
    order = in_order(roots)
    uses = Counter(id(argument) for node in order for argument in node.arguments)
    length: dict[int, int] = {}
    for node in order:
        if not node.arguments:
            length[id(node)] = 12
            continue
        size = 8 + sum(length[id(argument)] for argument in node.arguments)
        chosen = uses[id(node)] > 1 or size > LONGEST or id(node) in wanted or (calls and node.operation == CALL)
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


class _Steps:
    """The nodes between what is free and what is asserted, as definitions t1, t2, …; residuals say which they are."""

    def __init__(self, roots: Sequence[Bits], labels: Mapping[int, Sequence[str]]) -> None:
        self.names, self.lines = _Names(), list[str]()
        asserted = {id(root) for root in roots}
        for node in _named(roots, labels, calls=True):
            if id(node) in asserted and id(node) not in labels:
                continue
            name = f"t{len(self.names.of) + 1}"
            said = f" ; {' '.join(', '.join(labels[id(node)]).split())}" if id(node) in labels else ""  # in one line
            self.lines.append(f"(define-fun {name} () {sort(node)} {self.names.written(node)}){said}")
            self.names.of[id(node)] = name
