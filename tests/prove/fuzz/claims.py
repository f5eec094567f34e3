"""Random claims by seed: on values, on blocks and on inputs, with every node of the language, in many formats.

A case is named by its seed, a text such as "values fixed:2 17": the same seed is the same case on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.exact.parts import parts
from glyptic.languages import regular, tomita
from glyptic.numbers import encode, parse_format
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values

# Small formats, where exp is a table and all elements are walked through: each family, both rules, with and without subnormals.
TABLED = [
    *("fixed:1", "fixed:2", "fixed:2/even", "fixed:3", "fixed:3/even", "float:1,1", "float:2,1", "float:2,2/even", "float:3,2"),
    *("q:1,1", "q:2,2", "q:2,2/even", "q:0,3", "q:3,3/even", "ieee:2,1", "ieee:3,2", "ieee:3,2/zero", "ieee:3,2,normal"),
    *("ieee:4,2,normal/zero", "fp4_e2m1", "fp6_e3m2", "fp6_e2m3/zero", "fp8_e4m3", "fp8_e5m2"),
]
# Wide ones, where exp is only enclosed.
ENCLOSED = ["fixed:10", "fixed:10/even", "ieee:5,9", "ieee:5,9,normal", "fp16", "fp16/zero", "q:6,10", "q:6,10/even"]
FORMATS = TABLED + ENCLOSED
EXISTENCE = 0.12  # the share of claims that something exists
MOST_ELEMENTS = 2000  # of a claim that is walked through whole
MOST_RUNS = 400  # of a block with two free values


def random_claim(kind: str, format: str, number: int) -> Claim:
    """The claim of a seed: kind is values, block or inputs."""
    rng = random.Random(f"{kind} {format} {number}")
    return {"values": _on_values, "block": _on_block, "inputs": _on_inputs}[kind](rng, format)


# What is said ---------------------------------------------------------------------------------------------------------------


class Sayings:
    """Random expressions over some leaves; `words` and `conditions` are what the subject adds to the language."""

    def __init__(self, rng: random.Random, format: str, values: list[Callable[[], e.Value]]) -> None:
        self.rng, self.format, self.leaves = rng, parse_format(format), values
        self.conditions: list[Callable[[], e.Condition]] = []
        self.locals: list[str] = []  # that may be read here
        self.bound = 0  # how many there are in the whole claim, each of its own name

    def number(self) -> e.Value:
        """A constant of the format: an end, a value near 0 or 1, or any."""
        rng, format = self.rng, self.format
        if rng.random() < 0.4:
            return rng.choice([e.B, -e.B, e.LEAST, -e.LEAST])
        if rng.random() < 0.5:
            return e.Constant(format.round(rng.choice([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2)])))
        return e.Constant(format.value(rng.randint(format.min_code, format.max_code)))

    def value(self, depth: int) -> e.Value:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            if self.locals and rng.random() < 0.5:
                return e.Local(rng.choice(self.locals))
            return rng.choice(self.leaves)() if rng.random() < 0.75 else self.number()
        form = rng.random()
        if form < 0.6:
            name = rng.choice(["add", "subtract", "multiply", "divide", "max", "min"])
            return e.Operation(name, (self.value(depth - 1), self.value(depth - 1)))
        if form < 0.85:
            return e.Operation(rng.choice(["exp", "relu", "root", "abs"]), (self.value(depth - 1),))
        if form < 0.93:
            return e.Choice(self.condition(depth - 1), self.value(depth - 1), self.value(depth - 1))
        return self._let(e.LetValue, lambda: self.value(depth - 1), lambda: self.value(depth - 1))

    def condition(self, depth: int) -> e.Condition:
        rng = self.rng
        if depth == 0 or rng.random() < 0.35:
            if self.conditions and rng.random() < 0.5:
                return rng.choice(self.conditions)()
            how = rng.choice(["=", "≠", "<", "≤", ">", "≥"])
            return e.Comparison(how, self.value(max(0, depth)), self.value(min(1, max(0, depth - 1))))
        inner = lambda: self.condition(depth - 1)  # noqa: E731
        form = rng.random()
        if form < 0.5:
            return e.Junction(rng.choice(["and", "or"]), tuple(inner() for _ in range(rng.choice([1, 2, 2, 2, 3, 3]))))
        if form < 0.65:
            return e.Negation(inner())
        if form < 0.82:
            return e.Implication(inner(), inner())
        if form < 0.92:
            return e.Equivalence(inner(), inner())
        return self._let(e.Let, lambda: self.value(depth - 1), inner)

    def _let(self, kind: Any, bound: Callable[[], e.Value], body: Callable[[], Any]) -> Any:
        value, name = bound(), f"d{self.bound}"
        self.bound += 1
        self.locals.append(name)
        inside = body()
        self.locals.pop()
        return kind(name, value, inside)

    def claim(self, subject: Any) -> Claim:
        """Mostly any condition; some that ought to hold, for a proof is what must not be wrong."""
        rng = self.rng
        form, requires = rng.random(), e.TRUE if rng.random() < 0.6 else self.condition(1)
        ensures = self.condition(rng.choice([1, 2, 2, 3]))
        if form < 0.15:  # what is known already
            ensures, requires = e.Junction("or", (ensures, self.condition(1))), e.Junction("and", (ensures, requires))
        elif form < 0.3:  # rounding is monotone
            a, b, c = (self.value(1) for _ in range(3))
            name = rng.choice(["add", "max", "min"])
            left, right = (e.Operation(name, (side, c)) for side in (a, b))
            ensures = e.Implication(e.Comparison("≤", a, b), e.Comparison("≤", left, right))
        elif form < 0.4:  # exp is not negative and monotone; a relu is not negative
            a, b = self.value(1), self.value(1)
            up = e.Comparison("≤", e.Operation("exp", (a,)), e.Operation("exp", (b,)))
            ensures = rng.choice([e.Implication(e.Comparison("<", a, b), up), e.relu(a) >= 0, e.exp(a) >= 0])
        quantifier = "some" if rng.random() < EXISTENCE else "all"
        return Claim(subject, ensures, requires, quantifier=quantifier)


def _on_values(rng: random.Random, format: str) -> Claim:
    size = parse_format(format).size
    most = 3 if size**3 <= MOST_ELEMENTS else 2 if size**2 <= MOST_ELEMENTS or format in ENCLOSED else 1
    names = ["x", "y", "z"][: rng.randint(1, most)]
    sayings = Sayings(rng, format, [lambda name=name: e.Variable(name) for name in names])
    return sayings.claim(Values(names, parse_format(format)))


# Transformers ---------------------------------------------------------------------------------------------------------------


def random_weights(rng: random.Random, format: str, *shape: int, density: float = 0.6) -> np.ndarray:
    """Codes: 0, ±1, ±½, small values, now and then ±B or the least."""
    F = parse_format(format)
    common = [1, -1, 1, -1, Fraction(1, 2), Fraction(-1, 2), 2, -2]
    rare = [F.max, -F.max, F.min, F.least, -F.least]
    out = np.zeros(shape, np.int64)
    for place in np.ndindex(*shape):
        if rng.random() < density:
            number = rng.choice(rare) if rng.random() < 0.1 else rng.choice(common)
            out[place] = F.code(F.round(Fraction(number)))
    return out


def random_options(rng: random.Random, norms: bool) -> Options:
    return Options(
        products=rng.choice(["rounded", "rounded", "fused"]),
        attention=rng.choice(["softmax", "softmax", "max-subtracted", "leftmost", "rightmost", "average"]),
        scale=rng.random() < 0.25,
        mask=rng.choice(["causal", "causal", "strict", "full"]),
        norm=rng.choice(["none", "none", "none", "pre", "post"]) if norms else "none",
        answer=rng.choice(["softmax", "logits"]),
        ties=rng.choice(["explicit", "first"]),
    )


def random_transformer(rng: random.Random, format: str, options: Options, answers: tuple[str, ...], name: str) -> Transformer:
    d, F = rng.randint(2, 3), parse_format(format)
    weights = lambda *shape: random_weights(rng, format, *shape)  # noqa: E731

    def norm(wanted: bool) -> Norm | None:
        if options.norm == "none" or not wanted:
            return None
        epsilon = encode(F.round(rng.choice([Fraction(0), Fraction(1, 4), Fraction(1)])), F)
        return Norm(random_weights(rng, format, d, density=1), weights(d), np.abs(epsilon))

    def layer() -> Layer:
        k, v, m, heads = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2), rng.choice([0, 1, 1, 2])
        made = tuple(Head(weights(k, d), weights(k, d), weights(v, d), weights(d, v)) for _ in range(heads))
        feed = FeedForward(weights(m, d), weights(m), weights(d, m), weights(d)) if heads == 0 or rng.random() < 0.6 else None
        return Layer(made, feed, norm(heads > 0), norm(feed is not None))

    layers = tuple(layer() for _ in range(rng.choice([1, 1, 2])))
    final = norm(True) if options.norm == "pre" and rng.random() < 0.7 else None
    names = tuple("uvw"[:d])
    tokens, positions, output = weights(2, d), weights(5, d), weights(len(answers), d)
    return Transformer(F, ("0", "1"), names, tokens, positions, layers, output, answers, options, final, name)


def _transformers(rng: random.Random, format: str, norms: bool) -> dict[str, Transformer]:
    def one(name: str) -> Transformer:
        answers = rng.choice([("0", "1"), ("1", "0")])
        return random_transformer(rng, format, random_options(rng, norms), answers, name)

    return {"": one("T")} if rng.random() < 0.75 else {"a": one("S"), "b": one("T")}


def _leaves_of_runs(
    rng: random.Random, subject: Layers | Inputs, stages: Callable[[Transformer], list[str]], positions: int
) -> list[Any]:
    """Coordinates, logits, weights, and what heads give, of all transformers of a subject."""

    def some() -> tuple[str, Transformer]:
        return rng.choice(list(subject.transformers.items()))

    def coordinate() -> e.Value:
        of, transformer = some()
        stage, name = rng.choice(stages(transformer)), rng.choice(transformer.coordinates)
        return e.Coordinate(stage, name, rng.randrange(-positions, positions), of)

    def logit() -> e.Value:
        of, transformer = some()
        return e.Logit(rng.choice(transformer.answers), of)

    def attention() -> e.Value:
        of, transformer = some()
        first, last = (subject.first, subject.last) if isinstance(subject, Layers) else (0, None)
        heads = [(l, h) for l, layer in enumerate(transformer.layers) for h in range(len(layer.heads))]
        heads = [(l, h) for l, h in heads if first <= l < (len(transformer.layers) if last is None else last)]
        sees = {"causal": lambda i, j: j <= i, "strict": lambda i, j: j < i, "full": lambda i, j: True}[transformer.options.mask]
        pairs = [(i, j) for i in range(positions) for j in range(positions) if sees(i, j)]
        if not heads or not pairs:
            return coordinate()
        return e.Attention(rng.choice(["score", "weight"]), *rng.choice(heads), *rng.choice(pairs), of)

    def parameter() -> e.Value:
        of, transformer = some()
        rows, columns = transformer.output.shape
        return e.Parameter("output", (rng.randrange(rows), rng.randrange(columns)), of)

    return [coordinate, coordinate, coordinate, coordinate, logit, attention, parameter]


def _on_block(rng: random.Random, format: str) -> Claim:
    transformers, positions = _transformers(rng, format, norms=True), rng.choice([1, 1, 2])
    some = next(iter(transformers.values()))
    shortest = min(len(t.layers) for t in transformers.values())
    first = rng.choice([0, 0, 0, 1]) if shortest > 1 else 0
    last = rng.choice([None, None, shortest])
    places = [(name, i) for name in some.coordinates for i in range(positions)]
    rng.shuffle(places)
    size = parse_format(format).size
    free = places[: rng.randint(1, 2 if size**2 <= MOST_RUNS else 1)]
    fixed = {place: _held(rng, format) for place in places if place not in free and rng.random() < 0.4}
    from_positions = tuple(name for name in some.coordinates if rng.random() < 0.2)
    weights = _some_weight(rng, some, range(first, len(some.layers) if last is None else last)) if rng.random() < 0.15 else ()
    subject = Layers(transformers, first, last, positions, tuple(free[len(weights) :]), fixed, from_positions, weights)
    sayings = Sayings(rng, format, [])
    sayings.leaves = _leaves_of_runs(rng, subject, lambda _: ["before", "after", "after"], positions)
    sayings.conditions = _about_answers(rng, transformers, 1)
    return sayings.claim(subject)


def _some_weight(rng: random.Random, transformer: Transformer, layers: range) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """One entry of the output, or of a head or a feed-forward that is run, to be free."""
    run = ("output", *(f"layers.{l}.{part}" for l in layers for part in ("heads.", "feed_forward.")))
    found = [(name, codes.shape) for name, codes, _ in parts(transformer) if name.startswith(run)]
    name, shape = rng.choice(found)
    return ((name, tuple(rng.randrange(n) for n in shape)),)


def _held(rng: random.Random, format: str) -> Any:
    F = parse_format(format)
    return rng.choice(["B", "-B", "least", F.round(Fraction(1)), F.round(Fraction(-1)), F.round(Fraction(1, 2))])


def _about_answers(
    rng: random.Random, transformers: dict[str, Transformer], steps: int, most: int = 1
) -> list[Callable[[], e.Condition]]:
    def same() -> e.Condition:
        of = rng.choice(list(transformers))
        step = rng.choice([-1, *range(steps)])
        said = e.Answer(of, step)
        if len(transformers) > 1 and rng.random() < 0.4:
            return e.SameWord(said, e.Answer(rng.choice(list(transformers)), rng.choice([-1, *range(steps)])))
        return e.SameWord(said, e.Text(rng.choice(["0", "1", "TIE", "UNDEFINED"])))

    def defined() -> e.Condition:
        of, in_layers = rng.choice(list(transformers)), rng.random() < 0.3
        return e.Defined(of, in_layers and most == 1)  # of layers alone it is said of one step

    return [same, same, defined]


def _on_inputs(rng: random.Random, format: str) -> Claim:
    transformers = _transformers(rng, format, norms=True)
    shortest, longest = rng.choice([(1, 3), (1, 3), (2, 3), (1, 2)])
    steps = tuple(rng.choice([1, 2, 2, 3]) for _ in range(longest)) if rng.random() < 0.5 else (1,) * longest
    subject = Inputs(transformers, longest, shortest, steps)
    sayings = Sayings(rng, format, [])
    sayings.leaves = _leaves_of_runs(rng, subject, _stages, shortest)
    fewest = min(steps[shortest - 1 :])
    sayings.conditions = [*_about_answers(rng, transformers, fewest, max(steps)), lambda: _about_input(rng, shortest)]
    if len(transformers) > 1:
        sayings.conditions.append(lambda: e.SameChains("a", "b"))
    return sayings.claim(subject)


def _stages(transformer: Transformer) -> list[str]:
    layers = [f"layer.{l}.after_{part}" for l in range(len(transformer.layers)) for part in ("attention", "feed_forward")]
    return ["embedding", *layers, *["final_norm"] * (transformer.final_norm is not None)]


def _about_input(rng: random.Random, shortest: int) -> e.Condition:
    if rng.random() < 0.5:
        return e.SameWord(e.Token(rng.randrange(-shortest, shortest)), e.Text(rng.choice("01")))
    return e.Accepted(rng.choice([regular("(0|1)*1"), regular("0*1*"), tomita(4), tomita(5)]))
