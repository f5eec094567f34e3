"""exp, activations and attention over terms: where `Scalarwise` asks for a truth value, terms give a condition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from glyptic.numbers import Activation, Attention, Format, Products
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant
from glyptic.prove.methods.smt.exp_staircase import Staircase, exp_code, exp_staircase
from glyptic.prove.methods.smt.terms import RoundedTerms, Scalar, Term

Enclosed = tuple[Bits, Bits, str]  # the code of x, the code of [f(x)], and f: exp, or an activation


class Terms(RoundedTerms):
    """The whole arithmetic over solver terms.

    >>> from glyptic.numbers import Fixed
    >>> A = Terms(Fixed(4))
    >>> weights, undefined = A.distribute([Fraction(0), -A.format.max], "softmax")     # constant scores fold
    >>> weights, undefined is bits.FALSE
    ([Fraction(1, 1), Fraction(0, 1)], True)
    """

    never, condition_type = bits.FALSE, object

    def __init__(self, format: Format, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.exps: list[Enclosed] = []  # one for each x and function that is only enclosed
        self._stairs: set[tuple[str, int, Staircase]] = set()  # which of these are known to keep to which stairs

    def record(self, of: str, stage: str, names: tuple[str, ...], values: Any) -> None:
        """What a transformer's residual is at a stage; only terms for readers remember it."""

    # exp and activations ---------------------------------------------------------------------------------------------------

    def scalar_exp(self, a: Scalar) -> Scalar:
        """[exp a]: a table of steps, or, where that would be too long, a value between two staircases."""
        if isinstance(a, Fraction):
            return self.exact.scalar_exp(a)
        if a.cases is not None and any(isinstance(x, Fraction) for x in a.cases[1:]):
            condition, then, otherwise = a.cases
            return self.choose(condition, self.scalar_exp(then), self.scalar_exp(otherwise))
        stairs = exp_staircase(self.format, a.low, a.high)
        if len({*stairs.lows, *stairs.highs}) == 1:
            return self.format.value(stairs.lows[0])
        return Term(self._climbed("exp", a.code, stairs), stairs.lows[0], stairs.highs[-1])

    def scalar_activation(self, kind: Activation, a: Scalar) -> Scalar:
        """[f(a)]: 0, steps and a itself, one after another; the steps by a table, or between two staircases."""
        if isinstance(a, Fraction):
            return self.exact.scalar_activation(kind, a)
        if a.cases is not None and any(isinstance(x, Fraction) for x in a.cases[1:]):
            condition, then, otherwise = a.cases
            return self.choose(condition, self.scalar_activation(kind, then), self.scalar_activation(kind, otherwise))
        from glyptic.prove.methods.smt.activation_staircase import activation_steps

        steps = activation_steps(kind, self.format, a.low, a.high)
        if a.low >= steps.identity:
            return a
        if a.high < steps.first:
            return self.zero
        parts: list[tuple[int, Bits]] = []  # the code from which on each holds
        ends = []
        if a.low < steps.first:
            parts, ends = [(a.low, constant(0, a.code.width))], [0]
        if steps.stairs is not None:
            parts.append((steps.stairs.starts[0], self._climbed(kind, a.code, steps.stairs)))
            ends += [min(steps.stairs.lows), max(steps.stairs.highs)]
        if a.high >= steps.identity:
            parts.append((steps.identity, a.code))
            ends += [steps.identity, a.high]
        (_, code), *others = parts
        for start, other in others:
            code = bits.choose(bits.less(a.code, constant(start, a.code.width)), code, other)
        return self.format.value(ends[0]) if min(ends) == max(ends) else Term(code, min(ends), max(ends))

    def _climbed(self, function: str, code: Bits, stairs: Staircase) -> Bits:
        """The image of a code that is on the stairs: by the table, if they are exact; else a value between their sides.

        A code may be known to lie there in one case only, and what is put into the domain is asserted in all of them: so the
        stairs are guarded by the code itself, and what remains is true of every code.
        """
        if stairs.exact:
            return _climb(code, stairs.starts, stairs.lows)
        image = self._image(function, code)
        if (function, id(code), stairs) not in self._stairs:
            self._stairs.add((function, id(code), stairs))
            low, high = (_climb(code, stairs.starts, side) for side in (stairs.lows, stairs.highs))
            between = bits.both(bits.opposite(bits.less(image, low)), bits.opposite(bits.less(high, image)))
            elsewhere = bits.either(
                bits.less(code, constant(stairs.starts[0], code.width)),
                bits.less(constant(stairs.end, code.width), code),
            )
            self.domain.append(bits.either(elsewhere, between))
        return image

    def _image(self, function: str, code: Bits) -> Bits:
        """The code of [f(x)] for the x of a code: one variable whatever the case; of exp in order with those of all others."""
        known = [(x, y) for x, y, of in self.exps if of == function]
        for x, y in known:
            if x is code:
                return y
        least, most = self.format.min_code, self.format.max_code
        if function == "exp":
            least, most = (exp_code(end, self.format) for end in (least, most))
        image = self.fresh(f"{function}.{len(known)}", least, most).code
        for x, y in known:
            for p, q, f_p, f_q in ((x, code, y, image), (code, x, image, y)):
                if function == "exp":  # p ≤ q ⇒ exp p ≤ exp q
                    self.domain.append(bits.either(bits.less(q, p), bits.opposite(bits.less(f_q, f_p))))
                elif p is x:  # p = q ⇒ f(p) = f(q)
                    self.domain.append(bits.either(bits.opposite(bits.equal(p, q)), bits.equal(f_p, f_q)))
        self.exps.append((code, image, function))
        return image

    # Norms and attention -----------------------------------------------------------------------------------------------------

    def scalar_divisor(self, a: Scalar) -> tuple[Scalar, Any]:
        if isinstance(a, Fraction):
            return (self.one, bits.TRUE) if a == 0 else (a, bits.FALSE)
        return a, self.equal(a, self.zero)  # a term may mean nothing where it is not read

    def hard(self, scores: list[Scalar], kind: Attention) -> list[Scalar]:
        largest = self.largest(scores)
        best = [self.equal(score, largest) for score in scores]
        if kind == "average":
            share = self._share(best)
            return [self.choose(is_best, share, self.zero) for is_best in best]
        order = range(len(best)) if kind == "leftmost" else reversed(range(len(best)))
        taken = bits.FALSE
        weights: list[Scalar] = [self.zero] * len(best)
        for j in order:
            weights[j] = self.choose(bits.both(best[j], bits.opposite(taken)), self.one, self.zero)
            taken = bits.either(taken, best[j])
        return weights

    def _share(self, best: list[Bits]) -> Scalar:
        """[1/count] for the number of conditions that hold, which is at least one."""
        width = len(best).bit_length()
        count = constant(0, width)
        for condition in best:
            count = bits.add(count, bits.bit(condition, width))
        share: Scalar = self.one
        for n in range(2, len(best) + 1):
            part = self.exact.scalar_divide_by_count(self.one, n)
            share = self.choose(bits.equal(count, constant(n, width)), part, share)
        return share


def _climb(code: Bits, starts: tuple[int, ...], values: tuple[int, ...]) -> Bits:
    """The value of the step that a code is on, by a balanced tree of comparisons."""
    if len(starts) == 1:
        return constant(values[0], code.width)
    middle = len(starts) // 2
    below, above = (_climb(code, starts[part], values[part]) for part in (slice(middle), slice(middle, None)))
    return bits.choose(bits.less(code, constant(starts[middle], code.width)), below, above)
