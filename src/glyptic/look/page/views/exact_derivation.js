// The chosen cell: its value through all stages, and every product, sum and rounding that made it, in MathML.
{
  const X = (G.exact ??= {}),
    {h, math} = G;
  const FEW = 12; // steps that are shown at once
  const SIGNS = {add: "+", sum: "+", fused: "+", pair: "+", subtract: "−", product: "·", divide: "/", mean: "/"};

  const mo = (sign) => math("mo", {}, sign);

  // A name such as W_Q[0, one] or h[odd, 3]: text, always.
  const label = (term) => math("mtext", {class: "name"}, X.minus(term.name));

  function operand(side, term) {
    return term.exact !== undefined ? X.mathNumber(term.exact) : X.mathNumber(side.show(term.value));
  }

  function left(side, step) {
    if (step.op === "exp") return [math("mi", {}, "exp"), mo("("), operand(side, step.left), mo(")")];
    if (step.op === "root") return [math("msqrt", {}, operand(side, step.left))];
    if (step.op === "relu") return [math("mi", {}, "relu"), mo("("), operand(side, step.left), mo(")")];
    if (step.op === "max")
      return [
        math("mi", {}, "max"),
        mo("("),
        step.terms.slice(0, 8).flatMap((term, k) => [k ? mo(",") : null, operand(side, term)]),
        step.terms.length > 8 ? mo(", …") : null,
        mo(")"),
      ];
    if (step.op === "copy") return [operand(side, step.left)];
    const [a, b] = [operand(side, step.left), operand(side, step.right)];
    if (step.op === "divide" || step.op === "mean" || step.op === "undefined")
      return [math("mfrac", {}, math("mrow", {}, a), math("mrow", {}, b))];
    const wrapped = step.right.value < 0 ? [mo("("), b, mo(")")] : [b];
    return [a, mo(SIGNS[step.op] ?? "?"), ...wrapped];
  }

  // left op right = exact = [exact] = result
  function line(side, step) {
    if (step.op === "undefined")
      return math(
        "math",
        {},
        math("mrow", {}, left(side, step), mo("="), math("mfrac", {}, math("mn", {}, "0"), math("mn", {}, "0"))),
      );
    const result = X.mathNumber(side.show(step.result)),
      inner = left(side, step);
    if (!step.rounded) return math("math", {}, math("mrow", {}, inner, mo("="), result));
    const shown =
      /^(exp|√)/.test(step.exact) || step.exact.length > 24 ? null : [mo("="), mo("["), X.mathNumber(step.exact), mo("]")];
    return math("math", {}, math("mrow", {}, mo("["), inner, mo("]"), shown, mo("="), result));
  }

  // Where an operand comes from: a cell of another stage can be gone to.
  function source(page, term) {
    if (!term) return null;
    const name = h("span", {class: "mono"}, X.minus(term.name));
    if (term.stage && page.side.has(term.stage))
      return h(
        "button",
        {
          type: "button",
          class: "link mono",
          title: X.stageTitle(term.stage),
          onclick: () => page.pin(term.row, term.column, term.stage),
        },
        X.minus(term.name),
      );
    return name;
  }

  const terms = (step) =>
    step.op === "max"
      ? []
      : [step.left, step.right]
          .flatMap((term) => (term?.factors ? term.factors : [term]))
          .filter((term) => term && term.name && !["Σ", "0"].includes(term.name));

  function row(page, step) {
    const {side} = page;
    const kind = G.t(`exact.op_${step.op}`, {n: step.count ?? 0});
    if (["zeros", "masked"].includes(step.op)) return h("tr", {class: "quiet"}, h("td", {colspan: 4}, kind));
    if (step.op === "choose")
      return h(
        "tr",
        {},
        h("td", {}, kind),
        h("td", {}, G.t(step.chosen ? "exact.chosen" : "exact.not_chosen", {n: step.count})),
        h("td", {}),
        h(
          "td",
          {},
          terms(step)
            .slice(0, 1)
            .map((term) => source(page, term)),
        ),
      );
    const marks = step.saturated ? "saturated" : step.rounded ? "rounded" : null;
    return h(
      "tr",
      {},
      h("td", {}, kind),
      h("td", {class: "formula"}, line(side, step)),
      h("td", {}, marks && h("span", {class: "marked"}, h("i", {class: marks, "aria-hidden": "true"}), G.t(`exact.${marks}`))),
      h(
        "td",
        {class: "from"},
        terms(step).map((term, k) => [k ? " · " : null, source(page, term)]),
      ),
    );
  }

  X.derivation = (page) => {
    const {side, cell, stage} = page;
    if (side.recorded) return G.note(G.t("exact.derivation_recorded"));
    const steps = Engine.derive(side.model, side.run, stage, cell.i, cell.j);
    const all = page.state.get("whole") === "1",
      shown = all || steps.length <= FEW ? steps : [...steps.slice(0, FEW - 4), null, ...steps.slice(-3)];
    const body = shown.map((step) =>
      step
        ? row(page, step)
        : h(
            "tr",
            {class: "quiet"},
            h(
              "td",
              {colspan: 4},
              G.button(G.t("exact.show_all", {n: steps.length}), () => page.go({whole: "1"}), {class: "link", id: "ex-whole"}),
            ),
          ),
    );
    return [
      h(
        "table",
        {class: "table derivation"},
        h("caption", {}, G.t("exact.derivation_caption")),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["operation", "computation", "mark", "operands"].map((word) => h("th", {scope: "col"}, G.t(`exact.head_${word}`))),
          ),
        ),
        h("tbody", {}, body),
      ),
      all && steps.length > FEW && G.button(G.t("exact.show_fewer"), () => page.go({whole: null}), {class: "link"}),
    ];
  };

  // The cell's value at every residual stage; each leads there.
  function through(page) {
    const {side, cell, stage} = page;
    if (!X.isResidual(stage)) return null;
    let was = null;
    return h(
      "ol",
      {class: "through"},
      side.residual.map((name) => {
        const text = side.text(name, cell.i, cell.j),
          changed = was !== null && was !== text;
        was = text;
        return h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: changed ? "changed" : null,
              "aria-current": name === stage ? "true" : null,
              onclick: () => page.pin(cell.i, cell.j, name),
            },
            h("span", {class: "where"}, X.stageTitle(name)),
            X.number(text),
          ),
        );
      }),
    );
  }

  X.cellPanel = (page) => {
    const {side, cell, stage} = page;
    if (!cell) return [h("h2", {}, G.t("exact.cell")), G.note(G.t("exact.cell_none"))];
    const names = X.rowNames(side, stage);
    const title = /\.(scores|weights)$/.test(stage)
      ? G.t("exact.cell_pair", {i: cell.i, j: cell.j})
      : G.t("exact.cell_title", {
          name: names[cell.i],
          j: ["logits", "probabilities"].includes(stage) ? side.words.length - 1 : cell.j,
          value: X.minus(side.text(stage, cell.i, cell.j)),
        });
    return [
      h("h2", {}, title),
      h("p", {class: "note"}, X.stageTitle(stage)),
      through(page),
      G.scroll(G.t("exact.derivation_caption"), X.derivation(page)),
    ];
  };
}
