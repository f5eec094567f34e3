"""A run as a table: positions across, coordinates down, a part for each step with what it changes; attention; the answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from glyptic.exact.running import Run
from glyptic.look.latex import escaping
from glyptic.look.latex.matrices import Margin, Matrix, together
from glyptic.look.latex.numerals import letters
from glyptic.look.latex.tables import Fragment, TexCell, TexRow, TexTable

Stream = list[dict[str, Fraction]]


def run_latex(run: Run, about: Fragment) -> str:
    """What was traced, and the answer."""
    blocks = [residual_latex(run, about)] if run.residual else []
    heads = [name for name in run.trace if name.endswith(".weights")]
    if heads:
        blocks.append(_attention(run, heads, about))
    return "\n\n".join([*blocks, _answer(run, about)])


def _named(run: Run, about: Fragment) -> dict[str, str]:
    of = run.transformer
    name = escaping.text(escaping.cut(of.name)) if of.name else about.word("unnamed")
    tokens = run.tokens if len(run.tokens) <= 16 else (*run.tokens[:14], "…", run.tokens[-1])
    spaced = any(len(token) > 1 for token in of.vocabulary)
    said = " ".join(escaping.name(each, breaks=True) for each in (tokens if spaced else ["".join(tokens)]))
    return {"name": name, "format": letters(of.format), "tokens": said}


def residual_latex(run: Run, about: Fragment) -> str:
    """The table of the residual stream."""
    before: Stream = []
    rows: list[TexRow] = []
    for stage, stream in run.residual.items():
        title = _title(stage, about)
        rows.append(TexRow(across=TexCell(title, escaping.width(title)), strong=True, rule=bool(rows)))
        rows += _changed(run, before, stream) or [TexRow(across=TexCell(about.word("unchanged"), 9), indented=True)]
        before = stream
    position, token = (about.word(key) for key in ("position", "token"))
    numbers = [TexCell(str(i), 0.53 * len(str(i))) for i in range(len(run.tokens))]
    header = (
        TexRow((TexCell(position, escaping.width(position)), *numbers)),
        TexRow((TexCell(token, escaping.width(token)), *map(TexCell.name, run.tokens))),
    )
    table = TexTable(header, tuple(rows), "l" + "c" * len(run.tokens), about=about)
    return table.latex(about.word("run", **_named(run, about)))


def _title(stage: str, about: Fragment) -> str:
    place = stage.split(".")
    return about.word(f"stage {place[-1]}", layer=place[1] if len(place) > 1 else "")


def _changed(run: Run, before: Stream, now: Stream) -> list[TexRow]:
    """The coordinates that are other than before; at the beginning, than 0."""
    format, rows = run.transformer.format, []
    for name in run.transformer.coordinates:
        values = [position[name] for position in now]
        old = [position[name] for position in before] if before else [Fraction(0)] * len(values)
        if values != old:
            rows.append(TexRow((TexCell.name(name), *(TexCell.number(x, format) for x in values))))
    return rows


def _attention(run: Run, heads: list[str], about: Fragment) -> str:
    format = run.transformer.format
    margins = [Margin.name(token) for token in run.tokens]
    formulas: list[str] = []
    for stage in heads:
        _, l, _, h, _ = stage.split(".")
        weights = np.asarray(run.trace[stage], object)
        formulas += Matrix(f"\\alpha^{{{l},{h}}}", weights, margins, margins, whole=True).latex(format, about.column)
    said = about.word("weights", symbols=r"$\alpha^{l,h}$", h="$h$", l="$l$")
    return f"\\noindent {said}\\par\\nopagebreak\n{together(formulas)}"


def _answer(run: Run, about: Fragment) -> str:
    """Answers with their logits and shares, and the answer, in one paragraph."""
    format, said = run.transformer.format, []
    for key, values in {"logit": run.logits, "probability": run.probabilities}.items():
        if values:
            each = [
                f"{escaping.name(name, breaks=True)} {TexCell.number(x, format).tex if x != 0 else '$0$'}"
                for name, x in zip(run.transformer.answers, values, strict=True)
            ]
            said.append(f"{about.word(key).capitalize()}: {', '.join(each)}.")
    if len(run.chain) > 1:
        said.append(about.word("chain", chain=" ".join(escaping.name(token, breaks=True) for token in run.chain)))
    said.append(about.word("answered", answer=escaping.name(run.answer, breaks=True)))
    title = [] if run.residual else [about.word("answers", **_named(run, about))]
    return "\\noindent " + "\n".join([*title, *said])
