// What the page of a model was given, as functions: weights and scores by head and place, names, what a head's change did.
{
  const known = new WeakMap();

  // Attention of one kind: `head` counts through the layers, as layer × heads + head of the layer.
  class Site {
    constructor(raw, few, sequences, first) {
      Object.assign(this, raw);
      this.few = few;
      this.first = first; // of its heads among those of all sites
      this.count = raw.layers * raw.heads;
      this.rowNames = sequences[raw.queries];
      this.columnNames = sequences[raw.keys];
      this.place = new Map(raw.whole.map((head, at) => [head, at]));
      this.scorePlace = new Map(raw.scored.map((head, at) => [head, at]));
      this.entries = raw.causal ? (raw.rows * (raw.rows + 1)) / 2 : raw.rows * raw.columns;
      this.block = [Math.ceil(raw.rows / 64), Math.ceil(raw.columns / 64)];
    }
    isWhole(head) {
      return this.place.has(head);
    }
    visible(i, j) {
      if (this.causal && j > i) return false;
      return !this.window || Math.abs(i - j) < this.window;
    }
    code(head, i, j) {
      if (this.causal && j > i) return 0;
      return this.maps[this.place.get(head) * this.entries + (this.causal ? (i * (i + 1)) / 2 + j : i * this.columns + j)];
    }
    weight(head, i, j) {
      const code = this.code(head, i, j);
      return this.few ? code / 65535 : (code / 255) ** 2;
    }
    hasScores(head) {
      return this.scorePlace.has(head);
    }
    score(head, i, j) {
      const at = this.scorePlace.get(head),
        [low, high] = this.ranges[at];
      return low + ((high - low) * this.scores[at * this.rows * this.columns + i * this.columns + j]) / (this.few ? 65535 : 255);
    }
    // At most 64 × 64 roots of weights in 255ths: the largest of each block.
    thumbnail(head) {
      const [down, along] = this.block,
        rows = Math.ceil(this.rows / down),
        columns = Math.ceil(this.columns / along);
      if (!this.isWhole(head))
        return {rows, columns, codes: this.thumbnails.subarray(head * rows * columns, (head + 1) * rows * columns)};
      const codes = new Uint8Array(rows * columns);
      for (let i = 0; i < this.rows; i++) {
        const end = this.causal ? i + 1 : this.columns,
          row = Math.floor(i / down) * columns;
        for (let j = 0; j < end; j++) {
          const code = this.code(head, i, j),
            level = this.few ? Math.round(Math.sqrt(code / 65535) * 255) : code,
            at = row + Math.floor(j / along);
          if (level > codes[at]) codes[at] = level;
        }
      }
      return {rows, columns, codes};
    }
    // The weight that gets full colour if a head is drawn by its own measure: the middle one of its rows' largest.
    typical(thumbnail) {
      const most = [];
      for (let i = 0; i < thumbnail.rows; i++) {
        let best = 0;
        for (let j = 0; j < thumbnail.columns; j++) best = Math.max(best, thumbnail.codes[i * thumbnail.columns + j]);
        most.push(best);
      }
      most.sort((a, b) => a - b);
      return (Math.max(1, most[most.length >> 1]) / 255) ** 2;
    }
    layerOf(head) {
      return Math.floor(head / this.heads);
    }
    headOf(head) {
      return head % this.heads;
    }
  }

  function open(data) {
    if (known.has(data)) return known.get(data);
    let first = 0;
    const sites = data.sites.map((raw) => {
      const site = new Site(raw, data.few, data.sequences, first);
      first += site.count;
      return site;
    });
    const modes = new Map(data.effects.modes.map((each) => [each.mode, each]));
    const last = data.sequences.length - 1;
    const found = {
      data,
      config: data.config,
      sites,
      modes,
      heads: first,
      names: data.sequences[last],
      text: (id) => data.texts[String(id)] ?? String(id),
      measured: data.effects.positions,
      thumbnails: new Map(),
      // Of head n (counted over all sites) at the k-th measured position.
      change: (mode, n, k) => modes.get(mode).change[n * data.effects.positions.length + k],
      meanChange(mode, n) {
        let sum = 0;
        for (let k = 0; k < data.effects.positions.length; k++) sum += this.change(mode, n, k);
        return sum / data.effects.positions.length;
      },
      lens: data.lens && {
        ...data.lens,
        layers: data.lens.ids.shape[0],
        k: data.lens.ids.shape[2],
        at(layer, column) {
          // [[id, probability], …], the likeliest first
          const start = (layer * this.positions.length + column) * this.k;
          return Array.from({length: this.k}, (_, r) => [data.lens.ids[start + r], data.lens.probabilities[start + r] / 65535]);
        },
        finalShare(layer, column) {
          return data.lens.final[layer * this.positions.length + column] / 65535;
        },
      },
    };
    known.set(data, found);
    return found;
  }

  // The chosen site, layer, head and position, out of the fragment and kept within what there is.
  function chosen(model, state) {
    const site = model.sites.find((each) => each.key === state.get("site")) ?? model.sites[model.sites.length > 1 ? 2 : 0];
    const within = (value, count) => Math.min(count - 1, Math.max(0, Math.round(value)));
    const layer = within(state.get("layer", 0), site.layers),
      head = within(state.get("head", 0), site.heads);
    const position = within(state.get("pos", model.data.deciding), model.names.length);
    return {site, layer, head, number: layer * site.heads + head, position};
  }

  const percent = (x) => `${x >= 0.9995 ? "100" : (100 * x).toFixed(x < 0.0995 ? 1 : 0)} %`;
  const count = (n) => n.toLocaleString(G.language === "es" ? "es" : "en", {useGrouping: true});
  const large = (n) => {
    for (const [unit, size] of [
      ["T", 1e12],
      ["G", 1e9],
      ["M", 1e6],
      ["k", 1e3],
    ])
      if (n >= size) return `${Number((n / size).toPrecision(3))} ${unit}`;
    return String(n);
  };
  const quoted = (text) => (text === "" ? "∅" : text.replace(/^ | $/g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥"));

  const siteName = (site) => G.t(`model.site_${site.key}`);
  // Self-attention or cross-attention, of encoder or decoder: a choice where there are several.
  const siteChoice = (model, site, context, select) =>
    model.sites.length > 1 &&
    G.choice(
      {
        name: "site",
        label: G.t("model.site"),
        fallback: site.key,
        options: model.sites.map((each) => [each.key, siteName(each)]),
      },
      context,
      () => select({layer: 0, head: 0}, true),
    );

  G.model = Object.assign(G.model ?? {}, {
    open,
    chosen,
    percent,
    count,
    large,
    quoted,
    siteName,
    siteChoice,
  });
}
