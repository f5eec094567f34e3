"""The page of attention, 12 layers × 12 heads × 128 tokens: its size, when it is ready, how many nodes it has, beside Plotly's.

Plotly shows the same weights as 144 heat maps in one file with its script inside (`include_plotlyjs=True`). Both files are opened
in Debian's Chromium. Ready: from the start of navigation until ours has drawn everything (`data-ready`), and until Plotly has
drawn its last map.
"""

from __future__ import annotations

import tempfile
from importlib import metadata, util
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks.timing import row
from glyptic import nn
from glyptic.look.pages import Page
from glyptic.look.values.model import model_view
from glyptic.nn.models import Model

LAYERS, HEADS, TOKENS, LONG, RUNS = 12, 12, 128, 512, 5
OURS = "document.body.dataset.ready === 'yes'"
THEIRS = "window.Plotly && document.querySelector('.js-plotly-plot')?._fullData?.length === 144 && window.drawn === true"


def rows() -> list[dict[str, object]]:
    model = _model()
    ids = torch.randint(0, 256, (LONG,), generator=torch.Generator().manual_seed(0))
    with tempfile.TemporaryDirectory() as folder:
        ours = Page((model_view(model, ids[:TOKENS]),)).save(Path(folder) / "ours.html")
        long = Page((model_view(model, ids, effort=1e11),)).save(Path(folder) / "long.html")
        theirs = _plotly(model, ids[:TOKENS], Path(folder) / "plotly.html")
        measured = _measure({"ours": (ours, OURS), "long": (long, OURS)} | ({"plotly": (theirs, THEIRS)} if theirs else {}))
        return _rows(measured, {name: path for name, path in (("ours", ours), ("long", long), ("plotly", theirs)) if path})


def _model() -> Model:
    """Random weights, made large so that attention is neither flat nor one key alone."""
    config = nn.ModelConfig(kind="encoder", layers=LAYERS, width=192, heads=HEADS, vocabulary=256, context=LONG)
    model = nn.build(config, seed=0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "qkv.weight" in name:
                parameter.mul_(8)
    return model


def _plotly(model: Model, ids: torch.Tensor, path: Path) -> Path | None:
    if util.find_spec("plotly") is None:
        return None
    from plotly import graph_objects
    from plotly.subplots import make_subplots

    with torch.inference_mode():
        found = nn.record(nn.with_backend(model, "reference"), ids[None], names="blocks.*.attn.hook_pattern").activations
    figure = make_subplots(LAYERS, HEADS)
    for layer, weights in enumerate(found.values()):
        for head in range(HEADS):
            heat = graph_objects.Heatmap(z=np.round(weights[0, head].numpy(), 3), showscale=False)
            figure.add_trace(heat, layer + 1, head + 1)
    figure.update_layout(width=1300, height=1300)
    done = "document.getElementsByClassName('plotly-graph-div')[0].on('plotly_afterplot', () => { window.drawn = true; });"
    figure.write_html(path, include_plotlyjs=True, post_script=done + "window.drawn = true;")
    return path


def _measure(pages: dict[str, tuple[Path, str]]) -> dict[str, tuple[float, int]]:
    """Milliseconds until ready, the median of some openings in turn, and the nodes then."""
    from tests.look.chromium import chromium

    times: dict[str, list[float]] = {name: [] for name in pages}
    nodes: dict[str, int] = {}
    with chromium() as browser:
        for _ in range(RUNS):
            for name, (path, ready) in pages.items():
                tab = browser.new_page(viewport={"width": 1366, "height": 900})
                tab.goto(path.as_uri(), wait_until="commit")
                times[name].append(_ready(tab, ready))
                nodes[name] = tab.evaluate("document.querySelectorAll('*').length")
                tab.close()
    return {name: (median(times[name]), nodes[name]) for name in pages}


def _ready(tab: Any, condition: str) -> float:
    """When the condition holds at the beginning of a frame: all before it has been drawn."""
    script = f"() => ({condition}) ? performance.now() : 0"
    return float(tab.wait_for_function(script, timeout=120_000, polling="raf").json_value())


def _rows(measured: dict[str, tuple[float, int]], paths: dict[str, Path]) -> list[dict[str, object]]:
    size = {name: path.stat().st_size / 1e6 for name, path in paths.items()}
    what, note = f"{LAYERS} × {HEADS} heads, {TOKENS} tokens, no mask", f"median of {RUNS} openings in Chromium, in turn"
    found = [
        row(f"file, {what}", size["ours"], "<= 3", "with scores, lens, and every head ablated twice", "MB"),
        row("ready", measured["ours"][0], "<= 1500", note, "ms"),
        row("nodes", measured["ours"][1], "", "elements in the document when ready", ""),
        row(f"file, the same with {LONG} tokens", size["long"], "", "whole maps as the budget allows, the page says which", "MB"),
        row(f"ready, {LONG} tokens", measured["long"][0], "", note, "ms"),
    ]
    if "plotly" not in measured:
        return [*found, row("inlined Plotly for the same", float("nan"), "", "not measured: pip install plotly", "")]
    named = f"plotly {metadata.version('plotly')}, 144 heat maps, weights to 3 digits"
    return [
        *found,
        row("Plotly's file", size["plotly"], "", named, "MB"),
        row("Plotly ready", measured["plotly"][0], "", note, "ms"),
        row("Plotly's nodes", measured["plotly"][1], "", named, ""),
        row("our nodes / Plotly's", measured["ours"][1] / measured["plotly"][1], "<= 0.1", "", "×"),
    ]
