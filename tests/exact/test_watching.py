"""One way to watch a run, one choice of engine, one rule of answers; and a misspelt keyword is told about what was called."""

from collections.abc import Callable
from itertools import product
from typing import Any, get_type_hints

import numpy as np
import pytest

from glyptic.errors import GlypticError
from glyptic.exact import (
    FeedForward,
    Observer,
    Options,
    Sizes,
    Transformer,
    Watch,
    ZeroAttention,
    answers,
    random_transformer,
    run_residual,
    stages,
)
from glyptic.exact.options import OptionChanges
from glyptic.exact.running import prepared_for
from glyptic.exact.transformer import TransformerChanges, map_codes
from glyptic.numbers import Fixed, Reference
from glyptic.numbers.fast import Fast
from glyptic.numbers.hosts import arithmetic_for

F = Fixed(2)
SIZES = Sizes(layers=3, heads=2, width=4, max_length=5)


def embedded(model: Transformer, text: str) -> np.ndarray:
    """The codes that enter the first layer, (d, positions, 1)."""
    return model.run_batch([text], trace="embedding").trace["embedding"][0][:, :, None]


@pytest.mark.parametrize("norm", ["none", "pre"])
def test_a_residual_goes_through_some_layers_as_a_run_of_all_takes_it(norm: Any) -> None:
    """Layers by their own numbers, the final norm only after the last, each stage as the whole run has it, in either engine."""
    model = random_transformer(F, 5, SIZES, Options(norm=norm, attention="max-subtracted"))
    whole = model.run_batch(["0110"], trace=True).trace
    named = [name for name in stages(model) if name not in ("embedding", "logits", "probabilities")]
    for engine in ("fast", "reference"):
        arithmetic = prepared_for(model, engine).arithmetic
        residual, seen = embedded(model, "0110"), {}
        for first, last in ((0, 1), (1, None)):
            watch = Watch(named)
            residual = run_residual(model, residual, first=first, last=last, observer=watch, engine=engine)
            seen |= {name: arithmetic.codes(array) for name, array in watch.traced.items()}
        assert list(seen) == named
        assert all(np.array_equal(seen[name][..., 0], whole[name][0]) for name in named)
        assert np.array_equal(residual, seen["final_norm" if norm == "pre" else "layer.2.after_feed_forward"])


def test_an_observer_is_told_who_met_zero_over_zero_and_where() -> None:
    """The layer keeps its number, the others go on, and the first error is the one that a run raises."""
    model = random_transformer(F, 1, Sizes(layers=2, heads=1, width=2, key_width=1))
    heads = [[[F.max_code, 0]], [[-F.max_code, 0]]]
    layer = model.layers[1]
    head = type(layer.heads[0])(np.array(heads[0]), np.array(heads[1]), layer.heads[0].value, layer.heads[0].output)
    model = model.replace(layers=[model.layers[0], type(layer)((head,))])
    residual = np.zeros((2, 3, 2), np.int64)
    residual[0, :, 1] = F.max_code  # ⟨q, k⟩ = −B at all positions of the second
    watch = Watch()
    run_residual(model, residual, first=1, observer=watch)
    assert watch.failed.tolist() == [False, True] and watch.zero[:, 1].all() and not watch.zero[:, 0].any()
    (item, error), *rest = watch.failures().items()
    assert (item, error.place, rest) == (1, (1, 0, 0), []) and isinstance(error, ZeroAttention)
    assert watch.failures(7)[1].position == 7
    assert not Watch().failed.any()


def test_what_is_no_residual_is_refused() -> None:
    model, right = random_transformer(F, 0, SIZES), np.zeros((4, 2, 1), np.int64)
    for wrong, words in {
        "of shape (3, 2, 1); it must be int64 codes of shape (4, positions, batch)": {"residual": right[:3]},
        "float64 of shape": {"residual": right * 1.0},
        "is not in fixed:2": {"residual": right + 99},
        "residual is [1], and must be": {"residual": [1]},
        "there are no layers 2 to 1; the transformer has 3": {"first": 2, "last": 1},
        "there are no layers 0 to 4": {"last": 4},
        "engine is 'quick', and must be": {"engine": "quick"},
        "observer is None, and must be an Observer": {"observer": None},
    }.items():
        with pytest.raises(GlypticError) as error:
            run_residual(model, **{"residual": right, **words})  # type: ignore[arg-type]
        assert wrong in str(error.value)


def test_the_engine_is_chosen_by_one_rule() -> None:
    """`auto` is the compiled one where that is proved exact for the reading of products; a name that is none is refused."""
    for format, products, kind in ((F, "rounded", Fast), (Fixed(18), "rounded", Reference), (Fixed(17), "fused", Reference)):
        assert type(arithmetic_for(format, products)) is kind  # type: ignore[arg-type]
        model = random_transformer(format, 0, SIZES, Options(products=products))  # type: ignore[arg-type]
        assert type(prepared_for(model).arithmetic) is kind
        assert type(arithmetic_for(format, products, "reference")) is Reference  # type: ignore[arg-type]
    for call in (lambda: arithmetic_for(F, engine="quick"), lambda: prepared_for(model, "quick")):  # type: ignore[arg-type]
        with pytest.raises(GlypticError, match="engine 'quick' is not one of auto, fast, reference"):
            call()


class Numbers:
    """Conditions that are truth values of arrays."""

    def compare(self, how: str, x: Any, y: Any) -> Any:
        return x > y if how == ">" else x >= y

    def both(self, parts: Any) -> Any:
        return np.logical_and.reduce(parts)

    def either(self, parts: Any) -> Any:
        return np.logical_or.reduce(parts)

    def negation(self, part: Any) -> Any:
        return ~part


