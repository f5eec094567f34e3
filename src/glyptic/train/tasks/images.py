"""Images and their classes, for a ViT: scikit-learn's handwritten digits, and the user's own folder.

Whether an image is kept from training is a matter of its pixels, so that one that is there twice is on one side. Training sees
every image moved by a pixel or a few, so that it does not learn them by heart.
"""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from glyptic.arguments import Count, checked
from glyptic.errors import FileError, InputError, ModelError
from glyptic.extras import brought_by
from glyptic.files import quoted_path, read_bytes
from glyptic.nn.config import ModelConfig
from glyptic.nn.speed.machine import check_memory
from glyptic.train.task import Minibatch, side_asked
from glyptic.train.tasks.finite import digest, is_text, places
from glyptic.train.tasks.held_out import side_of

Pixels = NDArray[np.uint8]  # (images, channels, height, width)
_MOST_BYTES, _MOST_PIXELS, _MOST_IMAGES = 1 << 26, 50_000_000, 200_000
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".pbm", ".webp", ".tif", ".tiff")


@dataclass(frozen=True)
class ImageTask:
    """Say the class of an image."""

    name: str
    digest: str
    classes: tuple[str, ...]
    shift: int
    """Pixels by which an image is moved at most, in training."""
    pixels: Pixels = field(repr=False, compare=False)
    labels: NDArray[np.int64] = field(repr=False, compare=False)
    sides: NDArray[np.str_] = field(repr=False, compare=False)
    measure: str = field(default="accuracy", init=False)
    evaluations_draw: ClassVar[bool] = False

    @property
    def held(self) -> NDArray[np.bool_]:
        """Which images training never sees."""
        return self.sides != "learned"

    def config(self) -> ModelConfig:
        channels, size = self.pixels.shape[1:3]
        patch = next(p for p in (8, 4, 2, 1) if (size % p == 0 and size // p >= 4) or p == 1)
        return ModelConfig(
            kind="vit", layers=4, width=64, heads=4, image_size=size, patch_size=patch, channels=channels, head="class",
            classes=len(self.classes), feed_forward="gelu", positions="learned", dropout=0.1,
        )  # fmt: skip

    def check(self, config: ModelConfig) -> None:
        channels, size = self.pixels.shape[1:3]
        if config.kind != "vit" or config.head != "class":
            what = f"kind={config.kind!r}, head={config.head!r}"
            raise ModelError(f"{what}: images are learned by kind='vit' with head='class'.")
        wanted = {"classes": len(self.classes), "image_size": size, "channels": channels}
        for name, value in wanted.items():
            if getattr(config, name) != value:
                raise ModelError(f"{name}={getattr(config, name)}, and {self.name} has {value}; let it be {value}.")

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        known = np.flatnonzero(self.sides == "learned")
        which = known[[place for _, place in places(seed, step * size, size, len(known))]]
        rng = np.random.default_rng([seed, step])
        moves = rng.integers(-self.shift, self.shift + 1, (size, 2))
        moved = np.stack([_moved(image, *move) for image, move in zip(self.pixels[which], moves.tolist(), strict=True)])
        return Minibatch((as_numbers(moved),), torch.from_numpy(self.labels[which]), size)

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        return cross_entropy(model(*batch.inputs), batch.targets, label_smoothing=smoothing)

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """On half of the images that are kept from training, and as a test on the others."""
        chosen = self.sides == side_asked(seed)
        if not chosen.any():
            raise InputError(f"{self.name}: of the images that are held out none is left for a test; give more images.")
        images, labels = as_numbers(self.pixels[chosen]), torch.from_numpy(self.labels[chosen])
        device = next(model.parameters()).device
        logits = torch.cat([model(part.to(device)).float().cpu() for part in images.split(256)])
        return {
            "loss": float(cross_entropy(logits, labels)),
            "accuracy": float((logits.argmax(-1) == labels).double().mean()),
        }

    def files(self) -> Mapping[str, bytes]:
        said = {"kind": "images", "classes": [*self.classes]}
        return {"vocabulary.json": (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode()}


def as_numbers(pixels: Pixels) -> Tensor:
    """Pixels from 0 to 255 → numbers from −1 to 1."""
    return torch.from_numpy(pixels.astype(np.float32) / 127.5 - 1.0)


def _moved(image: Pixels, down: int, right: int) -> Pixels:
    """(C, H, W) moved within its frame; what comes in is the first pixel's value, which is the background."""
    height, width = image.shape[1:]
    moved = np.full_like(image, image[:, :1, :1])
    rows, columns = slice(max(0, down), height + min(0, down)), slice(max(0, right), width + min(0, right))
    back_rows, back_columns = (
        slice(max(0, -down), height + min(0, -down)),
        slice(max(0, -right), width + min(0, -right)),
    )
    moved[:, rows, columns] = image[:, back_rows, back_columns]
    return moved


def _task(
    name: str, classes: tuple[str, ...], shift: int, pixels: Pixels, labels: Any, one_in: int, where: str
) -> ImageTask:
    sides = np.array([side_of(image.tobytes(), one_in) for image in pixels])
    if missing := {"learned", "evaluated"} - {*sides.tolist()}:
        what = "no other" if "learned" in missing else "none for evaluations"
        raise FileError(
            f"{where} has {len(pixels)} images, and one in {one_in} is kept from training, half of these for the test, so that "
            f"there is {what}: give more images, or another held_out."
        )
    known = digest(pixels.tobytes() + np.asarray(labels, dtype=np.int64).tobytes())
    return ImageTask(name, known, classes, shift, pixels, np.asarray(labels, dtype=np.int64), sides)


HeldOut = Annotated[int, Count(2, 1000)]


@checked
def digits(held_out: HeldOut = 5) -> ImageTask:
    """1,797 handwritten digits of 8 × 8 pixels, which scikit-learn brings (Alpaydin and Kaynak, 1998).

    >>> len(digits().labels), digits().classes
    (1797, ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'))
    """
    with brought_by("the task digits"):
        from sklearn.datasets import load_digits
    data = load_digits()
    pixels = np.round(data.images * (255 / 16)).astype(np.uint8)[:, None]
    name = "digits:" + (f"held_out={held_out}" if held_out != 5 else "")
    return _task(name.rstrip(":"), tuple("0123456789"), 1, pixels, data.target, held_out, "scikit-learn")


@checked
def images(
    folder: str,
    size: Annotated[int, Count(1, 1024)] = 32,
    channels: Annotated[int, Count(1, 3)] = 3,
    held_out: HeldOut = 5,
) -> ImageTask:
    """Your own images: a folder with a folder for each class; they are scaled to size × size, grey or in three colours."""
    if channels == 2:
        raise InputError("channels is 2, and must be 1, for grey, or 3, for colours.")
    if "," in folder:
        raise InputError(
            f"the folder {quoted_path(folder)} has a comma in its name, which separates parameters; rename it."
        )
    found = _files(Path(folder))
    count = sum(len(paths) for _, paths in found)
    check_memory(8 * count * channels * size**2, f"{quoted_path(folder)}, {count:,} images of size={size},")
    pixels = np.stack([_pixels(path, size, channels) for _, paths in found for path in paths])
    labels = [number for number, (_, paths) in enumerate(found) for _ in paths]
    given = f"folder={folder}" if "=" in folder else folder
    name = f"images:{given},size={size},channels={channels}" + (f",held_out={held_out}" if held_out != 5 else "")
    classes = tuple(name for name, _ in found)
    return _task(name, classes, max(1, size // 16), pixels, labels, held_out, quoted_path(folder))


def _files(folder: Path) -> list[tuple[str, list[Path]]]:
    """The classes of a folder and their images, in the order of their names."""
    try:
        classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        found = [
            (each.name, sorted(path for path in each.iterdir() if path.suffix.lower() in _ENDINGS and path.is_file()))
            for each in classes
        ]
    except OSError as error:
        raise FileError(f"cannot read {quoted_path(folder)}: {error.strerror or error}.") from None
    found = [(name, paths) for name, paths in found if paths]
    if half := [name for name, _ in found if not is_text(name)]:
        raise FileError(f"{quoted_path(folder / half[0])} has a name that is not UTF-8, and is to be that of a class; rename it.")
    if len(found) < 2:
        raise FileError(
            f"{quoted_path(folder)} has {'no' if not found else 'one'} folder with images ({', '.join(_ENDINGS[:4])} …) in it; "
            "give a folder that has one for each of at least two classes."
        )
    count = sum(len(paths) for _, paths in found)
    if count > _MOST_IMAGES:
        raise FileError(f"{quoted_path(folder)} has {count:,} images, and {_MOST_IMAGES:,} are held in memory at most.")
    return found


def _pixels(path: Path, size: int, channels: int) -> Pixels:
    with brought_by("reading images"):
        from PIL import Image
    data = read_bytes(os.fspath(path), _MOST_BYTES, "an image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data))
            if image.width * image.height > _MOST_PIXELS:
                raise FileError(
                    f"{quoted_path(path)} has {image.width} × {image.height} pixels, too many for an image."
                )
            mode = "L" if channels == 1 else "RGB"
            scaled = _of_eight_bits(image, path).convert(mode).resize((size, size), Image.Resampling.BILINEAR)
    except FileError:
        raise
    except Exception as error:  # a damaged file raises whatever its decoder stumbles over
        raise FileError(
            f"{quoted_path(path)} is not an image that can be read: {type(error).__name__}; remove it."
        ) from None
    array = np.asarray(scaled, dtype=np.uint8)
    return array[None] if channels == 1 else array.transpose(2, 0, 1)


def _of_eight_bits(image: Any, path: Path) -> Any:
    """An image as one sees it: upright, on white where it is transparent, with 8 bits a channel.

    Pillow's conversion holds larger values at 255, and shows whatever colour is hidden where an image is transparent: of many
    files all pixels would be alike.
    """
    from PIL import Image, ImageOps

    deep = image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PPM")  # 0 to 65535
    image = ImageOps.exif_transpose(image)
    if deep:
        return Image.fromarray(np.round(np.asarray(image) / 257).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise FileError(f"{quoted_path(path)} has 32 bits a pixel, and nothing says which is white; save it with 8 or 16.")
    if not image.has_transparency_data:
        return image
    shown = Image.new("RGBA", image.size, "white")
    shown.alpha_composite(image.convert("RGBA"))
    return shown
