// Positions side by side: seven ways to tell a transformer the order of its tokens, computed as the reader changes them.
{
  const {h} = G;
  const P = (G.positions ??= {});
  const t = (key, values) => G.t(`positions.${key}`, values);
  const CARRIED = {
    sinusoidal: "input",
    learned: "input",
    rotary: "qk",
    alibi: "scores",
    t5: "scores",
    shaw: "scores_values",
    transformer_xl: "scores",
  };
  const LEARNED = new Set(["learned", "t5", "shaw", "transformer_xl"]);
  const SPEED = 3; // positions a second

  const sizeOfHead = (width, heads) => Math.max(2, 2 * Math.floor(width / heads / 2));

  // Everything that the mathematics needs, from the data and the state; whatever the fragment says is brought within bounds.
  function settingOf(data, state) {
    const whole = (name, fallback, least, most) => Math.min(most, Math.max(least, Math.round(state.get(name, fallback))));
    const {limits} = data;
    const width = data.own ? data.width : 2 * Math.round(whole("width", data.width, 4, limits.width) / 2);
    const heads = data.own ? data.heads : whole("heads", data.heads, 1, limits.heads);
    const size = data.size ?? sizeOfHead(width, heads),
      head = whole("head", 0, 0, (data.shown_heads ?? heads) - 1);
    const length = whole("length", data.length, 4, limits.length);
    const base = Math.min(1e9, Math.max(1.001, state.get("base", data.base)));
    const part = (list) => list.subarray(head * size, (head + 1) * size);
    const scaled = data.rotary !== null;
    return {
      width,
      heads,
      size,
      head,
      length,
      base,
      scaled,
      trained: data.own ? data.trained : whole("trained", data.trained, 2, limits.trained),
      causal: data.own ? data.causal : state.get("causal", data.causal ? "1" : "0") === "1",
      clip: data.own ? data.clip : whole("clip", data.clip, 1, limits.clip),
      buckets: data.own ? data.buckets : 2 * whole("buckets", data.buckets / 2, 2, limits.buckets / 2),
      distance: data.own ? data.distance : whole("distance", data.distance, 20, 128),
      scale: data.scale ?? size ** -0.5,
      tables: data.tables,
      q: part(data.tables.q),
      k: part(data.tables.k),
      frequencies: scaled ? data.rotary.frequencies : P.frequencies(size, base),
      factor: scaled ? data.rotary.factor : 1,
      m: whole("m", Math.floor(length * 0.7), 0, length - 1),
      n: whole("n", Math.floor(length * 0.45), 0, length - 1),
    };
  }

  // Two kinds of map: what there is (a table), or what a query and a key get (scores).
  function mapOf(kind, s, scores, onpin) {
    if (scores) {
      const far =
        kind.id === "sinusoidal" || kind.id === "learned"
          ? (i, j) => Math.max(i, j) >= s.trained
          : (i, j) => Math.abs(i - j) >= s.trained;
      return {
        rows: s.length,
        columns: s.length,
        value: kind.score,
        present: (i, j) => kind.exists(i) && kind.exists(j),
        hidden: (i, j) => s.causal && j > i,
        beyond: far,
        rowTitle: t("query"),
        columnTitle: t("key"),
        marked: [s.m, s.n],
        label: t("map_scores", {kind: t(kind.id)}),
        onpin: (i, j) => onpin({m: i, n: j}),
      };
    }
    const {table} = kind,
      apart = Math.abs(s.m - s.n),
      heads = kind.id === "alibi" || kind.id === "t5";
    return {
      ...table,
      beyond: (_, j) => j >= s.trained,
      rowTitle: t(heads ? "head" : kind.id === "rotary" ? "sin_cos" : "coordinate"),
      columnTitle: t(table.byDistance ? "distance" : "position"),
      marked: [heads ? Math.min(s.head, table.rows - 1) : 0, table.byDistance ? apart : s.m],
      label: t("map_table", {kind: t(kind.id)}),
      onpin: (i, j) => onpin({...(heads ? {head: i} : {}), ...(table.byDistance ? {n: Math.max(0, s.m - j)} : {m: j})}),
    };
  }

  function chartOf(kind, s) {
    const curve = P.curve(kind, s),
      there = curve.distances.map((_, k) => k).filter((k) => Number.isFinite(curve.mean[k]));
    const pick = (list) => there.map((k) => list[k]),
      series = [
        {
          name: t(kind.byDistance ? "by_distance" : "mean_and_range"),
          x: pick(curve.distances),
          y: pick(curve.mean),
          style: "line",
          colour: 0,
          ...(kind.byDistance ? {} : {low: pick(curve.low), high: pick(curve.high)}),
        },
      ];
    if (kind.id === "rotary")
      series.push({
        name: t("ones"),
        x: curve.distances,
        y: curve.distances.map((d) => s.frequencies.reduce((sum, f) => sum + 2 * Math.cos(d * f), 0) * s.scale * s.factor ** 2),
        style: "dashed",
        colour: 1,
      });
    if (kind.id === "alibi" || kind.id === "t5")
      for (let head = 0; head < kind.table.rows; head++)
        if (head !== s.head)
          series.push({
            name: t("head_n", {n: head}),
            x: curve.distances,
            y: curve.distances.map((d) => kind.score(Math.max(0, d), Math.max(0, -d), head)),
            style: "line",
            colour: 0,
            faint: true,
          });
    const all = series.flatMap((each) => [...each.y, ...(each.low ?? []), ...(each.high ?? [])]).filter(Number.isFinite),
      low = Math.min(...all),
      high = Math.max(...all);
    const from = Math.min(s.trained, s.length - 1);
    for (const [a, b] of s.causal
      ? [[from, s.length - 1]]
      : [
          [from, s.length - 1],
          [1 - s.length, -from],
        ])
      if (s.trained < s.length)
        series.push({
          name: t("beyond_trained"),
          x: [a, b],
          y: [low, low],
          low: [low, low],
          high: [high, high],
          faint: true,
          colour: G.colour.muted(),
        });
    const value = kind.score(s.m, s.n),
      masked = s.causal && s.n > s.m;
    return G.plot({
      series,
      xlabel: t("distance_ij"),
      ylabel: t(kind.id === "sinusoidal" || kind.id === "learned" ? "similarity" : "score"),
      width: 330,
      height: 210,
      label: t("chart", {kind: t(kind.id)}),
      marks: Number.isFinite(value) && !masked ? [{x: s.m - s.n, y: value, text: ""}] : [],
    });
  }

  // What the chosen pair of positions gets from this kind, in a sentence.
  function pairText(kind, s) {
    if (s.causal && s.n > s.m) return t("pair_masked", {m: s.m, n: s.n});
    if (!kind.exists(s.m) || !kind.exists(s.n)) return t("pair_missing", {t: Math.max(s.m, s.n), trained: s.trained});
    const value = G.number(kind.score(s.m, s.n)),
      d = s.m - s.n;
    switch (kind.id) {
      case "alibi":
        return t("pair_alibi", {slope: G.number(kind.slopes[s.head]), d: Math.abs(d), value});
      case "t5":
        return t("pair_t5", {d: G.number(d), bucket: kind.bucket(-d), value});
      case "shaw":
        return t("pair_shaw", {d: G.number(-d), clipped: G.number(P.clip(-d, s.clip)), value});
      case "transformer_xl": {
        const [a, b, c, e] = kind.terms(s.m, s.n).map((x) => G.number(x, 3));
        return t("pair_xl", {a, b, c, e});
      }
      case "rotary":
        return t("pair_rotary", {d: G.number(d), value});
      default:
        return t("pair_input", {m: s.m, n: s.n, value});
    }
  }

  function panelOf(id, data, onpin) {
    const map = P.map(),
      chart = h("div", {class: "chart-place"}),
      formula = h("div", {}),
      pair = h("p", {class: "pair", role: "status"}),
      beyond = h("p", {class: "beyond"}),
      full = h("p", {class: "note"});
    const own = data.own === id;
    const element = h(
      "article",
      {class: `panel kind${own ? " own" : ""}`, id: `kind-${id}`},
      h("h3", {}, t(id)),
      h(
        "p",
        {class: "pills"},
        h("span", {class: "pill"}, t(`acts_${CARRIED[id]}`)),
        " ",
        h("span", {class: "pill"}, t(LEARNED.has(id) ? (own ? "own_table" : "stand_in") : "nothing_learned")),
      ),
      h("p", {class: "what"}, t(`what_${id}`)),
      formula,
      map,
      full,
      pair,
      chart,
      beyond,
    );
    return {
      id,
      element,
      map,
      update(kind, s, scores) {
        G.clear(formula).append(P.formula(id, s));
        const extent = map.set(mapOf(kind, s, scores, onpin));
        full.textContent = t("full_colour", {
          n: G.number(extent, 3),
          what: t(scores ? (id === "sinusoidal" || id === "learned" ? "similarity" : "score") : "value"),
        });
        pair.textContent = pairText(kind, s);
        beyond.replaceChildren(
          h("b", {}, t("beyond_title", {n: s.trained})),
          " ",
          t(`beyond_${id}`, {n: s.trained, clip: s.clip, distance: s.distance, last: s.buckets / (s.causal ? 1 : 2) - 1}),
        );
        G.clear(chart).append(chartOf(kind, s));
      },
    };
  }

  const swatch = (kind) => {
    const canvas = h("canvas", {width: 26, height: 14, "aria-hidden": "true"}),
      draw = canvas.getContext("2d");
    draw.strokeStyle = kind === "missing" ? G.colour.bad() : G.colour.muted();
    draw.strokeRect(0.5, 0.5, 25, 13);
    for (let x = -14; x < 30; x += 6)
      for (const way of kind === "missing" ? [0, 14] : kind === "beyond" ? [0] : []) {
        draw.beginPath();
        draw.moveTo(x, way ? 0 : 14);
        draw.lineTo(x + 14, way ? 14 : 0);
        draw.stroke();
      }
    return canvas;
  };

  function legend() {
    const ramp = h("span", {
      class: "ramp",
      style: {
        background: `linear-gradient(90deg, ${[-1, -0.6, -0.3, -0.1, 0, 0.1, 0.3, 0.6, 1].map(G.colour.signed).join(", ")})`,
      },
      "aria-hidden": "true",
    });
    return h(
      "ul",
      {class: "legend"},
      h("li", {}, t("negative"), ramp, t("positive")),
      h("li", {}, swatch("beyond"), t("beyond_trained")),
      h("li", {}, swatch("missing"), t("does_not_exist")),
      h("li", {}, swatch("masked"), t("masked")),
      h("li", {}, h("span", {class: "marker", "aria-hidden": "true"}), t("marked")),
    );
  }

  function mount(root, data, context) {
    const {state} = context;
    let s = null,
      kinds = new Map(),
      asked = 0,
      playing = 0,
      last = 0,
      drawn = null;
    const ids = P.ORDER.filter((id) => data.kinds.includes(id)).sort((a, b) => (b === data.own) - (a === data.own));
    const pin = (changes) => {
      state.set(changes);
      for (const [name, value] of Object.entries(changes)) move(name, value);
      update();
    };
    const panels = ids.map((id) => panelOf(id, data, pin));
    const dials = h("div", {}),
      sizes = h("span", {class: "faded mono"});

    // Sliders say their value themselves; what moves them from elsewhere writes it in.
    const sliders = {};
    const slider = (name, options) => (sliders[name] = G.slider({name, ...options}, context, later));
    const move = (name, value) => {
      const control = sliders[name];
      if (control) {
        control.querySelector("input").value = value;
        control.querySelector("output").textContent = G.number(value);
      }
    };
    function later() {
      if (!asked)
        asked = requestAnimationFrame(() => {
          asked = 0;
          update();
        });
    }

    function controls() {
      const widths = [...new Set([8, 16, 32, 64, data.width])].sort((a, b) => a - b).map((w) => [w, String(w)]);
      const first = settingOf(data, state),
        headOptions = (count) => Array.from({length: count}, (_, i) => [i, String(i)]);
      const headChoice = h("span", {});
      const rebuildHead = () =>
        G.clear(headChoice).append(
          G.choice(
            {
              name: "head",
              options: headOptions(data.shown_heads ?? settingOf(data, state).heads),
              label: t("head_chosen"),
              fallback: 0,
            },
            context,
            later,
          ),
        );
      rebuildHead();
      const size = data.own
        ? []
        : [
            G.choice({name: "width", options: widths, label: t("width"), fallback: data.width}, context, later),
            G.slider({name: "heads", min: 1, max: data.limits.heads, label: t("heads"), fallback: data.heads}, context, () => {
              if (state.get("head", 0) >= state.get("heads", data.heads)) state.set({head: null});
              rebuildHead();
              later();
            }),
          ];
      const learned = data.own
        ? []
        : [
            slider("clip", {min: 1, max: data.limits.clip, label: t("clip"), fallback: data.clip}),
            slider("buckets", {
              min: 2,
              max: data.limits.buckets / 2,
              label: t("buckets"),
              fallback: data.buckets / 2,
              show: (x) => String(2 * x),
            }),
            slider("distance", {min: 20, max: 128, label: t("farthest"), fallback: data.distance}),
            G.toggle({name: "causal", label: t("causal"), fallback: data.causal}, context, later),
          ];
      return h(
        "div",
        {class: "panel controls"},
        h(
          "div",
          {class: "row"},
          size,
          headChoice,
          sizes,
          slider("length", {min: 4, max: data.limits.length, label: t("length"), fallback: data.length}),
          !data.own && slider("trained", {min: 2, max: data.limits.trained, label: t("trained"), fallback: data.trained}),
          !first.scaled &&
            G.slider({name: "base", min: 2, max: 1e6, log: true, label: t("base"), fallback: data.base}, context, later),
        ),
        learned.length > 0 && h("div", {class: "row"}, learned),
        h(
          "div",
          {class: "row"},
          G.choice(
            {
              name: "map",
              options: [
                ["table", t("show_table")],
                ["scores", t("show_scores")],
              ],
              label: t("show"),
            },
            context,
            later,
          ),
          slider("m", {min: 0, max: data.limits.length - 1, label: t("query_at"), fallback: first.m}),
          slider("n", {min: 0, max: data.limits.length - 1, label: t("key_at"), fallback: first.n}),
        ),
      );
    }

    const play = G.button("", toggle, {id: "play"});
    const label = () => {
      play.textContent = t(playing ? "pause" : "play");
      play.setAttribute("aria-pressed", String(playing !== 0));
    };
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let moving = null;
    function toggle() {
      if (playing) {
        cancelAnimationFrame(playing);
        playing = 0;
        const at = {m: Math.round(moving.m) % s.length, n: Math.round(moving.n) % s.length};
        moving = null;
        pin(at);
      } else {
        moving = {m: s.m, n: s.n};
        last = 0;
        playing = requestAnimationFrame(frame);
      }
      label();
    }
    // With less motion wished for, positions are whole and change once a second.
    function frame(now) {
      const wait = still.matches ? 1000 : 0;
      if (last === 0) last = now;
      if (now - last >= wait) {
        const step = still.matches ? 1 : ((now - last) / 1000) * SPEED;
        last = now;
        moving.m += step;
        if (state.get("moves", "both") === "both") moving.n += step;
        const back =
          Math.floor(Math.min(moving.m, state.get("moves", "both") === "both" ? moving.n : Infinity) / s.length) * s.length;
        if (back > 0) {
          moving.m -= back;
          if (state.get("moves", "both") === "both") moving.n -= back;
        }
        drawn.show(moving.m, moving.n);
      }
      playing = requestAnimationFrame(frame);
    }

    function turn() {
      drawn = P.dials(s, state.get("vectors", "plain") === "plain");
      G.clear(dials).append(drawn);
      drawn.show(moving?.m ?? s.m, moving?.n ?? s.n);
    }

    function update() {
      s = settingOf(data, state);
      kinds = new Map(ids.map((id) => [id, P.kind(id, s)]));
      for (const panel of panels) panel.update(kinds.get(panel.id), s, state.get("map", "table") === "scores");
      sizes.textContent = `D = ${s.width}, H = ${s.heads}, K = ${s.size}`;
      for (const name of ["m", "n"]) sliders[name].querySelector("input").max = s.length - 1;
      move("m", s.m);
      move("n", s.n);
      turn();
      G.positions.now = {setting: s, kinds};
    }

    const reading = h(
      "article",
      {class: "panel kind reading"},
      h("h3", {}, t("how_title")),
      h("p", {}, t("how_1")),
      h("p", {}, t("how_2")),
      h("p", {}, t("how_3")),
      !data.own && h("p", {}, t("how_4", {seed: data.seed})),
      data.own &&
        h("p", {}, t("how_own", {n: data.rows ?? data.trained, heads: data.shown_heads ?? data.heads, all: data.heads})),
    );
    const rotary = h(
      "section",
      {class: "panel", id: "rotary-dials", "aria-labelledby": "dials-title"},
      h("h2", {id: "dials-title"}, t("dials_title")),
      h("p", {class: "lead"}, t("dials_what")),
      h(
        "div",
        {class: "row"},
        play,
        G.choice(
          {
            name: "moves",
            options: [
              ["both", t("moves_both")],
              ["query", t("moves_query")],
            ],
            label: t("moves"),
          },
          context,
        ),
        G.choice(
          {
            name: "vectors",
            options: [
              ["plain", t("vectors_plain")],
              ["head", t("vectors_head")],
            ],
            label: t("vectors"),
          },
          context,
          later,
        ),
      ),
      dials,
      h(
        "ul",
        {class: "legend"},
        h("li", {}, h("span", {class: "hand solid", style: {borderColor: G.colour.series(0)}}), t("hand_q")),
        h("li", {}, h("span", {class: "hand dashed", style: {borderColor: G.colour.series(1)}}), t("hand_k")),
        h("li", {}, h("span", {class: "sector", style: {background: G.colour.share(0.22)}}), t("sector")),
      ),
    );
    root.append(
      h("h2", {}, t("title")),
      h("p", {class: "lead"}, t("lead")),
      controls(),
      legend(),
      h(
        "div",
        {class: "kinds"},
        reading,
        panels.map((panel) => panel.element),
      ),
      rotary,
    );
    label();
    update();

    const step = (name, by) => {
      pin({[name]: Math.min(s.length - 1, Math.max(0, s[name] + by))});
      return true;
    };
    return {
      key(event) {
        if (event.key === "[") return step("m", -1);
        if (event.key === "]") return step("m", 1);
        if (event.key === "{") return step("n", -1);
        if (event.key === "}") return step("n", 1);
        if (event.key === "p") {
          toggle();
          return true;
        }
        return false;
      },
      csv() {
        const rows = [["distance", ...ids]],
          curves = ids.map((id) => P.curve(kinds.get(id), s));
        curves[0].distances.forEach((d, k) =>
          rows.push([d, ...curves.map((curve) => (Number.isFinite(curve.mean[k]) ? curve.mean[k] : ""))]),
        );
        return rows;
      },
      destroy() {
        cancelAnimationFrame(playing);
        cancelAnimationFrame(asked);
        playing = 0;
      },
    };
  }

  G.view("positions", {
    keys: [
      ["[ ]", "positions.key_m"],
      ["{ }", "positions.key_n"],
      ["p", "positions.key_play"],
    ],
    mount,
  });
}
