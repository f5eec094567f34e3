"""Trained models in use, from the command line: they say what the model computes; what cannot be said is one sentence."""

import io
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from glyptic import nn
from glyptic.cli import main
from glyptic.errors import InputError
from glyptic.train import Plan, train
from glyptic.train.tasks import registry
from glyptic.train.tasks.tokens import BytePairs, Pieces, Symbols, of_folder
from glyptic.train.using import continued, in_use, translations

QUICK = Plan(steps=2, batch=4, evaluate=2, save=2, record=1, warmup=0)


def made(name: str, out: Path, plan: Plan = QUICK, **changes: object) -> Path:
    task = registry.open(name)
    train(task, plan, config=task.config().replace(**changes), out=out, progress=False)  # type: ignore[arg-type]
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each kind, hardly trained but the decider."""
    place = tmp_path_factory.mktemp("runs")
    (place / "book.txt").write_text("Había una vez, once upon a time — ☃.\n" * 60, encoding="utf-8")
    small = {"layers": 1, "width": 16, "heads": 2}
    decider = Plan(steps=300, batch=32, rate=0.01, warmup=20, evaluate=300, save=300)
    return {
        "decider": made("tomita:1,6,held_out=0", place / "decider", decider, **small),
        "sums": made("addition:2", place / "sums", **small),
        "squares": made("squaring:101,4,chain=yes", place / "squares", **small),
        "bytes": made(f"text:{place}/book.txt,0,16", place / "bytes", **small),
        "pairs": made(f"text:{place}/book.txt,300,16", place / "pairs", **small),
        "numbers": made("numbers:es,digits", place / "numbers", **small),
        "digits": made("digits", place / "digits", **small),
    }


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error
    return error


def test_a_decider_answers(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    run = str(runs["decider"])
    assert [said(["generate", run, word], capsys) for word in ("1", "1111", "1011", "0")] == [
        "YES\n",
        "YES\n",
        "NO\n",
        "NO\n",
    ]
    assert "is not in the vocabulary 0 1" in refused(["generate", run, "12"], capsys)
    assert "the word is empty" in refused(["generate", run], capsys)
    assert "--most has no effect on a decider" in refused(["generate", run, "1", "--most", "3"], capsys)


def test_a_sum_is_what_the_model_says_greedily(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    model, tokens = nn.load(runs["sums"] / "best"), registry.open("addition:2").reckoning.tokens
    prompt = [tokens.index(letter) for letter in "07+95="]
    text = "".join(tokens[k] for k in nn.generate(model, [prompt], 3)[0, len(prompt) :].tolist())
    assert said(["generate", str(runs["sums"]), "07+95="], capsys) == text + "\n"
    assert said(["generate", str(runs["sums"]), "07+95=", "--most", "1"], capsys) == text[0] + "\n"
    assert "more than the model's 9 places" in refused(["generate", str(runs["sums"]), "07+95=", "--most", "9"], capsys)
    assert "reads 8 at most" in refused(["generate", str(runs["sums"]), "0" * 9], capsys)
    assert "the prompt is empty" in refused(["generate", str(runs["sums"])], capsys)


@pytest.mark.parametrize("kind", ["squares", "squares/best", "squares/last"])
def test_an_answer_ends_where_its_question_s_does(
    kind: str, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one squaring a token, of three three: what comes after the last is nobody's answer."""
    run = str(runs["squares"].parent / kind)
    for times in (1, 2, 3, 4):
        words = ["generate", run, "5" + " ²" * times + " ="]
        written = said(words, capsys)
        assert len(written.split()) == times
        assert said([*words, "--beams", "2"], capsys).count(" ") == times - 1
        assert said([*words, "--temperature", "2", "--seed", "1"], capsys).count(" ") == times - 1
    assert said(["generate", run, "5 ² ² = 25"], capsys).count(" ") == 0
    for asked in ("5 =", "² ² =", "5 5 ² =", "5 ² ²", "=", "5 ² ² ² ² ² ="):
        assert "is not a question of squaring:" in refused(["generate", run, asked], capsys)
    assert "all 2 tokens are there" in refused(["generate", run, "5 ² ² = 25 19"], capsys)


