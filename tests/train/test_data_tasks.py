"""Text, translation, images, regression: what is in a batch, what is held out, and files that cannot be learned from."""

import io
import time
import unicodedata
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits

from glyptic import nn
from glyptic.errors import FileError, GlypticError, InputError, ModelError
from glyptic.train.plan import TEST
from glyptic.train.task import AT_LEAST, AT_MOST, IGNORED, Side, Task
from glyptic.train.tasks import images, registry, tokens, translation
from glyptic.train.tasks.finite import places
from glyptic.train.tasks.held_out import side_of


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(
        "".join(f"{hash(k) * 7919 % 10007} años, vida nueva — {k**5}.\n" for k in range(400)), encoding="utf-8"
    )
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"palabra {k}\tword {k}\n" for k in range(200)), encoding="utf-8")
    return path


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder, rng = tmp_path / "pictures", np.random.default_rng(0)
    for name, level, ending in (("dark", 40, "png"), ("light", 200, "pgm")):
        (folder / name).mkdir(parents=True)
        for k in range(20):
            noise = rng.integers(0, 30, (12, 10)) + level
            Image.fromarray(noise.astype(np.uint8)).save(folder / name / f"{k}.{ending}")
    (folder / ".hidden").mkdir()
    return folder


# ---------------------------------------------------------------- text


@pytest.mark.parametrize("vocabulary", [0, 300])
def test_windows_are_of_the_text_and_targets_come_next(book: Path, vocabulary: int) -> None:
    task = registry.open(f"text:{book},{vocabulary},32")
    said = book.read_text(encoding="utf-8")
    for step in range(4):
        batch = task.batch(seed=0, step=step, size=8)
        assert torch.equal(batch.inputs[0][:, 1:], batch.targets[:, :-1]) and batch.targets.shape == (8, 32)
        for row in batch.inputs[0].tolist():
            assert task.tokens.decode(row).strip("�") in said
    assert task.config().vocabulary == (vocabulary or 256)


def test_an_epoch_sees_every_window_once_and_never_the_last_tenth(book: Path) -> None:
    task = registry.open(f"text:{book},0,32")
    learned, *held = (bytes(part.astype(np.uint8)) for part in task.parts.values())
    windows = (len(learned) - 1) // 32 - 1
    rows = torch.cat([task.batch(3, step, 1).inputs[0] for step in range(windows)])
    starts = sorted(learned.find(bytes(row.to(torch.uint8).tolist())) for row in rows)
    assert {later - earlier for earlier, later in pairwise(starts)} == {32}
    again = torch.cat([task.batch(3, step, 1).inputs[0] for step in range(windows, 2 * windows)])
    assert not torch.equal(rows, again)
    assert len(learned) + sum(map(len, held)) == len(book.read_bytes())
    assert b"".join(held) == book.read_bytes()[len(learned) :]


def test_the_loss_of_a_text_is_the_mean_over_its_tokens(book: Path) -> None:
    task = registry.open(f"text:{book},0,16")
    model = nn.build(task.config().replace(layers=1, width=8, heads=1), seed=0).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        found = task.evaluate(model, 0)
    assert found["loss"] == pytest.approx(np.log(256), rel=1e-5) and found["bits_per_byte"] == pytest.approx(
        8, rel=1e-5
    )


def test_a_vocabulary_of_pairs_is_learned_from_what_is_trained_on(book: Path, tmp_path: Path) -> None:
    task = registry.open(f"text:{book},300,16")
    (tmp_path / "beside").mkdir()
    for name, data in task.files().items():
        (tmp_path / "beside" / name).write_bytes(data)
    opened = tokens.of_folder(tmp_path / "beside")
    assert opened is not None and opened.size == 300
    assert (
        opened.encode("año 12 ☃") == task.tokens.encode("año 12 ☃")
        and opened.decode(opened.encode("año 12 ☃")) == "año 12 ☃"
    )


def test_changed_data_make_another_task(book: Path) -> None:
    before = registry.open(f"text:{book}")
    assert repr(before) == repr(registry.open(before.name))
    book.write_text(book.read_text(encoding="utf-8") + "More.\n", encoding="utf-8")
    assert repr(registry.open(before.name)) != repr(before)


