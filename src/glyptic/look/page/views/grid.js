{
  // A pass/fail grid: one tile a format (or theorem and format), with a mark and not colour alone; a tile opens its verdict.
  const h = G.h;
  const t = (key, values) => G.t(`grid.${key}`, values);
  const KINDS = {Proved: "yes", Refuted: "no", Vacuous: "empty", Unknown: "open", Refused: "refused"};

  const rowName = (row) =>
    row.kind === "fixed" || row.kind === "float" ? t(`row_${row.kind}${row.ties ? "_even" : ""}`, row) : row.name;
  const meaning = (cell) => (cell.mark === "✓s" ? t("mark_s") : cell.mark === "✓1" ? t("mark_1") : t(cell.answer));

  function seen(cell) {
    if (cell.reason) return cell.reason;
    if (!cell.example) return "";
    const {input, values, observed} = cell.example;
    const spaced = input?.some((token) => [...token].length > 1) ? " " : "";
    return [
      ...(input ? [`${t("input")} ${input.join(spaced)}`] : []),
      ...values.map(([name, number]) => `${name} = ${number}`),
      ...observed.map(([name, result]) => `${name}: ${result}`),
    ].join(", ");
  }

  /** The verdict of one tile. */
  function card(data, cell, letGo) {
    const row = rowName(data.rows[cell.row]);
    const facts = [[t("answer"), meaning(cell)]];
    if (cell.inputs) facts.push([t("inputs"), cell.inputs]);
    if (cell.failures) facts.push([t("failures"), cell.failures]);
    if (cell.method) facts.push([t("method"), cell.method]);
    if (cell.solvers?.length)
      facts.push([
        t("solvers"),
        h(
          "span",
          {},
          cell.solvers.map((text) => h("div", {}, text)),
        ),
      ]);
    if (cell.seconds) facts.push([t("seconds"), G.number(cell.seconds, 2)]);
    const pairs = (list) =>
      G.table(
        null,
        list.map(([name, value]) => [name, /^[−-]?\d+\/\d+$/.test(value) ? G.shown(value) : value]),
      );
    const example = cell.example && [
      h("h3", {}, t(cell.example.kind)),
      cell.example.input &&
        h(
          "div",
          {class: "tokens"},
          cell.example.input.slice(0, 64).map((token) => h("span", {class: "token"}, token)),
        ),
      cell.example.values.length > 0 && pairs(cell.example.values),
      cell.example.observed.length > 0 && pairs(cell.example.observed),
    ];
    return [
      h("h2", {}, data.what === "sweep" ? cell.format : t("chosen", {row, format: cell.format})),
      data.rows[cell.row].says && h("p", {class: "words"}, data.rows[cell.row].says),
      h(
        "p",
        {class: `tile-answer ${KINDS[cell.answer]}`},
        h("span", {class: "sign", "aria-hidden": "true"}, cell.mark),
        meaning(cell),
      ),
      G.table(null, facts, {numeric: false}),
      example,
      cell.reason && [h("h3", {}, t("reason")), h("p", {}, cell.reason)],
      cell.formula && h("details", {}, h("summary", {}, t("claim")), h("p", {class: "mono formula"}, cell.formula)),
      G.button(t("let_go"), letGo, {id: "let-go"}),
    ];
  }

  function mountGrid(root, data, context) {
    const places = new Map(data.cells.map((cell, k) => [`${cell.row},${cell.column}`, k]));
    const pinned = () => {
      const k = context.state.get("cell", -1);
      return data.cells[k] ? k : null;
    };
    const side = h("div", {class: "panel side", id: "verdict"});
    const tiles = data.cells.map((cell, k) =>
      h(
        "button",
        {
          type: "button",
          class: `tile ${KINDS[cell.answer]}`,
          "aria-label": t("cell_label", {row: rowName(data.rows[cell.row]), format: cell.format, answer: meaning(cell)}),
          title: `${cell.format}: ${meaning(cell)}`,
          dataset: {cell: k, format: cell.format, answer: cell.answer},
          onclick: () => pin(k === pinned() ? null : k),
          onmouseenter: () => tell(k),
          onmouseleave: () => tell(pinned()),
          onfocus: () => {
            last = k;
            tabs();
          },
        },
        cell.mark,
      ),
    );
    let last = pinned() ?? 0;
    const tabs = () =>
      tiles.forEach((tile, k) => {
        tile.tabIndex = k === last ? 0 : -1;
      });

    function tell(k) {
      G.clear(side).append(
        ...(k === null
          ? [G.note(t("choose"))]
          : card(data, data.cells[k], () => pin(null))
              .flat(Infinity)
              .filter(Boolean)),
      );
      tiles.forEach((tile, i) => tile.setAttribute("aria-pressed", String(i === pinned())));
    }
    function pin(k) {
      context.state.set({cell: k});
      tell(k);
    }

    const body = data.rows.map((row, i) =>
      h(
        "tr",
        {},
        h(
          "th",
          {scope: "row"},
          h("span", {class: row.kind === "named" ? "mono" : null}, rowName(row)),
          row.says && h("span", {class: "says"}, row.says),
        ),
        row.kind === "format"
          ? h("td", {colspan: data.columns.length, class: "alone"}, tiles[places.get(`${i},0`)])
          : data.columns.map((_, j) => {
              const k = places.get(`${i},${j}`);
              return h("td", {}, k === undefined ? null : tiles[k]);
            }),
      ),
    );
    const head = h(
      "thead",
      {},
      data.what === "sweep" &&
        h("tr", {}, h("td", {}), h("th", {colspan: data.columns.length, scope: "colgroup", class: "axis"}, t("s_axis"))),
      h(
        "tr",
        {},
        h("td", {}),
        data.columns.map((name) => h("th", {scope: "col", class: data.what === "sweep" ? null : "slant"}, h("span", {}, name))),
      ),
    );
    const table = h(
      "table",
      {
        class: `tiles${data.columns.length > 10 ? " dense" : ""}`,
        onkeydown: (event) => {
          const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
          if (step && walk(...step)) {
            event.preventDefault();
            event.stopPropagation();
          }
        },
      },
      head,
      h("tbody", {}, body),
    );

    /** The next tile in a direction, over gaps. */
    function walk(down, right) {
      let {row, column} = data.cells[last];
      for (let far = 0; far < 400; far += 1) {
        row += down;
        column += right;
        if (row < 0 || column < 0 || row >= data.rows.length || column >= data.columns.length) return true;
        const k = places.get(`${row},${column}`);
        if (k !== undefined) {
          tiles[k].focus();
          if (pinned() !== null) pin(k);
          else tell(k);
          return true;
        }
      }
      return true;
    }

    const marks = [...new Map(data.cells.map((cell) => [cell.mark, cell])).values()];
    const legend = h(
      "ul",
      {class: "legend"},
      marks.map((cell) =>
        h(
          "li",
          {},
          h("span", {class: `tile small ${KINDS[cell.answer]}`, "aria-hidden": "true"}, cell.mark),
          data.what === "theorems" && cell.mark === "✓" ? t("mark_2") : meaning(cell),
        ),
      ),
    );
    const many = (answer) => data.cells.filter((cell) => cell.answer === answer).length,
      good = many("Proved");
    const parts = [
      [many("Refuted"), "fails_in"],
      [many("Unknown"), "open_in"],
      [many("Refused"), "refused_in"],
    ]
      .filter(([n]) => n > 0)
      .map(([n, key]) => t(key, {n}));
    const all = good === data.cells.length,
      none = good === 0 && many("Refuted") > 0;
    const headline = h(
      "p",
      {class: `headline ${all ? "good" : none ? "bad" : ""}`, id: "headline", dataset: {proved: good, all: data.cells.length}},
      (all || none) && h("span", {class: "sign", "aria-hidden": "true"}, all ? "✓" : "✗"),
      t(data.what === "sweep" ? "holds_in" : "holds_cells", {some: good, all: data.cells.length}),
    );
    const rows = () => [
      [t(data.what === "theorems" ? "theorem" : "claim"), t("format"), t("answer"), t("inputs"), t("seen")],
      ...data.cells.map((cell) => [
        data.what === "sweep" ? data.name : rowName(data.rows[cell.row]),
        cell.format,
        cell.answer,
        cell.inputs ?? "",
        seen(cell),
      ]),
    ];
    root.append(
      h("h2", {class: "asked"}, t(data.what === "theorems" ? "asked_theorems" : "asked_sweep")),
      headline,
      h("p", {class: "words"}, data.name),
      ...(parts.length ? [G.note(parts.join(" · "))] : []),
      h("div", {class: "two"}, h("div", {class: "panel"}, G.scroll(t("grid_label"), table), legend), side),
      G.note(t(`what_${data.what}`)),
      G.behind(t("table"), () => {
        const [header, ...body] = rows();
        return G.table(header, body, {numeric: false});
      }),
    );
    tabs();
    tell(pinned());
    return {
      key: (event) => {
        if (event.key !== "Escape" || pinned() === null) return false;
        pin(null);
        return true;
      },
      csv: rows,
    };
  }

  G.view("grid", {
    keys: [["←↑→↓", "grid.key_walk"]],
    mount: (root, data, context) =>
      data.what === "precision" ? G.gridPrecision(root, data, context) : mountGrid(root, data, context),
  });
}
