// The formulas of the page, as MathML.
{
  const P = (G.positions ??= {});
  const m = (tag, ...parts) => G.math(tag, {}, parts);
  const i = (text) => m("mi", text),
    o = (text) => m("mo", text),
    n = (text) => m("mn", text),
    r = (...parts) => m("mrow", ...parts);
  const sub = (a, b) => m("msub", a, b),
    sup = (a, b) => m("msup", a, b),
    subsup = (a, b, c) => m("msubsup", a, b, c),
    over = (a, b) => m("mfrac", a, b);
  const upright = (text) => G.math("mi", {mathvariant: "normal"}, text);
  const group = (...parts) => r(o("("), ...parts, o(")"));
  const minus = () => o("−"),
    times = () => o("·"),
    is = () => o("=");
  const between = () => r(i("i"), minus(), i("j"));

  const FORMULAS = {
    sinusoidal: (s) => {
      const angle = () => over(i("t"), sup(n(G.number(s.base)), r(n("2"), i("i"), o("/"), i("D"))));
      return [
        r(i("PE"), group(i("t"), o(","), n("2"), i("i")), is(), upright("sin"), group(angle())),
        r(i("PE"), group(i("t"), o(","), n("2"), i("i"), o("+"), n("1")), is(), upright("cos"), group(angle())),
      ];
    },
    learned: () => [
      r(
        i("P"),
        o("∈"),
        sup(upright("ℝ"), r(sub(i("T"), upright("max")), o("×"), i("D"))),
        o(","),
        sub(i("x"), i("t")),
        is(),
        sub(i("e"), i("t")),
        o("+"),
        sub(i("P"), i("t")),
      ),
    ],
    rotary: (s) => [
      r(
        o("⟨"),
        sub(i("R"), i("i")),
        i("q"),
        o(","),
        sub(i("R"), i("j")),
        i("k"),
        o("⟩"),
        is(),
        o("⟨"),
        sub(i("R"), between()),
        i("q"),
        o(","),
        i("k"),
        o("⟩"),
      ),
      s.scaled
        ? r(sub(i("θ"), i("m")), upright(" " + G.t("positions.as_scaled")))
        : r(sub(i("θ"), i("m")), is(), sup(n(G.number(s.base)), r(minus(), n("2"), i("m"), o("/"), i("K")))),
    ],
    alibi: (s) => [
      r(sub(i("b"), r(i("i"), i("j"))), is(), minus(), sub(i("s"), i("h")), times(), o("|"), between(), o("|")),
      r(sub(i("s"), n(String(s.head))), is(), n(G.number(P.slopes(s.heads)[s.head]))),
    ],
    t5: () => [
      r(
        sub(i("b"), r(i("i"), i("j"))),
        is(),
        sub(i("B"), r(upright(G.t("positions.bucket_word")), group(i("j"), minus(), i("i")), o(","), i("h"))),
      ),
    ],
    shaw: (s) => [
      r(
        subsup(i("q"), i("i"), o("⊤")),
        group(sub(i("k"), i("j")), o("+"), subsup(i("a"), r(upright("clip"), group(i("j"), minus(), i("i"))), i("K"))),
        o("/"),
        m("msqrt", i("K")),
      ),
      r(upright("clip"), o(":"), minus(), n(String(s.clip)), o("…"), n(String(s.clip))),
    ],
    transformer_xl: () => [
      r(
        m("msup", group(sub(i("q"), i("i")), o("+"), i("u")), o("⊤")),
        sub(i("k"), i("j")),
        o("+"),
        m("msup", group(sub(i("q"), i("i")), o("+"), i("v")), o("⊤")),
        sub(i("W"), i("r")),
        sub(i("R"), between()),
      ),
    ],
  };

  P.formula = (id, setting) =>
    G.h(
      "div",
      {class: "formula"},
      FORMULAS[id](setting).map((line) => G.math("math", {display: "block"}, line)),
    );
}
