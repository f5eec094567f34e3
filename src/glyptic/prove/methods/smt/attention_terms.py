"""exp and attention over terms: where `Scalarwise` asks for a truth value, terms give a condition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from glyptic.numbers import Attention, Format, Products
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant
from glyptic.prove.methods.smt.exp_staircase import Staircase, exp_code, exp_staircase
from glyptic.prove.methods.smt.terms import RoundedTerms, Scalar, Term


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
        self.exps: list[tuple[Bits, Bits]] = []  # (code of x, code of [exp x]) where exp is only enclosed, one for each x
        self._stairs: set[tuple[int, Staircase]] = set()  # which exps are known to keep to which stairs

    def record(self, of: str, stage: str, names: tuple[str, ...], values: Any) -> None:
        """What a transformer's residual is at a stage; only terms for readers remember it."""

    # exp -------------------------------------------------------------------------------------------------------------------

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
        if stairs.exact:
            return Term(_climb(a.code, stairs.starts, stairs.lows), stairs.lows[0], stairs.lows[-1])
        return self._enclose(a, stairs)

    def _enclose(self, a: Term, stairs: Staircase) -> Term:
        """A new value within the staircase, which holds where the code of a lies on it.

        a may be known to lie there in one case only, and what is put into the domain is asserted in all of them: so the stairs
        are guarded by the code itself, and what remains is true of every code. The range is known of the result, not asserted.
        """
        image = self._image(a.code)
        if (id(a.code), stairs) not in self._stairs:
            self._stairs.add((id(a.code), stairs))
            low, high = (_climb(a.code, stairs.starts, side) for side in (stairs.lows, stairs.highs))
            between = bits.both(bits.opposite(bits.less(image, low)), bits.opposite(bits.less(high, image)))
            elsewhere = bits.either(
                bits.less(a.code, constant(stairs.starts[0], a.code.width)),
                bits.less(constant(stairs.end, a.code.width), a.code),
            )
            self.domain.append(bits.either(elsewhere, between))
        return Term(image, stairs.lows[0], stairs.highs[-1])

    def _image(self, code: Bits) -> Bits:
        """The code of [exp x] for the x of a code: one variable whatever the case, in order with those of all others."""
        for known, image in self.exps:
            if known is code:
                return image
        ends = [exp_code(end, self.format) for end in (self.format.min_code, self.format.max_code)]
        image = self.fresh(f"exp.{len(self.exps)}", *ends).code
        for x, y in self.exps:
            for p, q, exp_p, exp_q in ((x, code, y, image), (code, x, image, y)):  # p ≤ q ⇒ exp p ≤ exp q
                self.domain.append(bits.either(bits.less(q, p), bits.opposite(bits.less(exp_q, exp_p))))
        self.exps.append((code, image))
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
