{
  // The parts of a proof's page: formulas in lines, counts, the example, the chain of trust. Each gives elements, and keeps nothing.
  const h = G.h;
  const t = (key, values) => G.t(`proof.${key}`, values);
  const SIGNS = {Proved: ["✓", "good"], Refuted: ["✗", "bad"], Vacuous: ["∅", ""], Unknown: ["?", ""]};

  /** What comes as {key, parts…} is said in the page's language; what comes as {text} is the engine's own sentence. */
  const said = (sentence) => (sentence.key ? t(sentence.key, sentence) : sentence.text);

  /** A formula broken at the ∧ that are in no bracket: one line each. */
  function lines(formula) {
    const found = [];
    let depth = 0,
      line = "";
    for (const character of formula) {
      if ("([".includes(character)) depth += 1;
      if (")]".includes(character)) depth -= 1;
      if (character === "∧" && depth === 0) {
        found.push(line.trim());
        line = "∧ ";
      } else line += character;
    }
    return [...found, line.trim()];
  }

  const formula = (text) => {
    const all = lines(text),
      most = 14;
    const block = (some) =>
      h(
        "div",
        {class: "formula mono"},
        some.map((line) => h("div", {}, line)),
      );
    return all.length <= most
      ? block(all)
      : h(
          "div",
          {},
          block(all.slice(0, most)),
          h("details", {}, h("summary", {}, `+ ${all.length - most}`), block(all.slice(most))),
        );
  };

  /** Digits in groups of three, thin spaces between; beyond eighteen digits the power of ten is said as well. */
  function count(digits) {
    const grouped = digits.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
    if (digits.length <= 18) return h("span", {class: "number"}, grouped);
    return h("span", {class: "number", title: grouped}, t("about", {power: digits.length - 1}));
  }

  /** The answer; what a file says is the answer only once it was confirmed. */
  function answer(data) {
    const word = t(data.answer),
      held = ["unchecked", "contradicted"].includes(data.standing);
    const [sign, colour] = !held ? SIGNS[data.answer] : data.standing === "unchecked" ? ["○", ""] : ["✗", "bad"];
    const exists = (data.answer === "Proved" && data.example) || (data.answer === "Refuted" && !data.example);
    const means = held
      ? t(`means_${data.standing}`, {answer: word})
      : t(`means_${data.answer.toLowerCase()}${exists ? "_some" : ""}`);
    return h(
      "div",
      {class: `verdict-card ${colour}`, id: "answer", dataset: {answer: data.answer, standing: data.standing}},
      h("span", {class: "sign", "aria-hidden": "true"}, sign),
      h(
        "div",
        {},
        h("h2", {class: "verdict"}, held ? t(`head_${data.standing}`, {answer: word}) : word),
        h("p", {class: "means"}, means),
      ),
    );
  }

  function claim(data) {
    return h(
      "div",
      {class: "panel"},
      h("h2", {}, t("claim")),
      data.words && h("p", {class: "words"}, said(data.words)),
      data.words && !["says_all", "says_some"].includes(data.words.key) && h("h3", {}, t("formula")),
      formula(data.formula),
      data.requires && [h("h3", {}, t("requires")), formula(data.requires)],
    );
  }

  function range(data) {
    const rows = [];
    if (data.ranges?.count)
      rows.push([count(data.ranges.count), t(data.ranges.key === "over_inputs" ? "count_inputs" : "count_values")]);
    if (data.inputs !== null && data.method === "enumeration") rows.push([count(data.inputs), t("count_run")]);
    if (data.satisfying !== null && data.satisfying !== (data.inputs ?? data.ranges?.count))
      rows.push([count(data.satisfying), t("count_satisfying")]);
    if (data.failures !== null) rows.push([count(data.failures), t("count_failures")]);
    const share = data.failures !== null && Number(data.failures) / Number(data.satisfying ?? data.inputs);
    const bar =
      share !== false &&
      Number.isFinite(share) &&
      h(
        "div",
        {class: "share", role: "img", "aria-label": `${G.number(100 * share, 3)} %`},
        h("span", {style: {width: `${Math.max(0.5, 100 * share)}%`}}),
      );
    return h(
      "div",
      {class: "panel"},
      h("h2", {}, t("range")),
      h("p", {}, data.ranges ? t(data.ranges.key, data.ranges) : data.over),
      h(
        "dl",
        {class: "counts"},
        rows.map(([number, words]) => [h("dt", {}, number), h("dd", {}, words)]),
      ),
      bar,
    );
  }

  function example(data, open) {
    const {example: found} = data;
    if (!found) return null;
    const tokens = found.input && [
      h("h3", {}, t("input")),
      G.scroll(
        t("input"),
        h(
          "div",
          {class: "tokens"},
          found.input.map((token, i) => h("span", {class: "token"}, token, h("sub", {}, i))),
        ),
      ),
    ];
    const values = found.values.length > 0 && [
      h("h3", {}, t("values")),
      G.scroll(
        t("values"),
        G.table(
          [t("expression"), t("value")],
          found.values.map(([name, number]) => [name, G.shown(number)]),
        ),
      ),
    ];
    const seen = found.observed.length > 0 && [
      h("h3", {}, t("observed")),
      G.scroll(
        t("observed"),
        G.table(
          [t("expression"), t("value")],
          found.observed.map(([name, number]) => [
            h("span", {class: "mono"}, name),
            /^[−-]?\d+\/\d+$/.test(number) ? G.shown(number) : number,
          ]),
        ),
      ),
    ];
    return h(
      "div",
      {class: "panel example", id: "example"},
      h("h2", {}, t(found.kind)),
      tokens,
      values,
      seen,
      data.smallest && G.note(t(data.smallest)),
      open && G.button(`${t("open_run")} →`, open, {id: "open-run", class: "primary"}),
    );
  }

  function how(data) {
    const key = ["enumeration", "smt", "symbolic", "bounds", "states", "sweep"].includes(data.method)
      ? `how_${data.method}`
      : "how_other";
    const list = (title, texts) =>
      texts?.length > 0 && [
        h("h3", {}, title),
        h(
          "ul",
          {class: "plain"},
          texts.map((text) => h("li", {class: "mono"}, text)),
        ),
      ];
    return h(
      "div",
      {class: "panel"},
      h("h2", {}, t("how")),
      h("p", {}, t(key, {method: data.method})),
      data.reason && [h("h3", {}, t("reason")), h("p", {}, data.reason)],
      list(t("tried"), data.tried),
      list(t("solvers"), data.solvers),
      list(t("file_says"), data.file_says),
      data.seconds > 0 && G.note(t("seconds", {n: G.number(data.seconds, 2)})),
    );
  }

  const rests = (data) =>
    h(
      "div",
      {class: "panel"},
      h("h2", {}, t("rests")),
      data.assumptions.length
        ? [
            G.note(t("rests_note")),
            h(
              "ul",
              {class: "rests"},
              data.assumptions.map((one) => h("li", {}, said(one))),
            ),
          ]
        : G.note(t("rests_none")),
    );

  function trust(data) {
    const marks = {yes: ["✓", "good"], no: ["✗", "bad"], open: ["○", "dim"]};
    return h(
      "div",
      {class: "panel"},
      h("h2", {}, t("trust")),
      G.note(t("trust_note")),
      h(
        "ol",
        {class: "trust", id: "trust"},
        data.trust.map((link) =>
          h(
            "li",
            {dataset: {state: link.state}},
            h(
              "span",
              {
                class: `mark ${marks[link.state][1]}`,
                role: "img",
                "aria-label": t(`state_${link.state}`),
                title: t(`state_${link.state}`),
              },
              marks[link.state][0],
            ),
            h("span", {}, said(link)),
          ),
        ),
      ),
      h(
        "ul",
        {class: "legend"},
        Object.entries(marks).map(([state, [sign, colour]]) =>
          h("li", {}, h("span", {class: colour, "aria-hidden": "true"}, sign), t(`state_${state}`)),
        ),
      ),
    );
  }

  /** A file's name as one word of a shell, whatever is in it. */
  const quoted = (name) => (/^[\w.][\w.-]*$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);

  function file(data) {
    if (!data.file) return null;
    const rows = [
      [t("file_name"), data.file.name],
      [t("file_digest"), data.file.digest],
      [t("file_claim"), data.file.claim],
      ...data.file.models.map(([name, print]) => [t("file_weights", {name}), print]),
    ];
    return h(
      "div",
      {class: "panel wide"},
      h("h2", {}, t("file")),
      h("p", {}, t("check_again")),
      G.scroll(
        t("check_again"),
        h("code", {class: "command", id: "command"}, `glyptic prove --recheck ${quoted(data.file.name)}`),
      ),
      G.note(t("check_status")),
      h(
        "dl",
        {class: "facts"},
        rows.map(([name, value]) => [h("dt", {}, name), h("dd", {class: "mono"}, value)]),
      ),
      data.names?.length > 0 && [
        h("h3", {}, t("names")),
        h(
          "ul",
          {class: "plain"},
          data.names.map((name) => h("li", {}, said(name))),
        ),
      ],
    );
  }

  G.proof = {said, answer, claim, range, example, how, rests, trust, file};
}
