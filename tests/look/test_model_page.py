"""The page of a model: what it says is what the model does, read back from the page in Chromium."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.look.chromium import axe, needs_chromium, page_of, wait_until

from glyptic import nn
from glyptic.errors import GlypticError
from glyptic.look.pages import Page, View
from glyptic.look.values.model import folder_view, model_view
from glyptic.look.values.model_attention import scores_before_mask, sites_of

WORDS = ["<script>alert(1)</script>", "a", "b", "c", "d", "e", "f", "g"]
IDS = [1, 2, 3, 0, 1, 2, 3, 4, 1, 2]
KINDS = ("decoder", "encoder", "encoder_decoder", "vit")


@cache
def small(kind: str, **changes: Any) -> Any:
    """Two layers of random weights, large enough for attention to have a shape."""
    sizes: dict[str, Any] = {"layers": 2, "width": 16, "heads": 4, "feed_forward_width": 32}
    presets = {"decoder": "gpt2", "encoder": "bert", "encoder_decoder": "t5", "vit": "vit"}
    own = {"image_size": 16, "patch_size": 4, "classes": 3} if kind == "vit" else {"vocabulary": len(WORDS), "context": 600}
    more = {"head_width": 4} if kind == "encoder_decoder" else {}
    model = nn.build(nn.preset(presets[kind], **{**sizes, **own, **more, **changes}), seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(12)
    return model.eval()


def given(kind: str) -> Any:
    if kind == "vit":
        return np.random.default_rng(0).random((3, 16, 16), dtype=np.float32)
    return ([1, 2, 3, 0, 5], [4, 1, 1, 6]) if kind == "encoder_decoder" else IDS


@cache
def view_of(kind: str) -> View:
    return model_view(small(kind), given(kind), vocabulary=WORDS)


def tensors(kind: str) -> tuple[torch.Tensor, ...]:
    found = given(kind)
    if kind == "vit":
        return (torch.from_numpy(found)[None],)
    return tuple(torch.tensor([each]) for each in (found if kind == "encoder_decoder" else [found]))


def unpacked(packed: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(zlib.decompress(b64decode(packed["data"])), f"<{packed['packed']}").reshape(packed["shape"])


def patterns(kind: str, path: str) -> np.ndarray:
    """[L·H, T, S] as the hooks give them."""
    twin = nn.with_backend(small(kind), "reference")
    with torch.no_grad():
        found = nn.record(twin, *tensors(kind), names=path).activations
    return np.concatenate([each[0].numpy() for each in found.values()])


PATHS = {
    "decoder": {"self": "blocks.*.attn.hook_pattern"},
    "encoder": {"self": "blocks.*.attn.hook_pattern"},
    "vit": {"self": "blocks.*.attn.hook_pattern"},
    "encoder_decoder": {
        "encoder": "encoder.*.attn.hook_pattern",
        "decoder": "decoder.*.attn.hook_pattern",
        "cross": "decoder.*.cross_attn.hook_pattern",
    },
}


@needs_chromium
@pytest.mark.parametrize("kind", KINDS)
def test_weights_on_the_page_are_those_of_the_hooks(browser: Any, kind: str) -> None:
    with page_of(browser, Page((view_of(kind),))) as tab:
        read = tab.evaluate(
            """() => G.model.open(G.page.views[0].data).sites.map((site) => [site.key, Array.from({length: site.count}, (_, n) =>
            Array.from({length: site.rows}, (_, i) => Array.from({length: site.columns}, (_, j) => site.weight(n, i, j))))])"""
        )
        assert "1/65535" in tab.inner_text(".map")
        assert tab.evaluate("document.querySelectorAll('body script').length") == 0
        assert axe(tab) == []
    assert [key for key, _ in read] == list(PATHS[kind])
    for key, weights in read:
        expected = patterns(kind, PATHS[kind][key])
        assert np.abs(np.array(weights) - expected).max() <= 0.51 / 65535


@needs_chromium
@pytest.mark.parametrize("kind", KINDS)
def test_tabs_languages_and_exports(browser: Any, kind: str) -> None:
    tabs = ("tab=lens&lang=es", "tab=residual&light=dark", "tab=effects&size=large&lang=es")
    for fragment in (*tabs, "way=lines&query=1", "kind=scores&way=matrix"):
        with page_of(browser, Page((view_of(kind),)), f"#{fragment}") as tab:
            assert tab.evaluate("G.svgText(document.getElementById('view')).length") > 5000
            assert "model." not in tab.inner_text("#view")
            assert axe(tab) == []
            with tab.expect_download() as download:
                tab.click("#save-csv")
            assert len(download.value.path().read_text(encoding="utf-8").splitlines()) > 3


@needs_chromium
def test_a_token_is_text(browser: Any) -> None:
    with page_of(browser, Page((view_of("decoder"),)), "#tab=effects") as tab:
        assert "<script>alert(1)</script>" in tab.inner_text(".chips")
        assert tab.evaluate("[...document.scripts].every((each) => !each.textContent.startsWith('alert'))")
    assert "<script>alert" not in Page((view_of("decoder"),)).html()


@needs_chromium
def test_the_wall_sorts_and_opens(browser: Any) -> None:
    entropy = view_of("decoder").data["sites"][0]["metrics"]["entropy"]
    with page_of(browser, Page((view_of("decoder"),))) as tab:
        label = lambda: tab.get_attribute(".wall-canvas", "aria-label")  # noqa: E731
        assert "layer 0, head 0" in label()
        tab.get_by_label("Sort by").select_option("entropy")
        tab.locator(".wall-canvas").click(position={"x": 20, "y": 30})
        sharpest = int(np.argmin(entropy))
        assert f"layer {sharpest // 4}, head {sharpest % 4}" in label()
        assert f"layer {sharpest // 4}, head {sharpest % 4}" in tab.inner_text(".map h2")
        tab.keyboard.press("ArrowRight")
        second = int(np.argsort(entropy)[1])
        assert f"layer {second // 4}, head {second % 4}" in tab.inner_text(".map h2")
        assert f"layer={second // 4}" in tab.url and f"head={second % 4}" in tab.url and "sort=entropy" in tab.url
        tab.go_back()
        title = f"layer {sharpest // 4}, head {sharpest % 4}"
        wait_until(tab, f"document.querySelector('.map h2').textContent.includes('{title}')")
        order = tab.evaluate(
            """() => { const model = G.model.open(G.page.views[0].data);
            return ['entropy', 'previous', 'induction'].map((sort) => G.model.ordered(model, model.sites[0], sort)); }"""
        )
    metrics = view_of("decoder").data["sites"][0]["metrics"]
    assert [metrics["entropy"][n] for n in order[0]] == sorted(entropy)
    for name, found in (("previous", order[1]), ("induction", order[2])):
        assert [metrics[name][n] for n in found] == sorted(metrics[name], reverse=True)


def test_measures_by_their_definition() -> None:
    weights, metrics = patterns("decoder", PATHS["decoder"]["self"]), view_of("decoder").data["sites"][0]["metrics"]
    for n, each in enumerate(weights):
        rows = [-sum(float(w) * np.log2(w) for w in row if w > 0) for row in each]
        assert metrics["entropy"][n] == pytest.approx(np.mean(rows), rel=1e-4)
        assert metrics["previous"][n] == pytest.approx(np.mean([each[i, i - 1] for i in range(1, len(IDS))]), rel=1e-4)
        copied = [sum(each[i, j + 1] for j in range(i) if IDS[j] == IDS[i]) for i in range(len(IDS)) if IDS[i] in IDS[:i]]
        assert metrics["induction"][n] == pytest.approx(np.mean(copied), rel=1e-4)


@needs_chromium
def test_a_click_pins_a_cell_and_a_block_tells_its_facts(browser: Any) -> None:
    expected = patterns("decoder", PATHS["decoder"]["self"])[0]
    with page_of(browser, Page((view_of("decoder"),)), "#query=6&key=2&way=matrix") as tab:
        assert f"{expected[6, 2]:.3g}"[:4] in tab.inner_text(".map .readout").replace("−", "-")
        tab.get_by_role("button", name="feed-forward, GELU").click()
        assert "feed-forward, GELU" in tab.inner_text(".part") and "16 × 32" in tab.inner_text(".part")
        tab.get_by_role("button", name="layer 1", exact=True).press("Enter")
        assert "layer 1, head 0" in tab.inner_text(".map h2")


@needs_chromium
def test_patches_over_the_image(browser: Any) -> None:
    expected = patterns("vit", PATHS["vit"]["self"])[0]
    with page_of(browser, Page((view_of("vit"),)), "#query=6") as tab:
        assert "Over the image" in tab.inner_text(".map button[aria-pressed=true]")
        best = int(expected[6].argmax())
        names = view_of("vit").data["sequences"][0]
        assert f"{names[6]} looks at {names[best]}" in tab.inner_text(".map .readout")
        canvas = tab.locator(".map canvas")
        canvas.click(position={"x": 20, "y": 40})
        assert "CLS looks at" in tab.inner_text(".map .readout")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_changed_heads_are_as_an_own_ablation(kind: str, mode: str) -> None:
    data, model = view_of(kind).data, small(kind)
    with torch.no_grad():
        before = model(*tensors(kind)).reshape(-1, model.config.classes or len(WORDS)).log_softmax(-1)
    found = next(each for each in data["effects"]["modes"] if each["mode"] == mode)
    change, top, left = unpacked(found["change"]), unpacked(found["top"]), unpacked(found["left"])
    n = 0
    for path in PATHS[kind].values():
        for layer in range(2):
            hook = path.replace("*", str(layer)).replace("hook_pattern", "hook_z")
            for head in range(4):
                def edit(z: torch.Tensor, head: int = head) -> torch.Tensor:
                    z = z.clone()
                    z[:, :, head] = 0 if mode == "zero" else z[:, :, head].mean(1, keepdim=True)
                    return z

                with torch.no_grad(), nn.edited(model, {hook: edit}):
                    after = model(*tensors(kind)).reshape(before.shape).log_softmax(-1)
                kl = F.kl_div(after, before, log_target=True, reduction="none").sum(-1)
                assert np.allclose(change[n], kl.clamp_min(0).numpy(), rtol=2e-3, atol=2e-6)
                assert (top[n] == after.argmax(-1).numpy()).all()
                favourite = after.exp().gather(-1, before.argmax(-1)[:, None])[:, 0].numpy()
                assert np.abs(left[n] / 65535 - favourite).max() < 1e-4
                n += 1
    assert n == len(change)


@needs_chromium
def test_the_page_shows_the_change_of_the_head_that_is_clicked(browser: Any) -> None:
    change = unpacked(view_of("decoder").data["effects"]["modes"][0]["change"])
    with page_of(browser, Page((view_of("decoder"),)), "#tab=effects&mode=zero&layer=1&head=2") as tab:
        shown = tab.inner_text(".inside .heatmap .readout").split(": ")[1].replace("−", "-")
        assert float(shown) == pytest.approx(float(change[6].mean()), rel=0.06)
        assert "Without layer 1, head 2" in tab.inner_text(".inside")


def test_patching_is_as_an_own_patch() -> None:
    model, other = small("decoder"), [1, 2, 3, 0, 1, 2, 7, 4, 5, 2]
    data = model_view(model, IDS, corrupted=other).data
    found = data["effects"]["modes"][0]
    assert found["mode"] == "patch"
    theirs = nn.record(model, torch.tensor([other]), names="blocks.1.attn.hook_z").activations["blocks.1.attn.hook_z"]
    with torch.no_grad(), nn.edited(model, {"blocks.1.attn.hook_z": nn.patch(theirs, heads=[3])}):
        after = model(torch.tensor([IDS])).log_softmax(-1)[0]
    with torch.no_grad():
        before, whole = (model(torch.tensor([ids])).log_softmax(-1)[0] for ids in (IDS, other))
    kl = F.kl_div(after, before, log_target=True, reduction="none").sum(-1)
    assert np.allclose(unpacked(found["change"])[7], kl.detach().numpy(), rtol=2e-3, atol=2e-6)
    all_of_it = F.kl_div(whole, before, log_target=True, reduction="none").sum(-1)
    assert np.allclose(data["effects"]["whole"], all_of_it.numpy(), rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("kind", ["decoder", "encoder", "encoder_decoder"])
def test_the_lens_ends_with_the_output(kind: str) -> None:
    lens = view_of(kind).data["lens"]
    with torch.no_grad():
        expected = small(kind)(*tensors(kind))[0].softmax(-1).topk(5)
    assert (unpacked(lens["ids"])[-1] == expected.indices.numpy()).all()
    assert np.abs(unpacked(lens["probabilities"])[-1] / 65535 - expected.values.numpy()).max() < 1e-4


def test_lengths_of_the_residual() -> None:
    names = ["blocks.0.hook_resid_pre", "blocks.0.hook_resid_post", "blocks.1.hook_resid_post", "blocks.1.hook_mlp_out"]
    with torch.no_grad():
        found = nn.record(small("decoder"), torch.tensor([IDS]), names=names).activations
    stream, expected = view_of("decoder").data["streams"][0], [found[name][0].norm(dim=-1).numpy() for name in names]
    assert np.allclose(unpacked(stream["residual"]), expected[:3], rtol=3e-4)
    assert np.allclose(unpacked(stream["added"]["feed_forward"])[1], expected[3], rtol=3e-4)


@pytest.mark.parametrize("positions", ["learned", "rotary", "alibi", "t5", "shaw", "transformer_xl", "sinusoidal", "none"])
@pytest.mark.parametrize("causal", [True, False])
def test_scores_before_the_mask_are_those_after_it_where_nothing_is_hidden(positions: Any, causal: bool) -> None:
    from glyptic.look.values.model_attention import Measures, listeners

    kind: Any = "decoder" if causal else "encoder"
    sizes: Any = {"layers": 2, "width": 16, "heads": 4, "key_value_heads": 2, "vocabulary": 8}
    model = nn.build(nn.ModelConfig(kind=kind, **sizes, positions=positions, backend="reference"), seed=0).eval()
    sites = sites_of(model, [len(IDS)])
    with torch.no_grad(), nn.edited(model, dict(listeners(sites, Measures(None), True))):
        model(torch.tensor([IDS]))
    after = nn.record(model, torch.tensor([IDS]), names="blocks.*.attn.hook_attn_scores").activations
    for layer in range(2):
        expected, ours = after[f"blocks.{layer}.attn.hook_attn_scores"][0].detach(), scores_before_mask(sites[0], layer)
        seen = ~torch.isinf(expected)
        assert seen.all() or causal
        assert torch.allclose(ours[seen], expected[seen], atol=1e-6) and bool(torch.isfinite(ours).all())


@cache
def large(length: int, kind: Any = "encoder") -> View:
    """12 × 12; its weights do not deflate better than a trained model's."""
    config = nn.ModelConfig(kind=kind, layers=12, width=48, heads=12, vocabulary=64, context=512)
    model = nn.build(config, seed=0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "qkv.weight" in name:
                parameter.mul_(10)
    ids = torch.randint(0, 64, (length,), generator=torch.Generator().manual_seed(0))
    return model_view(model, ids, effort=1e10 if length > 128 else 1e12)


@needs_chromium
def test_twelve_layers_of_twelve_heads_and_128_tokens(browser: Any) -> None:
    page = Page((large(128),))
    assert len(page.html().encode()) < 3_000_000
    assert large(128).data["sites"][0]["whole"] == list(range(144))
    with page_of(browser, page) as tab:
        assert tab.evaluate("document.querySelectorAll('*').length") <= 5200
        assert "1/255" in tab.inner_text(".map")
        tab.locator(".wall-canvas").click(position={"x": 60, "y": 120})
        assert "head 0" not in tab.inner_text(".map h2")


@needs_chromium
def test_512_tokens_open_and_say_what_is_sampled(browser: Any) -> None:
    view = large(512, "decoder")
    site = view.data["sites"][0]
    assert 0 < len(site["whole"]) < 144 and len(json.dumps(view.data)) < 3_000_000
    lost = next(n for n in range(144) if n not in site["whole"])
    with page_of(browser, Page((view,)), f"#layer={lost // 12}&head={lost % 12}") as tab:
        assert f"{len(site['whole'])} of 144 heads" in tab.inner_text(".map")
        assert "8 × 8 positions" in tab.inner_text(".map")
        tab.goto(tab.url.partition("#")[0] + f"#layer={site['whole'][0] // 12}&head={site['whole'][0] % 12}&way=lines")
        wait_until(tab, "document.querySelector('.map')?.innerText.includes('Positions')")
        tab.get_by_role("tab", name="Change a head").click()
        assert "of 144 heads were tried" in tab.inner_text(".inside")


def test_what_does_not_fit_is_refused() -> None:
    decoder, vit, both = small("decoder"), small("vit"), small("encoder_decoder")
    wrong: list[tuple[Any, Any, dict[str, Any]]] = [
        (decoder, [], {}), (decoder, [99], {}), (decoder, "z", {}), (decoder, [[1], [2]], {}), (decoder, IDS, {"tokens": ["a"]}),
        (decoder, IDS, {"corrupted": [1, 2]}), (decoder, IDS, {"top": 0}), (decoder, list(range(8)) * 100, {}),
        (vit, np.zeros((3, 4, 4)), {}), (vit, np.full((3, 16, 16), np.nan), {}),
        (both, [1, 2], {}), ("model", IDS, {}), (decoder, IDS, {"vocabulary": [1] * 8}),
    ]  # fmt: skip
    for model, inputs, options in wrong:
        with pytest.raises(GlypticError):
            model_view(model, inputs, **options)


def test_vectors_and_no_output() -> None:
    model = nn.build(nn.ModelConfig(kind="decoder", layers=1, width=8, heads=2, head="none"), seed=0)
    data = model_view(model, np.random.default_rng(0).standard_normal((5, 8))).data
    assert data["lens"] is None and data["effects"]["modes"][0]["top"] is None
    assert unpacked(data["effects"]["modes"][0]["change"]).shape == (2, 5)


def test_the_model_is_left_as_it_was() -> None:
    model = nn.build(nn.ModelConfig(kind="decoder", layers=1, width=8, heads=2, vocabulary=5, dropout=0.1), seed=0).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model_view(model, [1, 2])
    assert model.training and model.config.backend == "sdpa" and all(p.requires_grad for p in model.parameters())
    assert all(tensor.equal(before[name]) for name, tensor in model.state_dict().items())


def test_a_folder_on_what_a_command_says(tmp_path: Any) -> None:
    nn.save(small("decoder"), tmp_path / "d")
    assert folder_view(tmp_path / "d", "1 2 3").data["sequences"] == [["1", "2", "3"]]
    (tmp_path / "d" / "vocab.json").write_text(json.dumps({word: n for n, word in enumerate(WORDS)}))
    assert folder_view(tmp_path / "d", "a b c").data["sequences"] == [["a", "b", "c"]]
    assert len(folder_view(tmp_path / "d").data["sequences"][0]) == 8
    nn.save(small("encoder_decoder"), tmp_path / "e")
    assert folder_view(tmp_path / "e", "1 2 | 3").data["sequences"] == [["1", "2"], ["3"]]
    nn.save(small("vit"), tmp_path / "v")
    np.save(tmp_path / "image.npy", given("vit"))
    assert folder_view(tmp_path / "v", str(tmp_path / "image.npy")).data["image"]["pixels"]["shape"] == [16, 16, 3]
    with pytest.raises(GlypticError):
        folder_view(tmp_path / "v", str(tmp_path / "nothing.npy"))
