// The wall: every head's map as a thumbnail, all on one canvas; sorted by what a head does; a click opens it.
{
  const {h} = G;
  const LABEL = 15,
    GAP = 6;

  // Colours of the 256 roots of weights, for a weight that gets full colour.
  function palette(full) {
    const table = new Uint8ClampedArray(256 * 3);
    for (let code = 0; code < 256; code++) table.set(G.colour.bytes("share", (code / 255) ** 2 / full), code * 3);
    return table;
  }

  function picture(model, site, head, own) {
    const key = `${site.key} ${head}`;
    if (!model.thumbnails.has(key)) {
      const found = site.thumbnail(head);
      model.thumbnails.set(key, {...found, typical: site.typical(found)});
    }
    const {rows, columns, codes, typical} = model.thumbnails.get(key);
    const image = new ImageData(columns, rows),
      colours = palette(own ? typical : 1);
    for (let at = 0; at < codes.length; at++) {
      const from = codes[at] * 3;
      image.data[4 * at] = colours[from];
      image.data[4 * at + 1] = colours[from + 1];
      image.data[4 * at + 2] = colours[from + 2];
      image.data[4 * at + 3] = 255;
    }
    const canvas = new OffscreenCanvas(columns, rows);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  function sorts(model, site) {
    const found = [["name", G.t("model.sort_name")]];
    for (const key of ["entropy", "previous", "induction", "itself", "first", "reach"])
      if (site.metrics[key]) found.push([key, G.t(`model.sort_${key}`)]);
    for (const mode of model.modes.keys()) found.push([`effect-${mode}`, G.t(`model.sort_effect_${mode}`)]);
    return found;
  }

  // A head's number in the chosen order; null where it was not measured.
  function measure(model, site, sort) {
    if (sort.startsWith("effect-"))
      return (head) => {
        const x = model.meanChange(sort.slice(7), site.first + head);
        return Number.isFinite(x) ? x : null;
      };
    return (head) => site.metrics[sort]?.[head] ?? null;
  }

  function ordered(model, site, sort) {
    const heads = Array.from({length: site.count}, (_, head) => head);
    if (sort === "name") return heads;
    const value = measure(model, site, sort),
      up = sort === "entropy"; // the sharpest first; of all else the most
    const key = (head) => {
      const x = value(head);
      return x === null ? Infinity : up ? x : -x;
    };
    return heads.sort((a, b) => key(a) - key(b) || a - b);
  }

  function wall(model, context, select) {
    const state = context.state;
    const element = h("div", {class: "wall"});
    let canvas = null,
      geometry = null,
      hovered = null;
    const readout = h("output", {class: "readout", "aria-live": "polite"});

    function plan() {
      const {site} = G.model.chosen(model, state),
        options = sorts(model, site);
      const sort = options.some(([id]) => id === state.get("sort")) ? state.get("sort") : "name";
      const room = Math.max(240, (element.clientWidth || 400) - 4);
      const shape = site.rows / site.columns;
      const side = Math.max(24, Math.min(96, Math.floor(room / site.heads) - GAP));
      const columns =
        sort === "name" && (side + GAP) * site.heads <= room ? site.heads : Math.max(1, Math.floor(room / (side + GAP)));
      const tall = Math.max(20, Math.min(side * 1.6, side * shape)),
        wide = side;
      return {site, sort, side: wide, tall, columns, order: ordered(model, site, sort), value: measure(model, site, sort)};
    }

    const spot = (at) => [
      (at % geometry.columns) * (geometry.side + GAP) + 2,
      Math.floor(at / geometry.columns) * (geometry.tall + LABEL + GAP) + 2,
    ];

    function describe(head) {
      const {site, sort, value} = geometry,
        x = value(head);
      const where = G.t("model.head_at", {layer: site.layerOf(head), head: site.headOf(head)});
      return sort === "name" || x === null
        ? where
        : G.t("model.head_with", {
            where,
            what: G.t(`model.${sort.replace("effect-", "metric_effect_").replace(/^(?!metric)/, "metric_")}`),
            value: G.number(x, 3),
          });
    }

    function draw() {
      geometry = plan();
      const {site, side, tall, columns, order} = geometry,
        lines = Math.ceil(order.length / columns),
        ratio = Math.min(2, devicePixelRatio || 1);
      const width = columns * (side + GAP) + 2,
        height = lines * (tall + LABEL + GAP) + 2;
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      Object.assign(canvas.style, {width: `${width}px`, height: `${height}px`});
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.imageSmoothingQuality = "high";
      pen.textBaseline = "middle";
      const own = state.get("colour", "own") === "own",
        chosen = G.model.chosen(model, state).number;
      order.forEach((head, at) => {
        const [x, y] = spot(at);
        const small = picture(model, site, head, own);
        pen.imageSmoothingEnabled = small.width > side * ratio; // what is enlarged keeps its cells
        pen.drawImage(small, x, y + LABEL, side, tall);
        pen.strokeStyle = G.colour.line();
        pen.lineWidth = 1;
        pen.setLineDash([]);
        pen.strokeRect(x - 0.5, y + LABEL - 0.5, side + 1, tall + 1);
        pen.fillStyle = head === chosen ? G.colour.accent() : G.colour.muted();
        pen.font = `${head === chosen ? "bold " : ""}${side < 36 ? 9 : 11}px system-ui, sans-serif`;
        const value = geometry.value(head),
          name = `${site.layerOf(head)}.${site.headOf(head)}`;
        pen.textAlign = "left";
        pen.fillText(name, x, y + LABEL / 2);
        if (geometry.sort !== "name" && value !== null && side >= 56) {
          pen.textAlign = "right";
          pen.fillText(G.number(value, 2), x + side, y + LABEL / 2);
        }
        if (head === chosen || head === hovered) {
          pen.strokeStyle = head === chosen ? G.colour.accent() : G.colour.ink();
          pen.lineWidth = head === chosen ? 3 : 2;
          pen.setLineDash(head === chosen ? [] : [3, 2]);
          pen.strokeRect(x - 1, y + LABEL - 1, side + 2, tall + 2);
        }
        if (!site.isWhole(head)) {
          pen.fillStyle = G.colour.muted();
          pen.fillText("≈", x + (side < 60 ? side - 8 : side / 2), y + LABEL / 2);
        }
      });
      const seen = hovered ?? chosen;
      readout.textContent = describe(seen);
      canvas.setAttribute(
        "aria-label",
        G.t("model.wall_label", {site: G.model.siteName(site), n: site.count, where: describe(chosen)}),
      );
    }

    function at(event) {
      const box = canvas.getBoundingClientRect(),
        x = event.clientX - box.left,
        y = event.clientY - box.top;
      const column = Math.floor(x / (geometry.side + GAP)),
        line = Math.floor(y / (geometry.tall + LABEL + GAP)),
        place = line * geometry.columns + column;
      return column < geometry.columns && place < geometry.order.length ? geometry.order[place] : null;
    }

    const take = (head) => {
      const {site} = geometry;
      select({layer: site.layerOf(head), head: site.headOf(head)});
    };
    canvas = h("canvas", {
      tabindex: "0",
      role: "img",
      class: "wall-canvas",
      onmousemove: (event) => {
        const head = at(event);
        if (head !== hovered) {
          hovered = head;
          draw();
        }
      },
      onmouseleave: () => {
        hovered = null;
        draw();
      },
      onclick: (event) => {
        const head = at(event);
        if (head !== null) take(head);
      },
      onkeydown: (event) => {
        const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -geometry.columns, ArrowDown: geometry.columns}[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        const place = geometry.order.indexOf(G.model.chosen(model, state).number),
          next = place + step;
        if (next >= 0 && next < geometry.order.length) take(geometry.order[next]);
      },
    });

    const {site} = G.model.chosen(model, state);
    const siteChoice = G.model.siteChoice(model, site, context, select);
    const sortChoice = G.choice({name: "sort", label: G.t("model.sort"), options: sorts(model, site)}, context, () => {
      draw();
      tell();
    });
    const colours = G.choice(
      {
        name: "colour",
        label: G.t("model.colour"),
        fallback: "own",
        options: [
          ["own", G.t("model.colour_own")],
          ["same", G.t("model.colour_same")],
        ],
      },
      context,
      () => {
        draw();
        select({});
      },
    );
    const meaning = h("p", {class: "note"});
    const tell = () => {
      meaning.textContent =
        geometry.sort === "name" ? G.t("model.wall_by_name") : G.t(`model.about_${geometry.sort.replace("-", "_")}`);
    };
    const table = () => {
      const keys = Object.keys(geometry.site.metrics);
      return G.table(
        [G.t("model.layer"), G.t("model.head"), ...keys.map((key) => G.t(`model.metric_${key}`))],
        geometry.order.map((head) => [
          String(geometry.site.layerOf(head)),
          String(geometry.site.headOf(head)),
          ...keys.map((key) => G.number(geometry.site.metrics[key][head], 4)),
        ]),
      );
    };
    element.append(
      h("div", {class: "row"}, siteChoice, sortChoice, colours),
      meaning,
      canvas,
      readout,
      legend(),
      G.behind(G.t("core.as_table"), table),
    );
    element.redraw = () => {
      draw();
      tell();
    };
    requestAnimationFrame(() => {
      if (element.isConnected) element.redraw();
    });
    element.redraw();
    return element;
  }

  // One hue from nothing to the weight that gets full colour.
  function legend() {
    const bar = h("canvas", {width: 120, height: 10, class: "bar-of-shares", "aria-hidden": "true"}),
      pen = bar.getContext("2d");
    for (let x = 0; x < 120; x++) {
      pen.fillStyle = G.colour.share(x / 119);
      pen.fillRect(x, 0, 1, 10);
    }
    return h(
      "p",
      {class: "legend"},
      h("span", {}, "0"),
      bar,
      h("span", {}, G.t("model.legend_full")),
      h("span", {class: "dim"}, G.t("model.legend_axes")),
    );
  }

  G.model.wall = wall;
  G.model.legend = legend;
  G.model.sorts = sorts;
  G.model.ordered = ordered;
}