@pytest.mark.parametrize("ties", ["explicit", "first"])
@pytest.mark.parametrize("answer", ["softmax", "logits"])
def test_the_rule_of_numbers_is_the_rule_of_conditions(ties: Any, answer: Any) -> None:
    """All triples of logits: `decide` and `given` say the same word, and exactly one."""
    options = Options(ties=ties, answer=answer)
    model = Transformer.of(F, "x", "abc", [[0] * 3], np.eye(3), "ABC", options=options)
    prepared = prepared_for(model)
    codes = np.array(list(product(range(F.min_code, F.max_code + 1, 3), repeat=3))).T
    last, one, other = prepared.arithmetic.values(codes[:, None]), Watch(), Watch()
    _, _, numbers = answers.decide(prepared, last, 0, one)
    said = answers.named(model, np.where(one.failed, answers.UNDEFINED, numbers).tolist())
    _, shares = answers.contest(prepared, last, 0, other)
    words = answers.given(model, list(shares[:, 0]), np.zeros(len(said), bool) | other.failed, Numbers())
    assert [[word for word in words if words[word][k]] for k in range(len(said))] == [[word] for word in said]
    expected = {"A", "B", "C"} | ({"TIE"} if ties == "explicit" else set()) | ({"UNDEFINED"} if answer == "softmax" else set())
    assert set(said) == expected


def test_a_misspelt_keyword_is_told_about_the_function_that_was_called() -> None:
    model = random_transformer(F, 0, SIZES)
    calls: dict[str, Callable[[], Any]] = {
        "Transformer.run() got": lambda: model.run("01", step=2),  # type: ignore[call-arg]
        "Transformer.answer() got": lambda: model.answer("01", enginne="fast"),  # type: ignore[call-arg]
        "Transformer.run_batch() got": lambda: model.run_batch(["01"], progres=print),  # type: ignore[call-arg]
        "Transformer.of() got": lambda: Transformer.of(F, "x", "a", [[0]], [[0]], "A", nam="a"),  # type: ignore[call-arg]
        "run_residual() has no argument firts; did": lambda: run_residual(model, np.zeros((4, 1, 1), int), firts=1),  # type: ignore[call-arg]
        "there is no part 'layer'; there are format,": lambda: model.replace(layer=()),  # type: ignore[call-arg]
        "there is no part 'formt'": lambda: map_codes(model, lambda codes, _: codes, formt="fixed:2"),  # type: ignore[call-arg]
        "there is no option 'masks'; there are products,": lambda: model.with_options(masks="full"),  # type: ignore[call-arg]
    }
    for words, call in calls.items():
        with pytest.raises((TypeError, GlypticError)) as error:
            call()
        assert words in str(error.value)


def test_what_may_be_exchanged_is_what_there_is() -> None:
    """The types that editors and type checkers see of `replace` and `with_options` name every field, and no other."""
    assert list(TransformerChanges.__annotations__) == list(Transformer.__dataclass_fields__)
    assert get_type_hints(OptionChanges) == get_type_hints(Options)


def test_an_observer_may_look_at_anything() -> None:
    """One of the user's own: how many hidden units are alive, without keeping a stage."""

    class Alive(Observer):
        units = 0

        def record(self, stage: str, array: Any) -> None:
            self.units += int((array > 0).any(axis=(1, 2)).sum()) if stage.endswith(".hidden") else 0

    model = random_transformer(F, 2, Sizes(layers=1, heads=0, width=2))
    unit = FeedForward.of(F, [[1, 0], [-1, 0], [0, 0]], [0, 0, 1], np.zeros((2, 3)), [0, 0])
    alive = Alive()
    run_residual(model.replace(layers=[type(model.layers[0])((), unit)]), np.array([[[4]], [[0]]]), observer=alive)
    assert alive.units == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda T, h: run_residual(T, h, observer=Watch(["layer.0.hiden"])), "Watch: 'layer.0.hiden' is no stage of this"),
        (lambda T, h: run_residual(T, h, observer=Watch("layer.9.hidden")), "Watch: 'layer.9.hidden' is no stage of this"),
        (lambda T, h: run_residual(T, h.tolist()), "residual is [[[0"),
        (lambda T, h: run_residual("parity:8", h), "transformer is 'parity:8', and must be a Transformer."),
        (lambda T, h: run_residual(T, h, first="0"), "first is '0', and must be a whole number."),
        (lambda T, h: run_residual(T, h, observr=Watch()), "run_residual() has no argument observr; did you mean observer?"),
        (lambda T, h: run_residual(T, h, engine="warp"), "engine "),
        (lambda T, h: T.save(object()), "folder is <object object"),
        (lambda T, h: T.replace(nme="x"), "Transformer.replace(): there is no part 'nme'; there are "),
        (lambda T, h: T.with_options(tie="first"), "Transformer.with_options(): there is no option 'tie'; there are "),
    ],
)
def test_what_cannot_be_run_or_watched_is_one_sentence(wrong, said):
    T = random_transformer("fixed:4", sizes=Sizes(layers=1, heads=1, width=3))
    with pytest.raises(GlypticError) as told:
        wrong(T, np.zeros((3, 2, 1), np.int64))
    assert str(told.value).startswith(said) and "\n" not in str(told.value)


def test_one_stage_is_watched_by_its_name_alone():
    T = random_transformer("fixed:4", sizes=Sizes(layers=1, heads=1, width=3))
    watch = Watch("layer.0.after_attention")
    run_residual(T, np.zeros((3, 2, 1), np.int64), observer=watch)
    assert list(watch.traced) == ["layer.0.after_attention"] and watch.stages == ("layer.0.after_attention",)
