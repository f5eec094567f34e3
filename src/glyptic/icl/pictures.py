"""The four pictures of the theory. Each takes results as values and returns a figure; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glyptic.icl import figures
from glyptic.icl.figures import COLOURS, SERIES
from glyptic.icl.landscape import GLOBAL, SADDLE, SPURIOUS, Basins, CriticalPoint
from glyptic.icl.problem import Array
from glyptic.icl.quartic import Quartic

KIND_COLOUR = {GLOBAL: COLOURS["good"], SPURIOUS: COLOURS["bad"], SADDLE: COLOURS["muted"]}


def draw_flow(columns: Mapping[str, Any], eigenvalues: Array, mu: float | None, check: Mapping[str, Any] | None) -> Any:
    """Excess loss, the eigendirections learnt one after the other, and the Polyak–Łojasiewicz ratio, against time."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15, 4.4))
    time = columns["time"]
    shown = columns["excess"] > 1e-16
    left.loglog(time[shown], columns["excess"][shown], color=COLOURS["theory"], label="d + 2 equations")
    if check is not None:
        seen = check["excess"] > 1e-16
        style = {"color": COLOURS["measured"], "markersize": 5, "markerfacecolor": "white"}
        left.loglog(check["time"][seen], check["excess"][seen], "o", label="all (d+1)² weights", **style)
    left.set(title="Loss above its minimum", xlabel="time t of the flow", ylabel="L − L*")
    left.legend()

    many = len(np.unique(eigenvalues))
    few = np.unique(np.linspace(0, many - 1, min(6, many)).astype(int))
    for colour, index in zip(SERIES, few, strict=False):
        label = f"eigenvalue {eigenvalues[index]:.3g}"
        middle.semilogx(time, columns[f"learnt_{index + 1}"], color=colour, label=label)
    if "logistic" in columns:
        style = {"color": "black", "linewidth": 1.2}
        middle.semilogx(time, columns["logistic"], "--", label="logistic, closed form", **style)
    middle.axhline(1, color=COLOURS["muted"], linewidth=1, linestyle=":")
    middle.set(title="Learnt share of each eigendirection", xlabel="time t of the flow")
    middle.set_ylabel("$p_2\\,K_{ii}\\;/\\;P^*_{ii}$")
    middle.legend(loc="center left")

    right.loglog(time[shown], columns["pl_ratio"][shown], color=COLOURS["theory"], label="along the flow")
    if mu is not None and mu > 0:
        right.axhline(mu, color=COLOURS["bad"], linestyle="--", label=f"the theorem's μ = {mu:.2g}")
    right.set(title="Polyak–Łojasiewicz ratio", xlabel="time t of the flow", ylabel="‖∇L‖² / (L − L*)")
    right.legend()
    moved = columns["excess"] < 0.999 * columns["excess"][0]  # before that nothing is to be seen
    for axes in (left, middle, right):
        axes.set_xlim(time[moved][0] / 3, time[shown][-1] * 1.3)
    return figure


