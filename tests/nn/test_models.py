"""Models as wholes: Vaswani to the letter, presets, inputs and outputs, precision, seeds, gradients, training."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from glyptic import nn
from glyptic.errors import InputError
from glyptic.nn.parts.embeddings import PatchEmbedding
from glyptic.nn.parts.feed_forward import FeedForward
from glyptic.nn.parts.positions import sinusoids
from glyptic.nn.presets import PRESETS
from tests.nn import small

TINY: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "vocabulary": 19, "context": 24, "feed_forward_width": 24}


def tiny(name: str, **more: Any) -> nn.ModelConfig:
    fields = {**TINY, "head_width": 8, "dropout": 0.0, **more}
    if name in ("vit", "deit"):
        fields |= {"image_size": 12, "patch_size": 4, "classes": 5, "vocabulary": None}
    if PRESETS[name].get("key_value_heads", 1) > fields["heads"]:
        fields["key_value_heads"] = 1
    return nn.preset(name, **fields)


def run(model: Any, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    kind, dtype = model.config.kind, next(model.parameters()).dtype
    if kind == "vit":
        return model(torch.randn(2, 3, 12, 12, generator=generator).to(dtype))
    tokens = torch.randint(0, 19, (2, 7), generator=generator)
    return model(tokens, tokens.flip(1)) if kind == "encoder_decoder" else model(tokens)


def parameters(config: nn.ModelConfig) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in nn.build(config).parameters())


def test_vaswani_to_the_letter() -> None:
    """Each equation of the paper, once more, in plain tensor algebra."""
    model = small.scramble(nn.build(nn.preset("vaswani", **TINY, dropout=0.0)).double()).eval()
    weights = model.state_dict()
    source, target = torch.randint(0, 19, (1, 6)), torch.randint(0, 19, (1, 5))

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (16,), weights[f"{name}.weight"], weights[f"{name}.bias"])

    def heads(
        q_in: torch.Tensor, kv_in: torch.Tensor, w_qkv: torch.Tensor, w_o: torch.Tensor, causal: bool
    ) -> torch.Tensor:
        w_q, w_k, w_v = w_qkv.split(16)
        outputs = []
        for h in range(2):  # Attention(Q W_i^Q, K W_i^K, V W_i^V), §3.2
            at = slice(8 * h, 8 * h + 8)
            scores = (q_in @ w_q[at].T) @ (kv_in @ w_k[at].T).T / 8**0.5
            if causal:
                scores = scores + torch.full(scores.shape, -torch.inf).triu(1)
            outputs.append(scores.softmax(-1) @ (kv_in @ w_v[at].T))
        return torch.cat(outputs, -1) @ w_o.T

    def ffn(x: torch.Tensor, name: str) -> torch.Tensor:  # max(0, xW₁ + b₁)W₂ + b₂, §3.3
        hidden = (x @ weights[f"{name}.into.weight"].T + weights[f"{name}.into.bias"]).clamp_min(0)
        return hidden @ weights[f"{name}.out.weight"].T + weights[f"{name}.out.bias"]

    table = weights["embedding.token.weight"]
    x = table[source[0]] * 16**0.5 + sinusoids(torch.arange(6), 16)  # §3.4, §3.5
    y = table[target[0]] * 16**0.5 + sinusoids(torch.arange(5), 16)
    for i in range(2):
        at = f"encoder.blocks.{i}"
        x = norm(
            x + heads(x, x, weights[f"{at}.attn.qkv.weight"], weights[f"{at}.attn.out.weight"], False), f"{at}.ln1"
        )
        x = norm(x + ffn(x, f"{at}.mlp"), f"{at}.ln2")  # LayerNorm(x + Sublayer(x)), §3.1
    for i in range(2):
        at = f"decoder.blocks.{i}"
        y = norm(y + heads(y, y, weights[f"{at}.attn.qkv.weight"], weights[f"{at}.attn.out.weight"], True), f"{at}.ln1")
        cross = torch.cat([weights[f"{at}.cross_attn.q.weight"], weights[f"{at}.cross_attn.kv.weight"]])
        y = norm(y + heads(y, x, cross, weights[f"{at}.cross_attn.out.weight"], False), f"{at}.ln_cross")
        y = norm(y + ffn(y, f"{at}.mlp"), f"{at}.ln2")
    assert (model(source, target)[0] - y @ table.T).abs().max() < 1e-12
    assert set(weights) == {
        "embedding.token.weight",
        *(k for k in weights if ".blocks." in k),
    }  # no final norm, all tied


PUBLIC_DEFAULTS = {  # what transformers' default configs do not share with the smallest published model
    "gpt2": {},
    "bert": {},
    "t5": {"context": 512},
    "llama": {"context": 4096, "norm_eps": 1e-5},  # Llama 2
    "gpt_neox": {"layers": 6, "width": 512, "heads": 8, "vocabulary": 50304, "feed_forward_width": 2048},  # Pythia-70M
    "vit": {"context": 1024},  # not a choice: the model counts its patches
    "opt": {},
    "roberta": {"context": 512, "token_types": 1, "norm_eps": 1e-5},
    "distilbert": {},
    "mistral": {"context": 32768, "norm_eps": 1e-5},  # v0.1
    "qwen2": {"layers": 24, "width": 896, "heads": 14, "key_value_heads": 2, "context": 131072, "feed_forward_width": 4864}
    | {"rotary_base": 1e6, "tied": True},  # 0.5B
    "qwen3": {"layers": 28, "width": 1024, "heads": 16, "key_value_heads": 8, "context": 40960, "feed_forward_width": 3072}
    | {"rotary_base": 1e6, "tied": True},  # 0.6B
    "gemma": {"layers": 18, "width": 2048, "heads": 8, "key_value_heads": 1, "feed_forward_width": 16384},  # 2B
    "phi3": {"sliding_window": 2047},  # mini, 4k
    "deit": {"context": 1024, "width": 192, "heads": 3, "feed_forward_width": 768},  # tiny
}


@pytest.mark.parametrize("name", PUBLIC_DEFAULTS)
def test_presets_are_transformers_default_configs(name: str) -> None:
    from transformers import AutoConfig

    from glyptic.nn.checkpoints.families import FAMILIES

    ours, heads = nn.preset(name), {"bert": {"cls.predictions.bias"}, "vit": {"classifier.weight"}}
    heads |= {"roberta": {"lm_head.bias"}, "distilbert": {"vocab_projector.bias"}, "deit": {"cls_classifier.weight"}}
    fields = AutoConfig.for_model(name).to_dict()
    if name in ("vit", "deit"):
        fields["id2label"] = {str(i): "" for i in range(ours.classes)}  # ImageNet's, unlike the default's two
    theirs = FAMILIES[name].read_config(fields, heads.get(name, set()))
    theirs = theirs.replace(**PUBLIC_DEFAULTS[name])
    derived = ("head_size", "groups", "hidden_size", "scale", "has_final_norm", "depth_of_encoder")
    assert {d: getattr(ours, d) for d in derived} == {d: getattr(theirs, d) for d in derived}
    skipped = ("head_width", "key_value_heads", "feed_forward_width", "attention_scale", "final_norm", "encoder_layers")
    free = ("backend", "dropout", "attention_dropout", "position_precision", *skipped)
    differences = {
        field: (value, theirs.to_dict()[field])
        for field, value in ours.to_dict().items()
        if field not in free and theirs.to_dict()[field] != value
    }
    assert not differences


def test_published_sizes() -> None:
    """Millions of parameters; Vaswani's table 3 counts 65 and 213 with vocabularies it gives only roughly."""
    base, big = nn.preset("vaswani"), nn.preset("vaswani_big")
    assert (base.layers, base.width, base.hidden_size, base.heads, base.head_size, base.dropout) == (
        6,
        512,
        2048,
        8,
        64,
        0.1,
    )
    assert (big.layers, big.width, big.hidden_size, big.heads, big.head_size, big.dropout) == (
        6,
        1024,
        4096,
        16,
        64,
        0.3,
    )
    published = {
        "vaswani": 65,
        "vaswani_big": 213,
        "gpt2": 124.4,
        "bert": 109.5,
        "t5": 60.5,
        "llama": 6738,
        "vit": 86.6,
    }
    published |= {"gpt_neox": 70.4}  # Pythia-70M
    published |= {"opt": 125.2, "mistral": 7242, "qwen2": 494, "qwen3": 596, "gemma": 2506, "phi3": 3821}
    published |= {"roberta": 124.7, "distilbert": 67.0, "deit": 5.91}
    for name, millions in published.items():
        tolerance = 0.035 if name.startswith("vaswani") else 0.002
        assert abs(parameters(nn.preset(name)) / 1e6 / millions - 1) < tolerance, name


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@torch.no_grad()
def test_every_precision_is_near_float64(name: str, dtype: torch.dtype) -> None:
    model = small.scramble(nn.build(tiny(name))).eval()
    low = run(model.to(dtype))
    assert low.dtype == dtype
    exact = run(model.double())
    assert (low.double() - exact).abs().max() < 40 * torch.finfo(dtype).eps * exact.abs().max()


