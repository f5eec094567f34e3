// The correctly rounded exponential. exp of a rational other than 0 is irrational (Lindemann), so that it is never a tie and never
// a value: an enclosure that is tight enough always rounds to one value (Ziv). Math.exp decides wherever the result is the same
// within a margin far beyond its error, 2^−40 (engines err by about 2^−52, though the language does not promise it); the rest is
// enclosed by whole numbers.
{
  const MARGIN = 2 ** -40;
  const known = new Map(),
    MOST_KNOWN = 1 << 16;

  // {result, over}: [exp x], and whether exp x is beyond B.
  Engine.expRounded = (format, x) => {
    if (x === 0) return {result: Engine.round(format, 1), over: 1 > format.max};
    if (x > Math.log2(format.max) + 3) return {result: format.max, over: true}; // e^x > 2^x > B
    if (x < Math.log2(format.least) - 3) return {result: 0, over: false}; // e^x < 2^x < least / 2
    if (format.precision < 38) {
      const near = Math.exp(x),
        low = near * (1 - MARGIN),
        high = near * (1 + MARGIN);
      const result = Engine.round(format, low);
      if (result === Engine.round(format, high) && low > format.max === high > format.max)
        return {result, over: low > format.max};
    }
    const exact = Engine.oddExp(x);
    return {result: Engine.round(format, exact), over: exact > format.max};
  };

  Engine.exp = (format, x) => Engine.expRounded(format, x).result;

  // exp x as a double rounded to odd, for |x| < 512, x ≠ 0.
  Engine.oddExp = (x) => {
    let found = known.get(x);
    if (found === undefined) {
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(x, (found = enclosed(x)));
    }
    return found;
  };

  function enclosed(x) {
    for (let precision = 96; ; precision *= 2) {
      const [low, high, exponent] = Engine.encloseExp(x, precision);
      const a = Engine.odd(low, exponent),
        b = Engine.odd(high, exponent);
      if (a === b) return a;
    }
  }

  // Whole numbers low, high and an exponent with low · 2^exponent < exp x < high · 2^exponent, a factor 1 + 2^(24−w) apart.
  //
  // x = m ln 2 + r with |r| < 0.36; exp r = (exp(r/256))^256. Counted in units of 2^−w: r errs by |m| + 1 < 800 units, r/256 by less
  // than 5; a term of the series by less than 2 more, and there are w/8 of them at most, so that with w ≤ 2^12 the sum errs by less
  // than 1100; eight squarings double that eight times and add a unit each: less than 2^20 units of a number above 0.69.
  Engine.encloseExp = (x, precision) => {
    const w = BigInt(precision);
    const [numerator, exponent] = Engine.dyadic(x);
    const shift = w + BigInt(exponent);
    const scaled = shift >= 0n ? numerator << shift : numerator >> -shift;
    const m = Math.round(x / Math.LN2);
    const small = (scaled - BigInt(m) * log2(precision)) >> 8n;
    let term = 1n << w,
      sum = term;
    for (let k = 1n; term !== 0n && term !== -1n; k += 1n) {
      term = ((term * small) >> w) / k;
      sum += term;
    }
    for (let i = 0; i < 8; i++) sum = (sum * sum) >> w;
    const slack = 1n << 21n;
    return [sum - slack, sum + slack, m - precision];
  };

  // ln 2 · 2^precision, rounded down or one less: Σ 1 / (k 2^k), with 32 bits to spare.
  const logarithms = new Map();
  function log2(precision) {
    if (!logarithms.has(precision)) {
      const w = BigInt(precision + 32);
      let sum = 0n;
      for (let k = 1n; k <= w; k += 1n) sum += (1n << (w - k)) / k;
      logarithms.set(precision, sum >> 32n);
    }
    return logarithms.get(precision);
  }
}
