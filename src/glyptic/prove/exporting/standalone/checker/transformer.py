"""The transformer's forward pass.

    h_i = [token + position]          for every position i; every + and · below is rounded, sums go from left to right
    each layer:  h_i += Σ_heads W_O Σ_j s_ij (W_V h_j),   s_i = softmax over the j that i sees of ⟨W_Q h_i, W_K h_j⟩
                 h_i += W_2 relu(W_1 h_i + b_1) + b_2
    the answer:  the largest of softmax(OUTPUT h_last), or of OUTPUT h_last itself

Parts that not every transformer has: biases, gates, RMSNorm, turns of q and k by position, tables by distance, layers whose two
parts read the same, gelu and silu for relu.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .activations import activated
from .numbers import Format

OPTIONS = {
    "products": ("rounded", "fused"),
    "attention": ("softmax", "max-subtracted", "leftmost", "rightmost", "average"),
    "scale": (False, True),
    "mask": ("causal", "strict", "full"),
    "norm": ("none", "pre", "post"),
    "answer": ("softmax", "logits"),
    "ties": ("explicit", "first"),
}
Vector = list[Any]


@dataclass(frozen=True)
class Model:
    """A transformer: its names, its options, and every array by its name, as nested lists of values."""

    name: str
    format: Format
    vocabulary: list[str]
    coordinates: list[str]
    answers: list[str]
    options: dict[str, Any]
    heads: list[int]  # how many each layer has
    arrays: dict[str, Any]
    choices: dict[str, Any] = field(default_factory=dict)  # beside the arrays, by name: kinds of norms, parallel layers
    period: int | None = None  # so many last rows of the position embedding repeat without end

    def position(self, i: int) -> Vector:
        """The row of the position embedding that position i reads."""
        rows = self.arrays["position_embedding"]
        if self.period is not None and i >= len(rows):
            i = len(rows) - self.period + (i - len(rows)) % self.period
        return rows[i]


class ZeroByZero(Exception):
    """A softmax whose exps are all 0, or a norm whose divisor is 0."""


@dataclass
class Trace:
    """What a pass leaves behind: columns of the residual by stage, scores and weights by (layer, head, query, key)."""

    residual: dict[str, list[Vector]] = field(default_factory=dict)
    score: dict[tuple[int, int, int, int], Any] = field(default_factory=dict)
    weight: dict[tuple[int, int, int, int], Any] = field(default_factory=dict)


def inner_product(model: Model, x: Vector, y: Vector) -> Any:
    """Σ x_k·y_k. A product with 0 is 0, and adding 0 changes nothing: those are passed over."""
    format, fused, total = model.format, model.options["products"] == "fused", 0
    for a, b in zip(x, y, strict=True):
        if a and b:
            total = format.fused(total, a, b) if fused else format.add(total, format.multiply(a, b))
    return total


def linear(model: Model, part: str, x: Vector, bias: str = "") -> Vector:
    """W x, or [W x + b] if there is the bias."""
    out = [inner_product(model, row, x) for row in model.arrays[part]]
    return added(model.format, out, model.arrays[bias]) if bias in model.arrays else out


def added(format: Format, x: Vector, y: Vector) -> Vector:
    return [format.add(a, b) for a, b in zip(x, y, strict=True)]


def summed(format: Format, terms: Vector) -> Any:
    total = 0
    for term in terms:
        total = format.add(total, term)
    return total


def softmax(format: Format, scores: Vector) -> Vector:
    """[[exp x_i] / Σ_j [exp x_j]]; the maximum is not subtracted."""
    exps = [format.exp(score) for score in scores]
    whole = summed(format, exps)
    if whole == 0:
        raise ZeroByZero
    return [format.divide(e, whole) for e in exps]


def shares(format: Format, scores: Vector, kind: str) -> Vector:
    """How attention is divided over the scores that a query sees."""
    largest = max(scores)
    if kind == "softmax":
        return softmax(format, scores)
    if kind == "max-subtracted":
        return softmax(format, [format.subtract(score, largest) for score in scores])
    best = [j for j, score in enumerate(scores) if score == largest]
    chosen = {"leftmost": best[:1], "rightmost": best[-1:], "average": best}[kind]
    share = format.divide_by_count(format.one(), len(chosen))
    return [share if j in chosen else 0 for j in range(len(scores))]


def seen_by(mask: str, query: int, positions: int) -> range:
    return range({"causal": query + 1, "strict": query, "full": positions}[mask])


def norm_of(model: Model, part: str, x: Vector) -> Vector:
    """LayerNorm, γ (x − mean) / √(variance + ε) + β, every step rounded; RMSNorm leaves the mean where it is."""
    F, d, kind, epsilon = model.format, len(x), model.choices.get(f"{part}.kind", "layer"), model.arrays[f"{part}.epsilon"]
    if kind == "layer":
        mean = F.divide_by_count(summed(F, x), d)
        x = [F.subtract(a, mean) for a in x]
    spread = F.divide_by_count(summed(F, [F.multiply(a, a) for a in x]), d)
    deviation = F.add(F.root(spread), epsilon) if kind == "rms_outside" else F.root(F.add(spread, epsilon))
    if deviation == 0:
        raise ZeroByZero
    scaled = [F.multiply(g, F.divide(a, deviation)) for g, a in zip(model.arrays[f"{part}.gain"], x, strict=True)]
    return added(F, scaled, model.arrays[f"{part}.bias"])


def turned(model: Model, part: str, x: Vector, position: int) -> Vector:
    """The first pairs of x turned by the angles of a position: ([a·cos] − [b·sin], [a·sin] + [b·cos]), rounded."""
    if f"{part}.cosine" not in model.arrays:
        return x
    F, out = model.format, list(x)
    for m, (c, s) in enumerate(zip(*(model.arrays[f"{part}.{name}"][position] for name in ("cosine", "sine")), strict=True)):
        a, b = x[2 * m], x[2 * m + 1]
        out[2 * m] = F.subtract(F.multiply(a, c), F.multiply(b, s))
        out[2 * m + 1] = F.add(F.multiply(a, s), F.multiply(b, c))
    return out


def by_distance(model: Model, part: str, distance: int) -> Any:
    """The row of a table for a distance, of which the last is for all beyond; None if there is no table."""
    table = model.arrays.get(part)
    return None if table is None else table[min(distance, len(table) - 1)]


def score_of(model: Model, part: str, query: Vector, key: Vector, distance: int) -> Any:
    """⟨q, k⟩, + ⟨q, a⟩ for the distance's own key, / [√d_k], + the distance's own score, as far as there are such."""
    F, score = model.format, inner_product(model, query, key)
    row, more = (by_distance(model, f"{part}.{name}", distance) for name in ("distance_keys", "distance_scores"))
    if row is not None:
        score = F.add(score, inner_product(model, query, row))
    if model.options["scale"]:
        score = F.divide(score, F.root_of_count(len(query)))
    return score if more is None else F.add(score, more)


def run_head(model: Model, l: int, h: int, columns: list[Vector], trace: Trace) -> list[Vector]:
    """One head's output at every position."""
    F, options, part = model.format, model.options, f"layers.{l}.heads.{h}"
    queries, keys, values = (
        [linear(model, f"{part}.{name}", column, f"{part}.{name}_bias") for column in columns]
        for name in ("query", "key", "value")
    )
    queries, keys = ([turned(model, part, x, i) for i, x in enumerate(side)] for side in (queries, keys))
    out = []
    for i, query in enumerate(queries):
        seen = seen_by(options["mask"], i, len(columns))
        scores = [score_of(model, part, query, keys[j], i - j) for j in seen]
        weights = shares(F, scores, options["attention"]) if scores else []
        for j, score, weight in zip(seen, scores, weights, strict=True):
            trace.score[l, h, i, j], trace.weight[l, h, i, j] = score, weight
        width = len(model.arrays[f"{part}.value"])
        mixed = [inner_product(model, weights, [values[j][c] for j in seen]) for c in range(width)]
        if f"{part}.distance_values" in model.arrays:
            rows = [by_distance(model, f"{part}.distance_values", i - j) for j in seen]
            mixed = added(F, mixed, [inner_product(model, weights, [row[c] for row in rows]) for c in range(width)])
        out.append(linear(model, f"{part}.output", mixed, f"{part}.output_bias"))
    return out


