// The steps of a derivation: operations on named terms, each written down with its exact result, as it is before rounding.
//
// A term is {name, value, …}: where it comes from a stage, {stage, row, column}; from a weight, {path, row, column}.
{
  const ratio = (x) => Engine.fraction(x),
    text = Engine.ratioText;
  const plus = ([a, b], [c, d]) => Engine.reduced(a * d + c * b, b * d);
  const times = ([a, b], [c, d]) => Engine.reduced(a * c, b * d);
  const isZero = ({value}) => value === 0;

  Engine.Steps = class {
    constructor(model) {
      this.arithmetic = new Engine.Arithmetic(model.format, model.options.products);
      this.steps = [];
    }

    // Write a step down, and give its result as a term.
    wrote(name, op, left, right, exact, compute, rest = {}) {
      const {arithmetic} = this;
      arithmetic.flags = 0;
      const result = compute(arithmetic);
      const rounded = (arithmetic.flags & Engine.ROUNDED) > 0,
        saturated = (arithmetic.flags & Engine.SATURATED) > 0;
      this.steps.push({op, left, right, exact, result, rounded, saturated, ...rest});
      return {name, value: result};
    }

    add(a, b, op = "add", name = "Σ") {
      return this.wrote(name, op, a, b, text(plus(ratio(a.value), ratio(b.value))), (use) => use.add(a.value, b.value));
    }

    subtract(a, b, name) {
      return this.wrote(name, "subtract", a, b, text(plus(ratio(a.value), ratio(-b.value))), (use) =>
        use.subtract(a.value, b.value),
      );
    }

    multiply(a, b, name = `${a.name}·${b.name}`) {
      return this.wrote(name, "product", a, b, text(times(ratio(a.value), ratio(b.value))), (use) =>
        use.multiply(a.value, b.value),
      );
    }

    divide(a, b, name, op = "divide") {
      const [n, d] = ratio(b.value);
      return this.wrote(name, op, a, b, text(times(ratio(a.value), [d, n])), (use) => use.divide(a.value, b.value));
    }

    exp(a, name) {
      return this.wrote(name, "exp", a, null, `exp(${Engine.fractionText(a.value)})`, (use) => use.exp(a.value));
    }

    root(a, name) {
      return this.wrote(name, "root", a, null, `√(${Engine.fractionText(a.value)})`, (use) => use.root(a.value));
    }

    relu(a) {
      return this.wrote("relu", "relu", a, null, text(ratio(a.value)), () => Math.max(0, a.value));
    }

    copy(a) {
      return this.wrote(a.name, "copy", a, null, text(ratio(a.value)), () => a.value);
    }

    max(terms, name = "max") {
      const largest = Math.max(...terms.map(({value}) => value));
      return this.wrote(name, "max", null, null, text(ratio(largest)), () => largest, {terms});
    }

    // 0 over 0: nothing comes of it.
    undefined(a, b) {
      this.steps.push({
        op: "undefined",
        left: a,
        right: b,
        exact: `${Engine.fractionText(a.value)}/0`,
        result: null,
        rounded: false,
        saturated: false,
      });
      return {name: "0/0", value: null};
    }

    // That so many products, or terms, are 0: they change nothing.
    zeros(count, always = false) {
      if (count || always)
        this.steps.push({op: "zeros", count, left: null, right: null, exact: "0", result: 0, rounded: false, saturated: false});
      return {name: "0", value: 0};
    }

    total(terms, name = "Σ") {
      const there = terms.filter((term) => !isZero(term));
      this.zeros(terms.length - there.length);
      const sum = there.reduce((before, term) => (before === null ? term : this.add(before, term, "sum", name)), null);
      return {name, value: sum?.value ?? 0};
    }

    // ⟨a, b⟩ over pairs of terms, as the option says: rounded, fused or unrounded. Pairs of a missing weight are counted in `skipped`.
    inner(pairs, skipped = 0) {
      const {products} = this.arithmetic,
        isNothing = ([a, b]) => isZero(a) || isZero(b);
      const opening = products === "unrounded" && pairs.length > 1 ? pairs.slice(0, 2) : [];
      const rest = pairs.slice(opening.length).filter((pair) => !isNothing(pair));
      const begun = opening.some((pair) => !isNothing(pair));
      this.zeros(skipped + pairs.length - rest.length - (begun ? opening.length : 0));
      let sum = begun ? this.pair(...opening) : null;
      for (const [a, b] of rest) {
        if (products === "rounded") {
          const product = this.multiply(a, b);
          sum = sum === null ? product : this.add(sum, product, "sum");
        } else sum = sum === null ? this.multiply(a, b) : this.fused(sum, a, b);
      }
      return sum ?? {name: "Σ", value: 0};
    }

    fused(sum, a, b) {
      const right = unrounded(a, b),
        exact = plus(ratio(sum.value), times(ratio(a.value), ratio(b.value)));
      return this.wrote("Σ", "fused", sum, right, text(exact), (use) => use.fused(sum.value, a.value, b.value));
    }

    pair([a, b], [c, d]) {
      const exact = plus(times(ratio(a.value), ratio(b.value)), times(ratio(c.value), ratio(d.value)));
      return this.wrote("Σ", "pair", unrounded(a, b), unrounded(c, d), text(exact), (use) =>
        use.pair(a.value, b.value, c.value, d.value),
      );
    }
  };

  // A product that is not rounded: its text is exact, its value the nearest double.
  function unrounded(a, b) {
    return {
      name: `${a.name}·${b.name}`,
      value: a.value * b.value,
      exact: text(times(ratio(a.value), ratio(b.value))),
      factors: [a, b],
    };
  }
}
