"""A decider from training to proof: what is said of it is true, what was found wrong is trained away, and nothing is lost."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from glyptic import exact, nn, programs, prove
from glyptic.distill import Tuning, distill, load_report, open_decider
from glyptic.distill.decider import TrainedDecider, language_task
from glyptic.distill.fine_tuning import Interrupted
from glyptic.distill.formats import FormatRow, draw_formats, smallest_that_keeps
from glyptic.distill.keeping import STATE, identity_of
from glyptic.distill.proving import is_language
from glyptic.distill.report import row_of
from glyptic.distill.words import automaton_of
from glyptic.errors import GlypticError
from glyptic.prove.certificates.rechecking import recheck
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown
from glyptic.train import Plan, train
from tests.distill.deciders import TASK, config, ends_in_one, untrained

QUICK = Tuning(steps=80, rate=0.02, every=20)


def spoilt() -> TrainedDecider:
    """The trained one, with its answers pulled towards NO: wrong on some words, and near enough to learn again."""
    good = ends_in_one()
    model = nn.build(good.model.config, kind="decoder")
    model.load_state_dict(good.model.state_dict())
    with torch.no_grad():
        words = torch.tensor([[0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1]])
        logits = model.double()(words)
        model.output.bias[0] += (logits[:, 1] - logits[:, 0]).median().item()  # type: ignore[union-attr, index]
    return TrainedDecider("spoilt", model.float().eval(), good.task)


def test_one_decider_all_the_way(tmp_path) -> None:
    found = distill(ends_in_one(), "fixed:6", max_length=6, out=tmp_path / "out", progress=False)
    found.save(tmp_path / "out")
    assert found.is_proved and found.accuracy == found.agreement == 1.0
    assert [form.kind for form in found.normal] == ["zero-one", "infinity", "plus-minus"]
    assert all(form.equal is not None and isinstance(form.equal.verdict, Proved) for form in found.normal)
    assert [one.number for one in found.rounds] == [0]
    assert found.smallest is not None and found.smallest.size < 6
    again = programs.open(str(tmp_path / "out"))
    assert again.same_as(found.transformer) and again.answer("0101") == "YES"
    for form in found.normal:
        assert exact.load(tmp_path / "out" / form.kind).same_as(form.transformer)
    report = load_report(tmp_path / "out")
    assert report["rounds"][0]["wrong"] == 0 and report["smallest"] == found.smallest.format
    for name in ("language", "equal-zero-one", "equal-infinity", "equal-plus-minus"):
        assert recheck(tmp_path / "out" / "certificates" / f"{name}.json").proved
    figure = (tmp_path / "out" / "formats.csv").read_text().splitlines()
    assert figure[0].startswith("format,size,accuracy,agreement") and len(figure) == 1 + len(found.formats)
    assert "Proved" in (tmp_path / "out" / "report.md").read_text() and "Proved" in str(found)


def test_what_is_wrong_is_shown_and_then_trained_away(tmp_path) -> None:
    decider = spoilt()
    left = distill(decider, "fixed:6", max_length=6, rounds=0, sweep=False, progress=False)
    assert isinstance(left.language.verdict, Refuted) and not left.is_proved
    word = left.language.counterexample
    assert word == left.rounds[0].counterexample and left.transformer.answer(word) != ("YES" if word.endswith("1") else "NO")
    smaller = [w for w in _words(len(word)) if (len(w), w) < (len(word), word)]
    assert all(left.transformer.answer(w) == ("YES" if w.endswith("1") else "NO") for w in smaller), "it is the smallest"
    healed = distill(decider, "fixed:6", max_length=6, tuning=QUICK, sweep=False, progress=False)
    assert healed.is_proved and 1 <= healed.rounds[-1].number <= 10
    assert healed.rounds[0].wrong == left.rounds[0].wrong > 0 == healed.rounds[-1].wrong
    assert healed.rounds[1].added > 0 and healed.rounds[1].steps > 0
    assert healed.agreement < 1.0 == healed.accuracy, "it is right where the float model is not"


def _mostly_ones(text) -> bool:
    return list(text).count("1") * 2 > len(text)


def _words(length: int) -> list[str]:
    return [f"{number:0{n}b}" for n in range(1, length + 1) for number in range(2**n)]


def test_the_same_question_goes_on_where_it_was(tmp_path, monkeypatch) -> None:
    """Interrupted in its second round, it has kept the first; the same question then does the rest, another begins anew."""
    import glyptic.distill.distilling as room

    calls, plain = [], room.fine_tuned

    def failing(*given, **named):
        calls.append(named["also"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*given, **named)

    hard = Tuning(steps=3, rate=1e-4, every=3)  # learns next to nothing, so that a second round is needed
    monkeypatch.setattr(room, "fine_tuned", failing)
    with pytest.raises(KeyboardInterrupt):
        distill(spoilt(), "fixed:6", max_length=6, rounds=3, tuning=hard, sweep=False, out=tmp_path, progress=False)
    assert (tmp_path / STATE).exists()
    found = distill(spoilt(), "fixed:6", max_length=6, rounds=3, tuning=hard, sweep=False, out=tmp_path, progress=False)
    assert [one.number for one in found.rounds] == [0, 1, 2, 3] and len(calls) == 4
    again = distill(spoilt(), "fixed:6", max_length=6, rounds=3, tuning=hard, sweep=False, out=tmp_path, progress=False)
    assert again.rounds == found.rounds and len(calls) == 4 and again.transformer.same_as(found.transformer)
    other = {"format": "fixed:7", "max_length": 6, "rounds": 3, "tuning": hard, "sweep": False, "out": tmp_path}
    with pytest.raises(GlypticError, match="holds the distillation of another decider, or by another plan, and stays as it is"):
        distill(spoilt(), **other, progress=False)
    distill(spoilt(), **other, overwrite=True, progress=False)
    assert len(calls) == 7, "another format is another question"
    whole = distill(spoilt(), "fixed:6", max_length=6, rounds=3, tuning=hard, sweep=False, progress=False)
    assert whole.transformer.same_as(found.transformer), "as if it had never been interrupted"


def test_every_part_of_a_question_is_in_its_identity() -> None:
    question = {"task": "t", "format": "fixed:6", "length": 6, "rounds": 3}
    latents = {"output": torch.zeros(2, 3)}
    own = identity_of(latents, **question)
    assert own == identity_of({"output": torch.zeros(2, 3)}, **question)
    others = [identity_of(latents, **{**question, name: "another"}) for name in question]
    others += [identity_of({"output": torch.ones(2, 3)}, **question), identity_of({"output": torch.zeros(3, 2)}, **question)]
    assert len({own, *others}) == 7


def test_a_damaged_state_is_told(tmp_path) -> None:
    distill(ends_in_one(), "fixed:6", max_length=6, sweep=False, out=tmp_path, progress=False)
    (tmp_path / STATE).write_bytes((tmp_path / STATE).read_bytes()[:100])
    with pytest.raises(GlypticError, match="is damaged; remove it"):
        distill(ends_in_one(), "fixed:6", max_length=6, sweep=False, out=tmp_path, progress=False)


def _told(change):
    def damaged(tensors: dict, said: dict) -> None:
        told = json.loads(said["told"])
        change(told)
        said["told"] = json.dumps(told)

    return damaged


DAMAGES = {
    "a tensor is missing": lambda tensors, said: tensors.pop("best.token_embedding"),
    "a tensor more": lambda tensors, said: tensors.update(more=torch.zeros(1)),
    "a tensor is larger": lambda tensors, said: tensors.update({"last.output": torch.zeros(3, 9, dtype=torch.float64)}),
    "a tensor is NaN": lambda tensors, said: tensors["best.output"].fill_(float("nan")),
    "deep": lambda tensors, said: said.update(told="[" * 100_000),
    "a number is a word": _told(lambda told: told["rounds"][-1].update(number="x")),
    "a number is negative": _told(lambda told: told["rounds"][-1].update(number=-5)),
    "a count is a word": _told(lambda told: told["rounds"][-1].update(wrong="many")),
    "a share is a word": _told(lambda told: told["formats"].append({**asdict(FormatRow("fixed:3", 3, 1, 1)), "accuracy": "x"})),
    "a row is a number": _told(lambda told: told["formats"].append(3)),
    "a row lacks all": _told(lambda told: told["formats"].append({"format": "fixed:3"})),
    "a word of other letters": _told(lambda told: told.update(words=["0x"])),
    "a word too long": _told(lambda told: told.update(words=["0" * 99])),
    "a word of nothing": _told(lambda told: told.update(words=[""])),
    "a counterexample of other letters": _told(lambda told: told["rounds"][-1].update(counterexample="ab")),
    "words are numbers": _told(lambda told: told.update(words=[1])),
    "steps are a word": _told(lambda told: told.update(taken="x")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_part_of_a_state_is_read_strictly(damage: str, tmp_path) -> None:
    asked = {"format": "fixed:6", "max_length": 4, "sweep": False, "out": tmp_path, "progress": False}
    distill(ends_in_one(), **asked)
    with safe_open(tmp_path / STATE, "pt") as file:
        tensors, said = {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata())  # noqa: SIM118
    DAMAGES[damage](tensors, said)
    save_file(tensors, tmp_path / STATE, said)
    with pytest.raises(GlypticError, match=r"state.safetensors is damaged; remove it"):
        distill(ends_in_one(), **asked)


def test_a_word_that_was_not_drawn_is_learned_too(monkeypatch) -> None:
    """Where words are drawn, those that the proof found are looked at beside them, and trained on though all else is right."""
    import glyptic.distill.words as room

    monkeypatch.setattr(room, "MOST_WORDS", 8)
    monkeypatch.setattr(room, "_DRAWN", 2)
    hard = Tuning(steps=40, rate=1e-9, every=40)  # learns nothing, so that every round has its steps
    found = distill(spoilt(), "fixed:6", max_length=6, rounds=3, tuning=hard, sweep=False, progress=False)
    assert not found.words.complete and isinstance(found.language.verdict, Refuted)
    assert [one.steps for one in found.rounds] == [0, 40, 40, 40] and all(one.wrong for one in found.rounds)


def test_letters_of_a_checkpoint_are_those_of_the_task(tmp_path) -> None:
    task = "regex:(ba|b)*,max_length=6,vocabulary=ba,held_out=0"
    train(language_task(task), Plan(steps=2, batch=4, evaluate=1), config=config(), out=tmp_path / "run", progress=False)
    assert open_decider(tmp_path / "run" / "best", task).alphabet == ("b", "a")
    with pytest.raises(GlypticError, match=r"has the letters b a, and .* has a b, so ordered; name the task"):
        open_decider(tmp_path / "run" / "best", task.replace("vocabulary=ba", "vocabulary=ab"))
    programs.open("same-ends", "fixed:2").save(tmp_path / "exact")
    with pytest.raises(GlypticError, match="is an exact transformer already; distill takes a trained model"):
        open_decider(tmp_path / "exact", TASK)


@pytest.mark.parametrize("changes", [{"norm": "layer"}, {"norm": "rms", "feed_forward": "gelu", "positions": "none"}])
def test_with_norms_all_but_normalization_works(changes: dict) -> None:
    found = distill(untrained(**changes), "fixed:8", max_length=5, rounds=0, sweep=False, progress=False)
    assert all(form.transformer is None and "LayerNorm" in form.refused for form in found.normal)
    assert isinstance(found.language.verdict, Refuted) and found.agreement > 0.9 and "refused" in str(found)


@pytest.mark.parametrize("format", ["float:4,4", "q:4,6", "fixed:6/even"])
def test_other_formats(format: str) -> None:
    found = distill(ends_in_one(), format, max_length=6, sweep=format == "q:4,6", progress=False)
    assert found.is_proved and all(row.format.startswith("q:4,") for row in found.formats)


def test_a_majority_is_proved_by_an_automaton_of_its_words() -> None:
    decider = untrained(task="majority:5,held_out=0", context=8)
    found = distill(decider, "fixed:6", max_length=5, rounds=0, sweep=False, progress=False)
    automaton = automaton_of(decider.task.language, 5, decider.task.name)
    assert is_language(found.transformer, automaton, 5).counterexample == found.language.counterexample is not None
    theirs = prove.language(found.transformer, _mostly_ones, 5, backend="sequential", progress=False)
    assert "".join(theirs.counterexample.input) == found.language.counterexample


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"format": "exact"}, "exact rationals round nothing"),
        ({"format": "fixed:18"}, "fixed:18 needs 54 bits .*; choose a smaller format to distill into"),
        ({"format": "fp8_e4m3", "format_steps": 40}, "fp8_e4m3, which has no smaller formats of its kind; leave it out"),
        ({"max_length": 7}, "was learned on words of at most 6; ask for no more"),
        ({"rounds": 11}, "rounds is 11"),
        ({"format": "fixd:8"}, "is not a format"),
        ({"fine_tun": 3}, "did you mean fine_tune"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(given: dict, said: str) -> None:
    with pytest.raises(GlypticError, match=said):
        distill(ends_in_one(), **{"format": "fixed:6", "max_length": 6, "progress": False, **given})


def test_weights_are_refused_where_no_way_to_rescale_them_fits() -> None:
    small = distill(ends_in_one(), "fixed:1", max_length=6, rounds=0, sweep=False, progress=False)
    assert small.weights.startswith("rescaled") and small.calibration.B == 1.5  # as trained they are beyond it
    with pytest.raises(GlypticError, match=r"token_embedding.* is -?[\d.]+, and fixed:1 ends at 1.5; choose a wider format"):
        distill(untrained(scale=1e3), "fixed:1", max_length=4, progress=False)
    found = distill(untrained(scale=1e3), "fixed:1", max_length=4, rounds=0, sweep=False, saturate=True, progress=False)
    assert isinstance(found.language.verdict, Refuted)


def test_smaller_formats_say_what_they_are() -> None:
    """The row of the format itself is the transformer's; a format with a name has smaller ones of its kind; B is told."""
    found = distill(spoilt(), "bf16", max_length=4, rounds=1, tuning=QUICK, progress=False)
    assert [row.format for row in found.formats] == ["bf16", *(f"ieee:8,{m}" for m in range(6, 0, -1))]
    assert (found.formats[0].accuracy, found.formats[0].agreement) == (found.accuracy, found.agreement)
    wide = distill(untrained(scale=300.0), "fixed:8", max_length=3, rounds=0, progress=False)
    assert not wide.formats[0].saturated and wide.formats[-1].saturated
    with pytest.raises(GlypticError, match="ends at"):
        distill(untrained(scale=300.0), wide.formats[-1].format, max_length=3, rounds=0, sweep=False, progress=False)
    alone = distill(ends_in_one(), "fp8_e4m3", max_length=4, rounds=0, progress=False)
    assert "fp8_e4m3 alone: there are no smaller ones of its kind" in str(alone)