def run_attention(model: Model, l: int, columns: list[Vector], trace: Trace) -> list[Vector]:
    """The heads' outputs, added up in order."""
    total = run_head(model, l, 0, columns, trace)
    for h in range(1, model.heads[l]):
        total = [added(model.format, x, y) for x, y in zip(total, run_head(model, l, h, columns, trace), strict=True)]
    return total


def run_feed_forward(model: Model, l: int, columns: list[Vector]) -> list[Vector]:
    F, part = model.format, f"layers.{l}.feed_forward"
    kind = model.choices.get(f"{part}.activation", "relu")
    out = []
    for column in columns:
        hidden = linear(model, f"{part}.w1", column, f"{part}.b1")
        if f"{part}.gate" in model.arrays:
            gates = linear(model, f"{part}.gate", column, f"{part}.gate_bias")
            hidden = [F.multiply(activated(kind, F, g), a) for g, a in zip(gates, hidden, strict=True)]
        else:
            hidden = [activated(kind, F, a) for a in hidden]
        out.append(linear(model, f"{part}.w2", hidden, f"{part}.b2"))
    return out


def has_feed_forward(model: Model, l: int) -> bool:
    return f"layers.{l}.feed_forward.w1" in model.arrays


def run_layers(model: Model, columns: list[Vector], first: int, last: int) -> tuple[list[Vector], Trace]:
    """The residual after layers first … last − 1, and after the final norm if the last layer is among them."""
    trace, placement = Trace(), model.options["norm"]
    for l in range(first, last):
        entering = columns
        for name, there in (("attention", model.heads[l] > 0), ("feed_forward", has_feed_forward(model, l))):
            if there:
                norm = f"layers.{l}.{name}_norm"
                inner = entering if model.choices.get(f"layers.{l}.parallel") else columns
                inner = [norm_of(model, norm, x) for x in inner] if placement == "pre" else inner
                attends = name == "attention"
                change = run_attention(model, l, inner, trace) if attends else run_feed_forward(model, l, inner)
                columns = [added(model.format, x, y) for x, y in zip(columns, change, strict=True)]
                columns = [norm_of(model, norm, x) for x in columns] if placement == "post" else columns
            trace.residual[f"layer.{l}.after_{name}"] = columns
    if last == len(model.heads) and "final_norm.gain" in model.arrays:
        columns = trace.residual["final_norm"] = [norm_of(model, "final_norm", x) for x in columns]
    return columns, trace


