{
  // Least precision: s(n) as a curve for each e, the lengths against s with pass and fail, and what goes wrong with one less.
  const h = G.h;
  const t = (key, values) => G.t(`grid.${key}`, values);
  const nameOf = (e) => (e === 0 ? t("series_fixed") : t("series_e", {e}));

  /** The answer in one sentence, for the first e. */
  function headline(needs, largest) {
    const e = Math.min(...needs.map((need) => need.e)),
      mine = needs.filter((need) => need.e === e),
      first = mine[0],
      last = mine[mine.length - 1];
    if (mine.some((need) => need.s === null)) return t("needs_more", {largest});
    const [low, high] = [Math.min(...mine.map((need) => need.s)), Math.max(...mine.map((need) => need.s))];
    return low === high
      ? t("needs_same", {s: low, first: first.length, last: last.length})
      : t("needs_grow", {low: first.s, first: first.length, high: last.s, last: last.length});
  }

  function about(need, largest) {
    const facts = [
      [t("need_s"), need.s ?? t("more_than", {n: largest})],
      [t("steps"), need.steps],
      [t("width"), need.width],
      [t("layers"), need.layers],
      [t("short_of_it"), need.short_of_it],
    ];
    if (need.refused !== null) facts.push([t("refused"), need.refused]);
    if (need.refuted !== null) facts.push([t("refuted"), need.refuted]);
    return [h("h2", {}, t("need_title", {n: need.length, e: nameOf(need.e)})), G.table(null, facts, {numeric: false})];
  }

  G.gridPrecision = (root, data, context) => {
    const {needs, largest} = data,
      exponents = [...new Set(needs.map((need) => need.e))].sort((a, b) => a - b);
    const of = (e) => needs.filter((need) => need.e === e).sort((a, b) => a.length - b.length);
    const side = h("div", {class: "panel side", id: "verdict"});
    const pinned = () => {
      const k = context.state.get("need", -1);
      return needs[k] ? k : null;
    };
    const tell = (k) =>
      G.clear(side).append(
        ...(k === null
          ? [G.note(t("choose"))]
          : [...about(needs[k], largest), G.button(t("let_go"), () => pin(null), {id: "let-go"})]),
      );
    const pin = (k) => {
      context.state.set({need: k});
      tell(k);
      mark();
    };
    const series = exponents.map((e, i) => ({
      name: nameOf(e),
      x: of(e).map((need) => need.length),
      y: of(e).map((need) => need.s ?? NaN),
      style: i ? "dashed" : "line",
      colour: i,
    }));
    const dots = exponents.map((e, i) => ({x: series[i].x, y: series[i].y, style: "points", colour: i, name: ""}));
    const first = of(exponents[0]);
    const chart = G.plot({
      series: [...series, ...dots],
      xlabel: t("length"),
      ylabel: t("least_s"),
      label: t("plot_s"),
      width: 560,
      height: 300,
      yrange: [0, Math.max(2, ...needs.map((need) => (need.s ?? 0) + 1))],
      onpick: (i, k) => pin(needs.indexOf(of(exponents[i % exponents.length])[k])),
    });
    const sizes = G.plot({
      series: [
        {name: t("steps"), x: first.map((need) => need.length), y: first.map((need) => need.steps), style: "line"},
        {name: t("width"), x: first.map((need) => need.length), y: first.map((need) => need.width), style: "dashed"},
      ],
      xlabel: t("length"),
      ylabel: t("size"),
      label: t("plot_sizes"),
      width: 560,
      height: 300,
      yrange: [0, 1.08 * Math.max(1, ...first.map((need) => Math.max(need.steps, need.width)))],
    });

    const tiles = [];
    function passes(e) {
      const mine = of(e),
        top = Math.max(...mine.map((need) => need.s ?? largest));
      const rows = Array.from({length: top}, (_, k) => top - k).map((s) =>
        h(
          "tr",
          {},
          h("th", {scope: "row"}, `s = ${s}`),
          mine.map((need) => {
            const kind =
              need.s === null || s < need.s
                ? ["✗", "no", "pass_wrong"]
                : s === need.s
                  ? ["✓", "yes", "pass_right"]
                  : ["·", "above", "pass_above"];
            const k = needs.indexOf(need),
              label = `n = ${need.length}, s = ${s}: ${t(kind[2])}`;
            const tile = h(
              "button",
              {
                type: "button",
                class: `tile ${kind[1]}`,
                "aria-label": label,
                title: label,
                dataset: {need: k, s},
                onclick: () => pin(k),
              },
              kind[0],
            );
            tiles.push(tile);
            return h("td", {}, tile);
          }),
        ),
      );
      return h(
        "table",
        {class: "tiles"},
        h("tbody", {}, rows),
        h(
          "tfoot",
          {},
          h(
            "tr",
            {},
            h("td", {}, "n"),
            mine.map((need) => h("th", {scope: "col"}, need.length)),
          ),
        ),
      );
    }
    const mark = () => tiles.forEach((tile) => tile.setAttribute("aria-pressed", String(Number(tile.dataset.need) === pinned())));
    const holder = h("div", {});
    const chosen = () => {
      const e = Number(context.state.get("e", exponents[0]));
      return exponents.includes(e) ? e : exponents[0];
    };
    const show = () => {
      tiles.length = 0;
      G.clear(holder).append(G.scroll(t("pass_grid"), passes(chosen())));
      mark();
    };
    const legend = h(
      "ul",
      {class: "legend"},
      [
        ["✓", "yes", "pass_right"],
        ["✗", "no", "pass_wrong"],
        ["·", "above", "pass_above"],
      ].map(([sign, kind, key]) => h("li", {}, h("span", {class: `tile small ${kind}`, "aria-hidden": "true"}, sign), t(key))),
    );
    const header = [
      t("length"),
      "e",
      t("need_s"),
      t("steps"),
      t("width"),
      t("layers"),
      t("refused"),
      t("refuted"),
      t("short_of_it"),
    ];
    const rows = () =>
      needs.map((need) => [
        need.length,
        need.e,
        need.s ?? t("more_than", {n: largest}),
        need.steps,
        need.width,
        need.layers,
        need.refused ?? "",
        need.refuted ?? "",
        need.short_of_it,
      ]);
    root.append(
      h("h2", {class: "asked"}, t("asked_precision")),
      h("p", {class: "headline", id: "headline"}, headline(needs, largest)),
      h("p", {class: "words"}, data.name),
      G.note(t("what_precision")),
      h(
        "div",
        {class: "two"},
        h(
          "div",
          {class: "charts"},
          h("div", {class: "panel"}, h("h2", {}, t("plot_s")), chart),
          h(
            "div",
            {class: "panel"},
            h("h2", {}, t("pass_grid")),
            exponents.length > 1 &&
              G.choice({name: "e", options: exponents.map((e) => [e, nameOf(e)]), label: t("pass_for")}, context, show),
            holder,
            legend,
          ),
          h("div", {class: "panel"}, h("h2", {}, t("plot_sizes")), sizes),
        ),
        side,
      ),
      G.behind(t("table"), () => G.table(header, rows(), {numeric: false})),
    );
    show();
    tell(pinned());
    return {
      key: (event) => {
        if (event.key !== "Escape" || pinned() === null) return false;
        pin(null);
        return true;
      },
      csv: () => [header, ...rows()],
    };
  };
}