def test_formats_that_keep_the_accuracy_are_contiguous(tmp_path) -> None:
    rows = [FormatRow("fixed:5", 5, 1.0, 1.0), FormatRow("fixed:4", 4, 0.5, 0.5), FormatRow("fixed:3", 3, 1.0, 1.0)]
    assert smallest_that_keeps(rows) == rows[0]
    paths = draw_formats(rows, tmp_path / "f.svg", "title")
    assert {path.suffix for path in paths} == {".svg", ".csv"}


def test_checkpoints_need_a_task_and_runs_have_one(tmp_path) -> None:
    nn.save(ends_in_one().model, tmp_path / "bare")
    with pytest.raises(GlypticError, match="does not say what it was trained for; give it: --task"):
        open_decider(tmp_path / "bare")
    assert open_decider(tmp_path / "bare", TASK).alphabet == ("0", "1")
    with pytest.raises(GlypticError, match="is no language to decide"):
        open_decider(tmp_path / "bare", "addition:3")
    with pytest.raises(GlypticError, match="neither a training run nor a checkpoint"):
        open_decider(tmp_path)
    nn.save(nn.build(config(classes=3), seed=0), tmp_path / "three")
    with pytest.raises(GlypticError, match="head='class' and classes=2"):
        open_decider(tmp_path / "three", TASK)
    with pytest.raises(GlypticError, match="has 4 letters"):
        open_decider(tmp_path / "bare", "dyck:2,6")


