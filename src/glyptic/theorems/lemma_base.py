"""The lemma base: what the notes take for granted of numbers, decided for a format, each with its proof or its counterexample.

Three kinds of proof, and each lemma says which it has:

    argument      one that `glyptic.carve.facts` states and computes: everything is monotone, so the ends decide
    enumeration   all values, in small formats
    smt           all values, by solvers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glyptic.arguments import Seconds, checked
from glyptic.carve import facts as carve_facts
from glyptic.errors import FormatError
from glyptic.numbers import AnyFormat, Exact, Format, as_format
from glyptic.progress import progress_bar
from glyptic.prove.checking import check
from glyptic.prove.claims.claim import Claim, Values
from glyptic.prove.claims.expressions import LEAST, TRUE, B, Condition, exp, relu, variables
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Vacuous, Verdict
from glyptic.text import table as text_table

_ENUMERATED = 1 << 16  # combinations of values up to which every statement is enumerated

x, y, z = variables("x y z")


@dataclass(frozen=True)
class Statement:
    """A statement about values of a format; an argument settles it where what it rests on (if anything) holds."""

    name: str
    ensures: Condition
    requires: Condition = TRUE
    variables: str = "x"
    argument: str = ""
    rests_on: carve_facts.Fact | None = None

    def claim(self, format: AnyFormat) -> Claim:
        return Claim(Values(self.variables, format), self.ensures, requires=self.requires, name=self.name)


_MIRRORED = "the values and the rule for ties are the same on both sides of 0"

STATEMENTS: tuple[Statement, ...] = (
    Statement("adding 0", x + 0 == x),
    Statement("subtracting itself", x - x == 0),
    Statement("multiplying by 1", x * 1 == x),
    Statement("multiplying by 0", x * 0 == 0),
    Statement("negating twice", 0 - (0 - x) == x),
    Statement("saturation", x + B + B == B),
    Statement("zero by saturation", x + B + B - B == 0),
    Statement("parts", relu(x) - relu(-x) == x),
    Statement("gate shut", relu(x - B) == 0),
    Statement("negation and sums", -(x + y) == (-x) - y, TRUE, "x y", _MIRRORED, carve_facts.SYMMETRIC),
    Statement("negation and products", -(x * y) == (-x) * y, TRUE, "x y", _MIRRORED, carve_facts.SYMMETRIC),
    Statement("sums commute", x + y == y + x, TRUE, "x y", "both are one number, rounded"),
    Statement("sums are monotone", x + z <= y + z, x <= y, "x y z", "sums and rounding are monotone"),
    Statement("differences", x - y != 0, requires=x != y, variables="x y"),
    Statement("order is a sign", x - y > 0, requires=x > y, variables="x y"),
    Statement("products by B keep signs", x * B > 0, requires=x > 0),
    Statement("two products reach B", x * B * B == B, requires=x > 0),
    Statement("three products reach B", x * B * B * B == B, requires=x > 0),
    Statement("exp of 0", exp(x - x) == 1),
    Statement("exp of B", exp(x) == B, requires=x == B),
    Statement("exp of −B", exp(x) == 0, requires=x == -B),
    Statement("exp is monotone", exp(x) <= exp(y), x <= y, "x y", "exp and rounding are monotone"),
    # What paper proofs slip in, false wherever numbers are rounded:
    Statement("overwriting by a difference", x + (y - x) == y, variables="x y"),
    Statement("adding and taking away", (x + y) - y == x, variables="x y"),
    Statement("sums associate", (x + y) + z == x + (y + z), variables="x y z"),
    Statement("products distribute", x * (y + z) == x * y + x * z, variables="x y z"),
    Statement("halving and doubling", x * LEAST + x * LEAST == x * (LEAST + LEAST)),
)


@dataclass(frozen=True)
class Lemma:
    """A statement, whether it holds in the format (None: not decided), how that is known, and what breaks it."""

    name: str
    statement: str
    holds: bool | None
    proof: str
    counterexample: str = ""

    def __str__(self) -> str:
        word = {True: "holds", False: "false", None: "open"}[self.holds]
        return f"{self.statement}: {word}, by {self.proof}{f'; {self.counterexample}' if self.counterexample else ''}"


@checked
def lemmas(format: AnyFormat | str, *, seconds: Seconds | None = 10.0, progress: bool = False) -> list[Lemma]:
    """Every lemma, decided for a format; each solver may take `seconds` for one.

    >>> for lemma in lemmas("fixed:1"):
    ...     if lemma.name in ("two products reach B", "decides"):
    ...         print(lemma)
    softmax(1, B) is decisive: false, by argument; softmax(1, ∞) = (1, 1)
    softmax(-B, B) is decisive: holds, by argument
    x > 0 ⇒ [[x·B]·B] = B: false, by enumeration; x = 1/2: [[x·B]·B] is 1/2
    """
    chosen = as_format(format)
    if isinstance(chosen, Exact):
        raise FormatError("exact rationals are not rounded, so these lemmas are not about them; choose a finite format.")
    statements = progress_bar(STATEMENTS, desc=f"lemmas of {chosen}", disable=not progress)
    return [*arguments(chosen), *(decide(statement, chosen, seconds) for statement in statements)]


def arguments(format: Format) -> list[Lemma]:
    """The facts that constructions ask for, decided as they decide them."""
    asked = (
        carve_facts.ONE,
        carve_facts.SYMMETRIC,
        carve_facts.SATURATES,
        carve_facts.SUBNORMAL,
        carve_facts.EXP_VANISHES,
        carve_facts.PRODUCTS,
        carve_facts.decides("1", "B"),
        carve_facts.decides("-B", "B"),
    )
    broken = [(fact, fact.broken(format)) for fact in asked]
    return [Lemma(f.name, f.statement, b is None, "argument", "" if b is None else b.happens) for f, b in broken]


def decide(statement: Statement, format: Format, seconds: float | None = 10.0) -> Lemma:
    """One statement in a format, by enumeration if that is short, else by solvers."""
    try:
        claim = statement.claim(format)
        small = format.size ** len(statement.variables.split()) <= _ENUMERATED
        settled = statement.rests_on is None or statement.rests_on.broken(format) is None
        if statement.argument and settled and not small:
            return Lemma(statement.name, _statement(statement), True, f"argument: {statement.argument}")
        verdict = check(claim, method="enumerate" if small else "smt", seconds=seconds, workers=1, progress=False)
    except FormatError as error:  # a constant of it, such as 1, is not in the format
        return Lemma(statement.name, _statement(statement), False, "argument", str(error))
    return Lemma(statement.name, _statement(statement), *_read(verdict))


def _statement(statement: Statement) -> str:
    return str(statement.ensures) if statement.requires is TRUE else f"{statement.requires} ⇒ {statement.ensures}"


def _read(verdict: Verdict) -> tuple[bool | None, str, str]:
    match verdict:
        case Proved(method="smt", solvers=solvers):
            agreed = [said.split()[0] for said in solvers if said.endswith("unsat")]
            return True, f"smt ({' and '.join(agreed)})", ""
        case Refuted(method=method):
            return False, method, verdict.why
        case Unknown(reason=reason):
            return None, "nothing so far", f"stopped by {reason}"
        case Vacuous():
            return True, f"{verdict.method} (nothing meets the precondition)", ""
    return True, verdict.method, ""


def table(decided: Sequence[Lemma]) -> str:
    """The lemmas as text, one a line."""
    words = {True: "holds", False: "false", None: "open"}
    rows = [(lemma.statement, words[lemma.holds], lemma.proof, lemma.counterexample) for lemma in decided]
    return text_table(["statement", "", "proof", "counterexample"], rows, "llll")
