"""Random claims out of every node of the language."""

from fractions import Fraction
from random import Random

from glyptic.prove.claims import expressions as e


class Making:
    """Random conditions and values out of all nodes."""

    def __init__(self, seed, names=(), read=()):
        self.random, self.names, self.bound, self.lets = Random(seed), names, [], 0
        self.read = [*map(e.Variable, names), *read]  # what is there to be read

    def value(self, depth):
        pick = self.random.choice
        if depth == 0:
            leaves = [pick(self.read), pick(self.read), e.Constant(Fraction(pick([0, 1, -1])))]
            leaves += [e.Constant(pick(["B", "-B", "least"])), *map(e.Local, self.bound), *map(e.Local, self.bound)]
            return pick(leaves)
        kind = pick(["one", "two", "two", "choice", "let"])
        if kind == "one":
            name = pick(["abs", "abs", "exp", "relu", "root"])
            return e.Operation(name, (self.value(depth - 1),))
        if kind == "two":
            name = pick(["add", "subtract", "multiply", "divide", "max", "min", "max", "min"])
            return e.Operation(name, (self.value(depth - 1), self.value(depth - 1)))
        if kind == "choice":
            return e.Choice(self.condition(depth - 1), self.value(depth - 1), self.value(depth - 1))
        return self.bind(e.LetValue, depth, self.value)

    def condition(self, depth):
        pick = self.random.choice
        kind = pick(["compare", "compare", "and", "or", "not", "implies", "iff", "let"]) if depth else "compare"
        if kind == "compare":
            inner = max(0, depth - 1)
            return e.Comparison(pick("=≠<≤>≥"), self.value(inner), self.value(inner))
        if kind == "let":
            return self.bind(e.Let, depth, self.condition)
        if kind == "not":
            return e.Negation(self.condition(depth - 1))
        sides = self.condition(depth - 1), self.condition(depth - 1)
        if kind in ("and", "or"):
            return e.Junction(kind, sides)
        return e.Implication(*sides) if kind == "implies" else e.Equivalence(*sides)

    def bind(self, made, depth, body):
        meant, name = self.value(depth - 1), f"d{self.lets}"
        self.lets += 1
        self.bound.append(name)
        inner = body(depth - 1)
        self.bound.pop()
        return made(name, meant, inner)
