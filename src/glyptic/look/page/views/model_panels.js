// The other ways to look: lengths of the residual stream, the logit lens, and heads taken out or exchanged.
{
  const {h} = G;
  const COLUMNS = 10;

  const mean = (array, start, count) => {
    let sum = 0;
    for (let k = 0; k < count; k++) sum += array[start + k];
    return sum / count;
  };

  function residual(model, context, select) {
    const chosen = G.model.chosen(model, context.state),
      key = chosen.site.key === "cross" ? "decoder" : chosen.site.key;
    const stream = model.data.streams.find((each) => each.key === key) ?? model.data.streams[0],
      names = model.data.sequences[stream.sequence];
    const [levels, count] = stream.residual.shape,
      x = Array.from({length: levels}, (_, l) => l),
      at = Math.min(count - 1, chosen.position);
    const bound = (least) =>
      x.map((l) => {
        let found = stream.residual[l * count];
        for (let k = 1; k < count; k++)
          found = least ? Math.min(found, stream.residual[l * count + k]) : Math.max(found, stream.residual[l * count + k]);
        return found;
      });
    const series = [
      {
        name: G.t("model.residual_mean"),
        x,
        y: x.map((l) => mean(stream.residual, l * count, count)),
        low: bound(true),
        high: bound(false),
        style: "line",
      },
      {
        name: G.t("model.residual_at", {where: `${at} ${G.model.quoted(names[at])}`}),
        x,
        y: x.map((l) => stream.residual[l * count + at]),
        style: "dashed",
      },
    ];
    for (const [part, array] of Object.entries(stream.added))
      series.push({
        name: G.t(`model.added_${part}`),
        x: x.slice(1),
        y: x.slice(1).map((l) => mean(array, (l - 1) * count, count)),
        style: "points",
      });
    const shown = Math.min(count, 192);
    return [
      h("p", {class: "plain"}, G.t("model.residual_about")),
      G.plot({
        series,
        xlabel: G.t("model.after_layer"),
        ylabel: G.t("model.length"),
        label: G.t("model.residual_label"),
        width: 640,
        height: 320,
        onpick: (_, k) => {
          if (k > 0) select({layer: Math.min(chosen.site.layers, k) - 1});
        },
      }),
      h("h3", {}, G.t("model.residual_map")),
      shown < count && G.note(G.t("model.window", {from: 0, to: shown - 1, n: count})),
      G.heatmap({
        rows: levels,
        columns: shown,
        value: (l, k) => stream.residual[(levels - 1 - l) * count + k],
        scale: "share",
        cell: Math.max(4, Math.min(26, Math.floor(640 / shown))),
        rowNames: x.map((l) => (levels - 1 - l === 0 ? G.t("model.input") : String(levels - 2 - l))),
        columnNames: names.slice(0, shown).map((name, k) => `${k} ${G.model.quoted(name)}`),
        rowTitle: G.t("model.layer"),
        columnTitle: G.t("model.position"),
        label: G.t("model.residual_map"),
        text: (l, k) => G.number(stream.residual[(levels - 1 - l) * count + k], 3),
      }),
    ].filter(Boolean);
  }

  // The likeliest outputs as bars with their numbers.
  function bars(model, ranked) {
    return h(
      "ol",
      {class: "bars"},
      ranked.map(([id, share]) =>
        h(
          "li",
          {},
          h("span", {class: "what mono"}, G.model.quoted(model.text(id))),
          h("span", {class: "bar-room"}, h("span", {class: "bar-share", style: {width: `${Math.max(0.5, 100 * share)}%`}})),
          h("span", {class: "number"}, G.model.percent(share)),
        ),
      ),
    );
  }

  function nearest(list, value) {
    let best = 0;
    list.forEach((each, at) => {
      if (Math.abs(each - value) < Math.abs(list[best] - value)) best = at;
    });
    return best;
  }

  function lens(model, context, select) {
    const found = model.lens;
    if (!found) return [h("p", {class: "plain"}, G.t("model.no_output"))];
    const {position} = G.model.chosen(model, context.state),
      column = nearest(found.positions, position),
      level = Math.min(found.layers - 1, Math.max(0, context.state.get("level", found.layers - 1)));
    const count = found.positions.length,
      start = Math.max(0, Math.min(count - COLUMNS, column - (COLUMNS >> 1))),
      shown = found.positions.slice(start, start + COLUMNS);
    const rowName = (l) => (l === 0 ? G.t("model.input") : G.t("model.after_n", {n: l - 1}));
    const cell = (l, c) => {
      const [id, share] = found.at(l, c)[0],
        on = l === level && c === column;
      return h(
        "td",
        {style: {background: G.colour.share(share), color: G.colour.inkOn("share", share)}, class: on ? "on" : null},
        h(
          "button",
          {
            type: "button",
            class: "cell",
            "aria-pressed": String(on),
            title: G.model.percent(share),
            onclick: () => select({level: l, pos: found.positions[c]}),
          },
          G.model.quoted(model.text(id)),
          " ",
          h("small", {}, G.model.percent(share)),
        ),
      );
    };
    const levels = Array.from({length: found.layers}, (_, l) => found.layers - 1 - l);
    const table = h(
      "table",
      {class: "lens"},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {class: "dim"}, G.t("model.layer")),
          shown.map((p, c) =>
            h(
              "th",
              {scope: "col", class: start + c === column ? "on" : null},
              h("small", {}, String(p)),
              h("br"),
              G.model.quoted(model.names[p]),
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        levels.map((l) =>
          h(
            "tr",
            {},
            h("th", {scope: "row", title: rowName(l)}, l === 0 ? G.t("model.input") : String(l - 1)),
            shown.map((_, c) => cell(l, start + c)),
          ),
        ),
      ),
    );
    const x = Array.from({length: found.layers}, (_, l) => l),
      favourite = found.at(found.layers - 1, column)[0][0];
    const move = (by) => () => select({pos: found.positions[Math.min(count - 1, Math.max(0, column + by))]});
    return [
      h("p", {class: "plain"}, G.t(model.config.head === "class" ? "model.lens_about_class" : "model.lens_about")),
      count > COLUMNS &&
        h(
          "div",
          {class: "row"},
          G.button("←", move(-COLUMNS), {"aria-label": G.t("model.earlier")}),
          h("span", {}, G.t("model.columns", {from: shown[0], to: shown[shown.length - 1], n: model.names.length})),
          G.button("→", move(COLUMNS), {"aria-label": G.t("model.later")}),
        ),
      G.scroll(G.t("model.lens_label"), table),
      count < model.names.length && G.note(G.t("model.lens_sampled", {n: count, of: model.names.length})),
      h(
        "div",
        {class: "two"},
        h(
          "div",
          {},
          h("h3", {}, G.t("model.lens_top", {where: rowName(level), position: found.positions[column]})),
          bars(model, found.at(level, column)),
        ),
        h(
          "div",
          {},
          h("h3", {}, G.t("model.lens_rise", {token: G.model.quoted(model.text(favourite))})),
          G.plot({
            series: [
              {name: G.model.quoted(model.text(favourite)), x, y: x.map((l) => found.finalShare(l, column)), style: "line"},
            ],
            xlabel: G.t("model.after_layer"),
            ylabel: G.t("model.probability"),
            yrange: [0, Math.min(1, 1.1 * Math.max(0.02, ...x.map((l) => found.finalShare(l, column))))],
            width: 420,
            height: 220,
            label: G.t("model.lens_rise", {token: G.model.quoted(model.text(favourite))}),
          }),
        ),
      ),
      G.note(G.t("model.precise_shares")),
    ].filter(Boolean);
  }

  function effects(model, context, select) {
    const {effects: about} = model.data,
      modes = [...model.modes.keys()];
    if (!modes.length) return [h("p", {class: "plain"}, G.t("model.effects_none", {of: about.of}))];
    const view = G.model.chosen(model, context.state),
      {site} = view,
      mode = modes.includes(context.state.get("mode")) ? context.state.get("mode") : modes[0];
    const single = model.measured.length === 1,
      where = single ? "mean" : context.state.get("where", "mean"),
      at = nearest(model.measured, view.position);
    const value = (n) => (where === "mean" ? model.meanChange(mode, site.first + n) : model.change(mode, site.first + n, at));
    const number = view.number,
      global = site.first + number;
    const redraw = () => select({});
    const known = Number.isFinite(value(number));
    return [
      h("p", {class: "plain"}, G.t(model.data.lens ? `model.effects_about_${mode}` : "model.effects_about_hidden")),
      h(
        "div",
        {class: "row"},
        G.model.siteChoice(model, site, context, select),
        G.choice(
          {
            name: "mode",
            label: G.t("model.mode"),
            fallback: mode,
            options: modes.map((each) => [each, G.t(`model.mode_${each}`)]),
          },
          context,
          redraw,
        ),
        !single &&
          G.choice(
            {
              name: "where",
              label: G.t("model.where"),
              options: [
                ["mean", G.t("model.where_mean")],
                [
                  "here",
                  G.t("model.where_here", {where: `${model.measured[at]} ${G.model.quoted(model.names[model.measured[at]])}`}),
                ],
              ],
            },
            context,
            redraw,
          ),
      ),
      about.tried < about.of && G.note(G.t("model.effects_sampled", {n: about.tried, of: about.of})),
      mode === "patch" &&
        about.whole &&
        G.note(
          G.t("model.patch_whole", {
            value: G.number(where === "mean" ? about.whole.reduce((a, b) => a + b, 0) / about.whole.length : about.whole[at], 3),
          }),
        ),
      h(
        "div",
        {class: "two"},
        h(
          "div",
          {},
          h("h3", {}, G.t("model.effects_map", {site: G.model.siteName(site)})),
          G.heatmap({
            rows: site.layers,
            columns: site.heads,
            value: (l, n) => value(l * site.heads + n),
            scale: "share",
            present: (l, n) => Number.isFinite(value(l * site.heads + n)),
            rowTitle: G.t("model.layer"),
            columnTitle: G.t("model.head"),
            label: G.t("model.effects_map", {site: G.model.siteName(site)}),
            cell: Math.max(20, Math.min(64, Math.floor(420 / site.heads))),
            text: (l, n) => G.number(value(l * site.heads + n), 2),
            pinned: [view.layer, view.head],
            onpin: (l, n) => {
              if (l !== null) select({layer: l, head: n});
            },
          }),
        ),
        h(
          "div",
          {},
          h("h3", {}, G.t(`model.effects_head_${mode}`, {layer: view.layer, head: view.head})),
          known ? outcome(model, mode, global, at) : h("p", {}, G.t("model.not_tried")),
        ),
      ),
      G.note(G.t(model.data.lens ? "model.effects_unit" : "model.effects_unit_hidden")),
    ].filter(Boolean);
  }

  // What one changed head did: in words, position by position, and the tokens that took the lead.
  function outcome(model, mode, n, at) {
    const found = model.modes.get(mode),
      positions = model.measured,
      count = positions.length,
      out = [];
    const size = positions.map((_, k) => model.change(mode, n, k));
    if (found.top && model.lens) {
      const level = model.lens.layers - 1,
        before = positions.map((p) => model.lens.at(level, nearest(model.lens.positions, p))[0]);
      const after = positions.map((_, k) => found.top[n * count + k]),
        left = positions.map((_, k) => found.left[n * count + k] / 65535);
      const flipped = positions.map((_, k) => k).filter((k) => after[k] !== before[k][0]);
      const name = (k) => `${positions[k]} ${G.model.quoted(model.names[positions[k]])}`;
      out.push(
        h(
          "p",
          {class: "plain"},
          G.t(
            count === 1
              ? flipped.length
                ? "model.flipped_class"
                : "model.kept_class"
              : flipped.length
                ? "model.flipped"
                : "model.kept",
            {n: flipped.length, of: count},
          ),
        ),
      );
      const rows = [...new Set([at, ...flipped.sort((a, b) => size[b] - size[a])])].slice(0, 9);
      out.push(
        G.scroll(
          G.t("model.outcome_table"),
          G.table(
            [G.t("model.position"), G.t("model.change"), G.t("model.top_before"), G.t("model.then_has"), G.t("model.top_after")],
            rows.map((k) => [
              name(k),
              G.number(size[k], 4),
              `${G.model.quoted(model.text(before[k][0]))} ${G.model.percent(before[k][1])}`,
              G.model.percent(left[k]),
              after[k] === before[k][0]
                ? h("span", {class: "dim"}, G.t("model.same"))
                : h("b", {}, `→ ${G.model.quoted(model.text(after[k]))}`),
            ]),
            {numeric: false},
          ),
        ),
      );
    }
    if (count > 1)
      out.push(
        G.plot({
          series: [{name: G.t("model.change"), x: positions, y: size, style: count > 60 ? "line" : "points"}],
          xlabel: G.t("model.position"),
          ylabel: G.t("model.change"),
          width: 420,
          height: 220,
          label: G.t("model.change_by_position"),
        }),
      );
    return out;
  }

  Object.assign(G.model, {residual, lens, effects, bars, nearest});
}
