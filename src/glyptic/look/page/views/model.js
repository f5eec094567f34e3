// A trained or loaded transformer on one input. Top: what it read and what it says; left: how it is made; right: what happens inside.
{
  const {h} = G;
  const CHIPS = 160;

  function headline(model) {
    const {config, data} = model,
      kind = G.t(`model.kind_of_${config.kind}`);
    const values = {
      kind,
      layers: config.layers,
      heads: config.heads,
      parameters: G.model.large(data.parts.total.parameters),
      n: model.names.length,
      source: data.sequences[0].length,
      encoder: config.encoder_layers,
      side: config.image_size,
    };
    return G.t(
      config.kind === "encoder_decoder" ? "model.lead_both" : config.kind === "vit" ? "model.lead_image" : "model.lead",
      values,
    );
  }

  // The tokens that went in; the chosen one is where the prediction is read.
  function chips(model, context, select) {
    if (model.data.image) return [picture(model)];
    const {position} = G.model.chosen(model, context.state),
      names = model.names,
      start = Math.max(0, Math.min(names.length - CHIPS, position - (CHIPS >> 1)));
    const chip = (name, k) =>
      h(
        "button",
        {
          type: "button",
          class: "chip mono",
          "aria-pressed": String(k === position),
          title: G.t("model.position_n", {n: k}),
          onclick: () => select({pos: k}),
        },
        h("sub", {}, String(k)),
        G.model.quoted(name),
      );
    const row = h(
      "div",
      {class: "chips", role: "group", "aria-label": G.t("model.tokens")},
      names.slice(start, start + CHIPS).map((name, k) => chip(name, start + k)),
    );
    const source =
      model.data.sequences.length > 1 &&
      h(
        "p",
        {class: "mono source"},
        h("span", {class: "dim"}, G.t("model.source"), " "),
        model.data.sequences[0].slice(0, CHIPS).map((name) => h("span", {class: "chip"}, G.model.quoted(name))),
      );
    return [
      source,
      source && h("span", {class: "dim"}, G.t("model.target")),
      row,
      names.length > CHIPS && G.note(G.t("model.window", {from: start, to: start + CHIPS - 1, n: names.length})),
    ];
  }

  function picture(model) {
    const {pixels, low, high} = model.data.image,
      [height, width] = pixels.shape,
      canvas = h("canvas", {
        width,
        height,
        role: "img",
        "aria-label": G.t("model.image"),
        style: {width: "150px", height: "150px", imageRendering: width < 150 ? "pixelated" : "auto"},
      });
    const image = new ImageData(width, height);
    for (let p = 0; p < width * height; p++) {
      for (let c = 0; c < 3; c++) image.data[4 * p + c] = pixels[3 * p + c];
      image.data[4 * p + 3] = 255;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return h(
      "figure",
      {class: "input-image"},
      canvas,
      h("figcaption", {class: "note"}, G.t("model.image_range", {low: G.number(low, 3), high: G.number(high, 3)})),
    );
  }

  function said(model, context) {
    if (!model.lens) return h("p", {class: "note"}, G.t("model.no_output"));
    const {position} = G.model.chosen(model, context.state),
      isClass = model.config.head === "class";
    const column = G.model.nearest(model.lens.positions, isClass ? model.data.deciding : position),
      at = model.lens.positions[column];
    const key = isClass ? "model.says_class" : model.config.kind === "encoder" ? "model.says_here" : "model.says_next";
    return [
      h("h3", {}, G.t(key, {n: at, token: G.model.quoted(model.names[at])})),
      G.model.bars(model, model.lens.at(model.lens.layers - 1, column)),
    ];
  }

  G.view("model", {
    keys: [
      ["[ ]", "model.key_layer"],
      [", .", "model.key_head"],
      ["v", "model.key_way"],
    ],
    mount(root, data, context) {
      const model = G.model.open(data),
        {state} = context;
      const input = h("div", {class: "input"}),
        answer = h("div", {class: "answer", "aria-live": "polite"}),
        right = h("div", {class: "inside"});
      let parts = [];
      const redraw = () => {
        for (const part of parts) if (part.isConnected) part.redraw();
        const focused = input.contains(document.activeElement);
        G.clear(input).append(...chips(model, context, select).filter(Boolean));
        G.clear(answer).append(...[said(model, context)].flat());
        const row = input.querySelector(".chips"),
          now = row?.querySelector("[aria-pressed=true]");
        if (now) row.scrollTop = Math.max(0, now.offsetTop - row.offsetTop - row.clientHeight / 2);
        if (focused) now?.focus();
      };
      // Everything that is chosen goes through here: into the fragment, then to all that shows it.
      function select(changes, rebuild = false) {
        state.set(changes, {push: Object.keys(changes).length > 0});
        if (rebuild || "site" in changes) G.rebuild();
        else redraw();
      }
      const panel = (build) => () => {
        const place = h("div", {class: "panel"});
        place.redraw = () => {
          const focused = place.contains(document.activeElement) && document.activeElement.localName === "canvas";
          G.clear(place).append(...build(model, context, select));
          if (focused) place.querySelector("canvas")?.focus();
        };
        place.redraw();
        parts = [drawing, place];
        return [place];
      };
      const drawing = G.model.architecture(model, context, select);
      const attention = () => {
        const wall = G.model.wall(model, context, select),
          map = G.model.map(model, context, select);
        parts = [drawing, wall, map];
        return [h("div", {class: "attention"}, h("section", {class: "panel"}, h("h2", {}, G.t("model.wall_title")), wall), map)];
      };
      right.append(
        G.tabs(
          {
            name: "tab",
            label: G.t("model.tabs"),
            items: [
              ["attention", G.t("model.tab_attention"), attention],
              ["lens", G.t("model.tab_lens"), panel(G.model.lens)],
              ["residual", G.t("model.tab_residual"), panel(G.model.residual)],
              ["effects", G.t("model.tab_effects"), panel(G.model.effects)],
            ],
          },
          context,
        ),
      );
      root.append(
        h("p", {class: "lead"}, headline(model), " ", h("span", {class: "pill"}, G.t("model.recording"))),
        h(
          "section",
          {class: "panel top"},
          h("div", {class: "read"}, h("h2", {}, G.t(data.image ? "model.read_image" : "model.read")), input),
          answer,
        ),
        h("div", {class: "columns"}, drawing, right),
      );
      redraw();
      return {
        key(event) {
          const {site, layer, head} = G.model.chosen(model, state),
            step = {"[": [-1, 0], "]": [1, 0], ",": [0, -1], ".": [0, 1]}[event.key];
          if (step) {
            select({layer: (layer + step[0] + site.layers) % site.layers, head: (head + step[1] + site.heads) % site.heads});
            return true;
          }
          if (event.key === "v") {
            const ways = data.image ? ["image", "matrix", "lines"] : ["matrix", "lines"];
            state.set({way: ways[(ways.indexOf(state.get("way", ways[0])) + 1) % ways.length]});
            redraw();
            return true;
          }
          if (event.key === "Escape" && state.get("query") !== null) {
            state.set({query: null, key: null});
            redraw();
            return true;
          }
          return false;
        },
        csv: () => rows(model, context),
        destroy() {},
      };
    },
  });

  // What the chosen tab shows, as rows.
  function rows(model, context) {
    const {site, number, layer, head} = G.model.chosen(model, context.state),
      tab = context.state.get("tab", "attention");
    if (tab === "lens" && model.lens)
      return [
        ["layer", "position", "token", "rank", "output", "probability"],
        ...Array.from({length: model.lens.layers}, (_, l) =>
          model.lens.positions.flatMap((p, c) =>
            model.lens.at(l, c).map(([id, share], r) => [l, p, model.names[p], r + 1, model.text(id), share]),
          ),
        ).flat(),
      ];
    if (tab === "residual")
      return [
        ["stack", "layer", "position", "length"],
        ...model.data.streams.flatMap((s) =>
          Array.from(s.residual, (x, at) => [s.key, Math.floor(at / s.residual.shape[1]), at % s.residual.shape[1], x]),
        ),
      ];
    if (tab === "effects")
      return [
        ["attention", "layer", "head", "how", "position", "change"],
        ...[...model.modes.keys()].flatMap((mode) =>
          model.sites.flatMap((s) =>
            Array.from({length: s.count}, (_, n) =>
              model.measured.map((p, k) => [s.key, s.layerOf(n), s.headOf(n), mode, p, model.change(mode, s.first + n, k)]),
            ).flat(),
          ),
        ),
      ];
    if (!site.isWhole(number))
      return [
        ["attention", "layer", "head", "measure", "value"],
        ...Object.keys(site.metrics).map((key) => [site.key, layer, head, key, site.metrics[key][number]]),
      ];
    const found = [["query", "token", ...site.columnNames.map((name, j) => `${j} ${name}`)]];
    for (let i = 0; i < site.rows; i++)
      found.push([
        i,
        site.rowNames[i],
        ...Array.from({length: site.columns}, (_, j) =>
          site.visible(i, j) ? Number(site.weight(number, i, j).toPrecision(6)) : "",
        ),
      ]);
    return found;
  }
}
