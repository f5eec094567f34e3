"""Biases, activations, gates, norms, rotations, tables by distance, parallel layers: engines, files, options, steps, prefixes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.numbers.families import VARIED

from glyptic import prove
from glyptic.errors import FileError, ModelError
from glyptic.exact import (
    FeedForward,
    Head,
    Layer,
    Norm,
    Options,
    Sizes,
    Transformer,
    ZeroVariance,
    load,
    random_transformer,
    save,
    stages,
)
from glyptic.exact.parts import choices, newer_parts, parts
from glyptic.numbers import Fixed, Reference, encode
from glyptic.prove.portable.reading import JsonPart
from glyptic.prove.portable.transformers import difference, fingerprint, transformer_from_json, transformer_to_json

PARTS: dict[str, dict[str, Any]] = {
    "biases": {"biases": True},
    "gelu": {"activation": "gelu"},
    "gelu_tanh, gated": {"activation": "gelu_tanh", "gated": True},
    "silu, gated": {"activation": "silu", "gated": True, "biases": True},
    "rms": {"norm_kind": "rms", "embedding_norm": True},
    "rms_outside": {"norm_kind": "rms_outside"},
    "embedding norm": {"embedding_norm": True},
    "rotary": {"turned": 1},
    "rotary with a rest": {"turned": 1, "key_width": 3},
    "distances": {"distances": 3},
    "parallel": {"parallel": True},
    "all": {"biases": True, "activation": "silu", "gated": True, "norm_kind": "rms", "embedding_norm": True, "turned": 1,
            "distances": 2, "parallel": True},
}  # fmt: skip
OPTIONS = Options(norm="pre", attention="max-subtracted", scale=True)


def made(kind: str, format: str = "fixed:6", seed: int = 0, options: Options = OPTIONS, **sizes: Any) -> Transformer:
    return random_transformer(format, seed, Sizes(**{"layers": 2, "heads": 2, "max_length": 6, **PARTS[kind], **sizes}), options)


def texts(lengths: range, count: int = 6) -> list[str]:
    rng = np.random.default_rng(5)
    return ["".join(rng.choice(list("01"), length)) for length in lengths for _ in range(count)]


SOME = [(kind, format) for kind in PARTS for format in ("fixed:5", "fp8_e4m3")]


@pytest.mark.parametrize(("kind", "format"), [*SOME, *(("all", format) for format in VARIED[::3])])
def test_both_engines_are_one(kind: str, format: str) -> None:
    for seed, options in enumerate((OPTIONS, Options(norm="pre"))):
        transformer = made(kind, format, seed, options, layers=1)
        inputs = texts(range(1, 4), 2)
        ours, theirs = (transformer.run_batch(inputs, trace=True, engine=engine) for engine in ("fast", "reference"))
        assert ours.failures.keys() == theirs.failures.keys()
        defined = [i for i in range(len(inputs)) if i not in ours.failures]
        assert np.array_equal(ours.logits[defined], theirs.logits[defined])
        for stage in stages(transformer):
            assert all(np.array_equal(ours.trace[stage][i], theirs.trace[stage][i]) for i in defined), stage


@pytest.mark.parametrize("products", ["fused", "unrounded"])
def test_other_readings_of_products(products: Any) -> None:
    for kind in ("all", "distances", "rotary"):
        transformer = made(kind, "fixed:6", 3, replace(OPTIONS, products=products), layers=1)
        ours, theirs = (transformer.run_batch(texts(range(2, 5), 1), engine=engine) for engine in ("fast", "reference"))
        assert np.array_equal(ours.logits, theirs.logits)


# The formulas, written out once more, a number at a time ---------------------------------------------------------------------


def by_hand(transformer: Transformer, text: str) -> list[Fraction]:
    """The logits by lists of fractions: the definition in the docstring of `Head`, `FeedForward` and `Norm`, to the letter."""
    F, R = transformer.format, Reference(transformer.format)
    arrays = {name: R.values(np.asarray(codes)) for name, codes, _ in parts(transformer)}
    chosen = choices(transformer)

    def add(x: Any, y: Any) -> list[Fraction]:
        return [F.round(a + b) for a, b in zip(x, y, strict=True)]

    def product(part: str, x: list[Fraction], bias: str) -> list[Fraction]:
        out = [R.inner_product(zip(row, x, strict=True)) for row in arrays[part]]
        return add(out, arrays[bias]) if bias in arrays else out

    def norm(part: str, x: list[Fraction]) -> list[Fraction]:
        if f"{part}.gain" not in arrays:
            return x
        kind, d, epsilon = chosen.get(f"{part}.kind", "layer"), len(x), arrays[f"{part}.epsilon"].item()
        if kind == "layer":
            mean = F.round(R.sum(x) / d)
            x = [F.round(a - mean) for a in x]
        spread = F.round(R.sum(F.round(a * a) for a in x) / d)
        outside = F.round(R.scalar_root(spread) + epsilon)
        deviation = outside if kind == "rms_outside" else R.scalar_root(F.round(spread + epsilon))
        return add([F.round(g * F.round(a / deviation)) for g, a in zip(arrays[f"{part}.gain"], x, strict=True)],
                   arrays[f"{part}.bias"])  # fmt: skip

    def turn(part: str, x: list[Fraction], position: int) -> list[Fraction]:
        if f"{part}.cosine" not in arrays:
            return x
        out = list(x)
        rows = zip(arrays[f"{part}.cosine"][position], arrays[f"{part}.sine"][position], strict=True)
        for m, (c, s) in enumerate(rows):
            a, b = x[2 * m], x[2 * m + 1]
            out[2 * m : 2 * m + 2] = [F.round(F.round(a * c) - F.round(b * s)), F.round(F.round(a * s) + F.round(b * c))]
        return out

    def row(part: str, distance: int) -> Any:
        return arrays[part][min(distance, len(arrays[part]) - 1)]

    def attend(part: str, columns: list[list[Fraction]]) -> list[list[Fraction]]:
        names = ("query", "key", "value")
        q, k, v = ([product(f"{part}.{name}", x, f"{part}.{name}_bias") for x in columns] for name in names)
        q, k = ([turn(part, x, i) for i, x in enumerate(side)] for side in (q, k))
        out = []
        for i in range(len(columns)):
            scores = []
            for j in range(i + 1):
                score = R.inner_product(zip(q[i], k[j], strict=True))
                if f"{part}.distance_keys" in arrays:
                    score = F.round(score + R.inner_product(zip(q[i], row(f"{part}.distance_keys", i - j), strict=True)))
                score = F.round(score / R.scalar_root(Fraction(len(q[i]))))
                if f"{part}.distance_scores" in arrays:
                    score = F.round(score + row(f"{part}.distance_scores", i - j))
                scores.append(score)
            shares, _ = R.distribute(scores, "max-subtracted")
            mixed = [R.inner_product(zip(shares, (v[j][c] for j in range(i + 1)), strict=True)) for c in range(len(v[0]))]
            if f"{part}.distance_values" in arrays:
                rows = [row(f"{part}.distance_values", i - j) for j in range(i + 1)]
                mixed = add(mixed, [R.inner_product(zip(shares, (r[c] for r in rows), strict=True)) for c in range(len(mixed))])
            out.append(product(f"{part}.output", mixed, f"{part}.output_bias"))
        return out

    def dense(part: str, x: list[Fraction]) -> list[Fraction]:
        kind: Any = chosen.get(f"{part}.activation", "relu")
        f = lambda a: max(a, Fraction(0)) if kind == "relu" else R.scalar_activation(kind, a)  # noqa: E731
        hidden = product(f"{part}.w1", x, f"{part}.b1")
        if f"{part}.gate" in arrays:
            gate = map(f, product(f"{part}.gate", x, f"{part}.gate_bias"))
            return product(f"{part}.w2", [F.round(g * a) for g, a in zip(gate, hidden, strict=True)], f"{part}.b2")
        return product(f"{part}.w2", list(map(f, hidden)), f"{part}.b2")

    tokens = [transformer.vocabulary.index(token) for token in text]
    columns = [add(arrays["token_embedding"][t], arrays["position_embedding"][i]) for i, t in enumerate(tokens)]
    columns = [norm("embedding_norm", x) for x in columns]
    for l, layer in enumerate(transformer.layers):
        part, entering = f"layers.{l}", columns
        inner = [norm(f"{part}.attention_norm", x) for x in columns]
        total = attend(f"{part}.heads.0", inner)
        for h in range(1, len(layer.heads)):
            total = [add(x, y) for x, y in zip(total, attend(f"{part}.heads.{h}", inner), strict=True)]
        columns = [add(x, y) for x, y in zip(columns, total, strict=True)]
        read = entering if layer.parallel else columns
        change = [dense(f"{part}.feed_forward", norm(f"{part}.feed_forward_norm", x)) for x in read]
        columns = [add(x, y) for x, y in zip(columns, change, strict=True)]
    return product("output", norm("final_norm", columns[-1]), "output_bias")


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("format", ["fixed:4", "fp8_e4m3", "q:4,4"])
def test_a_run_is_what_the_formulas_say(kind: str, format: str) -> None:
    transformer = made(kind, format, 1, layers=2 if kind == "all" else 1)
    for text in ("0", "10010"):
        assert list(transformer.run(text).logits) == by_hand(transformer, text)


def test_known_numbers() -> None:
    """One of each by hand: a bias, gelu(1), a gate, a quarter turn, a table's last row for all beyond, RMSNorm of (3, 4)."""
    F = Fixed(8)
    head = Head.of(F, [[0]], [[0]], [[1]], [[1]], value_bias=[2], distance_scores=[0, "-B"])
    logits = Options(answer="logits")
    T = Transformer.of(F, "a", ["x"], [[1]], [[1]], ["Z"], max_length=4, layers=[Layer((head,))], options=logits)
    assert T.run("aaaa").logits == (4,)  # 1 + (1 + 2), all weight on itself
    gelu = FeedForward.of(F, [[1]], [0], [[1]], [0], activation="gelu")
    assert T.replace(layers=(Layer((), gelu),)).run("a").logits == (1 + Fraction(215, 256),)
    gated = FeedForward.of(F, [[1]], [2], [[1]], [0], gate=[[-1]], gate_bias=[4])
    assert T.replace(layers=(Layer((), gated),)).run("a").logits == (1 + (4 - 1) * (1 + 2),)
    square = {"distance_keys": [[1, 0], [0, 1]], "cosine": [[1], [0], [-1], [0]], "sine": [[0], [1], [0], [-1]]}
    turning = Head.of(F, [[1], [0]], [[1], [0]], [[1]], [[0]], **square)
    run = T.replace(layers=(Layer((turning,)),)).run("aaaa", trace="*scores")
    scores = run.trace["layer.0.head.0.scores"]
    # ⟨q_i, k_j⟩ = cos(i − j) of quarter turns; q_0 … q_3 = (1,0), (0,1), (−1,0), (0,−1), and (1,0) for distance 0, (0,1) beyond
    assert scores[3].tolist() == [0 - 1, -1 - 1, 0 - 1, 1 + 0]
    norm = Norm.of(F, [1, 1], [0, 0], 0, kind="rms")
    two = Transformer.of(F, "a", ["x", "y"], [[3, 4]], [[1, 0], [0, 1]], ["X", "Y"], max_length=1, final_norm=norm,
                         options=Options(answer="logits"), output_bias=[0, 1])  # fmt: skip
    root = Fraction(905, 256)  # [√12.5]
    assert two.run("a").logits == (F.round(3 / root), F.round(4 / root) + 1)


