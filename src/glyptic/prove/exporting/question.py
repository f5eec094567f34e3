"""The question of an exported folder: a claim on values or on layers, in plain terms, as SMT-LIB 2 with all that it assumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from glyptic import __version__
from glyptic.numbers import Format
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.claims.evaluation import truth, value
from glyptic.prove.elements.batches import free_names
from glyptic.prove.exporting.named_terms import NamedTerms
from glyptic.prove.exporting.smtlib import Assertion, Body, comment
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.questions import Question, pose
from glyptic.prove.methods.smt.terms import Term

Asks = Literal[
    "counterexample", "witness", "example"
]  # to a claim, of a claim that something exists, of its precondition
Status = Literal["sat", "unsat"]


@dataclass(frozen=True)
class Script:
    """A question as text, with its expected answer; `enclosed` if some exp in it is only enclosed."""

    text: str
    expected: Status
    question: Question

    @property
    def enclosed(self) -> bool:
        return bool(self.question.exps)


def script(claim: Claim, asks: Asks, expected: Status) -> Script:
    """The file that asks for a counterexample of a claim, or for an example that meets its precondition.

    >>> from glyptic.numbers import Fixed
    >>> from glyptic.prove.claims.claim import Values
    >>> from glyptic.prove.claims.expressions import B, variables
    >>> x, = variables("x")
    >>> made = script(Claim(Values("x", Fixed(2)), x + B + B - B == 0), "counterexample", "unsat")
    >>> print("\\n".join(made.text.splitlines()[-5:]))
    ; The precondition is met.
    (assert true)
    ; What is claimed does not come out true.
    (assert (not (= t3 (_ bv0 5))))
    (check-sat)
    """
    format = claim.subject.format
    assert isinstance(format, Format) and not isinstance(claim.subject, Inputs)
    question = pose(claim, format, "plain", NamedTerms)
    terms: NamedTerms = question.setting.arithmetic
    names = list(zip(question.names, free_names(claim), strict=True))
    variables = [(bits.variable(code, question.width), f"the code of {name}") for code, name in names]
    variables += [
        (image, f"the code of an [exp x]; which x is said below (exp is {_ENCLOSED})") for _, image, _ in terms.exps
    ]
    body = Body(
        tuple(terms.functions.defined.values()),
        {"exp": _table(terms)} if terms.staircase is not None and terms.staircase.exact else {},
        variables,
        _assertions(question, asks),
        _expressions(claim, question),
        terms.labels,
        terms.exps,
    )
    heading = _heading(claim, format, asks, expected, names, bool(terms.exps))
    text = f"{comment(heading)}\n(set-info :status {expected})\n(set-logic QF_BV)\n\n{body}(check-sat)\n"
    return Script(text, expected, question)


def _expressions(claim: Claim, question: Question) -> list[tuple[bits.Bits, str]]:
    """The nodes that are values of the claim's expressions, or whether an answer is given: what the assertions are about."""
    found: dict[tuple[int, str], tuple[bits.Bits, str]] = {}
    for node in (*unfolded(claim.requires).parts(), *unfolded(claim.ensures).parts()):
        code = None if any(isinstance(part, e.Local) for part in node.parts()) else _code(node, question)
        if code is not None and not code.is_constant:
            negated = code.operation == "not"  # ¬¬a is a, so a step is named by what is not negated
            said = f"false where {node}" if negated else str(node)
            node_of_step = code.arguments[0] if negated else code
            found[id(node_of_step), said] = node_of_step, said
    return list(found.values())


MOST_LETS = 8  # unfolded, a let may double what it is in


def unfolded(condition: e.Condition) -> e.Condition:
    """A condition whose lets are written out, unless they are many.

    >>> x, y = e.variables("x y")
    >>> print(unfolded(e.let("d", x - y, lambda d: d + d >= d)))
    [[x − y] + [x − y]] ≥ [x − y]
    """
    lets = sum(isinstance(part, e.Let | e.LetValue) for part in condition.parts())
    return _unfold(condition, {}) if 0 < lets <= MOST_LETS else condition