def test_texts_that_cannot_be_learned_from(book: Path, tmp_path: Path) -> None:
    bad = {"empty": b"", "blank": b" \n\n", "latin": b"a" * 100 + b"\n\xe9t\xe9", "short": b"too short"}
    said = {
        "empty": "is empty",
        "blank": "is empty",
        "latin": r"byte 101 \(line 2\) is 0xe9",
        "short": "9 tokens, too few",
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FileError, match=said[name]):
            registry.open(f"text:{tmp_path / name}")
    for name in (
        f"text:{tmp_path}",
        f"text:{tmp_path}/nothing",
        "text:/dev/zero",
        "text:",
        f"text:{book},100",
        f"text:{book},0,1",
    ):
        with pytest.raises(GlypticError) as caught:
            registry.open(name)
        assert "\n" not in str(caught.value)
    (tmp_path / "bytes").write_bytes(b"a" * 25)  # of which no context makes enough
    for context in (2, 11, 128):
        with pytest.raises(FileError, match=r"has 25 tokens, too few: .*; give a longer text\.$"):
            registry.open(f"text:{tmp_path}/bytes,0,{context}")
    (tmp_path / "bytes").write_bytes(b"a" * 40)
    with pytest.raises(FileError, match="give a longer text, or context=17"):
        registry.open(f"text:{tmp_path}/bytes")
    assert registry.open(f"text:{tmp_path}/bytes,0,17").context == 17  # what is said helps
    task = registry.open(f"text:{book}")
    with pytest.raises(ModelError, match="vocabulary=10"):
        task.check(task.config().replace(vocabulary=10))


# ---------------------------------------------------------------- translation


def test_number_words_are_right() -> None:
    """Against words that we wrote down, where the package and Spanish differ among them."""
    task = registry.open("numbers:es,en")
    known = {
        0: ("cero", "zero"),
        16: ("dieciséis", "sixteen"),
        1001: ("mil uno", "one thousand and one"),
        21000: ("veintiún mil", "twenty-one thousand"),
        31000: ("treinta y un mil", "thirty-one thousand"),
        101101: ("ciento un mil ciento uno", "one hundred and one thousand, one hundred and one"),
        500555: ("quinientos mil quinientos cincuenta y cinco", "five hundred thousand, five hundred and fifty-five"),
    }
    for number, pair in known.items():
        assert task.pairs.write(number) == pair
    assert registry.open("numbers:digits,es").pairs.write(42) == ("42", "cuarenta y dos")


def test_dates_are_right() -> None:
    leap = (date(2024, 2, 29) - date(1900, 1, 1)).days
    assert registry.open("dates:en,digits").pairs.write(leap) == ("February 29, 2024", "2024-02-29")
    assert registry.open("dates:digits,es").pairs.write(0) == ("1900-01-01", "1 de enero de 1900")


@pytest.mark.parametrize("name", ["numbers:es,en", "numbers:en,digits,most=9999", "dates:es,digits", "dates:en,es"])
def test_every_text_can_be_written_with_the_vocabulary(name: str) -> None:
    task, rng = registry.open(name), np.random.default_rng(0)
    for number in rng.integers(0, task.pairs.most + 1, 1500).tolist():
        for text in task.pairs.write(number):
            numbers = task.tokens.encode(text)
            assert task.tokens.decode([*numbers, tokens.Pieces.END, 5]) == text and len(numbers) <= task.longest


@pytest.mark.parametrize("name", ["numbers:es,en", "dates:es,digits", "pairs"])
def test_held_out_pairs_are_never_trained_on(name: str, table: Path) -> None:
    task = registry.open(f"pairs:{table}" if name == "pairs" else name)
    held = {source for seed in (0, TEST) for source, _ in task.pairs.testing(seed, 256)}
    seen = {source for source, _ in task.pairs.training(0, 0, 5000)}
    assert len(held) >= 10 and len(seen) >= 100 and not held & seen