@pytest.mark.parametrize(
    "fields", [{"positions": "shaw"}, {"positions": "alibi"}, {"norm": "group"}, {"norm": "rms_outside"}], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@torch.no_grad()
def test_parts_that_no_preset_has_are_near_float64_too(fields: dict[str, str], dtype: torch.dtype) -> None:
    model, tokens = small.model(**fields), small.tokens(2, 7)
    exact = model(tokens)
    low = model.to(dtype)(tokens)
    assert low.dtype == dtype
    rounded = model.double()(tokens)  # the weights are rounded by now; what is left is the arithmetic
    assert (low.double() - rounded).abs().max() < 40 * torch.finfo(dtype).eps * exact.abs().max()


@pytest.mark.parametrize("name", PRESETS)
def test_the_seed_decides_the_weights_and_leaves_the_global_one_alone(name: str) -> None:
    torch.manual_seed(7)
    state = torch.get_rng_state()
    first, same, other = (nn.build(tiny(name), seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(map(torch.equal, first.state_dict().values(), same.state_dict().values()))
    assert not torch.equal(run(first), run(other))
    assert torch.equal(run(first.eval()), run(same.eval()))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_learns(name: str) -> None:
    """A few steps on one batch: the loss falls, every parameter gets a gradient, and the same seed the same losses."""

    def train() -> list[float]:
        model = nn.build(tiny(name), seed=0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
        losses = []
        for _ in range(12):
            logits = run(model)
            loss = F.cross_entropy(logits.flatten(0, -2), torch.arange(logits[..., 0].numel()) % logits.shape[-1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        return losses

    losses = train()
    assert losses[-1] < 0.9 * losses[0]
    assert train() == losses


def test_vectors_stand_for_tokens() -> None:
    model = small.model(embedding_scale=True)
    tokens = small.tokens(2, 5)
    vectors = model.embedding.token(tokens) * 12**0.5
    assert torch.equal(model(tokens), model(vectors=vectors))
    assert torch.equal(model.logits(model.hidden(tokens)), model(tokens))


def test_a_decoder_of_pairs_reads_vectors_and_gives_hidden_states() -> None:
    """(x, y) pairs as tokens: no vocabulary, no output matrix; the caller's own matrices at both ends."""
    model = small.model(vocabulary=None, head="none")
    into, out = torch.nn.Linear(3, 12).double(), torch.nn.Linear(12, 1).double()
    pairs = torch.randn(4, 6, 3, dtype=torch.float64)
    predictions = out(model(vectors=into(pairs)))
    assert tuple(predictions.shape) == (4, 6, 1)
    predictions.sum().backward()
    assert into.weight.grad is not None
    assert not any(name.startswith(("output", "embedding.token")) for name, _ in model.named_parameters())


def test_tied_embeddings_learn_from_both_ends() -> None:
    tied, apart = small.model(tied=True), small.model(tied=False)
    assert sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in tied.parameters()) == 11 * 12
    tokens = torch.tensor([[1, 2]])
    tied(tokens).square().sum().backward()
    assert tied.embedding.token.weight.grad.abs().sum(-1).min() > 0  # tokens 3 … 10 were never read, only predicted
    apart(tokens).square().sum().backward()
    assert apart.embedding.token.weight.grad[3:].abs().max() == 0


def test_patches_are_stacked_pixels() -> None:
    """The theory lecture: 4×4 patches of 3 values, each a vector of 48; the same as a convolution with stride 4."""
    config = small.config(kind="vit", image_size=8, patch_size=4, vocabulary=None, head="none")
    patches = small.scramble(PatchEmbedding(config).double())
    images = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    found = patches(images)
    assert tuple(found.shape) == (2, 5, 12)
    assert torch.equal(found[0, 0], patches.class_token[0, 0])
    conv = F.conv2d(images, patches.project.weight.view(12, 3, 4, 4), patches.project.bias, stride=4)
    assert (found[:, 1:] - conv.flatten(2).transpose(1, 2)).abs().max() < 1e-13
    by_hand = patches.project(images[1, :, 4:8, 0:4].flatten())  # lower left
    assert (found[1, 3] - by_hand).abs().max() < 1e-13


@pytest.mark.parametrize("positions", ["learned", "shaw", "transformer_xl", "t5", "rotary"])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_packed_encoders_compute_the_same_on_real_tokens(positions: str, norm: str) -> None:
    model = small.model(kind="encoder", positions=positions, norm=norm, head="none")
    real = torch.tensor([[True] * 4 + [False] * 3, [True] * 7, [False] * 2 + [True] * 5])
    tokens = small.tokens(3, 7)
    padded, packed = model(tokens, padding_mask=real), model(tokens, padding_mask=real, packed=True)
    assert (padded - packed)[real].abs().max() < 1e-13
    assert packed[~real].abs().max() == 0
    for result in (padded, packed):  # and the same gradients
        (result * real[..., None]).sin().sum().backward()
    halves = [p.grad for p in model.parameters()]
    model.zero_grad()
    (model(tokens, padding_mask=real) * real[..., None]).sin().sum().backward()
    assert all((both - 2 * p.grad).abs().max() < 1e-11 for both, p in zip(halves, model.parameters(), strict=True))


def test_dropout_is_for_training() -> None:
    model = small.model(dropout=0.5, attention_dropout=0.3)
    tokens = small.tokens(1, 5)
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    torch.manual_seed(0)
    first = model(tokens)
    assert not torch.equal(first, model(tokens))
    torch.manual_seed(0)
    assert torch.equal(first, model(tokens))


@pytest.mark.parametrize("kind", ["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"])
def test_feed_forward_by_its_formula_and_gradients(kind: str) -> None:
    layer = small.scramble(
        FeedForward(small.config(feed_forward=kind, width=6, heads=2, feed_forward_width=5)).double()
    )
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    functions: dict[str, Any] = {
        "relu": lambda t: t.clamp_min(0),
        "gelu": lambda t: t * 0.5 * (1 + torch.erf(t / 2**0.5)),
        "gelu_tanh": lambda t: 0.5 * t * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (t + 0.044715 * t**3))),
        "silu": lambda t: t / (1 + torch.exp(-t)),
    }
    f = functions[{"swiglu": "silu", "geglu": "gelu_tanh"}.get(kind, kind)]
    inner = x @ layer.into.weight.T + layer.into.bias
    hidden = f(inner[..., :5]) * inner[..., 5:] if kind in ("swiglu", "geglu") else f(inner)
    assert (layer(x) - (hidden @ layer.out.weight.T + layer.out.bias)).abs().max() < 1e-12
    assert torch.autograd.gradcheck(layer, (x,))


@pytest.mark.parametrize("more", [{"norm_place": "pre"}, {"norm_place": "post"}, {"parallel": True}, {"norm": "rms"}])
def test_gradients_of_blocks(more: dict[str, Any]) -> None:
    model = small.model(width=4, heads=2, layers=1, feed_forward_width=5, head="none", **more)
    x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: model(vectors=v), (x,))
    check_parameters(model, lambda: {"vectors": x.detach()})


def test_gradients_of_cross_attention_and_output() -> None:
    model = small.model(kind="encoder_decoder", width=4, heads=2, layers=1, feed_forward_width=3, vocabulary=3)
    tokens = torch.tensor([[0, 2, 1]])
    check_parameters(model, lambda: {"source": tokens, "target": tokens.flip(1)})
    bert = small.model(
        kind="encoder", width=4, heads=2, layers=1, feed_forward_width=3, vocabulary=3, head="mlm", token_types=2
    )
    check_parameters(bert, lambda: {"tokens": tokens})
    sizes = {
        "width": 4,
        "heads": 2,
        "layers": 1,
        "feed_forward_width": 3,
        "image_size": 2,
        "patch_size": 1,
        "channels": 1,
    }
    vit = small.model(kind="vit", head="class", classes=2, vocabulary=None, **sizes)
    check_parameters(vit, lambda: {"images": torch.ones(1, 1, 2, 2, dtype=torch.float64)})


def check_parameters(model: Any, inputs: Any) -> None:
    names = [name for name, _ in model.named_parameters()]

    def of(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), kwargs=inputs())

    assert torch.autograd.gradcheck(of, tuple(model.parameters()), fast_mode=True)


def test_importing_glyptic_leaves_torch_alone() -> None:
    code = (
        "import sys, glyptic; assert 'torch' not in sys.modules; from glyptic import nn; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "src", "PATH": ""})


@pytest.mark.parametrize("side", ["left", "right", "middle"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_class_is_read_from_the_first_real_token_of_an_encoder(side: str, packed: bool) -> None:
    model, tokens = small.model(kind="encoder", head="class", classes=3), small.tokens(1, 4)
    real = {"left": [0, 0, 1, 1, 1, 1], "right": [1, 1, 1, 1, 0, 0], "middle": [1, 0, 1, 1, 0, 1]}[side]
    mask = torch.tensor([real]).bool()
    padded = torch.zeros(1, 6, dtype=torch.long)
    padded[mask] = tokens[0]
    found = model(padded, padding_mask=mask, packed=packed)
    assert (found - model(tokens)).abs().max() < 1e-12


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
@pytest.mark.parametrize("side", ["left", "right", "middle"])
def test_a_class_is_read_from_the_last_real_token_of_a_decoder(kind: str, side: str) -> None:
    model, tokens = small.model(kind=kind, head="class", classes=3), small.tokens(1, 4)
    real = {"left": [0, 0, 1, 1, 1, 1], "right": [1, 1, 1, 1, 0, 0], "middle": [1, 0, 1, 1, 1, 0]}[side]
    mask = torch.tensor([real]).bool()
    padded = torch.zeros(1, 6, dtype=torch.long)
    padded[mask] = tokens[0]
    if kind == "decoder":
        found, alone = model(padded, padding_mask=mask), model(tokens)
        changed = model(torch.cat([tokens[:, :-1], (tokens[:, -1:] + 1) % 11], dim=1))
    else:
        found, alone = model(tokens, padded, target_mask=mask), model(tokens, tokens)
        changed = model(tokens, torch.cat([tokens[:, :-1], (tokens[:, -1:] + 1) % 11], dim=1))
    assert (found - alone).abs().max() < 1e-12
    assert (changed - alone).abs().max() > 1e-3  # all tokens are seen, the last one too


def test_a_row_of_padding_alone_has_no_class() -> None:
    model, mask = small.model(kind="encoder", head="class", classes=3), torch.tensor([[True, True], [False, False]])
    with pytest.raises(InputError, match="a row without a real token"):
        model(small.tokens(2, 2), padding_mask=mask)


@pytest.mark.parametrize("function", ["relu", "gelu", "gelu_tanh", "silu"])
def test_the_head_of_bert_uses_the_function_of_its_feed_forward(function: str) -> None:
    model = small.model(kind="encoder", head="mlm", feed_forward=function)
    hidden = torch.randn(2, 3, 12, dtype=torch.float64)
    functions: dict[str, Any] = {
        "relu": torch.relu,
        "gelu": torch.nn.functional.gelu,
        "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        "silu": torch.nn.functional.silu,
    }
    inner = model.output.norm(functions[function](model.output.dense(hidden)))
    expected = inner @ model.embedding.token.weight.T + model.output.bias
    assert (model.logits(hidden) - expected).abs().max() < 1e-12
