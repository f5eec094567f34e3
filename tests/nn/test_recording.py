"""What bears TransformerLens's name has its value, read or changed: compared with a recording, and with itself if it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from glyptic import nn
from tests.nn import recording
from tests.nn.recording import CASES, Recording, change

# Hooks of TransformerLens that we do not have: the inside of norms, the parts of BERT's input, and options of its own.
THEIRS_ALONE = (
    "hook_scale",
    "embed.hook_embed",
    "embed.hook_pos_embed",
    "embed.hook_token_type_embed",
    "hook_full_embed",
)
THEIRS_ALONE += ("unembed.hook_in", "unembed.hook_out")
# Ours alone: parts of the input that TransformerLens shows elsewhere (BERT) or not at all (the target of T5).
OURS_ALONE = {"bert": {"hook_embed", "hook_pos_embed"}, "t5": {"decoder.hook_embed"}}


def ours(name: str, folder: Path) -> Any:
    """The public model by way of a checkpoint on disk, so that the order of rows, heads and pairs is put to the test."""
    recording.public_model(CASES[name]).save_pretrained(folder)
    return nn.with_backend(nn.load(folder).double().eval(), "reference")


def compare(name: str, lens: Recording, folder: Path) -> None:
    model, inputs = ours(name, folder), CASES[name].inputs
    with torch.no_grad():
        found = nn.record(model, *inputs, names="*")
    close(found.output, lens.logits, "logits")
    assert set(found.activations) - set(lens.activations) == OURS_ALONE.get(name, set())
    assert all(hook.endswith(THEIRS_ALONE) for hook in set(lens.activations) - set(found.activations))
    for hook in set(found.activations) & set(lens.activations):
        close(found.activations[hook], lens.activations[hook], hook)
        with torch.no_grad(), nn.edited(model, {hook: change}):
            close(model(*inputs)[:, -1], lens.patched[hook], f"logits with {hook} changed")


def close(ours: torch.Tensor, theirs: torch.Tensor, what: str) -> None:
    """Equal to float32's accuracy, and −∞ in the same places."""
    assert ours.shape == theirs.shape, what
    seen = torch.isfinite(theirs)
    assert torch.equal(torch.isfinite(ours), seen), what
    assert torch.equal(ours[~seen], theirs[~seen].to(ours)), what
    assert (ours - theirs)[seen].abs().max() < 1e-5 * (1 + theirs[seen].abs().max()), what


@pytest.mark.parametrize("name", CASES)
def test_every_name_that_both_have_has_the_value_that_was_recorded(name: str, tmp_path: Path) -> None:
    lens, digest = recording.recorded(name)
    assert digest == recording.digest(recording.public_model(CASES[name])), (
        "the recording is of other weights: make it anew"
    )
    compare(name, lens, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_name_that_both_have_has_the_value_of_transformer_lens_itself(name: str, tmp_path: Path) -> None:
    lens = pytest.importorskip("transformer_lens")
    if not hasattr(lens, "HookedEncoderDecoder"):
        pytest.skip("TransformerLens 4 has none of the models that these names come from; install 3.9.0 (recording.py)")
    compare(name, recording.record(CASES[name]), tmp_path)


def test_a_recording_is_small_and_changes_move_its_logits() -> None:
    """The patches of a recording say something: they differ from one another and from no patch at all."""
    assert recording.FILE.stat().st_size < 200_000
    for name in CASES:
        lens, _ = recording.recorded(name)
        still = [hook for hook, logits in lens.patched.items() if torch.equal(logits, lens.logits[:, -1])]
        assert not [hook for hook in still if not hook.endswith(THEIRS_ALONE)], name
