"""The pictures of the theory, one a command. Each takes results as values and returns a figure; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.figures import COLOURS, SERIES
from glyptic.icl.theory.landscape import GLOBAL, SADDLE, SPURIOUS, Basins, CriticalPoint, rank_one_point
from glyptic.icl.theory.problem import Array, Problem
from glyptic.icl.theory.profile import Profile
from glyptic.icl.theory.separate import FixedPoint
from glyptic.icl.theory.studies import seen_above_rounding

KIND_COLOUR = {GLOBAL: COLOURS["good"], SPURIOUS: COLOURS["bad"], SADDLE: COLOURS["muted"]}


def draw_flow(columns: Mapping[str, Any], eigenvalues: Array, mu: float | None, check: Mapping[str, Any] | None) -> Any:
    """Excess loss, the eigendirections learnt one after the other, and the Polyak–Łojasiewicz ratio, against time."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15.5, 4.4))
    time = columns["time"]
    shown = seen_above_rounding(columns["excess"])
    left.loglog(time[shown], columns["excess"][shown], color=COLOURS["theory"], label="d + 2 equations")
    if check is not None:
        seen = seen_above_rounding(check["excess"])
        style = {"color": COLOURS["measured"], "markersize": 5, "markerfacecolor": "white"}
        left.loglog(check["time"][seen], check["excess"][seen], "o", label="all (d+1)² weights", **style)
    left.set(title="Loss above its minimum", xlabel="time t of the flow", ylabel="L − L*")
    left.legend()

    different = np.unique(eigenvalues, return_index=True)[1][::-1]  # one index for each eigenvalue, largest first
    few = np.unique(np.linspace(0, len(different) - 1, min(6, len(different))).astype(int))
    for colour, index in zip(SERIES, different[few], strict=False):
        label = f"λ = {eigenvalues[index]:.3g}"
        middle.semilogx(time, columns[f"learnt_{index + 1}"], color=colour, label=label)
    if "logistic" in columns:
        style = {"color": "black", "linewidth": 1.2}
        middle.semilogx(time, columns["logistic"], "--", label="logistic,\nclosed form", **style)
    middle.axhline(1, color=COLOURS["muted"], linewidth=1, linestyle=":")
    middle.set(title="Learnt share of each eigendirection", xlabel="time t of the flow")
    middle.set_ylabel("$p_2\\,K_{ii}\\;/\\;P^*_{ii}$")
    middle.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.2)

    right.loglog(time[shown], columns["pl_ratio"][shown], color=COLOURS["theory"], label="along the flow")
    if mu is not None and mu > 0:
        right.axhline(mu, color=COLOURS["bad"], linestyle="--", label=f"the theorem's μ = {mu:.2g}")
    right.set(title="Polyak–Łojasiewicz ratio", xlabel="time t of the flow", ylabel="‖∇L‖² / (L − L*)")
    right.legend()
    moved = columns["excess"] < 0.999 * columns["excess"][0]  # before that nothing is to be seen
    for axes in (left, middle, right):
        axes.set_xlim(time[np.argmax(moved)] / 3, time[shown][-1] * 1.3)
    return figure


