// The formulas of the norms as MathML: in letters, and with the chosen cell's numbers put in.
{
  const N = (G.norms ??= {});
  const m = (tag, ...parts) => G.math(tag, {}, parts);
  const i = (text) => m("mi", text),
    o = (text) => m("mo", text),
    r = (...parts) => m("mrow", ...parts),
    over = (a, b) => m("mfrac", a, b),
    root = (...parts) => m("msqrt", ...parts);
  const n = (value) => (value < 0 ? r(o("("), o("−"), m("mn", short(-value)), o(")")) : m("mn", short(value)));
  const short = (value) => G.number(value, 3);
  const square = (part) => m("msup", part, m("mn", "2"));
  const block = (...parts) => G.math("math", {display: "block"}, r(...parts));
  const mean = () => G.math("mover", {}, square(i("x")), o("¯"));

  const divisor = (kind, outside, spread, eps) =>
    kind === "rms" && outside ? r(root(spread), o("+"), eps) : root(r(spread, o("+"), eps));

  // In letters: what the norm does.
  N.formula = (kind, outside) => {
    const letters = kind === "batch" ? "B" : "d",
      mu = m("msub", i("μ"), i(letters)),
      sigma = m("msubsup", i("σ"), i(letters), m("mn", "2"));
    if (kind === "rms") return block(i("y"), o("="), i("γ"), o("·"), over(i("x"), divisor(kind, outside, mean(), i("ε"))));
    return block(
      i("y"),
      o("="),
      i("γ"),
      o("·"),
      over(r(i("x"), o("−"), mu), divisor(kind, outside, sigma, i("ε"))),
      o("+"),
      i("β"),
    );
  };

  // With numbers: statistics, then the chosen cell.
  N.worked = (kind, x, statistic, options, y) => {
    const eps = () => m("mn", short(options.eps));
    if (kind === "rms")
      return [
        block(mean(), o("="), n(statistic.square)),
        block(
          i("y"),
          o("="),
          n(options.gain),
          o("·"),
          over(n(x), divisor(kind, options.outside, n(statistic.square), eps())),
          o("="),
          n(y),
        ),
      ];
    return [
      block(i("μ"), o("="), n(statistic.mean), o(","), m("mspace"), square(i("σ")), o("="), n(statistic.variance)),
      block(
        i("y"),
        o("="),
        n(options.gain),
        o("·"),
        over(r(n(x), o("−"), n(statistic.mean)), divisor(kind, false, n(statistic.variance), eps())),
        o("+"),
        n(options.bias),
        o("="),
        n(y),
      ),
    ];
  };
}