def stages_of(model: Model) -> list[str]:
    inner = [f"layer.{l}.after_{part}" for l in range(len(model.heads)) for part in ("attention", "feed_forward")]
    normed = ["embedding_norm"] * ("embedding_norm.gain" in model.arrays)
    return ["embedding", *normed, *inner, *["final_norm"] * ("final_norm.gain" in model.arrays)]


def answer_of(model: Model, logits: Vector) -> str:
    """The name of the largest, TIE or UNDEFINED."""
    contest = logits
    if model.options["answer"] == "softmax":
        kind = "max-subtracted" if model.options["attention"] == "max-subtracted" else "softmax"
        try:
            contest = shares(model.format, logits, kind)
        except ZeroByZero:
            return "UNDEFINED"
    best = [name for name, x in zip(model.answers, contest, strict=True) if x == max(contest)]
    return "TIE" if len(best) > 1 and model.options["ties"] == "explicit" else best[0]


@dataclass(frozen=True)
class Run:
    """What one transformer makes of an element: None where a value does not exist."""

    before: list[Vector] | None = None  # of a block
    trace: Trace | None = None
    logits: Vector | None = None
    chain: tuple[str, ...] = ()  # the answers, one a step
    met_zero: bool = False  # 0/0 in the layers
    positions: int = 1


def run_block(model: Model, columns: list[Vector], first: int, last: int) -> Run:
    try:
        after, trace = run_layers(model, columns, first, last)
    except ZeroByZero:
        return Run(columns, chain=("UNDEFINED",), met_zero=True)
    trace.residual["after"] = after
    logits = linear(model, "output", after[-1], "output_bias")
    return Run(columns, trace, logits, (answer_of(model, logits),), positions=len(columns))


def run_input(model: Model, tokens: list[str], steps: int) -> Run:
    """Chain of thought: each answer is appended and the whole is run again.

    0/0 at any step leaves the whole chain UNDEFINED; after a TIE there is no next token, so the chain stays tied and the last
    step has no logits. Coordinates are those of the first pass; with a full mask, in which later tokens change them, of the last.
    """
    full, length = model.options["mask"] == "full", len(tokens)
    undefined, tokens = ("UNDEFINED",) * steps, list(tokens)
    kept, chain = None, []
    for step in range(steps):
        embedded = []
        for i, token in enumerate(tokens):
            row = model.arrays["token_embedding"][model.vocabulary.index(token)]
            embedded.append(added(model.format, row, model.position(i)))
        try:
            entering = embedded
            if "embedding_norm.gain" in model.arrays:
                entering = [norm_of(model, "embedding_norm", x) for x in embedded]
            columns, trace = run_layers(model, entering, 0, len(model.heads))
        except ZeroByZero:
            return Run(trace=kept, chain=undefined, met_zero=kept is None, positions=length)
        trace.residual |= {"embedding": embedded, **({"embedding_norm": entering} if entering is not embedded else {})}
        last = step + 1 == steps
        kept = trace if (last if full else step == 0) else kept
        logits = linear(model, "output", columns[-1], "output_bias")
        chain.append(answer_of(model, logits))
        if chain[-1] == "UNDEFINED":
            seen = logits if last else None
            return Run(trace=kept, logits=seen, chain=undefined, met_zero=kept is None, positions=length)
        if chain[-1] == "TIE" and not last:
            return Run(trace=kept, chain=(*chain, *["TIE"] * (steps - step - 1)), positions=length)
        tokens.append(chain[-1])
    return Run(trace=kept, logits=logits, chain=tuple(chain), positions=length)