def test_a_source_written_in_several_ways_is_on_one_side(tmp_path: Path) -> None:
    """Else a model is tested on what it knows: the same words in capitals, with two spaces, with another code for é."""
    ways = (str, str.upper, lambda text: text.replace(" ", "   "), lambda text: unicodedata.normalize("NFD", text))
    lines = [f"{way(f'tren a las {k} de mayo a Málaga')}\ttrain {k}\n" for k in range(80) for way in ways]
    (tmp_path / "ways.tsv").write_text("".join(lines), encoding="utf-8")
    made = registry.open(f"pairs:{tmp_path / 'ways.tsv'}").pairs
    learned, evaluated, tested = ({target for _, target in part} for part in made.by_side.values())
    assert len(tested | evaluated) >= 4 and len(learned | evaluated | tested) == 80
    assert not learned & evaluated and not learned & tested and not evaluated & tested


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_pairs_end_where_editors_end_them(end: str, tmp_path: Path) -> None:
    """U+2028, U+0085, form feeds and their like are letters of a text."""
    odd = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
    file = tmp_path / "odd.tsv"
    file.write_bytes("".join(f"word {k}\tpa{odd}labra {k}{end}" for k in range(200)).encode())
    found = [pair for side in registry.open(f"pairs:{file}").pairs.by_side.values() for pair in side]
    assert {*found} == {(f"word {k}", f"pa{odd}labra {k}") for k in range(200)}
    file.write_bytes(file.read_bytes() + f"no{odd}tab{end}".encode())
    with pytest.raises(FileError, match=r"line 201 of .* has no tab"):
        registry.open(f"pairs:{file}")


def test_batches_are_by_length_and_shift_the_target(table: Path) -> None:
    task = registry.open("numbers:es,en")
    for step in range(8):
        source, given, mask = task.batch(0, step, 16).inputs
        target = task.batch(0, step, 16).targets
        assert (given[:, 0] == tokens.Pieces.BEGIN).all()
        for k in range(16):
            row = target[k][target[k] != IGNORED].tolist()
            assert row[-1] == tokens.Pieces.END and given[k, 1 : len(row)].tolist() == row[:-1]
            assert mask[k].sum() == len(source[k][mask[k]]) > 0
    padding = [1 - float(task.batch(0, step, 16).inputs[2].double().mean()) for step in range(32)]
    unsorted = translation._padded([task.encoded(pair)[0] for pair in task.pairs.training(0, 0, 16)], 0)[1]
    assert np.mean(padding) < 0.25 < 1 - float(unsorted.double().mean())


def test_padding_has_no_part_in_the_loss() -> None:
    """The loss of a batch is the mean of those of its rows alone, weighted by their targets."""
    task = registry.open("numbers:es,en")
    model = nn.build(task.config(), seed=0).eval()
    rows = [task.encoded(pair) for pair in task.pairs.training(0, 0, 6)]
    together = task.loss(model, translation._minibatch(rows))
    alone = [(task.loss(model, translation._minibatch([row])).item(), len(row[1])) for row in rows]
    mean = sum(loss * count for loss, count in alone) / sum(count for _, count in alone)
    assert together.item() == pytest.approx(mean, rel=1e-5)


def test_pairs_that_cannot_be_learned_from(tmp_path: Path) -> None:
    bad = {
        "empty": (b"", "is empty"),
        "no_tab": (b"a\tb\nhola hello\n", r"line 2 of .* has no tab"),
        "two_tabs": (b"a\tb\tc\n", "2 tabs"),
        "half": (b"a\t\n", "an empty side"),
        "latin": (b"a\t\xff\n", "byte 2"),
        "one": (b"a\tb\n", "has 1 pairs"),
    }
    for name, (data, said) in bad.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FileError, match=said):
            registry.open(f"pairs:{tmp_path / name}")
    for name in ("numbers:es,es", "numbers:fr,en", "numbers:es,en,0", "dates:es,en,5", "numbers:es,en,most=1e6"):
        with pytest.raises(GlypticError):
            registry.open(name)


# ---------------------------------------------------------------- images


def test_digits_are_those_of_scikit_learn() -> None:
    task, data = registry.open("digits"), load_digits()
    assert np.array_equal(np.round(task.pixels[:, 0] / (255 / 16)), data.images) and np.array_equal(
        task.labels, data.target
    )
    assert 0.15 < task.held.mean() < 0.25 and set(task.labels[task.held]) == set(range(10))
    known = {image.tobytes() for image in task.pixels[~task.held]}
    assert not any(image.tobytes() in known for image in task.pixels[task.held])


def test_training_sees_training_images_moved_by_a_pixel() -> None:
    task = registry.open("digits")
    images, labels = task.batch(0, 5, 64).inputs[0], task.batch(0, 5, 64).targets
    known = {}
    for image, label in zip(task.pixels[~task.held], task.labels[~task.held], strict=True):
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                shifted = np.roll(image, (down, right), axis=(1, 2))
                known[shifted[:, 1:-1, 1:-1].tobytes()] = label
    for image, label in zip(images, labels.tolist(), strict=True):
        pixels = np.round((image.numpy() + 1) * 127.5).astype(np.uint8)
        assert known[pixels[:, 1:-1, 1:-1].tobytes()] == label