def test_a_model_that_the_bridge_refuses_is_told_with_its_reason() -> None:
    decider = untrained(positions="alibi")
    with pytest.raises(GlypticError, match="distance_scores is not known here: distill models with positions"):
        distill(decider, "fixed:6", max_length=6, progress=False)
    with pytest.raises(GlypticError, match="norm='batch'"):
        distill(untrained(norm="batch"), "fixed:6", max_length=6, progress=False)


def test_the_report_is_plain_json(tmp_path) -> None:
    found = distill(ends_in_one(), "fixed:5", max_length=4, sweep=False, progress=False)
    found.save(tmp_path / "new")
    report = json.loads((tmp_path / "new" / "report.json").read_text())
    assert report["kind"] == "glyptic.distill" and np.isclose(report["accuracy"], 1.0)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    with pytest.raises(GlypticError, match=r"it holds 'thesis.tex', and no distillation; name a new folder"):
        found.save(tmp_path / "other")


def test_ctrl_c_in_a_round_keeps_its_weights(tmp_path, monkeypatch) -> None:
    import glyptic.distill.distilling as room

    plain = room.fine_tuned

    kept_best = []

    def interrupted(*given, **named):
        tuned = plain(*given, **named)
        kept_best.append(tuned.best)
        raise Interrupted(tuned)

    monkeypatch.setattr(room, "fine_tuned", interrupted)
    hard = Tuning(steps=3, rate=1e-3, every=3)
    asked = {"format": "fixed:6", "max_length": 6, "rounds": 2, "tuning": hard, "sweep": False}
    asked |= {"out": tmp_path, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        distill(spoilt(), **asked)
    before = load_file(tmp_path / STATE)
    for name, latent in kept_best[-1].items():
        assert torch.equal(before[f"best.{name}"], latent), "what was best by then is kept"
    monkeypatch.setattr(room, "fine_tuned", plain)
    found = distill(spoilt(), **asked)
    assert [one.number for one in found.rounds] == [0, 1, 2] and found.rounds[1].added > 0
    assert found.rounds[1].steps == 2 * hard.steps, "with those of the round that was broken off"


def test_the_model_stays_as_it_was() -> None:
    """Its weights became doubles in place, and whoever went on training had another model."""
    decider = untrained()
    before = {name: weight.clone() for name, weight in decider.model.state_dict().items()}
    distill(decider, "fixed:6", max_length=4, rounds=0, saturate=True, sweep=False, progress=False)
    after = decider.model.state_dict()
    assert all(after[name].dtype == weight.dtype and torch.equal(after[name], weight) for name, weight in before.items())


def test_nothing_of_an_earlier_distillation_stands_beside_a_later_one(tmp_path) -> None:
    """Normal forms and their certificates were left from another transformer."""
    place = tmp_path / "d"
    distill(ends_in_one(), "fixed:6", max_length=4, out=place, progress=False).save(place)
    assert (place / "zero-one").is_dir() and (place / "formats.svg").exists()
    other = distill(untrained(norm="layer"), "fixed:6", max_length=4, rounds=0, saturate=True, sweep=False, progress=False)
    with pytest.raises(GlypticError, match="holds the distillation of another decider"):
        other.save(place)
    assert (place / "zero-one").is_dir() and programs.open(str(place)).answer("01") == "YES"
    other.save(place, overwrite=True)
    assert not any((place / kind).exists() for kind in ("zero-one", "infinity", "plus-minus", "formats.svg", "formats.csv"))
    assert [path.name for path in (place / "certificates").iterdir()] == ["language.json"]


def test_weights_that_tuning_moves_beyond_b_are_b() -> None:
    """As training in the format had them; they were refused when all the work was done."""
    wild = Tuning(steps=60, rate=0.3)
    found = distill(untrained(scale=6.0), "fixed:2", max_length=4, rounds=2, tuning=wild, sweep=False, progress=False)
    answers = found.transformer.run_batch(_words(4)).answers
    wrong = [word for word, said in zip(_words(4), answers, strict=True) if (said == "YES") != word.endswith("1")]
    assert found.rounds[-1].steps > 0 and len(wrong) == found.rounds[-1].wrong


def test_a_proof_without_an_end_is_not_told_as_right_on_all_words(monkeypatch) -> None:
    import glyptic.distill.distilling as room
    from glyptic.distill.proving import Settled

    def endless(*given) -> Settled:
        claim = is_language(*given).claim
        return Settled(claim, Unknown("language", "enumeration", "all inputs", "the time limit of 1 s"))

    monkeypatch.setattr(room, "is_language", endless)
    found = distill(spoilt(), "fixed:6", max_length=6, tuning=QUICK, sweep=False, progress=False)
    assert found.rounds[0].wrong > 0 and found.rounds[0].counterexample is not None and found.rounds[-1].wrong == 0
    assert "that were looked at" in str(found.rounds[-1]) and not found.is_proved
    assert "not decided" in " ".join(map(str, row_of(found)))
