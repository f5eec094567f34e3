"""What a person names on the command line is seen from what is there, and what has no effect is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glyptic import nn, programs, prove
from glyptic.errors import GlypticError, InputError
from glyptic.look.opening import LESSONS, open_page
from glyptic.prove.certificates.saving import save_certificate
from glyptic.prove.questions import equivalence


@pytest.mark.parametrize("name", LESSONS)
def test_lessons(name: str) -> None:
    assert open_page(name, language="es").language == "es"
    with pytest.raises(InputError, match=f"has no effect on the page {name}"):
        open_page(name, "0110")


def test_transformers_by_name_and_folder(tmp_path: Path) -> None:
    programs.open("parity:4", "fixed:4").save(tmp_path / "parity")
    assert open_page(str(tmp_path / "parity"), "01").views[0].data["sides"][0]["input"] == ["0", "1"]
    assert len(open_page("parity:4", "011", against="contains:11,4").views[0].data["sides"]) == 2
    assert open_page("parity:4", "011", format="fixed:3").title == "parity:4 in fixed:3 on 011"
    with pytest.raises(GlypticError):
        open_page("nothing:4")


def test_a_certificate(tmp_path: Path) -> None:
    one, other = programs.open("contains:11,3", "fixed:4"), programs.open("contains:101,3", "fixed:4")
    claim = equivalence(one, other, max_length=3)
    save_certificate(tmp_path / "claim.json", claim, prove.check(claim))
    assert {view.kind for view in open_page(str(tmp_path / "claim.json")).views} == {"proof", "exact"}
    with pytest.raises(InputError, match="has no effect on the file"):
        open_page(str(tmp_path / "claim.json"), format="fixed:2")


def test_models_of_pytorch_and_runs_of_training(tmp_path: Path) -> None:
    config = nn.ModelConfig(kind="decoder", layers=1, width=8, heads=2, vocabulary=5, context=8)
    nn.save(nn.build(config, seed=0), tmp_path / "run" / "best")
    assert open_page(str(tmp_path / "run" / "best"), "1 2 3").views[0].kind == "model"
    (tmp_path / "run" / "metrics.jsonl").write_text(json.dumps({"step": 0, "loss": 1.0}))
    assert open_page(str(tmp_path / "run" / "metrics.jsonl")).views[0].kind == "training"
    for folder in (tmp_path / "run", tmp_path):  # a run, and a folder of runs
        assert [run["name"] for run in open_page(str(folder)).views[0].data["runs"]] == ["run"]
    with pytest.raises(InputError, match="has no effect on the folder"):
        open_page(str(tmp_path), "0110")