def test_a_folder_of_images(pictures: Path) -> None:
    task = registry.open(f"images:{pictures},8,1")
    assert task.classes == ("dark", "light") and task.pixels.shape == (40, 1, 8, 8) and task.config().patch_size == 2
    assert {bool(task.pixels[k].mean() > 128) == bool(task.labels[k]) for k in range(40)} == {True}
    assert registry.open(f"images:{pictures},8,3").pixels.shape[1] == 3 and isinstance(task, Task)
    with pytest.raises(ModelError, match="image_size=16"):
        task.check(task.config().replace(image_size=16))


def test_images_that_cannot_be_read(pictures: Path, tmp_path: Path) -> None:
    for name in (
        f"images:{tmp_path}/none",
        f"images:{pictures}/dark",
        "images:",
        f"images:{pictures},0",
        f"images:{pictures},8,2",
    ):
        with pytest.raises(GlypticError) as caught:
            registry.open(name)
        assert "\n" not in str(caught.value)
    whole = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 40)).astype(np.uint8)).save(whole, "png")
    for data in (b"no image", b"", whole.getvalue()[:200]):
        (pictures / "dark" / "bad.png").write_bytes(data)
        with pytest.raises(FileError, match=r"bad.png is not an image that can be read"):
            registry.open(f"images:{pictures}")


def test_images_are_learned_as_one_sees_them(pictures: Path) -> None:
    """Whatever holds them: 16 bits a pixel, a palette, white that is only transparent, a camera held upside down."""
    grey = np.arange(0, 256, 4, dtype=np.uint8).reshape(8, 8)
    deep = Image.fromarray(grey.astype(np.uint16) * 257)
    clear = Image.fromarray(np.stack([np.zeros_like(grey), 255 - grey], -1), "LA")  # black, as much as it is dark
    coloured = Image.merge("RGBA", [*[clear.getchannel("L")] * 3, clear.getchannel("A")])
    palette = Image.fromarray((grey > 127).astype(np.uint8), "P")
    palette.putpalette([0, 0, 0, 0, 0, 0])
    turned = Image.fromarray(np.rot90(grey, 2).copy())
    turned.getexif()[0x0112] = 3
    cases: list[tuple[str, Image.Image, dict[str, Any], Any]] = [
        ("deep.png", deep, {}, grey), ("deep.tif", deep, {}, grey), ("deep.pgm", deep, {}, grey),
        ("clear.png", clear, {}, grey), ("clear.webp", coloured, {"lossless": True}, grey),
        ("palette.png", palette, {"transparency": 1}, np.where(grey > 127, 255, 0)),
        ("turned.png", turned, {"exif": turned.getexif()}, grey),
    ]  # fmt: skip
    for name, image, how, seen in cases:
        path = pictures / "dark" / name
        image.save(path, **how)
        for channels in (1, 3):
            assert np.array_equal(images._pixels(path, 8, channels), np.stack([seen] * channels)), (name, channels)
    Image.fromarray(grey.astype(np.float32)).save(pictures / "dark" / "float.tif")
    with pytest.raises(FileError, match=r"float.tif has 32 bits a pixel"):
        registry.open(f"images:{pictures}")


