"""What a transformer is, in a page of text: sizes, format, coordinates, sparsity, cost; and numbers as people write them."""

from __future__ import annotations

from fractions import Fraction
from textwrap import fill

import numpy as np

from glyptic.arguments import checked
from glyptic.exact.parts import choices, newer_parts, parts
from glyptic.exact.running import Run
from glyptic.exact.transformer import Transformer
from glyptic.numbers import AnyFormat, Exact, as_format
from glyptic.numbers.hosts import refusal
from glyptic.text import printable, table


def show_number(x: Fraction, format: str | AnyFormat) -> str:
    """A value as a fraction; the largest is ∞, as in the notes. `numbers.number` reads it back, as the same value.

    In two's complement the smallest value is not −B, so that no −∞ could be read as both: it is written as the number.

    >>> from glyptic.numbers import Fixed, Q
    >>> [show_number(Fraction(n, 4), Fixed(2)) for n in (15, -15, 6, -8, 0)]
    ['∞', '-∞', '3/2', '-2', '0']
    >>> [show_number(Fraction(n), Q(2, 0)) for n in (3, -3, -4)]
    ['∞', '-3', '-4']
    """
    format = as_format(format)
    if not isinstance(format, Exact):
        if x == format.max:
            return "∞"
        if x == -format.max and not format.twos_complement:
            return "-∞"
    return str(x)


@checked
def describe(transformer: Transformer) -> str:
    """What `glyptic show` prints."""
    return "\n\n".join([_summary(transformer), _coordinates(transformer), _layers(transformer), _cost(transformer)])


def _summary(transformer: Transformer) -> str:
    format, options, period = transformer.format, transformer.options, transformer.period
    numbers = "rationals"
    if not isinstance(format, Exact):
        ties = "even" if format.ties == "even" else "the smaller"
        numbers = f"{format.size} values, B = {format.max}, least {format.least}, ties to {ties}"
    reason = refusal(format, options.products != "rounded")
    engine = "fast" if reason is None else f"reference only: {reason}"
    facts = {
        "format": f"{format}: {numbers}",
        "engine": engine,
        "vocabulary": " ".join(transformer.vocabulary),
        "answers": " ".join(transformer.answers),
        "longest input": transformer.max_length if period is None else f"any: positions repeat every {period}",
        "layers": len(transformer.layers),
        "options": ", ".join(f"{key} {value}" for key, value in vars(options).items()),
    }
    if newer_parts(transformer):
        facts["besides"] = _besides(transformer)
    width = max(map(len, facts))
    return "\n".join([transformer.name or "unnamed transformer", *(f"  {k:<{width}}  {v}" for k, v in facts.items())])


def _besides(transformer: Transformer) -> str:
    """What it has beyond matrices, relu and LayerNorm, each kind of part once."""
    chosen = {name: value for name, value in choices(transformer).items() if value is not True}
    names = [(name.rpartition(".")[2], chosen.get(name)) for name in newer_parts(transformer)]
    return ", ".join(dict.fromkeys(name if value is None else f"{name} {value}" for name, value in names))


def _coordinates(transformer: Transformer) -> str:
    named = " ".join(transformer.coordinates)
    return fill(f"{transformer.width} coordinates: {named}", 110, subsequent_indent="  ")


def _layers(transformer: Transformer) -> str:
    rows = []
    for l, layer in enumerate(transformer.layers):
        arrays = [a for name, a, _ in parts(transformer) if name.startswith(f"layers.{l}.")]
        nonzero, size = sum(map(np.count_nonzero, arrays)), sum(a.size for a in arrays)
        hidden = len(layer.feed_forward.w1) if layer.feed_forward else 0
        share = f"{100 * nonzero / size:.1f} %" if size else "–"
        rows.append((l, len(layer.heads), hidden, size, nonzero, share))
    return table(["layer", "heads", "hidden", "weights", "nonzero", "share"], rows) if rows else "no layers"


def _cost(transformer: Transformer) -> str:
    """Rounded multiply-adds, zeros skipped: a position alone, and for each pair of positions that attention compares."""
    position = pair = 0
    for layer in transformer.layers:
        for head in layer.heads:
            position += sum(int(np.count_nonzero(m)) for m in (head.query, head.key, head.value, head.output))
            pair += len(head.query) * (1 + (head.distance_keys is not None))
            pair += len(head.value) * (1 + (head.distance_values is not None))
        if layer.feed_forward:
            matrices = (layer.feed_forward.w1, layer.feed_forward.w2, layer.feed_forward.gate)
            position += sum(int(np.count_nonzero(m)) for m in matrices if m is not None)
    n = len(transformer.position_embedding)  # where positions repeat, the beginning and one period
    total = n * position + n * (n + 1) // 2 * pair
    return (
        f"cost: {position} multiply-adds a position, {pair} a pair of positions; {total} for an input of length {n}"
        if pair
        else f"cost: {position} multiply-adds a position; {total} for an input of length {n}"
    )


@checked
def show_run(run: Run) -> str:
    """What `print(run)` shows: what was traced, then each answer with its logit and its share, and the answer."""
    format = run.transformer.format
    columns = {"logit": run.logits, "probability": run.probabilities}
    header = ["answer", *(name for name, values in columns.items() if values)]
    numbers = zip(*(values for values in columns.values() if values), strict=True)
    rows = [(name, *(show_number(x, format) for x in row)) for name, row in zip(run.transformer.answers, numbers, strict=True)]
    last = [f"chain: {' '.join(run.chain)}"] if len(run.chain) > 1 else []
    last.append(f"answer after {' '.join(run.tokens)}: {run.answer}")
    return "\n\n".join([*([show_trace(run)] if run.trace else []), table(header, rows), "\n".join(map(printable, last))])


@checked
def show_trace(run: Run) -> str:
    """Traced residual streams as tables, positions down and coordinates across; columns that stay 0 are left out, and named."""
    format, blocks = run.transformer.format, []
    for name, positions in run.residual.items():
        used = [c for c in run.transformer.coordinates if any(position[c] != 0 for position in positions)]
        rows = [
            (f"{i} {token}", *(show_number(position[c], format) for c in used))
            for i, (token, position) in enumerate(zip(run.tokens, positions, strict=True))
        ]
        blocks.append(f"{name}\n{table(['position', *used], rows)}{_left_out(run.transformer.coordinates, used)}")
    for name, array in run.trace.items():
        if name.endswith(".weights"):
            header = ["query \\ key", *(f"{j} {token}" for j, token in enumerate(run.tokens))]
            rows = [(f"{i} {run.tokens[i]}", *(show_number(x, format) for x in row)) for i, row in enumerate(array)]
            blocks.append(f"{name}\n{table(header, rows)}")
    counted = "Layers, heads and positions count from 0; in papers and notes the first position is often 1."
    return "\n\n".join([*blocks, counted]) if blocks else ""


def _left_out(coordinates: tuple[str, ...], used: list[str]) -> str:
    zero = [name for name in coordinates if name not in used]
    return "\n" + fill(printable(f"0 at every position: {' '.join(zero)}"), 110, subsequent_indent="  ") if zero else ""


__all__ = ["describe", "show_number", "show_run", "show_trace"]
