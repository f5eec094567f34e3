"""The page of positions against `nn.parts.positions`: its numbers are read back from Chromium."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.look.chromium import axe, needs_chromium, page_of, wait_until

from glyptic import nn
from glyptic.errors import InputError
from glyptic.look import Page
from glyptic.look.values.positions import positions_view
from glyptic.nn.parts.positions import Rotary, Shaw, TransformerXL, rotate, sinusoids
from glyptic.nn.parts.positions.alibi import slopes
from glyptic.nn.parts.positions.t5 import bucket

pytestmark = needs_chromium
KINDS = ["sinusoidal", "learned", "rotary", "alibi", "t5", "shaw", "transformer_xl"]
SCORES = """id => { const {setting: s, kinds} = G.positions.now, all = [];
  for (let i = 0; i < s.length; i++) for (let j = 0; j < s.length; j++) all.push(kinds.get(id).score(i, j)); return all; }"""


def shown(**options: Any) -> Page:
    view = positions_view(**options)
    return Page((view,), view.title)


def scores(tab: Any, kind: str, length: int) -> torch.Tensor:
    return torch.tensor(tab.evaluate(SCORES, kind), dtype=torch.float64).view(length, length)


def content(tab: Any) -> tuple[torch.Tensor, torch.Tensor]:
    q, k = (tab.evaluate(f"Array.from(G.positions.now.setting.{name})") for name in "qk")
    return torch.tensor(q, dtype=torch.float64), torch.tensor(k, dtype=torch.float64)


def config(**changes: Any) -> nn.ModelConfig:
    sizes = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 9, "context": 16, "backend": "reference"}
    return nn.ModelConfig(kind="decoder", **{**sizes, **changes})


def distances(length: int) -> torch.Tensor:
    return torch.arange(length)[:, None] - torch.arange(length)


def test_the_sinusoidal_table_is_torch_s(browser: Any) -> None:
    with page_of(browser, shown(width=32, length=70)) as tab:
        table = tab.evaluate("Array.from({length: 70}, (_, t) => Array.from(G.positions.now.kinds.get('sinusoidal').at(t)))")
        wanted = sinusoids(torch.arange(70), 32)
        torch.testing.assert_close(torch.tensor(table, dtype=torch.float64), wanted, rtol=0, atol=1e-12)
        similar = wanted @ wanted.T / 16
        torch.testing.assert_close(scores(tab, "sinusoidal", 70), similar, rtol=0, atol=1e-12)


@pytest.mark.parametrize("base", [10000.0, 500.0])
def test_rotary_scores_are_torch_s_and_need_the_distance_alone(browser: Any, base: float) -> None:
    with page_of(browser, shown(width=32, heads=2, length=40, base=base), "#head=1") as tab:
        q, k = content(tab)
        turned = Rotary(config(positions="rotary", rotary_base=base))(torch.arange(40), 40, torch.float64)
        q40, k40 = (rotate(x.expand(1, 40, 1, 16), turned)[0, :, 0] for x in (q, k))
        found = scores(tab, "rotary", 40)
        torch.testing.assert_close(found, q40 @ k40.T / 4, rtol=0, atol=1e-12)
        torch.testing.assert_close(found[1:, 1:], found[:-1, :-1], rtol=0, atol=1e-12)  # equal along diagonals
        seventh = torch.tensor(tab.evaluate("Array.from(G.positions.now.kinds.get('rotary').q(7))"), dtype=torch.float64)
        torch.testing.assert_close(seventh, q40[7])


@pytest.mark.parametrize("heads", [1, 2, 4, 6, 7, 12])
def test_slopes_of_alibi(browser: Any, heads: int) -> None:
    with page_of(browser, shown(heads=heads, length=20)) as tab:
        assert tab.evaluate("G.positions.now.kinds.get('alibi').slopes") == slopes(heads)
        assert (scores(tab, "alibi", 20) == -slopes(heads)[0] * distances(20).abs()).all()


def test_buckets_of_t5_are_the_same_integers(browser: Any) -> None:
    script = "([n, d, b]) => Array.from({length: 1201}, (_, i) => G.positions.bucket(i - 600, n, d, b))"
    with page_of(browser, shown()) as tab:
        for bidirectional in (False, True):
            for buckets in (4, 8, 16, 20, 32, 64):
                for distance in (20, 33, 64, 100, 128, 1000):
                    if distance > buckets // (4 if bidirectional else 2):
                        wanted = bucket(torch.arange(-600, 601), buckets, distance, bidirectional=bidirectional).tolist()
                        assert tab.evaluate(script, [buckets, distance, bidirectional]) == wanted, (buckets, distance)


def own_of(browser: Any, kind: str, **changes: Any) -> tuple[Any, Page]:
    model = nn.build(config(positions=kind, **changes), seed=3)
    return model, Page((positions_view(model),))


def test_a_model_s_own_buckets(browser: Any) -> None:
    model, page = own_of(browser, "t5", relative_buckets=8, relative_distance=20)
    with page_of(browser, page, "#length=32&head=1") as tab:
        wanted = model.stack.score_bias(distances(32), torch.float32)[1].detach().double()
        assert (scores(tab, "t5", 32) == wanted).all()


def test_a_model_s_own_clipped_vectors(browser: Any) -> None:
    model, page = own_of(browser, "shaw", relative_distance=5)
    shaw = next(module for module in model.modules() if isinstance(module, Shaw)).double()
    with page_of(browser, page, "#length=24") as tab:
        q, _ = content(tab)
        wanted = shaw.bias(q.expand(1, 1, 24, 16), distances(24))[0, 0].detach() / 4
        torch.testing.assert_close(scores(tab, "shaw", 24), wanted, rtol=0, atol=1e-12)
        assert wanted[23, 0] == wanted[23, 17]  # clipped


def test_a_model_s_own_terms_of_transformer_xl(browser: Any) -> None:
    model, page = own_of(browser, "transformer_xl")
    part = next(module for module in model.modules() if isinstance(module, TransformerXL)).double()
    with page_of(browser, page, "#length=24&head=1") as tab:
        q, k = content(tab)
        every = torch.stack([torch.zeros_like(q), q])[None, :, None].expand(1, 2, 24, 16)
        wanted = part.bias(every, distances(24), sinusoids(torch.arange(-23, 24), 32))[0, 1].detach() / 4
        torch.testing.assert_close(scores(tab, "transformer_xl", 24), wanted, rtol=0, atol=1e-12)
        terms = tab.evaluate("G.positions.now.kinds.get('transformer_xl').terms(20, 3)")
        whole = ((q + part.u[1, 0]) @ k / 4 + wanted[20, 3]).item()
        assert sum(terms) == pytest.approx(whole, abs=1e-12)
        assert terms[1] + terms[3] == pytest.approx(wanted[20, 3].item(), abs=1e-12)


def test_a_model_s_own_table_ends_where_it_was_trained(browser: Any) -> None:
    model, page = own_of(browser, "learned")
    with page_of(browser, page, "#length=20&m=18&n=3") as tab:
        table = model.embedding.position.weight.detach().double()
        found = scores(tab, "learned", 20)
        unit = table / table.norm(dim=1, keepdim=True)
        torch.testing.assert_close(found[:16, :16], unit @ unit.T, rtol=0, atol=1e-12)
        assert found[16:].isnan().all() and found[:, 16:].isnan().all()
        assert "position 18 has no row" in tab.inner_text("#kind-learned")


def test_controls_change_what_is_seen(browser: Any) -> None:
    with page_of(browser, shown()) as tab:
        assert [tab.locator(f"#kind-{kind}").count() for kind in KINDS] == [1] * 7
        before = tab.inner_text("#kind-alibi .pair")
        tab.select_option("select >> nth=0", "16")
        tab.get_by_label("Heads H").fill("6")
        tab.get_by_label("Head shown").select_option("5")
        tab.get_by_label("Trained length").fill("20")
        tab.get_by_label("Maps show").select_option("scores")
        wait_until(tab, "G.positions.now.setting.trained === 20 && G.positions.now.setting.head === 5")
        assert tab.inner_text("#kind-alibi .pair") != before
        assert "H = 6, K = 2" in tab.inner_text(".controls") and "map=scores" in tab.url
        tab.focus("#kind-t5 .map canvas")
        tab.keyboard.press("ArrowDown")
        assert tab.evaluate("[G.positions.now.setting.m, document.activeElement.localName]") == [45, "canvas"]
        tab.keyboard.press("]")
        assert tab.evaluate("G.positions.now.setting.m") == 46
        tab.click("#language")
        assert "¿Cómo sabe un transformer" in tab.inner_text("#view")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_angles_move_and_the_score_stays(browser: Any, motion: str) -> None:
    with page_of(browser, shown(), "#vectors=head&m=9&n=4") as tab:
        tab.emulate_media(reduced_motion=motion)
        hand = "document.querySelector('.dial line').getAttribute('x2')"
        read = "document.querySelector('.sum').textContent.match(/is (\\S+)\\. It/)[1]"
        first, score = tab.evaluate(hand), tab.evaluate(read)
        tab.click("#play")
        wait_until(tab, f"{hand} !== '{first}'")
        assert tab.evaluate(read) == score
        tab.keyboard.press("p")
        assert tab.get_attribute("#play", "aria-pressed") == "false"
        assert tab.evaluate("G.positions.now.setting.m - G.positions.now.setting.n") == 5
        still = tab.evaluate(hand)
        tab.wait_for_timeout(150)
        assert tab.evaluate(hand) == still


STATES = ["#lang=es&light=dark&map=scores", "#causal=0&length=9&trained=64", "#m=zz&head=99&length=-3&base=0"]


@pytest.mark.parametrize("fragment", STATES)
def test_any_state_opens_and_is_accessible(browser: Any, fragment: str) -> None:
    with page_of(browser, shown(), fragment) as tab:
        assert axe(tab) == []
        with tab.expect_download() as saved:
            tab.click("#save-csv")
        lines = saved.value.path().read_text().splitlines()
        assert lines[0] == "distance,sinusoidal,learned,rotary,alibi,t5,shaw,transformer_xl" and len(lines) > 4


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(InputError, match="must be even"):
        positions_view(width=9)
    with pytest.raises(InputError, match="model is 3"):
        positions_view(3)
    with pytest.raises(InputError, match="positions='none'"):
        positions_view(nn.build(config(positions="none"), seed=0))