def test_more_images_than_memory_holds_and_names_that_cannot_be_written(pictures: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("os.sysconf", lambda name: 1000)
        with pytest.raises(ModelError, match=r"pictures, 40 images of size=64, takes 0.0 GB, more than this machine has"):
            registry.open(f"images:{pictures},64")
    with pytest.raises(GlypticError, match=r"a name that is not UTF-8"):
        registry.open("text:bo\udcffk.txt")
    (pictures / "dark").rename(pictures / "d\udcffrk")
    with pytest.raises(FileError, match=r"d\\udcffrk. has a name that is not UTF-8"):
        registry.open(f"images:{pictures}")


# ---------------------------------------------------------------- regression, and all of them


def test_regression_in_context_is_learned_by_a_plain_decoder() -> None:
    from glyptic.train import Plan
    from glyptic.train.trainer import train

    task = registry.open("regression:2,6")
    plan = Plan(steps=120, batch=32, rate=0.005, warmup=10, evaluate=120)
    trained = train(task, plan, config=task.config().replace(layers=2, width=32, heads=2), progress=False)
    with torch.no_grad():
        found = task.evaluate(trained.model, 0)
    assert found["loss"] < 0.8 and found["after_all"] < 0.5  # to say 0 costs ½ d = 1
    with pytest.raises(ModelError, match="needs 6 coordinates"):
        task.check(task.config().replace(width=4, heads=1))


@pytest.mark.parametrize(
    "name",
    ["tomita:4", "addition:2", "s5:3", "text", "numbers:digits,en", "pairs", "digits", "images", "regression:2,4"],
)
def test_every_task_keeps_the_promises_of_a_task(name: str, book: Path, table: Path, pictures: Path) -> None:
    """Batches are functions of seed and step, rows can be dealt out, losses have gradients, evaluations the measure."""
    given = {"text": f"text:{book},0,16", "pairs": f"pairs:{table}", "images": f"images:{pictures},8,1"}
    task = registry.open(given.get(name, name))
    assert isinstance(task, Task) and repr(registry.open(task.name)) == repr(task)
    small = {"layers": 1, "width": 16, "heads": 2}
    model = nn.build(task.config().replace(**small), seed=0)
    first, again = task.batch(4, 9, 6), task.batch(4, 9, 6)
    for one, two in zip((*first.inputs, first.targets), (*again.inputs, again.targets), strict=True):
        assert torch.equal(one, two) and len(one) == 6
    loss = task.loss(model, first)
    loss.backward()
    assert loss.dim() == 0 and all(
        p.grad is not None for n, p in model.named_parameters() if "token" not in n or p.requires_grad
    )
    with torch.no_grad():
        found = task.evaluate(model.eval(), 0)
    assert task.measure in found and "loss" in found and all(np.isfinite(value) for value in found.values())
    assert {*found} <= {*AT_MOST, *AT_LEAST}  # else a recipe could not say what it should reach


def test_places_of_an_endless_walk() -> None:
    walk = places(7, 0, 50, 10)
    assert all(sorted(which for epoch, which in walk if epoch == k) == [*range(10)] for k in range(5))
    assert places(7, 23, 9, 10) == walk[23:32] and places(8, 0, 50, 10) != walk


def test_byte_pairs_of_a_text_without_spaces_cost_as_much_as_it_is_long() -> None:
    """Sixteen times the text may not cost much more than sixteen times; pieces without a bound cost over a hundred."""

    def seconds(length: int) -> float:
        rng = np.random.default_rng(0)
        text = "".join(np.array(["ba", "co", "di", "fu", "mele", "nopa"])[rng.integers(0, 6, length // 2)])[:length]
        begun = time.process_time()
        learned = tokens.BytePairs.learned([text], 600)
        assert learned.decode(learned.encode(text)) == text
        return time.process_time() - begun

    seconds(1000)
    assert seconds(320_000) < 60 * max(0.02, seconds(20_000))


def test_a_pair_that_is_too_long_is_refused_with_its_source(tmp_path: Path) -> None:
    lines = [f"{k}\t{k * k}" for k in range(100)]
    file = tmp_path / "pairs.tsv"
    file.write_text("\n".join([*lines, "the long one\t" + "a" * 5000]), encoding="utf-8")
    with pytest.raises(FileError, match="a pair of 5,000 tokens, that of 'the long one', and 4,096 are the most"):
        registry.open(f"pairs:{file}")
    file.write_text("\n".join([*lines, "the long one\t" + "a" * 4096]), encoding="utf-8")
    assert registry.open(f"pairs:{file}").longest == 4096


OF_EACH_KIND = {
    **{"tomita": "tomita:4", "regex": "regex:(01|1)*", "parity": "parity:16", "modular": "modular:3,1,16"},
    "contains": "contains:101",
    **{name: name for name in ("first-equals-last", "majority", "palindromes", "dyck")},
    **{"program": "program:parity:8", "addition": "addition:3", "modular-sum": "modular-sum:7,5", "squaring": "squaring:1019,16"},
    **{"s5": "s5:4", "text": "text:{book},0,32", "numbers": "numbers:es,en", "dates": "dates:es,digits"},
    **{"pairs": "pairs:{table}", "digits": "digits", "images": "images:{pictures},8,1"},
}  # fmt: skip


class Watches(torch.nn.Linear):
    """Answers nothing, and keeps what it is asked, by rows."""

    def __init__(self, *answer: int) -> None:
        super().__init__(1, 1)
        self.answer, self.seen = answer, list[bytes]()

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        self.seen += [row.numpy().tobytes() for row in given]
        return torch.zeros(len(given), *self.answer)


def asked(task: Any, seed: int) -> list[Any]:
    """All that an evaluation with this seed asks, each as something that can be compared."""
    if hasattr(task, "evaluated"):
        return [tuple(row) for rows in task.evaluated(seed) for row in rows.tolist()]
    if hasattr(task, "pairs"):
        return task.pairs.testing(seed, 4096)
    model = Watches(len(task.classes)) if hasattr(task, "classes") else Watches(task.context, task.tokens.size)
    task.evaluate(model, seed)
    return model.seen


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_what_a_recipe_is_tested_on_is_not_what_its_run_is_evaluated_on(
    name: str, book: Path, table: Path, pictures: Path
) -> None:
    """None at all is on both sides, whatever the seeds; and the test is no smaller than half an evaluation."""
    for image in [*pictures.glob("*/*.png")]:
        (image.parent / f"again-{image.name}").write_bytes(image.read_bytes())
    task = registry.open(OF_EACH_KIND[name].format(book=book, table=table, pictures=pictures))
    evaluated = [set(asked(task, seed)) for seed in (0, 1, 2)]
    tested = [set(asked(task, TEST + seed)) for seed in (0, 1, 2)]
    assert all(evaluated) and all(tested) and not set.union(*evaluated) & set.union(*tested)
    assert len(tested[0]) >= len(evaluated[0]) / 2


def test_every_kind_of_task_is_looked_at() -> None:
    """But regression in context, which draws reals and holds nothing out."""
    assert {*registry._kinds()} == {*OF_EACH_KIND, "regression"}


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_a_task_says_whether_the_seed_of_an_evaluation_has_a_part_in_it(
    name: str, book: Path, table: Path, pictures: Path
) -> None:
    task = registry.open(OF_EACH_KIND[name].format(book=book, table=table, pictures=pictures))
    draws = getattr(task, "evaluations_draw", True)
    assert draws or {*asked(task, 0)} == {*asked(task, 1)}
    idle = {"tomita", "regex", "contains", "first-equals-last", "majority", "palindromes", "program"}
    assert draws == (name not in {*idle, "text", "pairs", "digits", "images"})


def test_images_are_all_learned_evaluated_or_tested() -> None:
    task = registry.open("digits")
    evaluated, tested = asked(task, 0), asked(task, TEST)
    learned = np.unique(task.pixels[task.sides == "learned"], axis=0)
    assert len(learned) + len(evaluated) + len(tested) == len(task.pixels) == 1797


@pytest.mark.parametrize(
    ("name", "least"),
    [("addition:3", 2000), ("numbers:es,en", 2048), ("dates:es,digits", 2048), ("s5:16", 2000), ("parity:16", 2000)],
)
def test_a_test_is_large_enough_to_tell_99_percent(name: str, least: int) -> None:
    """256 right of 256 leave 98.8 % possible, at 95 % confidence; 2,000 of 2,000 leave 99.85 %."""
    task = registry.open(name)
    found = asked(task, TEST) if not hasattr(task, "pairs") else task.pairs.testing(TEST, translation._HELD["tested"])
    assert len(set(found)) == len(found) >= least


def test_what_has_nothing_for_a_test_says_so(tmp_path: Path) -> None:
    """Pairs can be learned if some that are held out are for evaluations, and tested if some are for the test."""
    words = [f"palabra {k}" for k in range(400)]
    of = {side: [word for word in words if side_of(word.encode(), 10) == side] for side in get_args(Side)}
    file = tmp_path / "few.tsv"
    file.write_text("".join(f"{word}\tword\n" for word in of["learned"] + of["evaluated"]), encoding="utf-8")
    task = registry.open(f"pairs:{file}")
    assert {source for source, _ in task.pairs.testing(0, 400)} == {*of["evaluated"]}
    with pytest.raises(InputError, match="none is left for a test"):
        task.evaluate(None, TEST)
    for kind, said in (("tested", "none for evaluations"), ("evaluated", "no other")):
        chosen = of[kind] + (of["learned"] if kind == "tested" else [])
        file.write_text("".join(f"{word}\tword\n" for word in chosen), encoding="utf-8")
        with pytest.raises(FileError, match=f"so that there is {said}"):
            registry.open(f"pairs:{file}")