# What has no value, and what does not fit ------------------------------------------------------------------------------------


def test_rms_of_zero_is_told_with_its_place() -> None:
    F = Fixed(4)
    norm = Norm.of(F, [1], [0], 0, kind="rms")
    T = Transformer.of(F, "a", ["x"], [[0]], [[1]], ["Z"], max_length=2, embedding_norm=norm)
    with pytest.raises(ZeroVariance, match="the embedding's norm, position 0: the mean square rounds to 0 and so does ε, so RMS"):
        T.run("a")


def bad(**changes: Any) -> Transformer:
    F, sizes = Fixed(4), {"query": [[1]], "key": [[1]], "value": [[1]], "output": [[1]]}
    head = Head.of(F, **{**sizes, **changes})
    return Transformer.of(F, "a", ["x"], [[1]], [[1]], ["Z"], max_length=3, layers=[Layer((head,))])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bad(query_bias=[1, 2]), r"layers.0.heads.0.query_bias has shape \(2,\); it must be \(1,\)"),
        (lambda: bad(cosine=[[1]] * 3), "a cosine without a sine"),
        (lambda: bad(cosine=[[1]] * 3, sine=[[0]] * 3), "at most half as many columns as query has rows, 1"),
        (lambda: bad(query=[[1]] * 2, key=[[1]] * 2, cosine=[[1]] * 2, sine=[[0]] * 2), "a row for each of the 3 positions"),
        (lambda: bad(query=[[1]] * 2, key=[[1]] * 2, cosine=[[1]] * 3, sine=[[0]] * 2), r"sine has shape \(2, 1\)"),
        (lambda: bad(distance_scores=np.zeros(0)), "distance_scores has no rows"),
        (lambda: bad(distance_scores=[1]).with_options(mask="full"), "by the distance to an earlier position"),
        (lambda: bad(distances=[1]), "there is no part 'distances'"),
        (lambda: Norm.of("fixed:4", [1], [0], kind="batch"), "kind of a Norm is 'batch', and must be one of layer, rms"),
        (lambda: FeedForward.of("fixed:4", [[1]], [0], [[1]], [0], activation="tanh"), "must be one of relu, gelu"),
        (lambda: FeedForward.of("fixed:4", [[1]], [0], [[1]], [0], gate_bias=[1]), "a gate_bias and no gate"),
        (lambda: Layer(parallel=1), "parallel of a layer is 1"),
        (lambda: made("parallel").with_options(norm="post"), "is parallel, and options.norm is 'post'"),
        (lambda: made("biases").replace(output_bias=np.zeros(3, int)), r"output_bias has shape \(3,\)"),
        (lambda: made("biases").replace(output_bias=[0, 0]), "output_bias is"),
        (lambda: made("biases").replace(output_bias=encode([0, 0], "fixed:8")), "output_bias is in fixed:8, not in fixed:6"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        call()


# What survives ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PARTS)
def test_parts_survive_files_json_options_and_formats(kind: str, tmp_path: Any) -> None:
    transformer = made(kind)
    save(transformer, tmp_path / "T")
    again = load(tmp_path / "T")
    assert again.same_as(transformer) and newer_parts(again) == newer_parts(transformer) != []
    assert json.loads((tmp_path / "T" / "config.json").read_text())["version"] == 2
    data = json.loads(json.dumps(transformer_to_json(transformer)))
    read = transformer_from_json(JsonPart(data, "the transformer"))
    assert read.same_as(transformer) and fingerprint(read) == fingerprint(transformer)
    other = transformer.with_options(answer="logits", ties="first")
    assert newer_parts(other) == newer_parts(transformer.in_format("fixed:8")) == newer_parts(transformer)
    inputs = texts(range(1, 6))
    assert np.array_equal(again.run_batch(inputs).logits, transformer.run_batch(inputs).logits)


def test_a_choice_alone_makes_another_transformer(tmp_path: Any) -> None:
    plain = random_transformer("fixed:6")
    activated = random_transformer("fixed:6", sizes=Sizes(activation="gelu"))
    assert not plain.same_as(activated) and difference(plain, activated) == "choices"
    assert fingerprint(plain) != fingerprint(activated)
    assert "choices" not in transformer_to_json(plain)
    save(plain, tmp_path / "plain")
    assert json.loads((tmp_path / "plain" / "config.json").read_text())["version"] == 1


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"layers.0.feed_forward.activation": "tanh"}, "must be one of relu, gelu"),
        ({"layers.0.feed_forward.activation": ["gelu"]}, "must be one of relu, gelu"),
        ({"layers.0.parallel": "yes"}, "parallel of a layer is 'yes'"),
        ({"layers.9.parallel": True}, "choices.layers.9.parallel is a choice that no part of it has"),
        ({"layers.0.heads.0.kind": "rms"}, "is a choice that no part of it has"),
        (["gelu"], "choices must be an object"),
    ],
)
def test_files_with_choices_that_mean_nothing_are_refused(chosen: Any, message: str, tmp_path: Any) -> None:
    save(random_transformer("fixed:4"), tmp_path / "T")
    path = tmp_path / "T" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"choices": chosen}))
    with pytest.raises(FileError, match=message):
        load(tmp_path / "T")


