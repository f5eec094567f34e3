// Numbers: stacked fractions in tables, MathML in derivations; a number too long for a cell is told as near, and written out below.
{
  const X = (G.exact ??= {}),
    {h, math} = G;
  const LONG = 7; // digits of a numerator or denominator in a cell

  X.minus = (text) => String(text).replace(/-/g, "−");

  // n/d to four digits, also where neither is within the range of doubles.
  X.near = (n, d = "1") => {
    const size = n.replace("-", ""),
      power = size.length - d.length;
    if (Math.max(size.length, d.length) < 300) return G.number(Number(n) / Number(d), 4);
    const ratio =
      Number(
        power < 0
          ? (BigInt(size) * 10n ** BigInt(20 - power)) / BigInt(d)
          : (BigInt(size) * 10n ** 20n) / (BigInt(d) * 10n ** BigInt(power)),
      ) / 1e20;
    const [digits, ten] = ratio.toExponential(3).split("e"),
      exponent = Number(ten) + power;
    return `${n.startsWith("-") ? "−" : ""}${digits}e${exponent < 0 ? "−" : "+"}${Math.abs(exponent)}`;
  };

  X.number = (text) => {
    const [n, d] = String(text).split("/");
    if (n === "0" && d === undefined) return h("span", {class: "number zero"}, "0");
    if (n.length > LONG + 1 || (d ?? "").length > LONG)
      return h("span", {class: "number", title: X.minus(text)}, `≈${X.near(n, d)}`);
    return d === undefined ? h("span", {class: "number"}, X.minus(n)) : G.fraction(n, d);
  };

  X.mathNumber = (text) => {
    const negative = String(text).startsWith("-"),
      [n, d] = String(text).replace(/^[-−]/, "").split("/");
    const whole = n === "∞" ? math("mi", {}, "∞") : math("mn", {}, n);
    const size = d === undefined ? whole : math("mfrac", {}, math("mn", {}, n), math("mn", {}, d));
    return negative ? math("mrow", {}, math("mo", {form: "prefix"}, "−"), size) : size;
  };

  // The colour of a cell: light, so that ink is read on it in either light; ∞ as strong as the largest number.
  X.tint = (value, extent) =>
    value === 0 || (!Number.isFinite(value) && !value) ? null : G.colour.signed(Math.max(-1, Math.min(1, value / extent)) * 0.16);

  X.extent = (side, stage) => {
    const [rows, columns] = side.shape(stage),
      top = side.model.format.max;
    let most = 0;
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const size = Math.abs(side.value(stage, i, j));
        if (size > most && size !== top) most = size;
      }
    return most || 1;
  };
}
