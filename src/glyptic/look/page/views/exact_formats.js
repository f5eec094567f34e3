// What must hold of the format, decided here for the format at hand; and the same run in a ladder of formats.
{
  const X = (G.exact ??= {}),
    {h} = G;

  // Statements of glyptic.carve.facts, as frames keep them -> whether they hold: true, false, null where it is not decided here.
  const FACTS = [
    [/^1 is a value$/, (f) => Engine.round(f, 1) === 1],
    [/^−x is a value for every value x$/, (f) => !f.twosComplement],
    [/^\(x \+ B\) \+ B = B for every x$/, (f) => Engine.round(f, Engine.round(f, f.min + f.max) + f.max) === f.max],
    [
      /^x ≠ y ⇒ \[x − y\] ≠ 0$/,
      (f) => f.isFixed || f.subnormals || Engine.round(f, Engine.value(f, 2) - Engine.value(f, 1)) !== 0,
    ],
    [/^\[exp\(−B\)\] = 0$/, (f) => new Engine.Arithmetic(f).exp(-f.max) === 0],
    [
      /^\[exp\(−B\/√(\d+)\)\] = 0$/,
      (f, options, n) => {
        const a = new Engine.Arithmetic(f);
        return a.exp(a.divide(-f.max, Engine.scoreDivisor(f, Number(n)))) === 0;
      },
    ],
    [
      /^products by B take every x > 0 to B$/,
      (f) => {
        const a = new Engine.Arithmetic(f);
        let x = f.least;
        while (x < f.max) {
          const grown = a.multiply(x, f.max);
          if (grown <= x) return false;
          x = grown;
        }
        return true;
      },
    ],
    [
      /^softmax\((.+), (.+)\) is decisive$/,
      (f, options, u, v) => {
        const x = [Engine.number(f, u), Engine.number(f, v)],
          {shares, zero} = Engine.distribute(
            new Engine.Arithmetic(f),
            x,
            options.attention === "max-subtracted" ? "max-subtracted" : "softmax",
          );
        return !zero && shares[0] !== shares[1] && shares[0] > shares[1] === x[0] > x[1];
      },
    ],
    [
      /^the whole numbers to (\d+) are values$/,
      (f, options, n) => {
        if (Number(n) > 1e6) return null;
        for (let k = 1; k <= Number(n); k++) if (Engine.round(f, k) !== k) return false;
        return true;
      },
    ],
  ];

  X.factHolds = (statement, format, options = {}) => {
    for (const [pattern, decide] of FACTS) {
      const found = pattern.exec(statement);
      if (!found) continue;
      try {
        return decide(format, options, ...found.slice(1));
      } catch (error) {
        if (!error.key) throw error;
        return false;
      } // a number of it is no value there
    }
    return null;
  };

  X.factsOf = (model) => {
    const found = new Map();
    for (const frame of model.history ?? [])
      for (const fact of frame.facts) {
        const statement = fact.split(", which is false in ")[0];
        if (!found.has(statement)) found.set(statement, {statement, by: frame.construction, forced: fact !== statement});
      }
    return [...found.values()];
  };

  X.factsPanel = (page) => {
    const {side} = page,
      facts = X.factsOf(side.model),
      own = page.base.format.name;
    const title = h("h2", {}, G.t("exact.facts", {format: side.model.format.name}));
    if (!facts.length) return [title, G.note(G.t("exact.facts_none"))];
    const holds = (fact) =>
      side.recorded
        ? !fact.forced
        : (X.factHolds(fact.statement, side.model.format, side.model.options) ??
          (side.model.format.name === own ? !fact.forced : null));
    const rows = facts.map((fact) => {
      const state = holds(fact),
        kind = state === null ? "none" : state ? "yes" : "no";
      return [
        h("span", {class: `check ${kind}`}, {yes: "✓", no: "✗", none: "–"}[kind]),
        G.t(`exact.fact_${kind}`),
        h("span", {class: "mono"}, fact.statement),
        fact.by,
      ];
    });
    return [
      title,
      G.scroll(
        G.t("exact.facts_label"),
        G.table(["", "", G.t("exact.fact"), G.t("exact.needed_by")], rows, {numeric: false, rowHeaders: false}),
      ),
    ];
  };

  const UP_TO = Array.from({length: 12}, (_, s) => s + 1);
  X.LADDER = [
    ["fixed", UP_TO.map((s) => `fixed:${s}`)],
    ["fixed_even", UP_TO.map((s) => `fixed:${s}/even`)],
    [
      "floats",
      ["float:1,1", "float:2,1", "float:2,2", "float:3,2", "float:3,3", "float:4,3", "float:4,4", "float:5,4", "float:5,6"],
    ],
    ["named", ["fp4_e2m1", "fp6_e2m3", "fp6_e3m2", "fp8_e4m3", "fp8_e5m2", "bf16", "fp16", "fp32"]],
  ];

  // The answers in all formats, a few at a time so that the page stays awake. `known` is kept with the run.
  function fill(page, done) {
    const names = X.LADDER.flatMap(([, list]) => list),
      known = page.ladder,
      {run} = page.side;
    const turn = () => {
      if (page.ladder !== known || page.gone) return;
      const until = performance.now() + 12;
      while (performance.now() < until) {
        const next = names.find((name) => !known.has(name));
        if (next === undefined) {
          done();
          return;
        }
        known.set(next, verdict(page, next, run));
      }
      setTimeout(turn, 0);
    };
    setTimeout(turn, 30);
  }

  // The transformer as it was given, brought into the format as its rung does, and not by way of the format that is shown.
  function verdict(page, name, run) {
    const {model, problems} = X.edited(page.base, page.state, name);
    if (problems.format || problems.weights) return "–";
    try {
      return Engine.run(model, run.tokens.slice(0, run.inputLength), page.count).answer;
    } catch (error) {
      if (!error.key) throw error;
      return "–";
    }
  }

  X.ladderPanel = (page) => {
    const {side} = page,
      body = h("div", {class: "ladder"}),
      title = h("h2", {}, G.t("exact.ladder"));
    if (side.recorded) return [title, G.note(G.t("exact.ladder_recorded"))];
    const draw = () => {
      G.clear(body).append(...ladder(page));
    };
    const start = () => {
      G.clear(body).append(G.note(G.t("exact.ladder_running")));
      fill(page, draw);
    };
    if (page.ladder.size) draw();
    else if (page.took * 50 < 1500) start();
    else
      body.append(
        G.note(G.t("exact.ladder_long", {n: X.LADDER.flatMap(([, list]) => list).length})),
        G.button(G.t("exact.ladder_run"), start, {id: "ex-ladder-run"}),
      );
    return [title, body];
  };

  function ladder(page) {
    const {side} = page,
      answer = side.answer,
      known = page.ladder,
      now = side.model.format.name;
    const differs = (name) => known.get(name) !== answer;
    const firsts = X.LADDER.map(([, list]) => [...list].reverse().find(differs) ?? null);
    const sentences = X.LADDER.map(
      ([family], k) =>
        firsts[k] &&
        h(
          "li",
          {},
          G.t(`exact.first_${["TIE", "UNDEFINED"].includes(known.get(firsts[k])) ? known.get(firsts[k]) : "other"}`, {
            family: G.t(`exact.family_${family}`),
            format: firsts[k],
            answer: known.get(firsts[k]),
          }),
        ),
    );
    const rows = X.LADDER.map(([family, list], k) =>
      h(
        "div",
        {class: "family"},
        h("h3", {}, G.t(`exact.family_${family}`)),
        h(
          "div",
          {class: "rungs"},
          list.map((name) =>
            h(
              "button",
              {
                type: "button",
                class: ["rung", differs(name) && "unlike", name === firsts[k] && "first", name === now && "now"]
                  .filter(Boolean)
                  .join(" "),
                dataset: {format: name},
                "aria-current": name === now ? "true" : null,
                onclick: () => page.go({format: name}, true),
              },
              h("span", {class: "where"}, name.replace("/even", "")),
              h("span", {class: "answer"}, differs(name) && "≠ ", known.get(name) ?? "…"),
            ),
          ),
        ),
      ),
    );
    return [
      firsts.some(Boolean) ? h("ul", {class: "firsts"}, sentences) : h("p", {}, G.t("exact.same_everywhere", {answer})),
      ...rows,
      G.note(G.t("exact.ladder_note", {answer})),
    ];
  }
}
