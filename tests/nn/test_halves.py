"""Half-precision products: the faster way is found, kept, said by hand; autocast and torch.compile follow it."""

import json

import pytest
import torch
import torch.nn.functional as F

from glyptic import nn
from glyptic.errors import InputError
from glyptic.nn.parts.attention import attention
from glyptic.nn.speed import halves
from glyptic.nn.speed import linear as linear_file
from glyptic.nn.speed.linear import linear

CONFIG = nn.ModelConfig(kind="decoder", layers=2, width=16, heads=2, vocabulary=11, context=12)


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """A user of whom nothing is known yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(halves.SETTING, raising=False)
    halves._way.cache_clear()
    yield
    halves._way.cache_clear()


def kept(tmp_path):
    return [json.loads(path.read_text())["ways"] for path in (tmp_path / "glyptic").iterdir()]


@pytest.mark.parametrize(("native", "way"), [(1.0, "native"), (1.05, "native"), (1.2, "widened"), (14.0, "widened")])
def test_the_faster_way_is_taken_and_kept(native, way, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(halves, "measured", lambda dtype: {"native": native, "widened": 1.0})
    assert halves.is_widened(torch.bfloat16) == (way == "widened")
    assert kept(tmp_path) == [{"bfloat16": way}]
    halves._way.cache_clear()  # another process, which measures otherwise, goes on in the same way
    monkeypatch.setattr(halves, "measured", lambda dtype: {"native": 1 / native**3, "widened": 1.0})
    assert halves.is_widened(torch.bfloat16) == (way == "widened")
    halves.is_widened(torch.float16)
    assert kept(tmp_path)[0].keys() == {"bfloat16", "float16"}
    assert not halves.is_widened(torch.float32)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"ways": 3}', '{"ways": {"bfloat16": "fast"}}', "\0"])
def test_a_file_that_says_nothing_is_measured_anew(content, monkeypatch) -> None:
    path = halves._place()
    path.parent.mkdir(parents=True)
    path.write_text(content)
    monkeypatch.setattr(halves, "measured", lambda dtype: {"native": 2.0, "widened": 1.0})
    assert halves.is_widened(torch.bfloat16)
    assert json.loads(path.read_text())["ways"] == {"bfloat16": "widened"}


def test_where_nothing_can_be_kept_it_is_measured_all_the_same(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert halves.is_widened(torch.bfloat16) in (True, False)  # measured for real


def test_what_is_said_by_hand_counts(monkeypatch) -> None:
    for said in ("native", "widened"):
        monkeypatch.setenv(halves.SETTING, said)
        halves._way.cache_clear()
        assert halves.is_widened(torch.bfloat16) == (said == "widened")
    monkeypatch.setenv(halves.SETTING, "fast")
    halves._way.cache_clear()
    with pytest.raises(InputError, match="GLYPTIC_HALF_PRODUCTS is 'fast'; it must be native or widened"):
        halves.is_widened(torch.bfloat16)


def test_measuring_draws_no_random_number() -> None:
    before = torch.get_rng_state()
    halves.measured(torch.bfloat16)
    assert torch.equal(before, torch.get_rng_state())


def test_widened_products_under_autocast_are_autocast_products(monkeypatch) -> None:
    """Operands rounded to bfloat16, sums in float32, one rounding: within it of what torch's own products are, gradients too."""
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(shape, generator=generator) / 8 for shape in ((6, 64), (32, 64), (32,)))
    x.requires_grad_()
    weight.requires_grad_()
    found = []
    for wide in (True, False):
        monkeypatch.setattr(linear_file, "is_widened", lambda dtype, wide=wide: wide and dtype == torch.bfloat16)
        x.grad = weight.grad = None
        with torch.autocast("cpu", torch.bfloat16):
            y = linear(x, weight, bias)
            q, k, v = y[:, :24].view(6, 3, 2, 4).permute(1, 2, 0, 3)[:, None].unbind()
            out, _ = attention(q, k, v, causal=True)
        assert y.dtype == out.dtype == torch.bfloat16
        (y.float().sum() + out.float().sum()).backward()
        found.append([y.detach(), out.detach(), x.grad, weight.grad])
    exact = F.linear(*(each.detach().bfloat16().double() for each in (x, weight, bias)))
    unit = torch.finfo(torch.bfloat16).eps * exact.abs().clamp_min(0.01)
    assert ((found[0][0].double() - exact).abs() <= 0.501 * unit).all()
    for ours, theirs in zip(*found, strict=True):
        assert torch.allclose(ours.float(), theirs.float(), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("said", ["native", "widened"])
def test_a_first_product_inside_torch_compile(said, monkeypatch) -> None:
    monkeypatch.setenv(halves.SETTING, said)
    torch.compiler.reset()  # what was compiled for another choice, which no process makes twice
    model, tokens = nn.build(CONFIG, seed=0).bfloat16().eval(), torch.arange(8)[None]
    with torch.no_grad():
        whole = torch.compile(model, fullgraph=True, backend="eager", dynamic=False)(tokens)
        assert torch.equal(whole, model(tokens))
