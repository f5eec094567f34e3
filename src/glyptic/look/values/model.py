"""A trained or loaded transformer of `nn`, looked into on one input: attention, residual stream, logit lens, heads changed.

Everything is computed here, once, and recorded; the page shows it, and says how precise it is and what was left out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from glyptic.arguments import Count, Number, Readable, checked, refused
from glyptic.errors import FileError, InputError
from glyptic.files import quoted_path
from glyptic.look.pages import View, pack
from glyptic.look.values.model_attention import FEW, AttentionSite, Measures, listeners, packed_sites, sites_of
from glyptic.look.values.model_effects import difference, effects_of
from glyptic.look.values.model_facts import config_facts, part_facts
from glyptic.look.values.model_inputs import ModelInput, Vocabulary, names_of, read_input, short, texts_of
from glyptic.look.values.model_streams import ResidualStream, lens_of, stream_listeners, streams_of
from glyptic.nn.costs import cost
from glyptic.nn.hooks import edited
from glyptic.nn.models import Model, with_backend
from glyptic.text import whole_number

MEASURED = 128  # positions that the lens and the changes of heads are kept of
BUDGET = 2_300_000  # bytes of a page for maps: with all else it stays below 3 MB
EFFORT = 4e12  # FLOPs for changing heads: about a minute of two cores


@checked
def model_view(
    model: Model,
    inputs: Any,
    tokens: Any = None,
    *,
    vocabulary: Any = None,
    classes: Any = None,
    corrupted: Any = None,
    top: Annotated[int, Count(1, 20)] = 5,
    budget: Annotated[int, Count(0, 10**9)] = BUDGET,
    effort: Annotated[float, Number(least=0)] = EFFORT,
    title: str | None = None,
) -> View:
    """A model on one input: token ids (a pair of lists for an encoder–decoder), vectors, or an image [C, height, width].

    `tokens` are the texts of the positions, `vocabulary` those of all tokens (a list, a dictionary, or a function of the id),
    `classes` the names of classes. With `corrupted`, another input of the same length, each head is also patched: given what
    it put out there. `budget` bounds the bytes of attention maps, `effort` the FLOPs spent on changing heads.

    >>> from glyptic import nn
    >>> small = nn.build(nn.ModelConfig(kind="decoder", layers=2, width=8, heads=2, vocabulary=5), seed=0)
    >>> view = model_view(small, [1, 2, 3, 1, 2], vocabulary=list("abcde"))
    >>> view.kind, view.data["sequences"], [site["maps"]["shape"] for site in view.data["sites"]]
    ('model', [['b', 'c', 'd', 'b', 'c']], [[4, 15]])
    """
    if model.config.distillation_token:
        raise InputError("distillation_token=True: pages have a place for one class token; look into a ViT without a second one.")
    twin = with_backend(model, "reference").eval()
    given = read_input(twin, inputs, vocabulary)
    other = None if corrupted is None else _corrupted(twin, given, corrupted, vocabulary)
    with torch.inference_mode():
        data = _data(twin, given, other, names_of(twin, given, tokens, vocabulary), top, budget, effort)
    spoken = classes if twin.config.head == "class" else vocabulary
    data["texts"] = _texts(data.pop("used"), spoken)
    sizes = f"{twin.config.layers} × {twin.config.heads}"
    return View("model", title or f"{type(model).__name__} {sizes}", data)


def _corrupted(model: Model, given: ModelInput, corrupted: Any, vocabulary: Vocabulary | None) -> ModelInput:
    other = read_input(model, corrupted, vocabulary)
    for ours, theirs in zip(given.tensors, other.tensors, strict=True):
        if ours.shape != theirs.shape:
            raise InputError(f"corrupted has {theirs.shape[1]} positions and the input {ours.shape[1]}; a patch needs as many.")
    return other


def _data(
    model: Model, given: ModelInput, other: ModelInput | None, names: list[list[str]], top: int, budget: int, effort: float
) -> dict[str, Any]:
    lengths = [len(each) for each in names]
    sites, streams = sites_of(model, lengths), streams_of(model)
    few = sum(site.entries * site.layers * site.modules[0].heads for site in sites) <= FEW
    _record(model, given, sites, streams, few)
    positions = _measured(lengths[-1], MEASURED)
    deciding = 0 if model.config.kind in ("vit", "encoder") else lengths[-1] - 1
    judged = [deciding] if model.config.head == "class" else positions
    lens = lens_of(model, streams[-1], _measured(lengths[-1], MEASURED, deciding), top)
    changes, note = _changes(model, given, other, sites, judged, effort, lengths)
    used = set() if lens is None else set(lens.ids.reshape(-1).tolist())
    for each in changes:
        used |= set() if each.top is None else set(each.top.reshape(-1).tolist())
    given_cost = cost(model, 1, lengths[-1], lengths[0])
    return {
        "config": config_facts(model.config), "parts": part_facts(given_cost), "sequences": names, "few": few,
        "sites": packed_sites(sites, few, budget), "streams": [stream.packed() for stream in streams],
        "lens": None if lens is None else lens.packed(), "deciding": deciding,
        "effects": {"positions": judged, "modes": [each.packed() for each in changes], **note},
        "image": _image(model, given), "used": sorted(used), "crossover": given_cost.crossover,
    }  # fmt: skip


def _record(model: Model, given: ModelInput, sites: list[AttentionSite], streams: list[ResidualStream], few: bool) -> None:
    side = model.config.image_size // model.config.patch_size if model.config.kind == "vit" else None
    edits = dict(listeners(sites, Measures(given.ids, side), few)) | dict(stream_listeners(model, streams))
    with edited(model, {name: _finite(name, note) for name, note in edits.items()}):
        given.run(model)


def _finite(name: str, note: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """What notes a value, and refuses it first if it is no number: NaN kept as a whole number would be shown as one."""

    def checking(x: Tensor) -> Tensor:
        if not bool(torch.isfinite(x).all()) or not bool(torch.isfinite(x.float().norm(dim=-1)).all()):
            raise InputError(
                f"the model has NaN, ∞ or numbers beyond float32 at {name} on this input, and a page shows numbers; "
                "find the weights that are not finite, or the step of training before they were."
            )
        return note(x)

    return checking


def _measured(length: int, most: int, always: int | None = None) -> list[int]:
    """All positions, or as many spread evenly, the first and the last among them.

    >>> _measured(4, 128), _measured(10, 4)
    ([0, 1, 2, 3], [0, 3, 6, 9])
    """
    if length <= most:
        return list(range(length))
    found = {round(position * (length - 1) / (most - 1)) for position in range(most)}
    return sorted(found if always is None else found | {always})


def _changes(
    model: Model, given: ModelInput, other: ModelInput | None, sites: list[AttentionSite], judged: list[int], effort: float,
    lengths: list[int],
) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
    """Each way of changing heads, for as many heads as the effort allows, and what the page says of it."""
    heads = [(index, head) for index, site in enumerate(sites) for head in range(len(site.maps))]
    once = cost(model, 1, lengths[-1], lengths[0]).flops
    affordable = int(effort // max(once, 1))
    modes = ["zero", "mean"] if other is None else ["patch", "zero", "mean"]
    while len(modes) > 1 and len(modes) * len(heads) > affordable:
        modes.pop()
    heads.sort(key=lambda at: sites[at[0]].metrics["entropy"][at[1]] or 0.0)
    chosen = sorted(heads[:affordable])
    note: dict[str, Any] = {"tried": len(chosen), "of": len(heads), "whole": None}
    if not chosen:
        return [], note
    others = None
    if other is not None:
        theirs = sites_of(model, lengths)
        hooks = {hook: note_of for hook, note_of in listeners(theirs, Measures(None), False) if hook.endswith("hook_z")}
        with edited(model, hooks):
            other.run(model)
        others = [site.outputs for site in theirs]
        note["whole"] = difference(model, given, other, judged)
    found = [effects_of(model, given, sites, chosen, judged, mode, others if mode == "patch" else None) for mode in modes]
    return found, note


def _texts(used: list[int], vocabulary: Vocabulary | None) -> dict[str, str]:
    return dict(zip(map(str, used), texts_of(used, vocabulary), strict=True))


def _image(model: Model, given: ModelInput) -> dict[str, Any] | None:
    """The image as bytes [height, width, 3], its least value black and its largest white."""
    if model.config.kind != "vit":
        return None
    pixels: Tensor = given.tensors[0][0].double().cpu()
    pixels = pixels[:3] if len(pixels) >= 3 else pixels[:1].expand(3, -1, -1)
    low, high = float(pixels.min()), float(pixels.max())
    scaled = (pixels - low) * (255 / (high - low) if high > low else 0.0)
    picture = scaled.round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy()
    return {"pixels": pack(picture), "low": float(f"{low:.4g}"), "high": float(f"{high:.4g}"), "patch": model.config.patch_size}


@checked
def folder_view(folder: Annotated[Path, Readable("folder")], text: str | None = None, **options: Any) -> View:
    """The model of a checkpoint's folder on what a command line says.

    Tokens are numbers, or words of the folder's vocab.json, or any text if it has a tokenizer.json and `tokenizers` is
    installed; an encoder–decoder takes `source | target`; a ViT the path of a picture or of a .npy file. Without a text the
    input is the first tokens in order, or noise: enough to see how the model is made.
    """
    from glyptic import nn

    model = nn.load(folder)
    if model.config.kind == "vit":
        image = _noise(model) if text is None else _picture(Path(text), model)
        return model_view(model, image, title=short(folder.name), **options)
    encode, vocabulary = _tokenizer(folder)
    if model.config.vocabulary is None:
        given: Any = _noise(model) if text is None else _array(Path(text))
        return model_view(model, given, title=short(folder.name), **options)
    parts = [_first_tokens(model)] * 2 if text is None else [encode(part.strip()) for part in text.split("|")]
    pair = model.config.kind == "encoder_decoder"
    if pair and len(parts) == 1:
        parts = parts * 2
    if pair and len(parts) != 2:
        raise refused("the input", text, "source | target")
    given = parts if pair else encode(text) if text is not None else parts[0]
    return model_view(model, given, vocabulary=vocabulary, title=short(folder.name), **options)


def _first_tokens(model: Model) -> list[int]:
    length = min(16, model.config.context, model.config.vocabulary or 1)
    return list(range(length))


def _noise(model: Model) -> np.ndarray:
    config, random = model.config, np.random.default_rng(0)
    shape = (config.channels, config.image_size, config.image_size) if config.kind == "vit" else (8, config.width)
    return random.standard_normal(shape).astype(np.float32)


def _tokenizer(folder: Path) -> tuple[Any, Vocabulary | None]:
    """How a folder's model reads a text, and what its tokens are called."""
    from glyptic.files import read_json

    rules, words = folder / "tokenizer.json", folder / "vocab.json"
    if rules.is_file():
        try:
            from tokenizers import Tokenizer
        except ImportError:
            pass
        else:
            try:
                found = Tokenizer.from_str(rules.read_text(encoding="utf-8"))
            except Exception as error:  # the library has no class of its own for it
                raise FileError(f"{quoted_path(rules)} is no tokenizer: {error}.") from None
            encode = lambda text: _numbers_or(text, lambda: found.encode(text).ids)  # noqa: E731
            return encode, lambda token: found.id_to_token(token) or str(token)
    if words.is_file():
        listed = read_json(words)
        if isinstance(listed, dict) and all(type(number) is int for number in listed.values()):
            return lambda text: _numbers_or(text, text.split), {number: name for name, number in listed.items()}
    return lambda text: text.split(), None


def _numbers_or(text: str, otherwise: Any) -> Any:
    numbers = [whole_number(word) for word in text.replace(",", " ").split()]
    return numbers if numbers and None not in numbers else otherwise()


def _array(path: Path) -> np.ndarray:
    try:
        return np.load(Readable()("the input", path), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FileError(f"{quoted_path(path)} is no .npy file of numbers: {error}.") from None


def _picture(path: Path, model: Model) -> np.ndarray:
    """[C, size, size], from a .npy file, or from a picture scaled to −1 … 1 as ViT is trained."""
    if path.suffix.lower() == ".npy":
        return _array(path)
    try:
        from PIL import Image
    except ImportError:
        raise InputError("pictures need Pillow, which is not installed; give a .npy file of [C, height, width].") from None
    size, mode = model.config.image_size, "L" if model.config.channels == 1 else "RGB"
    try:
        with Image.open(Readable()("the input", path)) as image:
            pixels = np.asarray(image.convert(mode).resize((size, size)), np.float32) / 127.5 - 1
    except (OSError, ValueError) as error:
        raise FileError(f"{quoted_path(path)} is no picture that can be read: {error}.") from None
    return pixels[None] if mode == "L" else pixels.transpose(2, 0, 1)