def draw_risk(laws: Sequence[Mapping[str, Any]], by_M: Mapping[str, Any], by_N: Mapping[str, Any], title: str) -> Any:
    """Three parts for each label law; the variance against M; the bias against N."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15, 4.6))
    names = [row["law"] for row in laws]
    start = np.zeros(len(laws))
    scale = np.array([row["risk"] for row in laws])
    for part, colour in (("floor", "#C9CDD2"), ("variance", SERIES[4]), ("bias", SERIES[1])):
        width = np.array([row[part] for row in laws]) / scale
        left.barh(names, width, left=start, color=colour, label=part, height=0.62)
        start += width
    if all("sampled" in row for row in laws):
        measured = np.array([row["sampled"] for row in laws]) / scale
        error = 3 * np.array([row["standard_error"] for row in laws]) / scale
        style = {"color": "black", "markersize": 3.5, "capsize": 3}
        left.errorbar(measured, names, xerr=error, fmt="o", label="sampled, ± 3 s.e.", **style)
    left.invert_yaxis()
    left.grid(axis="y", visible=False)
    left.set(title="Risk by law of the labels", xlabel="share of the exact risk")
    left.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.45, -0.16), columnspacing=1.0, handlelength=1.2)

    middle.loglog(by_M["length"], by_M["exact"], color=COLOURS["theory"], label=f"variance, slope {by_M['slope']:.2f}")
    if by_M["sampled"] is not None:
        style = {"color": COLOURS["measured"], "markersize": 5, "capsize": 3}
        measured, error = np.array(by_M["sampled"]), 3 * np.array(by_M["standard_error"])
        middle.errorbar(by_M["length"], measured, yerr=error, fmt="o", label="sampled risk − floor − bias, ± 3 s.e.", **style)
    middle.set(title="Longer test contexts: 1/M", xlabel="test length M", ylabel="variance")
    middle.legend()

    right.loglog(by_N["length"], by_N["exact"], color=COLOURS["theory"], label=f"bias, tail slope {by_N['slope']:.2f}")
    tail = np.array(by_N["length"], dtype=float)
    right.loglog(tail, by_N["exact"][-1] * (tail / tail[-1]) ** -2, ":", color=COLOURS["muted"], label="∝ 1/N²")
    right.set(title="Longer training contexts: 1/N²", xlabel="training length N", ylabel="bias")
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
    if all("sampled" in row for row in rows):
        units = np.array([row["relative"] / row["risk"] for row in rows])
        measured, error = (units * np.array([row[name] for row in rows]) for name in ("sampled", "standard_error"))
        style = {"color": COLOURS["measured"], "markersize": 7, "capsize": 4}
        left.errorbar(measured, places, xerr=3 * error, fmt="x", label="sampled, ± 3 s.e.", **style)
    left.axvline(1, color=COLOURS["muted"], linestyle="--", linewidth=1)
    left.text(1, len(rows) - 0.35, " always 0", color=COLOURS["muted"], fontsize=9, va="center", ha="left")
    left.set_yticks(places, [row["shift"] for row in rows])
    left.set(xscale="log", title="Risk under each shift", xlabel="E(ŷ − ⟨w, x_q⟩)² / E⟨w, x_q⟩²")
    left.set_ylim(-0.6, len(rows) + 0.2)
    left.legend(loc="upper center", bbox_to_anchor=(0.35, -0.15), ncols=3, columnspacing=1.0, handletextpad=0.3)

    for colour, (label, values) in zip(SERIES, scales["curves"].items(), strict=False):
        middle.plot(scales["c"], values, color=colour, label=label)
    middle.axhline(1, color=COLOURS["muted"], linestyle="--", linewidth=1)
    middle.set(title="Inputs scaled by c", xlabel="scale c of every input", ylabel="risk / E⟨w, x_q⟩²", yscale="log")
    middle.legend()

    right.semilogx(random["length"], random["answer"], color=COLOURS["theory"], label="trained on λ_i ~ Exp(1)")
    right.semilogx(random["length"], random["fixed"], color=COLOURS["good"], label="trained on Λ = I")
    right.axhline(1 / 3, color=COLOURS["muted"], linestyle="--", linewidth=1)
    right.text(random["length"][0], 0.345, "1/3", color=COLOURS["muted"], fontsize=10, va="bottom")
    right.set(title="Training on random Λ does not help", xlabel="training length N", ylim=(0, 1.05))
    right.set_ylabel("ŷ / ⟨w, x_q⟩ on prompts with Λ = I, M → ∞")
    right.legend(loc="center right")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def draw_landscape(problem: Problem, found: Basins, points: Sequence[CriticalPoint], title: str) -> Any:
    """The least loss for each p, with flows above it; the loss of every flow; the critical points by their Hessians."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15.5, 4.8))
    _draw_profile(left, problem, found, points)
    colours = [KIND_COLOUR[found.ends[index].kind] for index in found.end_of]
    for flow in range(min(150, len(colours))):
        middle.semilogx(found.times[1:], found.losses[1:, flow], color=colours[flow], alpha=0.25, linewidth=0.8)
    for kind in KIND_COLOUR:
        if found.share(kind):
            middle.plot([], [], color=KIND_COLOUR[kind], label=f"{kind}: {found.share(kind):.0%}")
    middle.set(title=f"Where {len(colours)} random starts end", xlabel="time t of the flow", ylabel="loss L")
    still = 1e-2 * found.losses[0].max()  # before the first flow moves by that, and after the last one, nothing is to be seen
    begin = np.argmax(found.losses[0] - found.losses > still, axis=0)
    end = np.argmax(found.losses - found.losses[-1] < still, axis=0)
    middle.set_xlim(found.times[max(1, begin.min())] / 10, found.times[end.max()] * 10)
    middle.legend(loc="upper right")
    _draw_points(right, points)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def _draw_points(axes: Any, points: Sequence[CriticalPoint]) -> None:
    """Each critical point at the number of its descending directions and its loss, with the blocks that carry it."""
    for kind, colour in KIND_COLOUR.items():
        chosen = [point for point in points if point.kind == kind]
        style = {"color": colour, "markersize": 8, "linestyle": "none", "marker": "x" if kind == SADDLE else "o"}
        if chosen:
            axes.plot([p.descending for p in chosen], [p.loss for p in chosen], label=kind, **style)
    line = 0.045 * (points[-1].loss - points[0].loss)  # the height of a label
    taken: dict[int, float] = {}  # where the highest label of each column is
    for point in sorted(points, key=lambda point: point.loss):
        height = max(point.loss, taken.get(point.descending, -np.inf) + line)
        taken[point.descending] = height
        text = "both" if "+" in point.path else point.path
        axes.text(point.descending + 0.12, height, text, va="center", fontsize=9, color="#444444")
    most = max(point.descending for point in points)
    axes.set(title="Critical points, and which blocks carry them", ylabel="loss L")
    axes.set(xlabel="directions along which L falls", xlim=(-0.3, most + 0.9), xticks=range(most + 1))
    axes.legend(loc="lower right")


