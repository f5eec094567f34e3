"""A construction as it stands in a paper: what it is, its embeddings, each layer's matrices, its output; then its frame.

Every matrix has the coordinates in its left margin, so those that read the residual stream are printed transposed: W_Q^⊤ has a
column for each row of W_Q.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from glyptic.carve.frames import count_heads, count_hidden
from glyptic.errors import InputError
from glyptic.exact import Transformer
from glyptic.exact.parts import newer_parts, parts
from glyptic.exact.weights import FeedForward, Head, Norm
from glyptic.look.latex import escaping
from glyptic.look.latex.frames import history_latex
from glyptic.look.latex.matrices import Margin, Matrix, together
from glyptic.look.latex.numerals import letters, number
from glyptic.look.latex.tables import MOST_CELLS, Fragment
from glyptic.numbers import Exact

Part = Literal["all", "weights", "frame"]


def transformer_latex(
    transformer: Transformer, about: Fragment, *, part: Part = "all", layers: Sequence[int] | None = None
) -> str:
    """The construction and its frame, or one of them; of its layers, all or some."""
    blocks = [] if part == "frame" else [weights_latex(transformer, about, layers)]
    if part != "weights":
        blocks.append(history_latex(transformer.history, about, titled(transformer, about)))
    return "\n\n".join(blocks)


def titled(transformer: Transformer, about: Fragment) -> str:
    """Its name."""
    return escaping.text(escaping.cut(transformer.name)) if transformer.name else about.word("unnamed")


def weights_latex(transformer: Transformer, about: Fragment, layers: Sequence[int] | None = None) -> str:
    """What it is in a sentence, then all matrices."""
    chosen = range(len(transformer.layers)) if layers is None else layers
    for number_ in chosen:
        if not isinstance(number_, int) or isinstance(number_, bool) or not 0 <= number_ < len(transformer.layers):
            raise InputError(f"layers has {number_!r}, and this transformer has layers 0 to {len(transformer.layers) - 1}.")
    for name in newer_parts(transformer):
        said = f"{name} is a part that LaTeX is not written for: matrices, relu and LayerNorm are"
        raise InputError(f"{said}; part='frame' leaves the weights out.")
    _refuse_too_large(transformer, set(chosen))
    writer = _Weights(transformer, about)
    blocks = [writer.sentence(), *writer.section("embedding", writer.embeddings())]
    for l in chosen:
        blocks += writer.layer(l)
    if transformer.final_norm is not None:
        blocks += writer.section("final norm", writer.norm(transformer.final_norm))
    return "\n\n".join([*blocks, *writer.section("output", writer.output())])


def _refuse_too_large(transformer: Transformer, chosen: set[int]) -> None:
    cells = 0
    for name, codes, _ in parts(transformer):
        if not name.startswith("layers.") or int(name.split(".")[1]) in chosen:
            matrix = np.atleast_2d(codes)
            cells += int(matrix.any(axis=1).sum() * matrix.any(axis=0).sum())
    if cells > MOST_CELLS:
        raise InputError(
            f"the matrices have {cells:,} entries in rows and columns that are not 0; LaTeX is written for {MOST_CELLS:,} "
            "at most: choose some layers, as in layers=(0,)."
        )


class _Weights:
    """Writes the matrices of one transformer."""

    def __init__(self, transformer: Transformer, about: Fragment) -> None:
        self.transformer, self.about = transformer, about
        self.names = [Margin.name(each) for each in transformer.coordinates]

    def sentence(self) -> str:
        """Name, format, sizes; what is left out."""
        of, about = self.transformer, self.about
        counts = {"layer": len(of.layers), "head": count_heads(of.layers), "hidden unit": count_hidden(of.layers)}
        counts["dimension"] = of.width
        sizes = ", ".join(about.word(f"{what}{'s' * (count != 1)} cost", count=count) for what, count in counts.items())
        name = f"\\textbf{{{titled(of, about)}}}"
        longest = of.max_length if of.period is None else r"$\infty$"
        said = [about.word("construction", name=name, format=letters(of.format), sizes=sizes, length=longest)]
        if not isinstance(of.format, Exact):
            largest, _ = number(of.format.max)
            ties = about.word("even" if of.format.ties == "even" else "smaller")
            said.append(about.word("finite", infinity=r"$\infty$", largest=f"${largest}$", ties=ties))
        return "\\noindent " + "\n".join([*said, about.word("left out", dot=r"$\cdot$")])

    def section(self, key: str, formulas: list[str]) -> list[str]:
        """Formulas under a heading."""
        return [self._titled(self.about.word(key), formulas)]

    def _titled(self, title: str, formulas: list[str]) -> str:
        return f"\\noindent\\emph{{{title}.}}\\par\\nopagebreak\n{together(formulas)}"

    def formulas(self, called: str, codes: Any, columns: Sequence[Margin], rows: Sequence[Margin] | None = None) -> list[str]:
        """One matrix, coordinates down unless other rows are given."""
        matrix = Matrix(called, np.asarray(codes), self.names if rows is None else rows, columns)
        return matrix.latex(self.transformer.format, self.about.column)

    def embeddings(self) -> list[str]:
        """Tokens and positions."""
        of = self.transformer
        tokens, positions = [Margin.name(token) for token in of.vocabulary], _indices(len(of.position_embedding))
        return [
            *self.formulas(r"\theta_{\mathrm{TE}}", of.token_embedding.T, tokens),
            *self.formulas(r"\theta_{\mathrm{PE}}", of.position_embedding.T, positions),
        ]

    def layer(self, l: int) -> Iterator[str]:
        """A block for each head, the feed-forward and the norms."""
        layer, title = self.transformer.layers[l], self.about.word("layer", number=l)
        if layer.attention_norm is not None:
            yield self._titled(f"{title}, {self.about.word('attention norm')}", self.norm(layer.attention_norm))
        for h, head in enumerate(layer.heads):
            yield self._titled(f"{title}, {self.about.word('head', number=h)}", self.head(head))
        if layer.feed_forward_norm is not None:
            yield self._titled(f"{title}, {self.about.word('feed-forward norm')}", self.norm(layer.feed_forward_norm))
        if layer.feed_forward is not None:
            yield self._titled(f"{title}, {self.about.word('feed-forward')}", self.feed_forward(layer.feed_forward))

    def head(self, head: Head) -> list[str]:
        """Its four matrices."""
        keys, values = _indices(len(head.query)), _indices(len(head.value))
        return [
            *self.formulas(r"W_Q^{\top}", head.query.T, keys),
            *self.formulas(r"W_K^{\top}", head.key.T, keys),
            *self.formulas(r"W_V^{\top}", head.value.T, values),
            *self.formulas(r"W_O", head.output, values),
        ]

    def feed_forward(self, feed_forward: FeedForward) -> list[str]:
        """Two matrices, with what is added below the one and beside the other, unless it is 0."""
        units = _indices(len(feed_forward.w1))
        first, rows, called = feed_forward.w1.T, self.names, r"W_1^{\top}"
        if feed_forward.b1.any():
            first, rows = np.vstack([first, feed_forward.b1]), [*self.names, Margin.symbol(r"b_1")]
            called = r"\left(\begin{smallmatrix}W_1^{\top}\\b_1^{\top}\end{smallmatrix}\right)"
        second, columns, other = feed_forward.w2, units, "W_2"
        if feed_forward.b2.any():
            second, columns = np.hstack([second, feed_forward.b2[:, None]]), [*units, Margin.symbol("b_2")]
            other = "(W_2\\;b_2)"
        return [*self.formulas(called, first, units, rows), *self.formulas(other, second, columns)]

    def norm(self, norm: Norm) -> list[str]:
        """Gain and bias as two columns, and ε."""
        columns = [Margin.symbol(r"\gamma"), Margin.symbol(r"\beta")]
        epsilon, _ = number(self.transformer.format.value(int(norm.epsilon)), self.transformer.format)
        both = np.stack([norm.gain, norm.bias], axis=1)
        return [*self.formulas(r"(\gamma\;\beta)", both, columns), f"$\\varepsilon = {epsilon}$"]

    def output(self) -> list[str]:
        """The output matrix, transposed."""
        answers = [Margin.name(answer) for answer in self.transformer.answers]
        return self.formulas(r"\theta_{\mathrm{OUTPUT}}^{\top}", self.transformer.output.T, answers)


def _indices(count: int) -> list[Margin]:
    return [Margin.index(k) for k in range(count)]