def draw_risk(laws: Sequence[Mapping[str, Any]], by_M: Mapping[str, Any], by_N: Mapping[str, Any], title: str) -> Any:
    """Three parts for each label law; the variance against M; the bias against N."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15, 4.6))
    names = [row["law"] for row in laws]
    start = np.zeros(len(laws))
    scale = np.array([row["exact"] for row in laws])
    for part, colour in (("floor", "#C9CDD2"), ("variance", SERIES[4]), ("bias", SERIES[1])):
        width = np.array([row[part] for row in laws]) / scale
        left.barh(names, width, left=start, color=colour, label=part, height=0.62)
        start += width
    if all("measured" in row for row in laws):
        measured = np.array([row["measured"] for row in laws]) / scale
        error = 3 * np.array([row["error"] for row in laws]) / scale
        style = {"color": "black", "markersize": 3.5, "capsize": 3}
        left.errorbar(measured, names, xerr=error, fmt="o", label="sampled, ± 3 s.e.", **style)
    left.invert_yaxis()
    left.grid(axis="y", visible=False)
    left.set(title="Risk by law of the labels", xlabel="share of the exact risk")
    left.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.45, -0.16), columnspacing=1.0, handlelength=1.2)

    middle.loglog(by_M["length"], by_M["exact"], color=COLOURS["theory"], label=f"variance, slope {by_M['slope']:.2f}")
    if by_M["measured"] is not None:
        style = {"color": COLOURS["measured"], "markersize": 5, "capsize": 3}
        measured, error = np.array(by_M["measured"]), 3 * np.array(by_M["error"])
        middle.errorbar(by_M["length"], measured, yerr=error, fmt="o", label="sampled risk − floor − bias", **style)
    middle.set(title="Longer test contexts: 1/M", xlabel="test context length M", ylabel="variance")
    middle.legend()

    right.loglog(by_N["length"], by_N["exact"], color=COLOURS["theory"], label=f"bias, tail slope {by_N['slope']:.2f}")
    tail = np.array(by_N["length"], dtype=float)
    right.loglog(tail, by_N["exact"][-1] * (tail / tail[-1]) ** -2, ":", color=COLOURS["muted"], label="∝ 1/N²")
    right.set(title="Longer training contexts: 1/N²", xlabel="training context length N", ylabel="bias")
    right.legend()
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def draw_shift(
    rows: Sequence[Mapping[str, Any]], scales: Mapping[str, Any], random: Mapping[str, Any], title: str
) -> Any:
    """Every shift: exact, sampled and the limit of long contexts; scaled inputs; a model trained on random Λ."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15.5, 4.8))
    places = np.arange(len(rows))[::-1]
    for place, row in zip(places, rows, strict=True):
        left.plot([row["limit"], row["relative"]], [place, place], color="#D5D9DE", linewidth=3, zorder=1)
    left.plot([row["relative"] for row in rows], places, "o", color=COLOURS["theory"], label="exact")
    limit_style = {"markerfacecolor": "white", "color": COLOURS["theory"]}
    left.plot([row["limit"] for row in rows], places, "o", label="exact, M → ∞", **limit_style)
    if all("measured" in row for row in rows):
        measured = [row["measured"] * row["relative"] / row["exact"] for row in rows]
        left.plot(measured, places, "x", color=COLOURS["measured"], markersize=7, label="sampled")
    left.axvline(1, color=COLOURS["muted"], linestyle="--", linewidth=1)
    left.text(1, len(rows) - 0.35, " always 0", color=COLOURS["muted"], fontsize=9, va="center", ha="left")
    left.set_yticks(places, [row["shift"] for row in rows])
    left.set(xscale="log", title="Risk under each shift", xlabel="E(ŷ − ⟨w, x_q⟩)² / E⟨w, x_q⟩²")
    left.set_ylim(-0.6, len(rows) + 0.2)
    left.legend(loc="upper center", bbox_to_anchor=(0.35, -0.15), ncols=3, columnspacing=1.0, handletextpad=0.3)

    for colour, (label, values) in zip(SERIES, scales["curves"].items(), strict=False):
        middle.plot(scales["scale"], values, color=colour, label=label)
    middle.axhline(1, color=COLOURS["muted"], linestyle="--", linewidth=1)
    middle.set(title="Inputs scaled by c", xlabel="scale c of every input", ylabel="risk / E⟨w, x_q⟩²", yscale="log")
    middle.legend()

    right.semilogx(random["length"], random["answer"], color=COLOURS["theory"], label="trained on λ_i ~ Exp(1)")
    right.semilogx(random["length"], random["fixed"], color=COLOURS["good"], label="trained on Λ = I")
    right.axhline(1 / 3, color=COLOURS["muted"], linestyle="--", linewidth=1)
    right.text(random["length"][0], 0.345, "1/3", color=COLOURS["muted"], fontsize=10, va="bottom")
    right.set(title="Training on random Λ does not help", xlabel="training context length N", ylim=(0, 1.05))
    right.set_ylabel("ŷ / ⟨w, x_q⟩ on prompts with Λ = I, M → ∞")
    right.legend(loc="center right")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def draw_landscape(quartic: Quartic, found: Basins, points: Sequence[CriticalPoint], title: str) -> Any:
    """A slice through the two minima with flows over it; the loss of every flow; the critical points by Hessian."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15.5, 4.8))
    _draw_slice(figure, left, quartic, found, points)
    colours = [KIND_COLOUR[found.ends[index].kind] for index in found.end_of]
    for flow in range(min(150, len(colours))):
        middle.semilogx(found.times[1:], found.losses[1:, flow], color=colours[flow], alpha=0.25, linewidth=0.8)
    for kind in (GLOBAL, SPURIOUS):
        middle.plot([], [], color=KIND_COLOUR[kind], label=f"{kind}: {found.share(kind):.0%}")
    middle.set(title=f"Where {len(colours)} random starts end", xlabel="time t of the flow", ylabel="loss L")
    middle.set_xlim(0.1, 1e3)
    middle.legend(loc="upper right")
    for kind in (GLOBAL, SPURIOUS, SADDLE):
        chosen = [point for point in points if point.kind == kind]
        style = {"color": KIND_COLOUR[kind], "markersize": 8, "linestyle": "none"}
        marker = "x" if kind == SADDLE else "o"
        right.plot([p.descending for p in chosen], [p.loss for p in chosen], marker, label=kind, **style)
        for point in chosen:
            where = {"xy": (point.descending, point.loss), "xytext": (8, 0), "textcoords": "offset points"}
            right.annotate(point.path, **where, va="center", fontsize=9, color="#444444")
    most = max(point.descending for point in points)
    right.set(title="Critical points", xlabel="directions along which L falls", ylabel="loss L")
    right.set_xlim(-0.3, most + 0.9)
    right.set_xticks(range(most + 1))
    right.legend(loc="lower right")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def _draw_slice(figure: Any, axes: Any, quartic: Quartic, found: Basins, points: Sequence[CriticalPoint]) -> None:
    """L at a·θ_global + b·θ_spurious, and the flows by the size of their shadows on the two."""
    best = next(point for point in points if point.kind == GLOBAL).blocks.vector()
    other = next((point.blocks.vector() for point in points if point.kind == SPURIOUS), None)
    if other is None:
        other = next(point.blocks.vector() for point in points if point.path == "p1·k")
    a, b = np.meshgrid(np.linspace(0, 1.3, 140), np.linspace(0, 1.3, 140))
    values = quartic.loss(a.reshape(-1, 1) * best + b.reshape(-1, 1) * other).reshape(a.shape)
    levels = np.linspace(values.min(), 1.5 * values[0, 0], 18)  # from the minimum to above the level of θ = 0
    filled = axes.contourf(a, b, values, levels=levels, cmap="Blues", extend="max")
    axes.contour(a, b, values, levels=levels, colors="white", linewidths=0.5)
    figure.colorbar(filled, ax=axes, label="loss L on the slice", format="%.2f", pad=0.01)
    shadows = [np.abs(found.paths @ direction) / (direction @ direction) for direction in (best, other)]
    for flow in range(min(60, len(found.end_of))):
        colour = KIND_COLOUR[found.ends[found.end_of[flow]].kind]
        axes.plot(shadows[0][:, flow], shadows[1][:, flow], color=colour, linewidth=0.9, alpha=0.6)
    style = {"markersize": 10, "clip_on": False, "zorder": 5, "markeredgecolor": "white"}
    axes.plot([1], [0], "o", color=KIND_COLOUR[GLOBAL], **style)
    axes.plot([0], [1], "o", color=KIND_COLOUR[SPURIOUS], **style)
    axes.grid(visible=False)
    axes.set(xlim=(0, 1.3), ylim=(0, 1.3), title="A slice through both minima")
    axes.set(xlabel="a: share of the global minimum", ylabel="b: share of the spurious one")