def _draw_profile(axes: Any, problem: Problem, found: Basins, points: Sequence[CriticalPoint]) -> None:
    """ℓ(p) = min_W L(p, W) along the axes (cos φ e_i, sin φ) of Λ, and every flow at its own φ and its own loss.

    Both coordinates of a flow are what they say, so it never lies below the least of ℓ at its φ, and ends on it.
    """
    profile, angles = Profile.of(problem), np.linspace(0, np.pi / 2, 181)
    for flow in range(min(60, len(found.end_of))):
        p1, p2 = found.paths[:, flow, : problem.d], found.paths[:, flow, problem.d]
        colour = KIND_COLOUR[found.ends[found.end_of[flow]].kind]
        angle = np.degrees(np.arctan2(np.abs(p2), np.linalg.norm(p1, axis=1)))
        axes.plot(angle, found.losses[:, flow], color=colour, linewidth=0.8, alpha=0.4)
    directions = [rank_one_point(problem, direction).p1 for direction in range(problem.d)]
    isotropic = np.ptp(problem.covariance.diagonal()) == 0  # then all axes are alike
    for index, e in enumerate(directions[: 1 if isotropic else problem.d]):
        strength = float(e @ problem.covariance @ e / (e @ e))
        line = {"color": "black", "linestyle": _DASHES[index], "label": f"ℓ at p1 ∥ e, λ = {strength:.3g}"}
        axes.plot(np.degrees(angles), profile.along(e / np.linalg.norm(e), angles), **line)
    for point in points:
        style = {"color": KIND_COLOUR[point.kind], "markersize": 8, "markeredgecolor": "white", "zorder": 5}
        if np.isfinite(point.angle):
            axes.plot(np.degrees(point.angle), point.loss, "X" if point.kind == SADDLE else "o", clip_on=False, **style)
    axes.set(title="The least loss for each p, and flows", ylabel="loss L", xlim=(0, 90), xticks=[0, 15, 30, 45, 60, 75, 90])
    axes.set(xlabel="φ in degrees, p = (cos φ e, sin φ): signal through p1·k … p2·K")
    axes.set_ylim(top=min(1.6 * problem.signal_power / 2, 1.05 * max(found.losses[0].max(), problem.signal_power / 2)))
    axes.legend(loc="lower left")