YES = prove.answer() == "YES"
QUIETLY: dict[str, Any] = {"count_all": True, "progress": False, "workers": 1}


# Positions are those of the input, however the run is cut up --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["all", "distances", "rotary", "embedding norm"])
def test_chains_of_thought_and_prefixes_are_runs_of_the_whole(kind: str) -> None:
    transformer = made(kind, options=replace(OPTIONS, ties="first"), answers=("0", "1"))
    for text in ("0", "01", "110"):
        chain = transformer.run(text, steps=4).chain
        words = text
        for said in chain:
            assert transformer.answer(words) == said
            words += said


OF_PROOFS = [("all", "causal"), ("rotary", "strict")]
REPEATED = [("all", "strict"), ("rotary", "causal"), ("distances", "causal"), ("embedding norm", "causal"), ("biases", "causal")]


@pytest.mark.parametrize(
    ("kind", "mask"), [*OF_PROOFS, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in REPEATED)]
)
def test_a_proof_over_the_tree_of_inputs_says_what_single_runs_say(kind: str, mask: Any) -> None:
    """The last levels go in one pass, where the place of a key in the array is not its position."""
    transformer = made(kind, "fixed:5", 1, replace(OPTIONS, mask=mask, ties="first"))
    inputs = ["".join(x) for n in range(1, 6) for x in product("01", repeat=n)]
    said = {text: run for text in inputs for run in [transformer.answer(text)]}
    for method in ("enumerate", "symbolic"):
        yes = prove.check(prove.Claim(prove.inputs(transformer, max_length=5), YES), method=method, **QUIETLY)
        wrong = [text for text in inputs if said[text] != "YES"]
        assert yes.failures == len(wrong) if wrong else isinstance(yes, prove.Proved), method