def _unfold(node: Any, bound: Mapping[str, Any]) -> Any:
    if isinstance(node, tuple):
        return tuple(_unfold(part, bound) for part in node)
    if not isinstance(node, e.Node):
        return node
    if isinstance(node, e.Local):
        return bound[node.name]
    if isinstance(node, e.Let | e.LetValue):
        return _unfold(node.body, {**bound, node.name: _unfold(node.value, bound)})
    return replace(node, **{part.name: _unfold(getattr(node, part.name), bound) for part in fields(node)})  # type: ignore


def _code(node: e.Node, question: Question) -> bits.Bits | None:
    if isinstance(node, e.Value):
        number = value(node, question.setting).numbers[0]
        return number.code if isinstance(number, Term) else None
    if isinstance(node, e.SameWord | e.Defined):
        return truth(node, question.setting).true
    return None


_ENCLOSED = "only enclosed, by exp.low and exp.high, and in order: this format has too many values for a table"


def _assertions(question: Question, asks: Asks) -> list[Assertion]:
    free = len(question.names)
    out = []
    for k, condition in enumerate(question.domain):
        about = (
            f"The code {question.names[k // 2]} is one of the format."
            if k < 2 * free
            else "exp lies between its bounds, in order."
        )
        out.append(Assertion(condition, about))
    out.append(Assertion(question.given, "The precondition is met."))
    if asks != "example":
        comes = "does not come out true" if asks == "counterexample" else "comes out true"
        out.append(Assertion(question.fails, f"What is claimed {comes}."))
    return out


def _heading(
    claim: Claim, format: Format, asks: Asks, expected: str, names: list[tuple[str, str]], enclosed: bool
) -> str:
    wanted = {"counterexample": "a counterexample to it", "witness": "a witness of it"}.get(
        asks, "values that meet its precondition"
    )
    answer = {
        ("counterexample", "unsat"): "unsat: there is none, so the claim holds",
        ("counterexample", "sat"): "sat: there is one, so the claim fails",
        ("witness", "sat"): "sat: there is one, so the claim holds",
        ("witness", "unsat"): "unsat: there is none, so the claim fails",
        ("example", "sat"): "sat: there are some, so the claim says something",
        ("example", "unsat"): "unsat: there are none, so the claim says nothing (it is vacuous)",
    }[(asks, expected)]
    exp = (
        f"\nWhat it assumes of exp: {_ENCLOSED}.\n"
        "A solution of this file may then be no counterexample; but where the file has none, the claim has none."
    ) * enclosed
    return (
        f"The claim:\n  {claim}\n\nThis file asks for {wanted}.\nExpected answer: {answer}.\n\n"
        f"Every free value is a number of the format {format}, given by its code:\n"
        + "".join(f"  {code} is the code of {name}\n" for code, name in names)
        + f"{_meaning(format)}\n\n"
        "Everything that is assumed of the arithmetic is a definition in this file. Nothing is simplified, but that\n"
        "what is constant is computed and equal parts are one step. Weights are the constants in the steps; products\n"
        f"with the weight 0 are left out, for [0 * x] = 0 and [t + 0] = t.{exp}\n\nWritten by Glyptic {__version__}.\n"
    )


def _meaning(format: Format) -> str:
    """What codes are."""
    ends = f"Codes go from {format.min_code} to {format.max_code}, in two's complement"
    if format.is_fixed:
        return f"{ends}; code k is the number k * 2^{format.least_exponent}."
    p = format.precision
    return (
        f"{ends}; a code is the number's rank: 0 is 0, k > 0 the k-th positive number of the format, and -k its negative.\n"
        f"So k + {format._missing} (k > 0) is, in binary, an exponent above {p - 1} bits of significand, as in IEEE 754:\n"
        "the number is (significand, with its leading 1 unless the exponent is 0) * "
        f"2^(max(exponent, 1) - 1 {format.least_exponent:+d})."
    )


def _table(terms: NamedTerms) -> str:
    stairs = terms.staircase
    assert stairs is not None
    lines = [f"  from {start}: {value}" for start, value in zip(stairs.starts, stairs.lows, strict=True)]
    return "\n".join(["The table of exp, correctly rounded: from which code on, and the code of [exp x].", *lines])