def draw_separate(
    problem: Problem, columns: Mapping[str, Any], merged: Mapping[str, Any], rows: Sequence[Mapping[str, Any]],
    points: Sequence[FixedPoint], title: str,
) -> Any:  # fmt: skip
    """The loss of separate and merged keys and queries; the directions one after the other; every loss of rest."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15.5, 4.6))
    for row in rows:
        left.axhline(row["closed form"], color=COLOURS["muted"], linewidth=0.8, linestyle=":", label="_")
    left.plot([], [], color=COLOURS["muted"], linewidth=0.8, linestyle=":", label="closed form, m directions")
    left.semilogx(merged["time"], merged["loss"], color=COLOURS["measured"], label="merged")
    left.semilogx(columns["time"], columns["loss"], color=COLOURS["theory"], label="separate keys and queries")
    left.set(title="Loss along the flow", xlabel="time t of the flow", ylabel="loss L")
    left.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=3, columnspacing=1.0, handlelength=1.4)

    names = [name for name in columns if name.startswith("learnt_")]
    for colour, name in zip(figures.distinct(len(names)), names, strict=True):
        middle.semilogx(columns["time"], columns[name], color=colour, label=f"direction {name.removeprefix('learnt_')}")
    middle.axhline(1, color=COLOURS["muted"], linewidth=1, linestyle=":")
    middle.set(title="Learnt share of each direction", xlabel="time t of the flow")
    middle.set_ylabel("$X_{ii}\\;/\\;P^*_{ii}$")
    if len(names) <= 8:
        middle.legend(loc="center left")

    if points:
        style = {"color": COLOURS["muted"], "markersize": 4, "label": f"all {len(points)} values at which it can rest"}
        right.plot([len(point.directions) for point in points], [point.loss for point in points], "o", **style)
    stairs = [row["learnt"] for row in rows]
    right.plot(stairs, [row["closed form"] for row in rows], "_", markersize=22, color=COLOURS["theory"], label="largest first")
    seen = [row for row in rows if "flow" in row]
    style = {"color": COLOURS["measured"], "markersize": 8, "label": "plateaus of the flow"}
    right.plot([row["learnt"] for row in seen], [row["flow"] for row in seen], "x", **style)
    right.set(title="Where the flow can rest, and where it does", xlabel="directions learnt, m", ylabel="loss L", xticks=stairs)
    right.legend(loc="upper right")
    begin = columns["time"][np.argmax(np.asarray(columns["loss"]) < 0.999 * columns["loss"][0])]
    first = merged["time"][np.argmax(np.asarray(merged["loss"]) < 0.999 * merged["loss"][0])]
    left.set_xlim(min(begin, first) / 5, columns["time"][-1] * 1.5)
    middle.set_xlim(begin / 5, columns["time"][-1] * 1.5)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def draw_diversity(problem: Problem, rows: Sequence[Mapping[str, Any]], curves: Sequence[Mapping[str, Any]], title: str) -> Any:
    """Risks on new and on pretraining tasks against their number; the transition at T = d; how the excess falls."""
    figure, (left, middle, right) = figures.new(1, 3, size=(15.5, 4.9))
    unit, best = problem.signal_power, rows[0]["best"]
    plain = [row for row in rows if row["model"] == "K"]
    T = np.array([row["tasks"] for row in plain])
    colours = {"new": COLOURS["measured"], "pool": COLOURS["theory"]}
    for kind, name in (("new", "new tasks"), ("pool", "the T tasks")):
        limit = [row[f"{kind}_limit"] / unit for row in plain]
        left.semilogx(T, limit, color=colours[kind], linewidth=1.2, label=f"{name}: limit d → ∞")
        for model, marker in (("K", "o"), ("K and k", "^")):
            chosen = [row for row in rows if row["model"] == model]
            error = [2 * row[f"{kind}_standard_error"] / unit for row in chosen]
            style = {"color": colours[kind], "markersize": 5, "capsize": 3, "label": f"{name}: {model}"}
            if model == "K and k":
                style["markerfacecolor"] = "white"
            left.errorbar(T, [row[kind] / unit for row in chosen], yerr=error, fmt=marker, **style)
    left.axhline(best / unit, color="black", linestyle="--", linewidth=1, label="trained on ever new tasks")
    left.axvline(problem.d, color=COLOURS["muted"], linestyle=":", linewidth=1)
    left.set(title="Risk against the number of tasks", xlabel="pretraining tasks, T", ylabel="risk / E⟨w, x_q⟩²")
    left.legend(loc="upper right")

    lengths = list(dict.fromkeys(row["N"] for row in curves))
    for colour, N in zip(SERIES, lengths, strict=False):
        chosen = [row for row in curves if row["N"] == N]
        label = "N = M → ∞" if lengths[-1] == N else f"N = M = {N}"
        shares, risks = zip(*((row["tasks"] / problem.d, row["new_limit"]) for row in chosen), strict=True)
        middle.semilogx(shares, risks, color=colour, label=label)
    middle.axvline(1, color=COLOURS["muted"], linestyle=":", linewidth=1)
    middle.set(title="New tasks, limit d → ∞: a transition at T = d", xlabel="T / d", ylabel="risk on new tasks / E⟨w, x_q⟩²")
    middle.legend(loc="upper right")

    for model, marker in (("K", "o"), ("K and k", "^")):
        chosen = [row for row in rows if row["model"] == model]
        above, bars = (np.array([row[name] for row in chosen]) / unit for name in ("new", "new_standard_error"))
        style = {"color": colours["new"], "markersize": 5, "capsize": 3, "label": model}
        if model == "K and k":
            style["markerfacecolor"] = "white"
        right.errorbar(T, above - best / unit, yerr=2 * bars, fmt=marker, **style)
    line = np.array([row["new_limit"] - best for row in plain]) / unit
    right.plot(T[line > 0], line[line > 0], color=colours["new"], linewidth=1.2, label="limit d → ∞")
    if line[-1] > 0:
        right.plot(T, line[-1] * T[-1] / T, ":", color=COLOURS["muted"], label="∝ 1/T")
    right.set(title="What too few tasks cost on new ones", xlabel="pretraining tasks, T", xscale="log", yscale="log")
    right.set_ylabel("(risk − that of ever new tasks) / E⟨w, x_q⟩²")
    right.legend(loc="lower left")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


_DASHES = ("-", "--", "-.", ":", (0, (1, 3)))
