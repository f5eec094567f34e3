"""The page of norms against `nn.parts.norms` and torch: its numbers are read back from Chromium, in both modes."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import pytest
import torch
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic.look import Page
from glyptic.look.values.norms import norms_view
from glyptic.nn.parts.norms import BatchNorm, LayerNorm, RMSNorm

pytestmark = needs_chromium
EXACT = {"rtol": 0.0, "atol": 1e-10}
READ = """() => ({x: Array.from(G.norms.now.x.values),
    ...Object.fromEntries(Object.entries(G.norms.now.results).map(([name, found]) => [name, found && found.values]))})"""


def shown(**options: Any) -> Page:
    view = norms_view(**options)
    return Page((view,), view.title)


def stream() -> torch.Tensor:
    packed = norms_view().data["stream"]
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), "<f8")
    return torch.tensor(numbers.reshape(packed["shape"]).copy())


def read(tab: Any, batch: int, tokens: int, features: int) -> dict[str, torch.Tensor]:
    """x and what the three norms give, as the page has them."""
    found = tab.evaluate(READ)
    there = {name: values for name, values in found.items() if values is not None}
    return {name: torch.tensor(v, dtype=torch.float64).view(batch, tokens, features) for name, v in there.items()}


def affine(norm: Any, gain: float, bias: float | None) -> Any:
    torch.nn.init.constant_(norm.weight, gain)
    if bias is not None:
        torch.nn.init.constant_(norm.bias, bias)
    return norm.double()


@pytest.mark.parametrize("sizes", [(3, 3, 4), (4, 2, 6), (1, 4, 3), (2, 1, 2)])
def test_the_three_in_training(browser: Any, sizes: tuple[int, int, int]) -> None:
    batch, tokens, features = sizes
    page = shown(batch=batch, tokens=tokens, features=features)
    norms = {
        "batch": affine(BatchNorm(features, 0.01), 1.5, -0.5),
        "layer": affine(LayerNorm(features, 0.01), 1.5, -0.5),
        "rms": affine(RMSNorm(features, 0.01), 1.5, None),
    }
    with page_of(browser, page, "#gain=1.5&bias=-0.5&eps=0.01&step=5") as tab, torch.no_grad():
        found = read(tab, *sizes)
        assert (found["x"] == stream()[5, :batch, :tokens, :features]).all()
        for name, norm in norms.items():
            torch.testing.assert_close(found[name], norm(found["x"]), **EXACT)


@pytest.mark.parametrize("steps", [0, 1, 13])
def test_inference_has_the_running_statistics_of_the_batches_seen(browser: Any, steps: int) -> None:
    norm = BatchNorm(4).double()
    batches = stream()[:, :3, :3, :4]
    norm.momentum = 0.25
    for each in batches[:steps]:
        norm(each)
    with page_of(browser, shown(), f"#mode=inference&step={steps}&momentum=0.25") as tab, torch.no_grad():
        running = torch.tensor(tab.evaluate("G.norms.now.running.map((one) => [one.mean, one.variance])"), dtype=torch.float64)
        torch.testing.assert_close(running.T, torch.stack([norm.running_mean, norm.running_var]), **EXACT)
        found = read(tab, 3, 3, 4)
        torch.testing.assert_close(found["batch"], norm.eval()(batches[steps]), **EXACT)
        torch.testing.assert_close(found["layer"], LayerNorm(4).double().eval()(batches[steps]), **EXACT)
        assert tab.locator("#norm-batch .shared").count() == 0 and tab.locator("#norm-layer .shared").count() == 4


def test_the_batch_axis_alone_and_epsilon_outside(browser: Any) -> None:
    with page_of(browser, shown(batch=4), "#pool=batch&epsilon=outside&eps=0.05") as tab, torch.no_grad():
        found = read(tab, 4, 3, 4)
        flat = torch.nn.BatchNorm1d(12, eps=0.05).double()(found["x"].flatten(1)).view(4, 3, 4)
        torch.testing.assert_close(found["batch"], flat, **EXACT)
        torch.testing.assert_close(found["rms"], RMSNorm(4, 0.05, outside=True).double()(found["x"]), **EXACT)


def test_one_token_alone_is_refused_as_torch_refuses_it(browser: Any) -> None:
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        BatchNorm(4)(torch.zeros(1, 1, 4))
    with page_of(browser, shown()) as tab:
        tab.click("#one")
        assert tab.evaluate("[G.norms.now.results.batch, G.norms.now.results.layer.values.length]") == [None, 4]
        assert "Refused: one value has variance 0" in tab.inner_text("#norm-batch")
        assert "A batch of one is as good as any" in tab.inner_text("#norm-layer")
        tab.click("#infer")
        assert tab.evaluate("G.norms.now.results.batch.values.length") == 4
        tab.click("#sequence")
        assert "works here, since its 3 tokens are 3 samples" in tab.inner_text("#norm-batch")


def test_padding_moves_batch_norm_and_nothing_else(browser: Any) -> None:
    with page_of(browser, shown()) as tab:
        plain = read(tab, 3, 3, 4)
        tab.click("#pad")
        padded = read(tab, 3, 3, 4)
        assert (padded["x"][2, 1:] == 0).all() and tab.locator("#norm-batch .padded").count() == 8
        real = torch.ones(3, 3, dtype=torch.bool)
        real[2, 1:] = False
        assert (plain["layer"][real] == padded["layer"][real]).all() and (plain["rms"][real] == padded["rms"][real]).all()
        assert (plain["batch"][real] - padded["batch"][real]).abs().max() > 0.01
        torch.testing.assert_close(padded["batch"], BatchNorm(4).double()(padded["x"]).detach(), **EXACT)
        assert "Padding moves the other tokens" in tab.inner_text("#norm-batch")
        assert "Padding does not change" in tab.inner_text("#norm-rms")


def test_cells_are_edited_by_keyboard_and_share_statistics(browser: Any) -> None:
    with page_of(browser, shown()) as tab:
        counts = [tab.locator(f"#norm-{kind} .shared").count() for kind in ("batch", "layer", "rms")]
        assert counts == [9, 4, 4]
        tab.focus(".input .chosen")
        for key in ("ArrowRight", "ArrowDown", "-", "7", "Enter"):
            tab.keyboard.press(key)
        assert tab.evaluate("[G.norms.now.x.values[5], document.activeElement.dataset.place]") == [-7, "0.1.1"]
        found = read(tab, 3, 3, 4)
        torch.testing.assert_close(found["layer"], LayerNorm(4).double()(found["x"]).detach(), **EXACT)
        tab.keyboard.press("o")
        assert tab.evaluate("G.norms.now.x.values[5]") == 40 and "0.1.1%3D40" in tab.url
        tab.keyboard.press("Delete")
        assert tab.evaluate("G.norms.now.x.values[5]") == float(stream()[8, 0, 1, 1])
        tab.keyboard.press("Enter")
        tab.keyboard.type("x")
        tab.keyboard.press("Enter")
        assert "not a number" in tab.inner_text(".input")
        tab.hover("#norm-layer [data-place='2.2.0']")
        places = tab.evaluate("[...document.querySelectorAll('#norm-layer .shared')].map((c) => c.dataset.place)")
        assert places == [f"2.2.{d}" for d in range(4)]


def test_batches_are_stepped_through(browser: Any) -> None:
    with page_of(browser, shown(), "#step=0") as tab:
        tab.click("#next")
        tab.keyboard.press("]")
        assert tab.evaluate("G.norms.now.setting.at") == 2 and "batch 2 of 40" in tab.inner_text("#view")
        tab.keyboard.press("[")
        tab.keyboard.press("i")
        assert tab.evaluate("[G.norms.now.setting.at, G.norms.now.setting.training]") == [1, False]
        tab.click("#reset")
        assert tab.evaluate("G.norms.now.setting.training")


STATES = [
    *("", "#lang=es&light=dark&padding=2", "#batch=1&tokens=1&light=dark"),
    "#cell=9.x&step=999&x=a;0.0.0.0=1e9&eps=-1&grids=before",
]


@pytest.mark.parametrize("fragment", STATES)
def test_any_state_opens_and_is_accessible(browser: Any, fragment: str) -> None:
    with page_of(browser, shown(), fragment) as tab:
        assert axe(tab) == []
        with tab.expect_download() as saved:
            tab.click("#save-csv")
        assert saved.value.path().read_text().startswith("sequence,token,feature,padding,x,batch_norm,layer_norm,rms_norm")
