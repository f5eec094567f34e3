"""Closure: truth tables of all pairs of built-in deciders on every input up to length 10; counts; reconciliation; refusals."""

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from glyptic import carve, programs
from glyptic.carve import FactError, closure
from glyptic.errors import GlypticError, ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.exact.transformer import map_codes
from glyptic.numbers import NAMED, Fixed, Float, Format, Q
from tests.carve.support import FORMATS, all_codes, all_texts, blank, check_frame, run_added

DECIDERS = ["contains:101,10", "first-equals-last:10", "majority:10", "parity:10", "brackets:10,pairs=01", "palindromes:10"]
DECIDERS += ["modular:3,max_length=10", "random:23,2,10"]
PAIRS = list(itertools.combinations_with_replacement(range(len(DECIDERS)), 2))
TABLES: dict[str, tuple[Callable[..., Transformer], Callable[..., np.ndarray]]] = {
    "&": (lambda a, b: a & b, lambda x, y: x & y),
    "|": (lambda a, b: a | b, lambda x, y: x | y),
    "^": (lambda a, b: a ^ b, lambda x, y: x ^ y),
}


@cache
def decider(number: int) -> tuple[Transformer, np.ndarray]:
    T = programs.by_name(DECIDERS[number], Fixed(6))
    return T, T.run_batch(all_texts(10)).numbers


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_truth_tables_on_every_input_up_to_length_ten(first: int, second: int) -> None:
    (a, x), (b, y) = decider(first), decider(second)
    decisive = (x >= 0) & (y >= 0)
    assert decisive.mean() > 0.9
    for operator, (build, table) in TABLES.items():
        both = build(a, b)
        assert len(both.layers) == max(len(a.layers), len(b.layers)) + (3 if operator == "^" else 2)
        got = both.run_batch(all_texts(10)).numbers
        assert (got[decisive] == table(x, y)[decisive]).all(), operator


def by_sign(format: Format, k: int, products: str = "rounded") -> list[Transformer]:
    """k deciders without layers on one residual: number i says YES iff coordinate i is positive."""
    names = " ".join(f"x{i}" for i in range(k))
    T = blank(format, names, options=Options(products=products))  # type: ignore[arg-type]
    one = format.code(1)
    return [T.replace(output=one * np.stack([np.zeros(k, np.int64), np.eye(k, dtype=np.int64)[i]])) for i in range(k)]


