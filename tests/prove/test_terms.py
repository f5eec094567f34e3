"""The solvers' arithmetic against the reference: operation by operation, expression by expression, layer by layer."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glyptic.exact import Options, Sizes, random_transformer
from glyptic.exact.forward import forward, prepare
from glyptic.exact.stages import Watch
from glyptic.numbers import Fixed, Float, Format, Ieee, Q, Reference, parse_format
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.attention_terms import Terms
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits
from glyptic.prove.methods.smt.circuits_float import FloatCircuits
from glyptic.prove.methods.smt.known_facts import Term
from glyptic.prove.methods.smt.plain_terms import PlainTerms

SMALL = [
    Fixed(1),
    Fixed(2),
    Fixed(2, "even"),
    Q(1, 2),
    Q(3, 0, "even"),
    Float(1, 1),
    Float(2, 1, "even"),
    Float(1, 2),
    Ieee(3, 1, "zero", subnormals=False),
    Ieee(2, 2, subnormals=False),
    parse_format("fp4_e2m1"),
]
LARGE = [
    parse_format(f"{name}/{ties}")
    for name in (
        *("fixed:8", "fixed:11", "q:4,7", "q:9,2", "float:3,4", "float:5,3", "float:8,5"),
        *("fp8_e4m3", "fp8_e5m2", "fp16", "bf16", "ieee:8,15", "ieee:5,6,normal"),
    )
    for ties in ("zero", "even")
]
names = [str(format) for format in SMALL]


def circuits_of(format: Format) -> FixedCircuits | FloatCircuits:
    return FixedCircuits(format) if format.is_fixed else FloatCircuits(format)


def signed(value: int, width: int) -> int:
    return value - ((value >> (width - 1)) << width)


def objects(numbers: list[int]) -> np.ndarray:
    out = np.empty(len(numbers), dtype=object)
    out[:] = numbers
    return out


# Operations ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", SMALL, ids=names)
def test_every_pair_of_values(format: Format) -> None:
    circuits, reference = circuits_of(format), Reference(format)
    codes = range(format.min_code, format.max_code + 1)
    values = {code: format.value(code) for code in codes}
    a, b = (bits.variable(name, circuits.width) for name in "ab")
    pairs = [(x, y) for x in codes for y in codes]
    inputs = {"a": objects([x for x, _ in pairs]), "b": objects([y for _, y in pairs])}
    for name in ("add", "subtract", "multiply", "divide"):
        (got,) = bits.compute([getattr(circuits, name)(a, b)], inputs)
        for (x, y), code in zip(pairs, got, strict=True):
            if name != "divide" or y != 0:
                exact = getattr(reference, f"scalar_{name}")(values[x], values[y])
                assert values[signed(code, circuits.width)] == exact, (name, values[x], values[y])


@pytest.mark.parametrize("format", SMALL, ids=names)
def test_every_value(format: Format) -> None:
    circuits, reference = circuits_of(format), Reference(format)
    codes = list(range(format.min_code, format.max_code + 1))
    a = bits.variable("a", circuits.width)
    unary = {
        "negate": (circuits.negate(a), lambda x: format.round(-x)),
        "root": (circuits.root(a), lambda x: reference.scalar_root(x) if x >= 0 else None),
        **{
            f"/ {n}": (circuits.divide_by_count(a, n), lambda x, n=n: reference.scalar_divide_by_count(x, n))
            for n in (1, 2, 3, 5, 7, 12)
        },
    }
    for name, (circuit, exact) in unary.items():
        (got,) = bits.compute([circuit], {"a": objects(codes)})
        for code, result in zip(codes, got, strict=True):
            wanted = exact(format.value(code))
            assert wanted is None or format.value(signed(result, circuits.width)) == wanted, (name, code)


def codes_in(format: Format) -> st.SearchStrategy[int]:
    ends = [0, 1, -1, 2, -2, 3, format.max_code, -format.max_code, format.min_code, format.max_code - 1]
    return st.one_of(st.sampled_from(ends), st.integers(format.min_code, format.max_code))


Triple = tuple[Fraction, Fraction, Fraction]


def near_ties(format: Format, rng: np.random.Generator, count: int) -> Iterator[Triple]:
    """Values x, y, t whose sum, difference, product, quotient, root, … comes next to or upon the middle of two neighbours."""
    for _ in range(count):
        below, other = (int(code) for code in rng.integers(0, format.max_code, 2))
        middle = (format.value(below) + format.value(below + 1)) / 2
        y = format.value(max(1, other))
        just, lower = format.value(below), format.value(int(rng.integers(0, below + 1)))
        inverse = [format.round(z) for z in (middle / y, middle * y, 3 * middle, middle**2)]
        for x in (just, lower, *inverse):
            for step in (-1, 0, 1):
                code = min(format.max_code, max(format.min_code, format.code(x) + step))
                moved = format.value(code)
                yield moved, y, format.round(middle - moved * y)
                yield moved, format.round(middle - moved), format.round(-middle)


def anywhere(format: Format, rng: np.random.Generator, count: int) -> Iterator[Triple]:
    """Values at the ends and around 0, and at random."""
    ends = [0, 1, -1, 2, -2, 3, format.max_code, format.max_code - 1, -format.max_code, format.min_code]
    for _ in range(count):
        drawn = rng.integers(format.min_code, format.max_code + 1, 3)
        codes = [int(rng.choice(ends)) if rng.random() < 0.3 else int(code) for code in drawn]
        yield tuple(map(format.value, codes))


@pytest.mark.parametrize("format", LARGE, ids=str)
def test_larger_formats(format: Format) -> None:
    """Every operation on 300 triples of values and more, most of them next to a tie or upon one."""
    circuits, reference, rng = circuits_of(format), Reference(format), np.random.default_rng(0)
    triples = list(dict.fromkeys([*near_ties(format, rng, 16), *anywhere(format, rng, 100)]))
    assert len(triples) > 300
    a, b, c = (bits.variable(name, circuits.width) for name in "abc")
    columns = ([format.code(triple[k]) for triple in triples] for k in range(3))
    inputs = dict(zip("abc", map(objects, columns), strict=True))
    operations = {
        "add": (circuits.add(a, b), lambda x, y, t: reference.scalar_add(x, y)),
        "subtract": (circuits.subtract(a, b), lambda x, y, t: reference.scalar_subtract(x, y)),
        "multiply": (circuits.multiply(a, b), lambda x, y, t: reference.scalar_multiply(x, y)),
        "fused": (circuits.fused(c, a, b), lambda x, y, t: reference.scalar_fused(t, x, y)),
        "a third": (circuits.divide_by_count(a, 3), lambda x, y, t: reference.scalar_divide_by_count(x, 3)),
        "divide": (circuits.divide(a, b), lambda x, y, t: None if y == 0 else reference.scalar_divide(x, y)),
        "root": (circuits.root(a), lambda x, y, t: None if x < 0 else reference.scalar_root(x)),
    }
    for name, (circuit, exact) in operations.items():
        (got,) = bits.compute([circuit], inputs)
        for triple, code in zip(triples, got, strict=True):
            wanted = exact(*triple)
            assert wanted is None or format.value(signed(code, circuits.width)) == wanted, (name, *triple)


@pytest.mark.parametrize("format", LARGE[-6:], ids=str)
def test_near_ties_are_met(format: Format) -> None:
    """The draw is what it says: many exact results lie just in the middle of two neighbours."""
    sums = [x + y for x, y, _ in near_ties(format, np.random.default_rng(0), 16)]
    middles = [s for s in sums if 0 < abs(s) < format.max and _is_middle(s, format)]
    assert len(middles) > 10


def _is_middle(exact: Fraction, format: Format) -> bool:
    code = format.code(format.round(exact))
    neighbours = [format.value(k) for k in (code - 1, code, code + 1) if format.min_code <= k <= format.max_code]
    return any(2 * exact == u + v for u, v in pairwise(neighbours))


# Expressions: what terms know of themselves must be true -----------------------------------------------------------------------

VARIABLES = ("x", "y", "z")
OPERATIONS = ("add", "subtract", "multiply", "larger", "relu", "fused", "gate")


def trees(depth: int) -> st.SearchStrategy:
    leaf = st.one_of(st.sampled_from(VARIABLES), st.sampled_from(["0", "1", "-1", "B", "-B", "least"]))
    if depth == 0:
        return leaf
    below = trees(depth - 1)
    return st.one_of(leaf, st.tuples(st.sampled_from(OPERATIONS), below, below, below))


def evaluate(tree, arithmetic, values):
    if isinstance(tree, str):
        if tree in values:
            return values[tree]
        format = arithmetic.format
        named = {"B": format.max, "-B": format.round(-format.max), "least": format.least}
        return named[tree] if tree in named else format.round(Fraction(tree))
    name, *parts = tree
    a, b, c = (evaluate(part, arithmetic, values) for part in parts)
    if name == "relu":
        return arithmetic.scalar_larger(a, arithmetic.zero)
    if name == "gate":  # the pattern of constructions: relu(a) − relu(−a), then a product
        minus = arithmetic.scalar_multiply(arithmetic.format.round(-1), a)
        parts = [arithmetic.scalar_larger(x, arithmetic.zero) for x in (a, minus)]
        return arithmetic.scalar_add(b, arithmetic.scalar_multiply(c, arithmetic.scalar_subtract(*parts)))
    if name == "fused":
        return arithmetic.scalar_fused(a, b, c)
    return getattr(arithmetic, f"scalar_{name}")(a, b)


def check_known(scalar, wanted: Fraction, inputs: dict[str, int], format: Format) -> None:
    """The value, the range, and in each case that applies what is known there."""
    if isinstance(scalar, Fraction):
        assert scalar == wanted
        return
    (code,) = bits.compute([scalar.code], inputs)
    assert format.value(signed(code, scalar.code.width)) == wanted
    assert format.value(scalar.low) <= wanted <= format.value(scalar.high)
    if scalar.opposite is not None:
        check_known(scalar.opposite, -wanted, inputs, format)
    if scalar.cases is not None:
        condition, then, otherwise = scalar.cases
        (holds,) = bits.compute([condition], inputs)
        check_known(then if holds else otherwise, wanted, inputs, format)


MIXED = [
    Fixed(2),
    Fixed(1, "even"),
    Q(2, 1),
    Float(2, 2),
    Float(1, 1),
    Ieee(3, 2, subnormals=False),
    parse_format("fp8_e4m3"),
]


@settings(max_examples=150, deadline=None)
@given(st.data(), trees(3), st.sampled_from(MIXED))
def test_expressions_and_what_they_know(data: st.DataObject, tree, format: Format) -> None:
    for kind in (Terms, PlainTerms):
        terms = kind(format)
        found = evaluate(tree, terms, {name: terms.free(name) for name in VARIABLES})
        sign = terms.less(terms.zero, found), terms.less(found, terms.zero), terms.equal(found, terms.zero)
        for _ in range(3):
            inputs = {name: data.draw(codes_in(format)) for name in VARIABLES}
            wanted = evaluate(tree, Reference(format), {name: format.value(code) for name, code in inputs.items()})
            check_known(found, wanted, inputs, format)
            assert bits.compute(sign, inputs) == [wanted > 0, wanted < 0, wanted == 0]


@pytest.mark.parametrize("format", SMALL, ids=names)
def test_signs_of_every_difference_and_product(format: Format) -> None:
    """Where terms say that the sign of a result is the order of two values, it is: without subnormals they must not."""
    terms, reference = Terms(format), Reference(format)
    x, y = terms.free("x"), terms.free("y")
    difference = terms.scalar_subtract(x, y)
    product = terms.scalar_multiply(format.max, difference)
    conditions = [terms.less(terms.zero, z) for z in (difference, product)]
    conditions += [terms.less(z, terms.zero) for z in (difference, product)]
    codes = range(format.min_code, format.max_code + 1)
    pairs = [(a, b) for a in codes for b in codes]
    found = bits.compute(conditions, {"x": objects([a for a, _ in pairs]), "y": objects([b for _, b in pairs])})
    for k, (a, b) in enumerate(pairs):
        exact = reference.scalar_subtract(format.value(a), format.value(b))
        scaled = reference.scalar_multiply(format.max, exact)
        wanted = [exact > 0, scaled > 0, exact < 0, scaled < 0]
        assert [bool(np.broadcast_to(c, len(pairs))[k]) for c in found] == wanted


def test_constructed_weights_vanish() -> None:
    terms = Terms(Fixed(8))
    x, y = terms.free("x"), terms.free("y")
    one, B = Fraction(1), Fixed(8).max

    def relu(a):
        return terms.scalar_larger(a, terms.zero)

    plus = terms.inner_product([(one, x), (-one, y)])
    minus = terms.inner_product([(-one, x), (one, y)])
    assert terms.scalar_subtract(relu(plus), relu(minus)).code is plus.code
    assert relu(terms.scalar_subtract(x, B)) == 0
    assert terms.scalar_subtract(terms.scalar_add(terms.scalar_add(x, B), B), B) == 0
    assert terms.scalar_subtract(x, x) == 0


# exp and attention ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "format", [Fixed(1), Fixed(3), Float(2, 2), Float(1, 1), Q(2, 2), parse_format("fp8_e4m3")], ids=str
)
def test_exp_of_every_value(format: Format) -> None:
    terms, reference = Terms(format), Reference(format)
    image = terms.scalar_exp(terms.free("x"))
    assert not terms.exps
    codes = list(range(format.min_code, format.max_code + 1))
    (got,) = bits.compute([image.code], {"x": objects(codes)})
    for code, result in zip(codes, got, strict=True):
        assert format.value(signed(result, image.code.width)) == reference.scalar_exp(format.value(code))


@pytest.mark.parametrize("name", ["fp16", "fixed:11", "ieee:8,15"])
def test_an_enclosed_exp_admits_the_true_one(name: str) -> None:
    format = parse_format(name)
    terms, reference = Terms(format), Reference(format)
    points = [
        0,
        1,
        -1,
        format.max_code,
        format.min_code,
        format.max_code // 2,
        -format.max_code // 2,
        format.max_code // 3,
    ]
    for _ in range(2):
        terms.scalar_exp(terms.free(f"x{len(terms.exps)}"))
    assert len(terms.exps) == 2
    for x in points:
        for y in points:
            images = [format.code(reference.scalar_exp(format.value(code))) for code in (x, y)]
            inputs = {"x0": x, "x1": y, "exp.0": images[0], "exp.1": images[1]}
            assert all(bits.compute(terms.domain, inputs)), (x, y)


OPTIONS = [
    Options(),
    Options(products="fused"),
    Options(attention="max-subtracted", mask="full"),
    Options(attention="leftmost"),
    Options(attention="rightmost", mask="strict"),
    Options(attention="average", scale=True),
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.products} {o.attention}")
@pytest.mark.parametrize("format", [Fixed(2), Float(2, 2)], ids=str)
def test_layers_over_terms_and_over_fractions(format: Format, options: Options) -> None:
    """One definition of a layer: random weights, free values, then the same values put in; 0/0 is met in the same places."""
    sizes = Sizes(layers=1, heads=1, width=3, key_width=1, value_width=2, hidden=3, max_length=3, density=0.6)
    transformer = random_transformer(format, 3, sizes, options)
    terms, shape = Terms(format, options.products), (transformer.width, 3, 1)
    residual = np.empty(shape, dtype=object)
    for place in np.ndindex(shape):
        residual[place] = terms.free(str(place))
    watch = Watch()
    out, _ = forward(prepare(transformer, terms), residual, observer=watch)
    zero = [condition for _, where in watch.met for condition in np.ravel(where)]
    rng = np.random.default_rng(0)
    inputs = {
        str(p): objects([int(c) for c in rng.integers(format.min_code, format.max_code + 1, 40)])
        for p in np.ndindex(shape)
    }
    codes = [
        out[place].code if isinstance(out[place], Term) else terms.code(out[place]) for place in np.ndindex(shape)
    ]
    found, undefined = bits.compute(codes, inputs), bits.compute(zero, inputs)
    width, reference = terms.circuits.width, prepare(transformer, Reference(format, options.products))
    for k in range(40):
        values = np.empty(shape, dtype=object)
        for place in np.ndindex(shape):
            values[place] = format.value(inputs[str(place)][k])
        watch = Watch()
        wanted, _ = forward(reference, values, observer=watch)
        met = [zero for _, where in watch.met for zero in np.ravel(where)]
        assert [bool(np.broadcast_to(u, 40)[k]) for u in undefined] == [bool(m) for m in met]
        if not any(met):
            got = [format.value(signed(int(np.broadcast_to(f, 40)[k]), width)) for f in found]
            assert got == list(wanted.ravel())


def test_many_hidden_units_stay_cheap() -> None:
    """Cases are shared, never multiplied out: 48 relus in a row are no 2^48 cases."""
    transformer = random_transformer(Fixed(3), 1, Sizes(layers=1, heads=0, width=3, hidden=48, density=1.0))
    terms = Terms(Fixed(3))
    residual = np.empty((3, 1, 1), dtype=object)
    for k in range(3):
        residual[k, 0, 0] = terms.free(f"x{k}")
    out, _ = forward(prepare(transformer, terms), residual)
    assert len(bits.in_order([out[0, 0, 0].code])) < 50_000
