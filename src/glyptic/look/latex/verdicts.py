"""A verdict as a paragraph: what was found, the claim, over what, how, and, if it is wanted, what it rests on."""

from __future__ import annotations

from glyptic.look.latex import escaping
from glyptic.look.latex.tables import Fragment
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Vacuous, Verdict


def verdict_latex(verdict: Verdict, about: Fragment, *, assumptions: bool = False) -> str:
    """The paragraph."""
    title = f"\\textbf{{{about.word(type(verdict).__name__)}.}}"
    if about.caption:
        title = f"{title} {about.caption}"
    said = [f"\\emph{{{escaping.text(verdict.claim)}.}}"]
    if verdict.over not in verdict.claim:
        said.append(about.word("over", over=escaping.text(verdict.over)))
    said += [*_found(verdict, about), *_means(verdict, about)]
    rests = getattr(verdict, "assumptions", ()) if assumptions else ()
    listed = [f"  \\item {escaping.text(each)}" for each in rests]
    if listed:
        said.append("\n".join([about.word("assuming"), r"\begin{itemize}", *listed, r"\end{itemize}"]))
    label = [f"\\label{{{about.label}}}"] if about.label else []
    return "\n".join([r"{\sloppy\noindent" + " " + title, *said, *label, r"\par}"])


def _found(verdict: Verdict, about: Fragment) -> list[str]:
    match verdict:
        case Proved(witness=witness) if witness is not None:
            key = "smallest witness" if verdict.smallest == "globally" else "a witness"
            return [about.word(key, example=escaping.text(str(witness)))]
        case Refuted(counterexample=None):
            return [about.word("none exists")]
        case Refuted(counterexample=example):
            key = "smallest counterexample" if verdict.smallest == "globally" else "a counterexample"
            said = [about.word(key, example=escaping.text(str(example)))]
            if verdict.failures is not None:
                of = _count(verdict.satisfying or verdict.inputs or 0)
                said.append(about.word("failures", failures=_count(verdict.failures), inputs=of))
            return said
        case Vacuous(requires=requires):
            return [about.word("vacuous", requires=escaping.text(requires))]
        case Unknown(reason=reason):
            return [about.word("stopped", reason=escaping.text(reason))]
    return []


def _means(verdict: Verdict, about: Fragment) -> list[str]:
    """By what, and how much of it was run."""
    method = escaping.text(verdict.method)
    if verdict.inputs is not None:
        said = [about.word("ran", method=method, count=_count(verdict.inputs))]
        some = getattr(verdict, "satisfying", None)
        return said if some in (None, verdict.inputs) else [*said, about.word("satisfying", count=_count(some))]
    solvers = getattr(verdict, "solvers", ())
    return [about.word("by", method=method, solvers=escaping.text(", ".join(solvers)))] if solvers else []


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\\,")
