// One head: its map as a matrix, as lines from token to token, or over the image; weights, and scores before and after the mask.
{
  const {h} = G;
  const MOST_LINES = 400,
    WINDOW = 64,
    MATRIX = 192;

  // What is looked at: weights, or scores without or with what the mask hides.
  function kinds(site, number) {
    const found = [["weights", G.t("model.kind_weights")]];
    if (site.hasScores(number)) {
      found.push(["scores", G.t(site.causal || site.window ? "model.kind_before" : "model.kind_scores")]);
      if (site.causal || site.window) found.push(["masked", G.t("model.kind_after")]);
    }
    return found;
  }

  function slice(count, around, most) {
    if (count <= most) return [0, count];
    const start = Math.max(0, Math.min(count - most, around - (most >> 1)));
    return [start, start + most];
  }

  const cellSize = (count) => Math.max(3, Math.min(46, Math.floor((G.model.room ?? 400) / count)));

  function blockNames(count, size, names) {
    return Array.from({length: Math.ceil(count / size)}, (_, b) =>
      size === 1 ? names[b] : `${b * size}–${Math.min(count, (b + 1) * size) - 1}`,
    );
  }

  function matrix(model, view, kind, own, pinned, onpin) {
    const {site, number, position} = view;
    if (!site.isWhole(number)) {
      const small = site.thumbnail(number),
        at = (i, j) => (small.codes[i * small.columns + j] / 255) ** 2;
      return [
        G.note(G.t("model.pooled", {rows: site.block[0], columns: site.block[1]})),
        G.heatmap({
          rows: small.rows,
          columns: small.columns,
          value: at,
          scale: "share",
          extent: own ? site.typical(small) : 1,
          rowTitle: G.t("model.query"),
          columnTitle: G.t("model.key"),
          rowNames: blockNames(site.rows, site.block[0], site.rowNames),
          columnNames: blockNames(site.columns, site.block[1], site.columnNames),
          label: G.t("model.matrix_label"),
          text: (i, j) => `≤ ${G.number(at(i, j), 3)}`,
        }),
      ];
    }
    const [top, bottom] = slice(site.rows, position, MATRIX),
      [left, right] = slice(site.columns, site.key === "cross" ? (pinned?.[1] ?? 0) : position, MATRIX);
    const weights = kind === "weights";
    const value = weights ? (i, j) => site.weight(number, top + i, left + j) : (i, j) => site.score(number, top + i, left + j);
    const name = (names, from) => (_, i) => `${from + i} ${G.model.quoted(names[from + i])}`;
    const cut = bottom - top < site.rows || right - left < site.columns;
    return [
      cut && G.note(G.t("model.window", {from: top, to: bottom - 1, n: site.rows})),
      G.heatmap({
        rows: bottom - top,
        columns: right - left,
        value,
        scale: weights ? "share" : "signed",
        extent: weights ? (own ? site.typical(site.thumbnail(number)) : 1) : undefined,
        present: kind === "scores" ? undefined : (i, j) => site.visible(top + i, left + j),
        rowNames: Array.from({length: bottom - top}, name(site.rowNames, top)),
        columnNames: Array.from({length: right - left}, name(site.columnNames, left)),
        rowTitle: G.t("model.query"),
        columnTitle: G.t("model.key"),
        label: G.t("model.matrix_label"),
        text: (i, j) => G.number(value(i, j), 3),
        cell: cellSize(Math.max(bottom - top, right - left)),
        pinned:
          pinned && pinned[0] >= top && pinned[0] < bottom && pinned[1] >= left && pinned[1] < right
            ? [pinned[0] - top, pinned[1] - left]
            : null,
        onpin: (i, j) => onpin(i === null ? null : i + top, j === null ? null : j + left),
      }),
    ];
  }

  // Queries left, keys right; the width of a line is its weight. A chosen query shows its own lines alone.
  function lines(model, view, context, select) {
    const {site, number} = view,
      all = context.state.get("query") === null;
    const query = Math.min(site.rows - 1, Math.max(0, context.state.get("query", view.position)));
    const [top, bottom] = slice(site.rows, query, WINDOW),
      [left, right] = slice(site.columns, site.key === "cross" ? 0 : query, WINDOW);
    const step = bottom - top > 40 || right - left > 40 ? 13 : 18,
      width = 460,
      height = Math.max(bottom - top, right - left) * step + 30;
    let hovered = null;
    const y = (at, from) => 30 + (at - from) * step;
    const {canvas, pen: fresh} = G.canvas(width, height);
    const readout = h("output", {class: "readout", "aria-live": "polite"});

    function strongest(row) {
      const found = [];
      for (let i = row ?? top; i < (row === null ? bottom : row + 1); i++)
        for (let j = left; j < right; j++) {
          const weight = site.visible(i, j) ? site.weight(number, i, j) : 0;
          if (weight > 0.004) found.push([weight, i, j]);
        }
      return found
        .sort((a, b) => b[0] - a[0])
        .slice(0, MOST_LINES)
        .reverse();
    }
    function draw() {
      const pen = fresh(),
        row = hovered ?? (all ? null : query);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      pen.fillStyle = G.colour.muted();
      pen.textAlign = "right";
      pen.fillText(G.t("model.query"), 170, 10);
      pen.textAlign = "left";
      pen.fillText(G.t("model.key"), 290, 10);
      pen.strokeStyle = G.colour.accent();
      const drawn = strongest(row);
      for (const [weight, i, j] of drawn) {
        pen.globalAlpha = Math.min(1, (row === null ? 0.08 : 0.3) + weight);
        pen.lineWidth = 0.6 + 4 * weight;
        pen.beginPath();
        pen.moveTo(176, y(i, top));
        pen.bezierCurveTo(215, y(i, top), 245, y(j, left), 284, y(j, left));
        pen.stroke();
      }
      pen.globalAlpha = 1;
      const text = (name, at) => `${at} ${G.model.quoted(name)}`.slice(0, 24);
      for (let i = top; i < bottom; i++) {
        pen.textAlign = "right";
        pen.fillStyle = i === row ? G.colour.accent() : G.colour.ink();
        pen.font = `${i === row ? "bold " : ""}12px system-ui, sans-serif`;
        pen.fillText(text(site.rowNames[i], i), 170, y(i, top));
      }
      pen.font = "12px system-ui, sans-serif";
      for (let j = left; j < right; j++) {
        pen.textAlign = "left";
        pen.fillStyle = G.colour.ink();
        pen.fillText(text(site.columnNames[j], j), 290, y(j, left));
      }
      const best =
        row === null
          ? []
          : [...drawn]
              .reverse()
              .slice(0, 5)
              .map(([weight, , j]) => `${j} ${G.model.quoted(site.columnNames[j])}: ${G.number(weight, 3)}`);
      readout.textContent =
        row === null
          ? ""
          : G.t("model.looks_at", {query: `${row} ${G.model.quoted(site.rowNames[row])}`, keys: best.join(", ") || "–"});
      canvas.setAttribute("aria-label", `${G.t("model.lines_label")} ${readout.textContent}`);
    }
    const at = (event) => {
      const box = canvas.getBoundingClientRect(),
        i = Math.round((event.clientY - box.top - 30) / step) + top;
      return event.clientX - box.left < 230 && i >= top && i < bottom ? i : null;
    };
    const choose = (row) => {
      context.state.set({query: row});
      select({});
    };
    G.pointing(canvas, {
      at,
      hover: (row) => {
        hovered = row;
        draw();
      },
      pick: (row) => row !== null && choose(!all && row === query ? null : row),
      walk: (down) => down !== 0 && choose(Math.min(site.rows - 1, Math.max(0, all ? query : query + down))),
      leave: () => !all && choose(null),
    });
    draw();
    const cut = bottom - top < site.rows || right - left < site.columns;
    return [
      G.note(G.t("model.lines_how", {n: MOST_LINES})),
      cut && G.note(G.t("model.window", {from: top, to: bottom - 1, n: site.rows})),
      G.scroll(G.t("model.lines_label"), canvas),
      readout,
    ];
  }

  // Where a patch (or the class token) looks, over the image.
  function overlay(model, view, context, select) {
    const {site, number} = view,
      {pixels, patch} = model.data.image,
      [height, width] = pixels.shape,
      side = width / patch;
    const size = Math.max(240, Math.min(400, width * Math.ceil(300 / width))),
      scale = size / width,
      left = 64;
    const query = Math.min(site.rows - 1, Math.max(0, context.state.get("query", 0)));
    const source = new OffscreenCanvas(width, height),
      image = new ImageData(width, height);
    for (let p = 0; p < width * height; p++) {
      image.data[4 * p] = pixels[3 * p];
      image.data[4 * p + 1] = pixels[3 * p + 1];
      image.data[4 * p + 2] = pixels[3 * p + 2];
      image.data[4 * p + 3] = 255;
    }
    source.getContext("2d").putImageData(image, 0, 0);
    const {canvas, pen: fresh} = G.canvas(size + left + 4, size + 4);
    const readout = h("output", {class: "readout", "aria-live": "polite"});
    let hovered = null;
    const box = (k) =>
      k === 0
        ? [6, 18, 44, 44]
        : [left + ((k - 1) % side) * patch * scale, 2 + Math.floor((k - 1) / side) * patch * scale, patch * scale, patch * scale];
    function draw() {
      const pen = fresh(),
        row = hovered ?? query;
      let most = 0;
      for (let k = 0; k < site.columns; k++) most = Math.max(most, site.weight(number, row, k));
      pen.imageSmoothingEnabled = false;
      pen.drawImage(source, left, 2, size, size);
      pen.fillStyle = "rgb(0 0 0 / 62%)";
      pen.fillRect(left, 2, size, size);
      for (let k = 1; k < site.columns; k++) {
        // what is looked at is lit: the image shines through
        const [x, y, w, t] = box(k),
          share = most ? site.weight(number, row, k) / most : 0;
        pen.save();
        pen.globalAlpha = Math.sqrt(share);
        pen.drawImage(source, ((k - 1) % side) * patch, Math.floor((k - 1) / side) * patch, patch, patch, x, y, w, t);
        pen.restore();
      }
      const [x0, y0, w0, t0] = box(0),
        mine = most ? site.weight(number, row, 0) / most : 0;
      pen.fillStyle = G.colour.share(mine);
      pen.fillRect(x0, y0, w0, t0);
      pen.strokeStyle = G.colour.line();
      pen.lineWidth = 1;
      pen.strokeRect(x0, y0, w0, t0);
      pen.fillStyle = G.colour.inkOn("share", mine);
      pen.font = "bold 12px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText("CLS", x0 + w0 / 2, y0 + t0 / 2);
      for (const [k, colour, dash] of [
        [query, "#ffb454", []],
        [hovered, "#ffffff", [4, 3]],
      ])
        if (k !== null) {
          pen.strokeStyle = colour;
          pen.lineWidth = 3;
          pen.setLineDash(dash);
          pen.strokeRect(...box(k));
        }
      pen.setLineDash([]);
      const best = Array.from({length: site.columns}, (_, k) => [site.weight(number, row, k), k])
        .sort((a, b) => b[0] - a[0])
        .slice(0, 4);
      readout.textContent = G.t("model.looks_at", {
        query: site.rowNames[row],
        keys: best.map(([weight, k]) => `${site.columnNames[k]}: ${G.number(weight, 3)}`).join("; "),
      });
      canvas.setAttribute("aria-label", `${G.t("model.image_label")} ${readout.textContent}`);
    }
    const at = (event) => {
      const frame = canvas.getBoundingClientRect(),
        x = event.clientX - frame.left,
        y = event.clientY - frame.top;
      if (x < left) return y > 10 && y < 70 ? 0 : null;
      const column = Math.floor((x - left) / (patch * scale)),
        line = Math.floor((y - 2) / (patch * scale));
      return column >= 0 && column < side && line >= 0 && line < side ? 1 + line * side + column : null;
    };
    const choose = (k) => {
      context.state.set({query: k});
      select({});
    };
    G.pointing(canvas, {
      at,
      hover: (k) => {
        hovered = k;
        draw();
      },
      pick: (k) => k !== null && choose(k),
      walk: (down, across) => choose(Math.min(site.rows - 1, Math.max(0, query + down * side + across))),
      leave: () => choose(null),
    });
    draw();
    return [G.note(G.t("model.image_how")), G.scroll(G.t("model.image_label"), canvas), readout];
  }

  const facts = (model, {site, number}) =>
    h(
      "ul",
      {class: "facts"},
      Object.keys(site.metrics).map((key) =>
        h(
          "li",
          {title: G.t(`model.about_${key}`)},
          h("span", {class: "dim"}, G.t(`model.metric_${key}`)),
          " ",
          h("b", {class: "number"}, G.number(site.metrics[key][number], 3)),
        ),
      ),
      [...model.modes.keys()].map((mode) => {
        const x = model.meanChange(mode, site.first + number);
        return (
          Number.isFinite(x) &&
          h(
            "li",
            {title: G.t(`model.about_effect_${mode}`)},
            h("span", {class: "dim"}, G.t(`model.metric_effect_${mode}`)),
            " ",
            h("b", {class: "number"}, G.number(x, 3)),
          )
        );
      }),
    );

  function map(model, context, select) {
    const element = h("section", {class: "map panel", "aria-live": "off"});
    element.redraw = () => {
      G.model.room = Math.max(300, (element.clientWidth || 500) - 130);
      const view = G.model.chosen(model, context.state),
        {site, number} = view;
      const image = model.data.image,
        ways = [
          ...(image && site.isWhole(number) ? [["image", G.t("model.way_image")]] : []),
          ["matrix", G.t("model.way_matrix")],
          ...(site.isWhole(number) ? [["lines", G.t("model.way_lines")]] : []),
        ];
      const choices = kinds(site, number),
        pick = (name, from) => {
          const now = context.state.get(name, from[0][0]);
          return from.some(([id]) => id === now) ? now : from[0][0];
        };
      const way = pick("way", ways),
        kind = pick("kind", choices),
        own = context.state.get("colour", "own") === "own";
      const row = context.state.get("query", -1),
        column = context.state.get("key", -1);
      const pinned = row >= 0 && column >= 0 ? [row, column] : null;
      const group = (name, from, now, label) =>
        h(
          "span",
          {class: "row", role: "group", "aria-label": label},
          from.map(([id, text]) =>
            G.button(
              text,
              () => {
                context.state.set({[name]: id});
                element.redraw();
              },
              {"aria-pressed": String(id === now), class: "small"},
            ),
          ),
        );
      const body =
        way === "lines"
          ? lines(model, view, context, select)
          : way === "image"
            ? overlay(model, view, context, select)
            : matrix(model, view, kind, own, pinned, (i, j) => context.state.set({query: i, key: j}));
      const focused = element.contains(document.activeElement) && document.activeElement.localName === "canvas";
      G.clear(element).append(
        h("h2", {}, G.t("model.map_title", {site: G.model.siteName(site), layer: view.layer, head: view.head})),
        facts(model, view),
        h(
          "div",
          {class: "row"},
          group("way", ways, way, G.t("model.way")),
          way === "matrix" && choices.length > 1 && group("kind", choices, kind, G.t("model.kind")),
        ),
        ...(way === "matrix"
          ? [G.note(G.t(`model.kind_about_${kind === "scores" && !(site.causal || site.window) ? "plain" : kind}`))]
          : []),
        ...body.filter(Boolean),
        G.note(precision(model, site, kind)),
      );
      if (focused) element.querySelector("canvas")?.focus();
    };
    requestAnimationFrame(() => {
      if (element.isConnected) element.redraw();
    }); // once it is known how wide it is
    element.redraw();
    return element;
  }

  function precision(model, site, kind) {
    const said = [G.t(model.data.few ? "model.precise_few" : "model.precise_many")];
    if (kind !== "weights") said.push(G.t(model.data.few ? "model.precise_scores_few" : "model.precise_scores_many"));
    if (site.whole.length < site.count) said.push(G.t("model.sampled", {n: site.whole.length, of: site.count}));
    if (site.scored.length < site.count) said.push(G.t("model.sampled_scores", {n: site.scored.length, of: site.count}));
    return said.join(" ");
  }

  G.model.map = map;
}