def test_questions_are_written_as_the_task_writes_them(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for asked in ("1+3=", "12+34", "12+3=", "1234=", "+="):
        assert "is not a question of addition:digits=2,chain=no; write one such as" in refused(
            ["generate", str(runs["sums"]), asked], capsys
        )


@pytest.mark.parametrize(
    "name", ["addition:2", "addition:2,yes", "modular-sum:7,5,yes", "squaring:97,9,yes", "s5:4,yes", "s5:3,no,all"]
)
def test_what_remains_after_every_question_is_what_the_task_writes(name: str) -> None:
    task = registry.open(name)
    for step in range(5):
        question, written = task._written(task.problems(np.random.default_rng(step), 20, "learned"))
        for asked, answer in zip(question.tolist(), written.tolist(), strict=True):
            assert [task.remaining([*asked, *answer[:k]]) for k in range(len(answer))] == [*range(len(answer), 0, -1)]
    with pytest.raises(InputError, match="is not a question of"):
        task.remaining(question[0].tolist()[:-1])


@pytest.mark.parametrize("kind", ["bytes", "pairs"])
def test_what_streams_is_what_generates(kind: str, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Pieces put together are the decoding of all tokens, where characters begin in one token and end in another too."""
    used = in_use(runs[kind])
    numbers = used.tokens.encode("Había")
    for seed in range(3):
        sampling = nn.Sampling(temperature=2.0)
        whole = nn.generate(used.model, [numbers], 30, sampling=sampling, seed=seed)[0].tolist()
        pieces = list(continued(used, "Había", 30, sampling, seed))
        assert "".join(pieces) == used.tokens.decode(whole)[len("Había") :] and len(pieces) == 30
    words = [
        "generate",
        str(runs[kind]),
        "Había",
        "--temperature",
        "0.9",
        "--top-k",
        "20",
        "--seed",
        "3",
        "--most",
        "12",
    ]
    assert said(words, capsys) == said(words, capsys)


def test_half_a_character_waits_for_its_other_half() -> None:
    from glyptic.train.tasks.tokens import Bytes
    from glyptic.train.using import _spelt

    snow = [*"a☃".encode()]
    assert [_spelt(Bytes(), snow[:n], 0, end=False) for n in range(1, 5)] == ["a", "a", "a", "a☃"]
    assert _spelt(Bytes(), snow[:3], 0, end=True) == "a�"


def test_beams_say_the_most_likely_text(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    used = in_use(runs["bytes"])
    best = nn.beam_search(used.model, [used.tokens.encode("on")], 5, beams=3)[0][0]
    assert (
        said(["generate", str(runs["bytes"]), "on", "--beams", "3", "--most", "5"], capsys)
        == used.tokens.decode(best.tokens) + "\n"
    )
    assert "--seed has no effect" in refused(["generate", str(runs["bytes"]), "on", "--seed", "3"], capsys)
    assert "--temperature has no effect" in refused(
        ["generate", str(runs["bytes"]), "on", "--temperature", "1", "--beams", "2"], capsys
    )


def test_translations_are_those_of_each_text_alone(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padding beside longer texts changes nothing; lines of standard input are translated as arguments are."""
    texts = ["dos", "treinta y un mil veintiuno", "ciento uno"]
    used = in_use(runs["numbers"], "last")
    together = translations(used, texts, 8)
    assert together == [translations(used, [text], 8)[0] for text in texts]
    printed = said(["translate", str(runs["numbers"]), *texts, "--most", "8", "--which", "last"], capsys)
    assert printed == "".join(f"{text}\n" for text in together)
    given = "".join(f"{text}\n" for text in texts) + "\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(given.encode())))
    assert said(["translate", str(runs["numbers"]), "--most", "8", "--which", "last"], capsys) == printed + "\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"dos\n\xff\xfe\n")))
    assert "line 2 of standard input is not UTF-8" in refused(["translate", str(runs["numbers"])], capsys)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"dos\nperro\n")))
    assert "line 2: 'perro' at place 0 is not in the vocabulary" in refused(["translate", str(runs["numbers"])], capsys)


