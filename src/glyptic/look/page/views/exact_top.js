// The top: the answer, the format's limits, and what can be changed: the input, the format, how the transformer is read.
{
  const X = (G.exact ??= {}),
    {h} = G;

  function logits(side) {
    const {answers} = side.model;
    if (!side.logits.length) return null;
    const row = (title, values) =>
      values.length > 0 &&
      h(
        "tr",
        {},
        h("th", {scope: "row"}, title),
        values.map((text) => h("td", {}, X.number(text))),
      );
    return h(
      "table",
      {class: "logits"},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          answers.map((answer) => h("th", {scope: "col", class: answer === side.answer ? "won" : null}, answer)),
        ),
      ),
      h("tbody", {}, row(G.t("exact.logit"), side.logits), row(G.t("exact.probability"), side.probabilities)),
    );
  }

  const kindOf = (side) => (side.answer === "TIE" ? "tie" : side.answer === "UNDEFINED" ? "undefined" : "said");

  X.verdict = (side) =>
    h(
      "div",
      {class: "verdictbox"},
      h("p", {class: `verdict big ${kindOf(side)}`, id: "ex-verdict"}, side.answer),
      h(
        "div",
        {},
        h(
          "p",
          {class: "verdictwords"},
          G.t(`exact.verdict_${kindOf(side)}`, {
            name: side.model.name || G.t("exact.unnamed"),
            format: side.model.format.name,
            input: X.inputText(side.model, side.words),
            answer: side.answer,
          }),
        ),
        side.chain.length > 1 && h("p", {class: "note"}, G.t("exact.chain", {chain: side.chain.join(" ")})),
        side.why && h("p", {class: "note bad"}, side.why),
      ),
      logits(side),
    );

  function formatFacts(side) {
    const {format} = side.model;
    if (!side.limits.max) return null;
    return h(
      "p",
      {class: "limits", id: "ex-limits"},
      h("span", {}, "∞ = ", X.number(side.limits.max)),
      h("span", {}, G.t("exact.least"), " ", X.number(side.limits.least)),
      h("span", {}, G.t(format.ties === "even" ? "exact.ties_even" : "exact.ties_zero")),
    );
  }

  // A field that says beside it what is wrong; what was good last stays.
  function field(page, {id, label, value, size, list, problem, change}) {
    const told = h("span", {class: "bad problem", id: `${id}-problem`, role: "alert"}, problem ?? "");
    const input = h("input", {
      type: "text",
      id,
      value,
      size,
      list: list ?? null,
      spellcheck: "false",
      autocomplete: "off",
      disabled: page.side.recorded && id !== "ex-format",
      "aria-describedby": `${id}-problem`,
      oninput: () => attempt(),
    });
    function attempt() {
      try {
        change(input.value);
        told.textContent = "";
      } catch (error) {
        if (!error.key) throw error;
        told.textContent = error.message;
      }
      input.setAttribute("aria-invalid", String(told.textContent !== ""));
    }
    return h("span", {class: "control field"}, h("label", {for: id}, label), input, told);
  }

  function inputEditor(page) {
    const {side} = page,
      text = X.inputText(side.model, side.words.slice(0, page.inputLength));
    const change = (given) =>
      page.goQuietly({...X.inputState(page.side.model, Engine.tokens(page.side.model, given)), cell: null});
    const set = (list) => {
      try {
        change(list);
        page.renderTop();
      } catch (error) {
        if (!error.key) throw error;
        document.getElementById("ex-input-problem").textContent = error.message;
      }
    };
    return h(
      "div",
      {class: "row"},
      field(page, {
        id: "ex-input",
        label: G.t("exact.input"),
        value: text,
        size: Math.min(40, Math.max(10, text.length + 2)),
        problem: page.problems.input,
        change,
      }),
      h("span", {id: "ex-tokens"}, tokenButtons(page, set)),
    );
  }

  // The words are those of the moment in which a button is pressed: the input may have been typed since.
  function tokenButtons(page, set) {
    const {vocabulary} = page.side.model,
      words = () => page.side.words.slice(0, page.inputLength);
    page.setTokens = set;
    if (vocabulary.length > 24 || page.side.recorded) return [];
    return h(
      "span",
      {class: "tokens", role: "group", "aria-label": G.t("exact.tokens")},
      vocabulary.map((token, k) => G.button(`+ ${token}`, () => set([...words(), token]), {class: "token", id: `ex-token-${k}`})),
      G.button("⌫", () => set(words().slice(0, -1)), {"aria-label": G.t("exact.drop"), title: G.t("exact.drop"), id: "ex-drop"}),
    );
  }

  function formatEditor(page) {
    const {side} = page;
    const change = (text) => {
      const format = Engine.parseFormat(text);
      if (format.name === page.base.format.name) {
        page.goQuietly({format: null});
        return;
      }
      Engine.inFormat(page.base, format);
      page.goQuietly({format: format.name});
    };
    return [
      field(page, {
        id: "ex-format",
        label: G.t("exact.format"),
        value: side.model.format.name,
        size: 11,
        list: "ex-formats",
        problem: page.problems.format,
        change,
      }),
      h(
        "datalist",
        {id: "ex-formats"},
        X.LADDER.flatMap(([, list]) => list).map((name) => h("option", {value: name})),
      ),
    ];
  }

  function options(page) {
    const {side, base} = page;
    const one = (name) => {
      const select = h(
        "select",
        {
          id: `ex-o-${name}`,
          disabled: side.recorded,
          onchange: () => {
            page.tryOption(name, select.value);
          },
        },
        Engine.choices[name].map((value) =>
          h(
            "option",
            {value: String(value), selected: String(value) === String(side.model.options[name])},
            G.t(`exact.choice_${value}`),
          ),
        ),
      );
      return h(
        "span",
        {class: "control"},
        h("label", {for: `ex-o-${name}`}, G.t(`exact.option_${name}`)),
        select,
        side.model.options[name] !== base.options[name] && h("span", {class: "pill"}, G.t("exact.edited")),
      );
    };
    const answersAreTokens = base.answers.every((answer) => base.vocabulary.includes(answer));
    const steps =
      answersAreTokens &&
      h(
        "span",
        {class: "control"},
        h("label", {for: "ex-count"}, G.t("exact.count")),
        h("input", {
          type: "number",
          id: "ex-count",
          min: 1,
          max: base.maxLength - page.inputLength + 1,
          value: page.count,
          disabled: side.recorded,
          onchange: (event) => page.go({steps: event.target.value, cell: null}),
        }),
      );
    const changed = Object.keys(Engine.choices).filter((name) => side.model.options[name] !== base.options[name]).length;
    return [
      h(
        "details",
        {
          class: "options",
          open: changed > 0 || page.state.get("open") === "1",
          ontoggle: (event) => page.state.set({open: event.target.open ? "1" : null}),
        },
        h("summary", {}, G.t("exact.options")),
        h("div", {class: "row"}, Object.keys(Engine.choices).map(one), steps),
      ),
      h("p", {class: "bad problem", role: "alert", id: "ex-options-problem"}, page.problems.options ?? ""),
    ];
  }

  function notes(page) {
    const {side} = page;
    return [
      side.recorded &&
        h(
          "p",
          {class: "recording", role: "note"},
          h("strong", {}, G.t("exact.recording")),
          " ",
          page.refused ? G.t(page.refused.key, page.refused.values) : "",
        ),
      side.leftOut?.length > 0 && G.note(G.t("exact.left_out", {n: side.leftOut.length})),
      page.problems.weights && h("p", {class: "bad problem", role: "alert"}, page.problems.weights),
    ];
  }

  const RESET = ["format", "input", "tokens", "w", "steps", ...Object.keys(Engine.choices).map((name) => `o.${name}`)];
  const reset = (page) =>
    RESET.some((name) => page.state.get(name) !== null) ? G.button(G.t("exact.reset"), () => page.reset(), {id: "ex-reset"}) : [];

  X.topPanel = (page) => [
    h("div", {id: "ex-notes"}, notes(page)),
    h(
      "div",
      {class: "toprow"},
      h("div", {id: "ex-answer"}, X.verdict(page.side)),
      h(
        "div",
        {class: "editors"},
        inputEditor(page),
        h(
          "div",
          {class: "row"},
          formatEditor(page),
          h("div", {id: "ex-facts"}, formatFacts(page.side)),
          h("span", {id: "ex-changed"}, reset(page)),
        ),
        h("div", {id: "ex-options"}, options(page)),
      ),
    ),
  ];

  // What changes while someone types: all but the fields.
  X.topAnswers = (page) => {
    const parts = {
      notes: notes(page),
      answer: X.verdict(page.side),
      facts: formatFacts(page.side),
      changed: reset(page),
      options: options(page),
      tokens: tokenButtons(page, page.setTokens),
    };
    const focused = document.activeElement?.id;
    for (const [name, made] of Object.entries(parts)) {
      const place = document.getElementById(`ex-${name}`);
      if (place) G.clear(place).append(...[made].flat(Infinity).filter(Boolean));
    }
    const input = document.getElementById("ex-input");
    if (input) input.disabled = page.side.recorded;
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({preventScroll: true});
  };
}