def run_closed(parts: list[Transformer], done: Transformer, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """On residuals (d, 1, batch) of all side by side: codes of NO and YES, and all that should be 0."""
    side, h = carve.beside.beside(parts), values
    got = run_added(side, done, h)
    check_frame(side, done, h, got)
    no, yes, *rest = (got[name][0] for name in done.coordinates)
    return no, yes, np.stack(rest)


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_all_signs_and_sizes_in_many_formats(format: Format, products: str) -> None:
    """Three deciders whose margins are the least, the largest and others: every function of them, exactly ±B."""
    parts, B = by_sign(format, 3, products), format.max_code
    margins = np.array([-B, -2, -1, 1, 2, B])
    values = np.array([*itertools.product(margins, repeat=3)]).T
    says = (values > 0).astype(int)
    count = says.sum(axis=0)
    cases: list[tuple[Transformer, np.ndarray]] = [
        (closure.conjunction(*parts), count == 3),
        (closure.disjunction(*parts), count > 0),
        (closure.decision_list(parts, [(0, True, False), (1, False, True)], True), (says[0] == 0) | (says[1] < 0)),
    ]
    for build in (closure.exclusive, closure.majority, lambda *p: closure.threshold(p, 3)):
        want = {closure.exclusive: count % 2 == 1, closure.majority: count >= 2}.get(build, count == 3)  # type: ignore[call-overload]
        changes = {closure.exclusive: (1, 2, 3), closure.majority: (2,)}.get(build, (3,))  # type: ignore[call-overload]
        if closure.counts_apart(3, products, changes).broken(format) is None:  # type: ignore[arg-type]
            cases.append((build(*parts), want))
        else:
            with pytest.raises(FactError, match="sums of up to 3 equal terms differ at"):
                build(*parts)
    for done, want in cases:
        no, yes, rest = run_closed(parts, done, np.concatenate([values] * 3)[:, None])
        assert (yes == np.where(want, B, -B)).all(), done.name
        assert (no == -yes).all()
        assert not rest.any()


@pytest.mark.parametrize("k", [1, 2, 4, 5, 9])
def test_any_function_of_the_count(k: int) -> None:
    format = Fixed(6)
    parts = by_sign(format, k)
    values = np.array([*itertools.product([-1, 1], repeat=k)]).T if k < 6 else np.random.default_rng(0).choice([-1, 1], (k, 300))
    count = (values > 0).sum(axis=0)
    for accepted in (set(), {0}, {k}, set(range(0, k + 1, 2)), {k // 2}, set(range(k + 1))):
        done = closure.by_count(parts, accepted)
        _, yes, _ = run_closed(parts, done, np.concatenate([values] * k)[:, None])
        assert ((yes > 0) == np.isin(count, list(accepted))).all()


def test_depths_vocabularies_and_formats_are_reconciled_or_refused() -> None:
    def T(seed: int, format: object = Fixed(6), vocabulary: str = "01", layers: int = 1, **options: object) -> Transformer:
        sizes = Sizes(layers=layers, vocabulary=vocabulary, max_length=4 + seed)
        return random_transformer(format, seed, sizes, Options(attention="average", **options))  # type: ignore[arg-type]

    a, b = T(0), T(1, vocabulary="10", layers=3)
    both, texts = a & b, all_texts(4)
    x, y, got = (t.run_batch(texts).numbers for t in (a, b, both))
    decisive = (x >= 0) & (y >= 0)
    assert (got[decisive] == (x & y)[decisive]).all()
    assert (both.max_length, both.vocabulary, len(both.layers)) == (4, ("0", "1"), 5)

    swapped = b.replace(answers=b.answers[::-1], output=b.output[::-1])
    assert ((a & swapped).run_batch(texts).numbers == got).all()  # answers go by name, in whatever order
    with pytest.raises(ModelError, match=r"token '2' is in the vocabulary of .* but not of all; pass common=True"):
        a & T(2, vocabulary="012")
    common = closure.conjunction(a, T(2, vocabulary="012"), common=True)
    assert common.vocabulary == ("0", "1")
    with pytest.raises(ModelError, match="no token in common"):
        a & T(2, vocabulary="ab")
    with pytest.raises(ModelError, match="different formats; pass format="):
        a & T(1, format=Float(3, 4))
    assert closure.conjunction(a, T(1, format=Float(3, 4)), format=Fixed(8)).format == Fixed(8)
    with pytest.raises(ModelError, match=r"options\.mask is 'causal' in .* and 'full' in"):
        a & T(1, mask="full")
    with pytest.raises(ModelError, match=r"answers of .* are NO, YES, those of"):
        a & T(1).replace(answers=("no", "yes"))
    with pytest.raises(ModelError, match="has 3: a, b, c"):
        ~random_transformer(Fixed(4), 0, Sizes(answers=tuple("abc")))
    for operation in (lambda: a & 1, lambda: a | 1, lambda: a ^ 1):
        with pytest.raises(TypeError, match="unsupported operand"):
            operation()
    with pytest.raises(ModelError, match="no decider at all"):
        closure.conjunction()
    with pytest.raises(FactError, match="−x is a value"):
        T(0, format=Q(4, 4)) & T(1, format=Q(4, 4))
    with pytest.raises(GlypticError, match="sums of up to 9 equal terms differ at 5"):
        closure.majority(*by_sign(Fixed(2), 9))


def test_negation_costs_nothing_and_is_its_own_inverse() -> None:
    T, numbers = decider(3)
    said = ["NO" if number else "YES" for number in numbers[: len(all_texts(6))]]
    assert (~T).run_batch(all_texts(6)).answers == tuple(said)
    assert (~~T).same_as(T)
    assert len((~T).layers) == len(T.layers)


def test_deciders_of_closures_again() -> None:
    """De Morgan on combinations of combinations, in a format that needs a layer more."""
    texts = all_texts(4)
    parts = [random_transformer(NAMED["fp16"], s, Sizes(layers=s + 1, width=4), Options(attention="average")) for s in range(3)]
    a, b, c = parts
    left, right = ~((a & b) | c), (~a | ~b) & ~c
    decisive = np.all([t.run_batch(texts).numbers >= 0 for t in parts], axis=0)
    assert decisive.sum() > 10
    said = np.array([t.run_batch(texts).answers for t in (left, right)])
    assert (said[0] == said[1])[decisive].all()
    assert left.name == "~disjunction(conjunction(random-0, random-1), random-2)"
    assert "closure.disjunction" in left.frame()
    assert "a: closure.conjunction" in left.frame()


@pytest.mark.parametrize("operator", ["conjunction", "exclusive"])
def test_every_weight_matters(operator: str) -> None:
    """Zero each weight of the added layers, in turn: on pairs of pairs of logits something must be wrong."""
    format = Fixed(2)
    T = blank(format, "n y").replace(output=format.code(1) * np.eye(2, dtype=np.int64))
    parts, codes = [T, T], all_codes(format)
    done = getattr(closure, operator)(*parts)
    pairs = np.stack(np.meshgrid(codes, codes)).reshape(2, -1)
    few = np.array([*itertools.product([-15, -2, -1, 0, 1, 15], repeat=2)]).T
    one, other = (np.tile(pairs, few.shape[1]), np.repeat(few, pairs.shape[1], axis=1))
    values = np.concatenate([np.concatenate([one, other]), np.concatenate([other, one])], axis=1)
    says = np.stack([values[1] > values[0], values[3] > values[2]])
    want = says.all(axis=0) if operator == "conjunction" else says[0] != says[1]

    def holds(T: Transformer) -> bool:
        try:
            no, yes, rest = run_closed(parts, T, values[:, None])
        except AssertionError:
            return False
        return bool((yes == np.where(want, 15, -15)).all() and (no == -yes).all() and not rest.any())

    assert holds(done)
    places: list[tuple[str, tuple[int, ...]]] = []
    map_codes(done, lambda m, name: places.extend((name, tuple(p)) for p in np.argwhere(m)) or m)
    for name, place in places:
        if not name.startswith("layers"):
            continue

        def without(m: np.ndarray, at: str, name: str = name, place: tuple[int, ...] = place) -> np.ndarray:
            if at != name:
                return m
            m = m.copy()
            m[place] = 0
            return m

        assert not holds(map_codes(done, without)), (name, place)
