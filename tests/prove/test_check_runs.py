"""check.py's forward pass against Glyptic's, on random transformers with every option."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from glyptic import prove
from glyptic.errors import InputError
from glyptic.exact import Options
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.undefined import Undefined
from glyptic.numbers import parse_format
from glyptic.prove.exporting import folder
from glyptic.prove.exporting.standalone.checker.models import read_model
from glyptic.prove.exporting.standalone.checker.reading import Unreadable
from glyptic.prove.exporting.standalone.checker.transformer import run_input, stages_of
from glyptic.prove.portable.claims import transformer_to_json

FORMATS = ["fixed:2", "fixed:3/even", "q:3,3", "q:2,4/even", "float:3,2", "ieee:4,3", "ieee:4,3,normal/zero", "fp8_e4m3"]
FORMATS += ["fp16", "fixed:10"]


def random_options(rng):
    return Options(
        products=rng.choice(["rounded", "fused"]),
        attention=rng.choice(["softmax", "max-subtracted", "leftmost", "rightmost", "average"]),
        scale=rng.random() < 0.3,
        mask=rng.choice(["causal", "strict", "full"]),
        norm=rng.choice(["none", "none", "pre", "post"]),
        answer=rng.choice(["softmax", "logits"]),
        ties=rng.choice(["explicit", "first"]),
    )


def read(transformer):
    return read_model(json.loads(json.dumps(transformer_to_json(transformer))), "T")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(6))
def test_a_run_agrees_in_every_stage_score_and_answer(name, seed):
    rng = random.Random(f"{name} {seed}")
    sizes = Sizes(layers=2, heads=2, width=4, key_width=2, value_width=2, hidden=3, max_length=5, answers=("0", "1"))
    transformer = random_transformer(parse_format(name), rng.randrange(1000), sizes, random_options(rng))
    check_runs(transformer)


PARTS = [
    *({"biases": True}, {"gated": True, "biases": True}, {"norm_kind": "rms", "embedding_norm": True}, {"turned": 1}),
    *({"norm_kind": "rms_outside"}, {"distances": 2}, {"parallel": True, "gated": True}),
    *({"activation": "gelu", "biases": True}, {"activation": "gelu_tanh"}, {"activation": "silu", "gated": True}),
]


@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_a_run_agrees_with_parts_that_not_all_have(parts):
    for seed, name in enumerate(("fixed:3", "q:3,3", "fp8_e4m3", "ieee:4,3,normal/zero", "fixed:10")):
        sizes = Sizes(layers=2, heads=2, width=4, key_width=2, value_width=2, hidden=3, max_length=5, answers=("0", "1"), **parts)
        norm = "pre" if seed % 2 else "none"
        options = Options(norm=norm, scale=seed > 1, products=("rounded", "fused")[seed % 2], attention="max-subtracted")
        check_runs(random_transformer(parse_format(name), seed, sizes, options))


def test_activations_of_a_claim_on_inputs_are_exported_and_checked_apart(tmp_path):
    gelu = random_transformer("fixed:4", sizes=Sizes(activation="gelu"))
    claim = prove.Claim(prove.inputs(gelu, max_length=2), prove.answer() != "TIE")
    verdict = prove.check(claim, workers=1, progress=False)
    prove.export(tmp_path / "folder", claim, verdict)
    checked = [sys.executable, "-I", "-S", tmp_path / "folder" / "check.py", tmp_path / "folder"]
    done = subprocess.run(checked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    claim_file = tmp_path / "folder" / "claim.json"
    assert '"gelu"' in claim_file.read_text()


def test_a_question_to_solvers_about_activations_is_refused_by_name():
    gelu = random_transformer("fixed:2", sizes=Sizes(layers=1, heads=0, width=2, hidden=1, activation="gelu"))
    claim = prove.Claim(prove.layers(gelu, free=["x0", "x1"]), prove.after("x0") >= -gelu.format.max)
    with pytest.raises(InputError, match=r"feed_forward\.activation is gelu, and the question to solvers"):
        folder.check_claim(claim)


@pytest.mark.parametrize("chosen", ["tanh", "relu", 1, None, ["gelu"]])
def test_activations_that_nobody_knows_are_refused(chosen):
    data = json.loads(json.dumps(transformer_to_json(random_transformer("fixed:4"))))
    with pytest.raises(Unreadable, match="choice"):
        read_model(data | {"choices": {"layers.0.feed_forward.activation": chosen}}, "T")


@pytest.mark.parametrize(
    "chosen",
    [{"layers.0.parallel": 1}, {"layers.7.parallel": True}, {"final_norm.kind": "rms"}, {"layers.0.norm": "x"}, ["rms"]],
)
def test_choices_that_mean_nothing_are_refused(chosen):
    with pytest.raises(Unreadable, match="choice"):
        read_model(json.loads(json.dumps(transformer_to_json(random_transformer("fixed:4")))) | {"choices": chosen}, "T")


def check_runs(transformer):
    model = read(transformer)
    for text in ("0", "10", "0110", "111"):
        ours = run_input(model, list(text), 1)
        if ours.chain == ("UNDEFINED",):
            with pytest.raises(Undefined):
                transformer.run(text, engine="reference")
            continue
        theirs = transformer.run(text, trace=True, engine="reference")
        assert ours.chain == theirs.chain
        assert tuple(map(model.format.number, ours.logits)) == theirs.logits
        for stage in stages_of(model):
            columns = np.vectorize(model.format.number, otypes=[object])(np.array(ours.trace.residual[stage], object))
            assert (theirs.trace[stage] == columns.T).all(), stage
        for (l, h, i, j), score in ours.trace.score.items():
            assert model.format.number(score) == theirs.trace[f"layer.{l}.head.{h}.scores"][i, j]
            weight = ours.trace.weight[l, h, i, j]
            assert model.format.number(weight) == theirs.trace[f"layer.{l}.head.{h}.weights"][i, j]


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_thought_agree(seed):
    rng = random.Random(seed)
    sizes = Sizes(layers=1, heads=1, width=3, key_width=2, value_width=2, hidden=2, max_length=6, answers=("0", "1"))
    transformer = random_transformer(parse_format(rng.choice(FORMATS[:8])), seed, sizes, random_options(rng))
    model = read(transformer)
    texts = ["".join(text) for n in (1, 2, 3) for text in product("01", repeat=n)]
    batch = transformer.run_batch(texts, steps=3, engine="reference")
    names = {-1: "TIE", -2: "UNDEFINED", 0: "0", 1: "1"}
    for text, numbers in zip(texts, batch.chains, strict=True):
        assert run_input(model, list(text), 3).chain == tuple(names[int(n)] for n in numbers), text
