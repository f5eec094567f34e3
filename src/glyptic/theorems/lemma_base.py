"""The lemma base: what the notes take for granted of numbers, decided for a format, each with its proof or its counterexample.

Three kinds of proof, and each fact says which it has:

    argument      one that `glyptic.carve.facts` states and computes: everything is monotone, so the ends decide
    enumeration   all values, in small formats
    smt           all values, by solvers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tqdm.auto import tqdm

from glyptic.arguments import Seconds, checked
from glyptic.carve import facts as carve_facts
from glyptic.errors import FormatError
from glyptic.numbers import AnyFormat, Exact, Format, parse_format
from glyptic.prove.checking import check
from glyptic.prove.claims.claim import Claim, Values
from glyptic.prove.claims.expressions import LEAST, TRUE, B, Condition, exp, relu, variables
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Vacuous, Verdict
from glyptic.text import table as text_table

_ENUMERATED = 1 << 16  # combinations of values up to which every fact is enumerated

x, y, z = variables("x y z")


@dataclass(frozen=True)
class Lemma:
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

LEMMAS: tuple[Lemma, ...] = (
    Lemma("adding 0", x + 0 == x),
    Lemma("subtracting itself", x - x == 0),
    Lemma("multiplying by 1", x * 1 == x),
    Lemma("multiplying by 0", x * 0 == 0),
    Lemma("negating twice", 0 - (0 - x) == x),
    Lemma("saturation", x + B + B == B),
    Lemma("zero by saturation", x + B + B - B == 0),
    Lemma("parts", relu(x) - relu(-x) == x),
    Lemma("gate shut", relu(x - B) == 0),
    Lemma("negation and sums", -(x + y) == (-x) - y, TRUE, "x y", _MIRRORED, carve_facts.SYMMETRIC),
    Lemma("negation and products", -(x * y) == (-x) * y, TRUE, "x y", _MIRRORED, carve_facts.SYMMETRIC),
    Lemma("sums commute", x + y == y + x, TRUE, "x y", "both are one number, rounded"),
    Lemma("sums are monotone", x + z <= y + z, x <= y, "x y z", "sums and rounding are monotone"),
    Lemma("differences", x - y != 0, requires=x != y, variables="x y"),
    Lemma("order is a sign", x - y > 0, requires=x > y, variables="x y"),
    Lemma("products by B keep signs", x * B > 0, requires=x > 0),
    Lemma("two products reach B", x * B * B == B, requires=x > 0),
    Lemma("three products reach B", x * B * B * B == B, requires=x > 0),
    Lemma("exp of 0", exp(x - x) == 1),
    Lemma("exp of B", exp(x) == B, requires=x == B),
    Lemma("exp of −B", exp(x) == 0, requires=x == -B),
    Lemma("exp is monotone", exp(x) <= exp(y), x <= y, "x y", "exp and rounding are monotone"),
    # What paper proofs slip in, false wherever numbers are rounded:
    Lemma("overwriting by a difference", x + (y - x) == y, variables="x y"),
    Lemma("adding and taking away", (x + y) - y == x, variables="x y"),
    Lemma("sums associate", (x + y) + z == x + (y + z), variables="x y z"),
    Lemma("products distribute", x * (y + z) == x * y + x * z, variables="x y z"),
    Lemma("halving and doubling", x * LEAST + x * LEAST == x * (LEAST + LEAST)),
)


@dataclass(frozen=True)
class Fact:
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
def facts(format: AnyFormat | str, *, seconds: Seconds | None = 10.0, progress: bool = False) -> list[Fact]:
    """Every fact, decided for a format; each solver may take `seconds` for one.

    >>> for fact in facts("fixed:1"):
    ...     if fact.name in ("two products reach B", "decides"):
    ...         print(fact)
    softmax(1, B) is decisive: false, by argument; softmax(1, ∞) = (1, 1)
    softmax(-B, B) is decisive: holds, by argument
    x > 0 ⇒ [[x·B]·B] = B: false, by enumeration; x = 1/2: [[x·B]·B] is 1/2
    """
    chosen = parse_format(format) if isinstance(format, str) else format
    if isinstance(chosen, Exact):
        raise FormatError("exact rationals are not rounded, so these facts are not about them; choose a finite format.")
    lemmas = tqdm(LEMMAS, desc=f"facts of {chosen}", disable=not progress)
    return [*arguments(chosen), *(decide(lemma, chosen, seconds) for lemma in lemmas)]


def arguments(format: Format) -> list[Fact]:
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
    return [Fact(f.name, f.statement, b is None, "argument", "" if b is None else b.happens) for f, b in broken]


def decide(lemma: Lemma, format: Format, seconds: float | None = 10.0) -> Fact:
    """One lemma in a format, by enumeration if that is short, else by solvers."""
    try:
        claim = lemma.claim(format)
        small = format.size ** len(lemma.variables.split()) <= _ENUMERATED
        settled = lemma.rests_on is None or lemma.rests_on.broken(format) is None
        if lemma.argument and settled and not small:
            return Fact(lemma.name, _statement(lemma), True, f"argument: {lemma.argument}")
        verdict = check(claim, method="enumerate" if small else "smt", seconds=seconds, workers=1, progress=False)
    except FormatError as error:  # a constant of the lemma, such as 1, is not in the format
        return Fact(lemma.name, _statement(lemma), False, "argument", str(error))
    return Fact(lemma.name, _statement(lemma), *_read(verdict))


def _statement(lemma: Lemma) -> str:
    return str(lemma.ensures) if lemma.requires is TRUE else f"{lemma.requires} ⇒ {lemma.ensures}"


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


def table(decided: Sequence[Fact]) -> str:
    """The facts as text, one a line."""
    words = {True: "holds", False: "false", None: "open"}
    rows = [(fact.statement, words[fact.holds], fact.proof, fact.counterexample) for fact in decided]
    return text_table(["statement", "", "proof", "counterexample"], rows, "llll")
