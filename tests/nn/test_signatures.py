"""What a caller writes: the kind of a model that comes back, and keywords that are misspelt."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from glyptic import bridge, nn
from glyptic.errors import GlypticError, InputError, ModelError
from glyptic.exact import Options
from glyptic.nn.config import AllChanges, Changes
from glyptic.nn.hooks import ModelInputs
from tests.nn import small

KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "decoder": (nn.Decoder, {}),
    "encoder": (nn.Encoder, {}),
    "encoder_decoder": (nn.EncoderDecoder, {}),
    "vit": (nn.ViT, {"image_size": 4, "patch_size": 2, "head": "none"}),
}
DECODER, ENCODER = small.model(), small.model(kind="encoder")
TOKENS = small.tokens(2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_is_asked_for_is_given_or_refused(kind: str, tmp_path: Path) -> None:
    made, fields = KINDS[kind]
    config = small.config(kind=kind, **fields)
    nn.save(nn.build(config), tmp_path / "model")
    for get in (lambda **asked: nn.build(config, **asked), lambda **asked: nn.load(tmp_path / "model", **asked)):
        assert type(get(kind=kind)) is type(get()) is made
        for other in KINDS.keys() - {kind}:
            with pytest.raises(ModelError, match=rf"kind='{other}' is asked for, and .* has kind='{kind}'"):
                get(kind=other)
        for wrong in ("", "gpt", 3, [kind], True):
            with pytest.raises(InputError, match=r"kind is .* must be one of decoder, encoder, encoder_decoder, vit, or None"):
                get(kind=wrong)


def test_what_type_checkers_know_of_keywords_is_what_there_is() -> None:
    fields = get_type_hints(nn.ModelConfig)
    assert get_type_hints(AllChanges) == fields
    assert get_type_hints(Changes).keys() == fields.keys() - {"kind"}
    forwards = [set(inspect.signature(made.forward).parameters) - {"self"} for made, _ in KINDS.values()]
    assert get_type_hints(ModelInputs).keys() == set().union(*forwards)
    shared = inspect.signature(nn.stream).parameters.keys()
    assert inspect.signature(nn.generate).parameters.keys() == shared
    options = {field.name for field in dataclasses.fields(Options)}
    assert options <= inspect.signature(bridge.to_exact).parameters.keys()


# what is called with a keyword that it does not have, and the sentence about it
MISSPELT: dict[str, tuple[Callable[[], Any], str]] = {
    "generate": (lambda: nn.generate(DECODER, TOKENS, 3, sead=1), r"generate\(\) got an unexpected keyword argument 'sead'"),
    "stream": (lambda: nn.stream(DECODER, TOKENS, 3, sead=1), r"stream\(\) has no argument sead; did you mean seed\?"),
    "build": (lambda: nn.build(DECODER.config, sead=1), r"build\(\) got an unexpected keyword argument 'sead'"),
    "preset": (lambda: nn.preset("gpt2", layrs=2), r"preset\(\) takes no such argument: layrs=2 .*; is it layers\?"),
    "replace": (lambda: DECODER.config.replace(hads=2), r"replace\(\) takes no such argument: hads=2 .*; is it heads\?"),
    "load": (lambda: nn.load("nowhere", bakend="sdpa"), r"load\(\) takes no such argument: bakend='sdpa' .*; is it backend\?"),
    "record": (lambda: nn.record(DECODER, TOKENS, names="*", types=TOKENS), r"record\(\) was given types, and this Decoder"),
    "Decoder": (lambda: DECODER(TOKENS, paddin_mask=None), r"Decoder.forward\(\) got an unexpected keyword argument"),
    "Encoder": (lambda: ENCODER(TOKENS, type=None), r"Encoder.forward\(\) got an unexpected keyword argument"),
    "to_exact": (lambda: bridge.to_exact(DECODER, "fp16", mx=3), r"to_exact\(\) has no argument mx; it has model, format,"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_keyword_is_told_about_the_function_that_was_called(name: str) -> None:
    call, sentence = MISSPELT[name]
    with pytest.raises((TypeError, GlypticError), match=sentence):
        call()