def test_a_beam_search_translates_too(runs: dict[str, Path]) -> None:
    used = in_use(runs["numbers"])
    tokens = used.tokens
    assert isinstance(tokens, Pieces)
    source = torch.tensor([tokens.encode("dos")])
    best = nn.beam_search(
        used.model,
        torch.tensor([[Pieces.BEGIN]]),
        6,
        beams=3,
        stop_tokens=(Pieces.END,),
        pad_token=Pieces.END,
        source=source,
    )[0][0]
    assert translations(used, ["dos"], 6, 3) == [tokens.decode(best.tokens)]


def test_models_that_are_asked_for_what_they_do_not_do(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "does not go on with a text" in refused(["generate", str(runs["numbers"]), "dos"], capsys)
    assert "does not translate" in refused(["translate", str(runs["sums"]), "dos"], capsys)
    assert "reads images" in refused(["generate", str(runs["digits"]), "x"], capsys)
    assert "nothing to translate" in refused(["translate", str(runs["numbers"]), ""], capsys)


def test_folders_that_hold_no_run(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "RUN is" in refused(["generate", str(tmp_path / "none"), "x"], capsys)
    assert "has no config.json" in refused(["generate", str(tmp_path), "x"], capsys)
    bare = tmp_path / "bare"
    shutil.copytree(runs["sums"] / "best", bare)
    assert said(["generate", str(bare), "07+95="], capsys)  # a checkpoint alone will do
    (bare / "vocabulary.json").unlink()
    assert "no vocabulary.json or tokenizer.json" in refused(["generate", str(bare), "x"], capsys)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"kind": "symbols"}',
        b'{"kind": "symbols", "tokens": [1]}',
        b'{"kind": "symbols", "tokens": []}',
        b'{"kind": "symbols", "tokens": ["a", "a"]}',
        b'{"kind": "what"}',
        b'{"kind": "symbols", "tokens": ["0", "1"]}',
        b'{"kind": "bytes"}',
        b"\xff\xfe",
        b'{"kind": {"a": 1}}',
        b'{"kind": "pieces", "tokens": ["a"]}',
    ],
)
def test_vocabularies_that_are_damaged_or_of_another_model(
    content: bytes, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad"
    shutil.copytree(runs["sums"] / "best", bad)
    (bad / "vocabulary.json").write_bytes(content)
    assert "vocabulary" in refused(["generate", str(bad), "07+95="], capsys)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b'{"version": "1.0"}', b"\xff", b'{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}'],
)
def test_tokenizers_that_are_damaged(
    content: bytes, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad"
    shutil.copytree(runs["pairs"] / "best", bad)
    (bad / "tokenizer.json").write_bytes(content)
    assert "tokenizer.json is not a tokenizer" in refused(["generate", str(bad), "a"], capsys)


def test_a_public_model_with_its_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder in GPT-2's own layout: weights by transformers, a tokenizer by tokenizers."""
    transformers = pytest.importorskip("transformers")
    tokens = BytePairs.learned(["to be or not to be, that is the question"] * 5, 280)
    config = transformers.GPT2Config(vocab_size=280, n_positions=32, n_embd=16, n_layer=1, n_head=2)
    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(config).eval()
    theirs.save_pretrained(tmp_path / "gpt2")
    (tmp_path / "gpt2" / "tokenizer.json").write_bytes(tokens.files()["tokenizer.json"])
    numbers = tokens.encode("to be")
    expected = theirs.generate(
        torch.tensor([numbers]), max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=None
    )[0].tolist()
    assert (
        said(["generate", str(tmp_path / "gpt2"), "to be", "--most", "6"], capsys) == tokens.decode(expected)[5:] + "\n"
    )


def test_symbols_are_kept_as_they_are(tmp_path: Path) -> None:
    for tokens in (Symbols(("0", "1"), ("NO", "YES")), Pieces((" ", "ñ", "—")), Pieces(("a",), characters=True)):
        for name, data in tokens.files().items():
            (tmp_path / name).write_bytes(data)
        assert of_folder(tmp_path) == tokens
    assert json.loads((tmp_path / "vocabulary.json").read_text(encoding="utf-8"))["kind"] == "pieces"
