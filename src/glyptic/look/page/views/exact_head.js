// One head: W_Q, W_K, W_V (transposed) and W_O share their rows, the coordinates, so that the four stand side by side in one table.
// Every weight can be changed. Below, what the head does at the chosen position: scores, exps, shares, the mixture, the output.
{
  const X = (G.exact ??= {}),
    {h} = G;
  const WIDE = 40; // columns of a group that are shown

  // A group of columns: [title, path, part, turned (rows of the table are the part's columns)]
  const ofHead = (head, l, k) =>
    [
      ["W_Qᵀ", "query", true],
      ["W_Kᵀ", "key", true],
      ["W_Vᵀ", "value", true],
      ["W_O", "output", false],
    ].map(([title, name, turned]) => ({title, path: `layers.${l}.heads.${k}.${name}`, part: head[name], turned}));
  const ofFeedForward = (ff, l) =>
    [
      ["W_1ᵀ", "w1", true],
      ["b_1ᵀ", "b1", null],
      ["W_2", "w2", false],
      ["b_2", "b2", false],
    ].map(([title, name, turned]) => ({title, path: `layers.${l}.feed_forward.${name}`, part: ff[name], turned}));
  const ofNorm = (norm, path) =>
    [
      ["γ", "gain", false],
      ["β", "bias", false],
    ].map(([title, name, turned]) => ({title, path: `${path}.${name}`, part: norm[name], turned}));

  const wide = (group) => (group.turned ? group.part.rows : group.part.columns);
  const at = (group, i, c) => (group.turned ? [c, i] : [i, c]);

  function edit(page, element, group, row, column) {
    if (page.side.recorded || element.querySelector("input")) return;
    const old = page.side.show(group.part.values[row * group.part.columns + column]);
    const problem = h("span", {class: "bad problem", role: "alert"});
    const input = h("input", {
      type: "text",
      value: old,
      size: 5,
      "aria-label": G.t("exact.weight_label", {path: group.path, row, column}),
      onkeydown: (event) => {
        event.stopPropagation();
        if (event.key === "Enter") {
          event.preventDefault();
          done();
        } else if (event.key === "Escape") page.refresh(["head"]);
      },
    });
    function done() {
      try {
        Engine.withWeight(page.side.model, group.path, row, column, input.value);
      } catch (error) {
        if (!error.key) throw error;
        problem.textContent = error.message;
        return;
      }
      const edits = X.withEdit(page.state, group.path, row, column, X.plain(input.value));
      if (edits === null) {
        problem.textContent = X.tooMany();
        return;
      }
      page.focus = `[data-weight="${group.path}:${row}:${column}"]`;
      page.go({w: edits});
    }
    element.replaceChildren(input, problem);
    input.focus();
    input.select();
  }
  X.plain = (text) => text.trim().replaceAll("−", "-").replaceAll("∞", "B").replace(/[;:]/g, "");

  // Arrows walk among the weights; Enter opens the one that has the focus.
  function walk(event) {
    const cell = event.target.closest("td[data-weight]");
    if (!cell || event.target.localName === "input") return;
    if (event.key === "Enter" || event.key === "F2") {
      cell.click();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const step = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const rows = [...cell.closest("table").tBodies[0].rows],
      r = rows.indexOf(cell.parentElement),
      cells = [...cell.parentElement.querySelectorAll("td[data-weight]")];
    const target = step[0]
      ? rows[r + step[0]]?.querySelectorAll("td[data-weight]")[cells.indexOf(cell)]
      : cells[cells.indexOf(cell) + step[1]];
    if (target) {
      cell.tabIndex = -1;
      target.tabIndex = 0;
      target.focus();
    }
  }

  function matrices(page, groups, label) {
    const {side} = page,
      {coordinates} = side.model,
      edited = new Set(X.edits(page.state).map((each) => each.slice(0, 3).join(":")));
    const usable = groups.filter((group) => group.turned !== null && group.part.values);
    if (!usable.length) return G.note(G.t("exact.weights_recorded"));
    const rowUsed = (i) =>
      usable.some((group) =>
        Array.from({length: wide(group)}, (_, c) => at(group, i, c)).some(
          ([r, c]) => group.part.values[r * group.part.columns + c] !== 0,
        ),
      );
    const all = page.state.get("rows") === "1",
      used = coordinates.map((_, i) => i).filter((i) => all || rowUsed(i)),
      hidden = coordinates.length - used.length;
    let extent = 0;
    for (const group of usable)
      for (const x of group.part.values) if (Math.abs(x) > extent && Math.abs(x) !== side.model.format.max) extent = Math.abs(x);
    let first = true;
    const cell = (group, i, c, k) => {
      const [row, column] = at(group, i, c),
        x = group.part.values[row * group.part.columns + column],
        key = `${group.path}:${row}:${column}`;
      const tint = X.tint(x, extent || 1),
        start = first;
      first = false;
      const element = h(
        "td",
        {
          dataset: {weight: key},
          tabindex: start ? "0" : "-1",
          class: [c === 0 && k > 0 && "begins", edited.has(key) && "edited"].filter(Boolean).join(" ") || null,
          style: tint && {background: tint},
          onclick: () => edit(page, element, group, row, column),
        },
        X.number(side.show(x)),
        edited.has(key) && h("span", {class: "pen", role: "img", "aria-label": G.t("exact.edited")}, "✎"),
      );
      return element;
    };
    const columns = (group) => Array.from({length: Math.min(WIDE, wide(group))}, (_, c) => c);
    const table = h(
      "table",
      {class: "weights", onkeydown: walk},
      h("caption", {}, label),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          usable.map((group) => h("th", {scope: "colgroup", colspan: columns(group).length, class: "begins"}, group.title)),
        ),
        h(
          "tr",
          {},
          h("td", {class: "corner"}, G.t("exact.coordinate")),
          usable.map((group, k) =>
            columns(group).map((c) =>
              h("th", {scope: "col", class: c === 0 && k > 0 ? "begins" : null}, wide(group) === 1 ? "" : c),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        used.map((i) =>
          h(
            "tr",
            {},
            h("th", {scope: "row"}, coordinates[i]),
            usable.map((group, k) => columns(group).map((c) => cell(group, i, c, k))),
          ),
        ),
      ),
    );
    const cut = usable.some((group) => wide(group) > WIDE) && G.note(G.t("exact.columns_cut", {n: WIDE}));
    return [
      G.scroll(label, table),
      cut,
      (hidden > 0 || all) &&
        h(
          "p",
          {class: "note"},
          hidden > 0 ? G.t("exact.rows_hidden", {n: hidden}) : "",
          " ",
          G.button(G.t(all ? "exact.fold" : "exact.unfold"), () => page.go({rows: all ? null : "1"}), {
            class: "link",
            id: "ex-rows",
          }),
        ),
    ];
  }

  const vector = (side, stage, j) => {
    const [rows] = side.shape(stage);
    return Array.from({length: rows}, (_, i) => side.text(stage, i, j));
  };
  const tuple = (texts) =>
    h(
      "span",
      {class: "tuple"},
      "(",
      texts.map((text, k) => [k ? ", " : null, X.number(text)]),
      ")",
    );

  // Scores, exps and shares of one query over its keys.
  function attention(page, l, k) {
    const {side} = page,
      name = `layer.${l}.head.${k}`,
      i = page.position,
      {options} = side.model;
    if (!side.has(`${name}.scores`)) return null;
    const seen = Engine.seen(options.mask, i, side.words.length),
      soft = ["softmax", "max-subtracted"].includes(options.attention) && !side.recorded;
    const arithmetic = soft ? new Engine.Arithmetic(side.model.format) : null,
      scores = Array.from({length: seen}, (_, j) => side.value(`${name}.scores`, i, j)),
      largest = Math.max(...scores);
    const exp = (x) => side.show(arithmetic.exp(options.attention === "max-subtracted" ? arithmetic.subtract(x, largest) : x));
    const there = side.has(`${name}.weights`),
      go = (part, j, text) =>
        h("button", {type: "button", class: "cellbutton", onclick: () => page.pin(i, j, `${name}.${part}`)}, X.number(text));
    const rows = scores.map((x, j) => [
      h("span", {class: "mono"}, `${j} ${side.words[j]}`),
      go("scores", j, side.text(`${name}.scores`, i, j)),
      ...(soft ? [X.number(exp(x))] : []),
      there ? go("weights", j, side.text(`${name}.weights`, i, j)) : "–",
      there
        ? h(
            "span",
            {class: "share", "aria-hidden": "true"},
            h("span", {style: {width: `${Math.round(Math.min(1, Math.max(0, side.value(`${name}.weights`, i, j))) * 44)}px`}}),
          )
        : "",
    ]);
    const header = [G.t("exact.key"), G.t("exact.score"), ...(soft ? ["exp"] : []), G.t("exact.share"), ""];
    const line = (part, title) =>
      side.has(`${name}.${part}`) && h("div", {}, h("dt", {}, title), h("dd", {}, tuple(vector(side, `${name}.${part}`, i))));
    const output =
      side.has(`${name}.output`) &&
      side.model.coordinates.flatMap((each, c) =>
        side.value(`${name}.output`, c, i) !== 0 ? [[each, side.text(`${name}.output`, c, i), c]] : [],
      );
    return [
      h("h3", {}, G.t("exact.at_position", {i, word: side.words[i]})),
      h("dl", {class: "vectors"}, line("query", G.t("exact.query"))),
      seen ? G.scroll(G.t("exact.scores_label", {i}), G.table(header, rows)) : G.note(G.t("exact.sees_nothing")),
      h(
        "dl",
        {class: "vectors"},
        line("mixed", G.t("exact.mixed")),
        output &&
          h(
            "div",
            {},
            h("dt", {}, G.t("exact.output")),
            h(
              "dd",
              {},
              output.length
                ? output.map(([each, text, c]) =>
                    h(
                      "span",
                      {class: "outterm"},
                      h("span", {class: "mono"}, each),
                      " ",
                      h(
                        "button",
                        {type: "button", class: "cellbutton", onclick: () => page.pin(c, i, `${name}.output`)},
                        X.number(text),
                      ),
                    ),
                  )
                : G.t("exact.zero_everywhere"),
            ),
          ),
      ),
    ];
  }

  function hiddenUnits(page, l) {
    const {side} = page,
      i = page.position,
      stage = `layer.${l}.hidden`;
    if (!side.has(stage)) return null;
    const {w1, b1, w2} = side.model.layers[l].feed_forward,
      {coordinates} = side.model;
    const terms = (values, name) => values.flatMap((x, k) => (x === 0 ? [] : [[x, name(k)]]));
    const sum = (list) =>
      list.flatMap(([x, name], k) => [
        k ? (x < 0 ? " − " : " + ") : x < 0 ? "−" : "",
        Math.abs(x) === 1 ? null : [X.number(side.show(Math.abs(x))), name === "" ? null : "·"],
        name === "" ? (Math.abs(x) === 1 ? "1" : null) : h("span", {class: "mono"}, name),
      ]);
    const units =
      side.recorded || !w1.values
        ? []
        : Array.from({length: Math.min(64, w1.rows)}, (_, u) => {
            const input = terms([...w1.values.subarray(u * w1.columns, (u + 1) * w1.columns)], (k) => coordinates[k]);
            if (b1.values[u] !== 0) input.push([b1.values[u], ""]);
            const out = terms(
              coordinates.map((_, k) => w2.values[k * w2.columns + u]),
              (k) => coordinates[k],
            );
            return [
              String(u),
              h("span", {}, "relu(", input.length ? sum(input) : "0", ")"),
              h(
                "button",
                {type: "button", class: "cellbutton", onclick: () => page.pin(u, i, stage)},
                X.number(side.text(stage, u, i)),
              ),
              h(
                "span",
                {},
                out.length
                  ? out.map(([x, name], k) => [
                      k ? ", " : null,
                      h("span", {class: "mono"}, name),
                      " ",
                      x < 0 ? "−" : "+",
                      X.number(side.show(Math.abs(x))),
                    ])
                  : "–",
              ),
            ];
          });
    return [
      h("h3", {}, G.t("exact.units_at", {i, word: side.words[i]})),
      G.scroll(
        G.t("exact.units"),
        G.table([G.t("exact.unit"), G.t("exact.computes"), G.t("exact.is"), G.t("exact.adds")], units, {numeric: false}),
      ),
      w1.rows > 64 && G.note(G.t("exact.units_cut", {n: 64})),
    ];
  }

  X.headPanel = (page) => {
    const {side} = page,
      {layers} = side.model;
    if (!layers.length) return [h("h2", {}, G.t("exact.inside")), G.note(G.t("exact.no_layers"))];
    const l = page.layer,
      layer = layers[l],
      parts = [
        ...layer.heads.map((_, k) => [`head${k}`, G.t("exact.head", {k})]),
        ...(layer.feed_forward ? [["ff", G.t("exact.feed_forward")]] : []),
      ];
    const norms = ["attention_norm", "feed_forward_norm"].filter((name) => layer[name]);
    if (norms.length) parts.push(["norms", G.t("exact.norms")]);
    const wanted = page.part,
      part = parts.some(([id]) => id === wanted) ? wanted : parts[0]?.[0];
    const select = h(
      "select",
      {id: "ex-layer", onchange: () => page.go({layer: select.value, part: null}, true)},
      layers.map((_, k) => h("option", {value: k, selected: k === l}, k)),
    );
    const tabs = h(
      "div",
      {class: "tabs", role: "group", "aria-label": G.t("exact.parts")},
      parts.map(([id, title]) =>
        G.button(title, () => page.go({part: id}, true), {"aria-pressed": String(id === part), id: `ex-part-${id}`}),
      ),
    );
    const undo =
      X.edits(page.state).length > 0 &&
      h(
        "p",
        {},
        h(
          "span",
          {class: "pill"},
          G.t(X.edits(page.state).length === 1 ? "exact.edit_one" : "exact.edits", {n: X.edits(page.state).length}),
        ),
        " ",
        G.button(G.t("exact.undo"), () => page.go({w: null}), {id: "ex-undo"}),
      );
    const k = part?.startsWith("head") ? Number(part.slice(4)) : null,
      open = (title, inner) =>
        h(
          "details",
          {
            open: page.state.get("matrices") === "1",
            ontoggle: (event) => page.state.set({matrices: event.target.open ? "1" : null}),
          },
          h("summary", {}, title),
          inner,
        );
    const body =
      k !== null
        ? [matrices(page, ofHead(layer.heads[k], l, k), G.t("exact.head_caption", {l, k})), attention(page, l, k)]
        : part === "ff"
          ? [
              hiddenUnits(page, l),
              open(G.t("exact.ff_matrices"), matrices(page, ofFeedForward(layer.feed_forward, l), G.t("exact.ff_caption", {l}))),
            ]
          : part === "norms"
            ? norms.map((name) => matrices(page, ofNorm(layer[name], `layers.${l}.${name}`), G.t(`exact.${name}`)))
            : G.note(G.t("exact.empty_layer"));
    return [
      h(
        "div",
        {class: "row"},
        h("h2", {}, G.t("exact.inside")),
        h("span", {class: "control"}, h("label", {for: "ex-layer"}, G.t("exact.layer")), select),
      ),
      tabs,
      undo,
      !side.recorded && h("p", {class: "note"}, G.t("exact.edit_hint")),
      body,
    ];
  };
}
