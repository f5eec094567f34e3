// BatchNorm against LayerNorm against RMSNorm: which cells share a mean, in training and at inference, computed as they are edited.
{
  const {h} = G;
  const N = (G.norms ??= {});
  const t = (key, values) => G.t(`norms.${key}`, values);
  const KINDS = ["batch", "layer", "rms"];
  const OUTLIER = 40,
    SEEN = 8; // at first, so many batches have been seen: the running statistics are on their way

  // Edits are part of the state, "batch.b.t.d=value;…": a link carries them.
  const readEdits = (text) =>
    new Map(
      String(text)
        .split(";")
        .map((each) => each.split("="))
        .filter(([place, value]) => /^\d+\.\d+\.\d+\.\d+$/.test(place) && value !== "" && Number.isFinite(Number(value)))
        .map(([place, value]) => [place, Number(value)]),
    );
  const writeEdits = (edits) => [...edits].map(([place, value]) => `${place}=${value}`).join(";") || null;

  function settingOf(data, state) {
    const whole = (name, fallback, least, most) => Math.min(most, Math.max(least, Math.round(state.get(name, fallback))));
    const number = (name, fallback, least, most) => Math.min(most, Math.max(least, state.get(name, fallback)));
    const {limits} = data,
      batches = data.stream.shape[0];
    const s = {
      batch: whole("batch", data.batch, 1, limits.batch),
      tokens: whole("tokens", data.tokens, 1, limits.tokens),
      features: whole("features", data.features, 2, limits.features),
      training: state.get("mode", "train") !== "inference",
      at: whole("step", SEEN, 0, batches - 1),
      momentum: number("momentum", data.momentum, 0, 1),
      gain: number("gain", 1, -4, 4),
      bias: number("bias", 0, -4, 4),
      eps: number("eps", data.eps, 1e-12, 1),
      outside: state.get("epsilon", "inside") === "outside",
      pool: state.get("pool", "tokens") === "batch" ? "batch" : "tokens",
      before: state.get("grids", "after") === "before",
      edits: readEdits(state.get("x", "")),
    };
    s.padding = Math.min(s.tokens - 1, whole("padding", 0, 0, limits.tokens - 1));
    const place = String(state.get("cell", "0.0.0")).split(".").map(Number),
      most = [s.batch - 1, s.tokens - 1, s.features - 1];
    s.cell = most.map((last, k) => (Number.isInteger(place[k]) ? Math.min(last, Math.max(0, place[k])) : 0));
    s.padded = ([b, k]) => b === s.batch - 1 && k >= s.tokens - s.padding;
    return s;
  }

  function batchAt(data, s, step) {
    const [, B, T, D] = data.stream.shape;
    return N.tensor(
      s.batch,
      s.tokens,
      s.features,
      (b, k, d) =>
        s.edits.get(`${step}.${b}.${k}.${d}`) ?? (s.padded([b, k, d]) ? 0 : data.stream[((step * B + b) * T + k) * D + d]),
    );
  }

  // The running statistics before each batch: those of step k have seen batches 0 … k − 1.
  function history(data, s) {
    const states = [N.beginning(s.pool, batchAt(data, s, 0))];
    for (let step = 0; step < s.at; step++) states.push(N.step(states[step], s.pool, batchAt(data, s, step), s.momentum));
    return states;
  }

  const farthest = (a, b, where) =>
    a.reduce((most, value, at) => (where(at) ? Math.max(most, Math.abs(value - b[at])) : most), 0);

  // Four questions, answered by computing: of how many numbers, batch of one, training = inference, does padding matter.
  function facts(kind, x, s, running, result) {
    const places = N.places(x),
      options = {...s, running};
    const other = N.apply(kind, x, {...options, training: !s.training});
    const size = kind === "batch" ? s.batch * (s.pool === "tokens" ? s.tokens : 1) : s.features;
    const found = [
      [true, t(kind === "batch" ? `over_batch_${s.pool}` : `over_${kind}`, {n: size, b: s.batch, t: s.tokens, d: s.features})],
    ];
    if (kind !== "batch") found.push([true, t("one_fine")]);
    else
      found.push(
        s.batch === 1 ? (size === 1 ? [false, t("one_refused")] : [null, t("one_tokens", {n: s.tokens})]) : [null, t("one_try")],
      );
    if (!result || !other) found.push([false, t("differs_refused")]);
    else {
      const apart = farthest(result.values, other.values, () => true);
      found.push([apart < 1e-12, t(apart < 1e-12 ? "same_modes" : "other_modes", {n: N.figure(apart)})]);
    }
    if (s.padding > 0 && result) {
      const real = kind === "batch" && s.training ? withoutPadding(x, options) : result.values;
      const moved = farthest(result.values, real, (at) => !s.padded(places[at]));
      found.push([moved < 1e-12, t(moved < 1e-12 ? "padding_harmless" : "padding_moves", {n: N.figure(moved)})]);
    }
    const later = kind === "batch" && s.training && s.tokens > 1 && s.pool === "tokens";
    found.push([!later, t(later ? "sees_future" : "sees_no_future")]);
    return h(
      "ul",
      {class: "facts"},
      found.map(([good, text]) =>
        h(
          "li",
          {class: good === null ? null : good ? "good" : "bad"},
          h("span", {"aria-hidden": "true"}, good === null ? "○ " : good ? "✓ " : "✗ "),
          h("span", {}, text),
        ),
      ),
    );
  }

  function withoutPadding(x, s) {
    const statistics = N.statistics("batch", s.pool, x, (place) => !s.padded(place));
    return N.places(x).map((place, at) => {
      const one = statistics[N.group("batch", s.pool, x, place)];
      return s.gain * ((x.values[at] - one.mean) / N.divisor("batch", one, s)) + s.bias;
    });
  }

  function mount(root, data, context) {
    const {state} = context;
    let s = null,
      hovered = null,
      asked = 0;
    const place = (name) => h("div", {class: name});
    const panels = KINDS.map((kind) => ({
      kind,
      top: place("top"),
      grid: place("grid-place"),
      worked: place("worked"),
      slope: place("slope-place"),
      facts: place("facts-place"),
    }));
    const input = place("grid-place"),
      status = h("p", {role: "status", class: "note"}),
      running = place("running"),
      batchName = h("b", {class: "mono"});
    const later = () => {
      if (!asked)
        asked = requestAnimationFrame(() => {
          asked = 0;
          update();
        });
    };
    const sliders = {};
    const slider = (name, options) => (sliders[name] = G.slider({name, ...options}, context, later));
    const set = (changes) => {
      state.set(changes);
      for (const [name, value] of Object.entries(changes))
        if (sliders[name] && value !== null) {
          sliders[name].querySelector("input").value = value;
          sliders[name].querySelector("output").textContent = G.number(value);
        }
      update();
    };
    const step = (by) => {
      set({step: Math.min(data.stream.shape[0] - 1, Math.max(0, s.at + by))});
      return true;
    };

    function edited(at, text) {
      const edits = new Map(s.edits),
        key = [s.at, ...at].join("."),
        value = text === null ? NaN : Number(String(text).trim().replace("−", "-").replace(",", "."));
      if (text !== null && String(text).trim() === "") edits.delete(key);
      else if (Number.isFinite(value)) edits.set(key, value);
      status.textContent =
        text === null
          ? ""
          : String(text).trim() === ""
            ? t("was_reset")
            : Number.isFinite(value)
              ? t("was_edited", {value: N.figure(value)})
              : t("not_a_number");
      state.set({x: writeEdits(edits), cell: at.join(".")});
      update();
      input.querySelector(".chosen")?.focus();
    }
    const pin = (at, where) => {
      hovered = null;
      state.set({cell: at.join(".")});
      update();
      where.querySelector(".chosen")?.focus();
    };
    const hover = (at) => {
      if (String(at) !== String(hovered)) {
        hovered = at;
        mark();
      }
    };

    // Hovering changes which cells are marked and what is worked out, and builds no grid anew.
    function mark() {
      const chosen = hovered ?? s.cell,
        x = s.x;
      for (const panel of panels) {
        const group = N.group(panel.kind, s.pool, x, chosen),
          shares = (each) => !s.running_used(panel.kind) && N.group(panel.kind, s.pool, x, each) === group;
        for (const cell of panel.grid.querySelectorAll("td[data-place]")) {
          const each = cell.dataset.place.split(".").map(Number);
          cell.classList.toggle("shared", shares(each));
          cell.classList.toggle("previewed", hovered !== null && String(each) === String(hovered));
        }
        explain(panel, chosen);
      }
      for (const cell of input.querySelectorAll("td[data-place]"))
        cell.classList.toggle("previewed", hovered !== null && cell.dataset.place === hovered.join("."));
    }

    function explain(panel, chosen) {
      const {kind, result} = panel,
        x = s.x,
        at = N.index(x, ...chosen);
      G.clear(panel.worked);
      G.clear(panel.slope);
      if (!result) {
        panel.worked.append(h("p", {class: "refused", role: "alert"}, t("refused")));
        return;
      }
      const group = N.group(kind, s.pool, x, chosen),
        members = N.places(x)
          .map((each, k) => [each, k])
          .filter(([each]) => N.group(kind, s.pool, x, each) === group)
          .map(([, k]) => k);
      const used = s.running_used(kind);
      panel.worked.append(
        h("p", {}, t(used ? "from_running" : "from_cells", {n: members.length, b: chosen[0], t: chosen[1], d: chosen[2]})),
        ...N.worked(kind, x.values[at], result.statistics[group], s, result.values[at]),
      );
      panel.slope.append(
        N.slope(
          members.map((k) => x.values[k]),
          members.map((k) => result.values[k]),
          members.indexOf(at),
          t("slope_label"),
        ),
      );
    }

    function charts(states) {
      const group = N.group("batch", s.pool, s.x, s.cell),
        steps = states.map((_, k) => k);
      const each = steps.slice(0, s.at).map((k) => {
        const one = N.statistics("batch", s.pool, batchAt(data, s, k))[group];
        return {mean: one.mean, variance: one.n > 1 ? (one.variance * one.n) / (one.n - 1) : NaN};
      });
      const chart = (name) =>
        G.plot({
          xlabel: t("batches_seen"),
          ylabel: t(name),
          label: t(`chart_${name}`, {d: s.cell[2]}),
          width: 430,
          height: 250,
          xrange: [0, Math.max(8, s.at)],
          series: [
            {
              name: t(`running_${name}`),
              x: steps,
              y: states.map((one) => one[group][name]),
              style: s.at > 0 ? "line" : "points",
              colour: 0,
            },
            ...(s.at > 0 && each.every((one) => Number.isFinite(one[name]))
              ? [{name: t(`batch_${name}`), x: steps.slice(1), y: each.map((one) => one[name]), style: "points", colour: 1}]
              : []),
          ],
        });
      return [chart("mean"), chart("variance")];
    }

    function update() {
      s = settingOf(data, state);
      const states = history(data, s),
        now = states[states.length - 1];
      s.x = batchAt(data, s, s.at);
      s.running = now;
      s.running_used = (kind) => kind === "batch" && !s.training;
      const most = Math.max(...Array.from(s.x.values, Math.abs)) || 1;
      const shared = {x: s.x, chosen: s.cell, padded: s.padded, onhover: hover};
      const wide = (grid, name) => G.scroll(name, grid);
      G.clear(input).append(
        wide(
          N.grid({
            ...shared,
            values: s.x.values,
            name: t("input_name"),
            shared: () => false,
            extent: most,
            onpin: (at) => pin(at, input),
            onedit: edited,
          }),
          t("input_name"),
        ),
      );
      for (const panel of panels) {
        panel.result = N.apply(panel.kind, s.x, s);
        const values = s.before ? s.x.values : (panel.result?.values ?? Array.from(s.x.values, () => NaN)),
          name = t(s.before ? "before_name" : "after_name", {kind: t(panel.kind)});
        G.clear(panel.top).append(N.formula(panel.kind, s.outside));
        G.clear(panel.grid).append(
          wide(
            N.grid({
              ...shared,
              values,
              name,
              shared: () => false,
              extent: s.before ? most : Math.max(2.5, ...values.filter(Number.isFinite).map(Math.abs)),
              onpin: (at) => pin(at, panel.grid),
              onedit: null,
            }),
            name,
          ),
        );
        G.clear(panel.facts).append(facts(panel.kind, s.x, s, now, panel.result));
      }
      batchName.textContent = t("batch_n", {n: s.at, all: data.stream.shape[0]});
      G.clear(running).append(...charts(states));
      mark();
      N.now = {setting: s, x: s.x, running: now, results: Object.fromEntries(panels.map((panel) => [panel.kind, panel.result]))};
    }

    const change = (changes) => {
      state.set(changes);
      G.rebuild();
    };
    const controls = h(
      "div",
      {class: "panel controls"},
      h(
        "div",
        {class: "row"},
        slider("batch", {min: 1, max: data.limits.batch, label: t("batch_size"), fallback: data.batch}),
        slider("tokens", {min: 1, max: data.limits.tokens, label: t("tokens"), fallback: data.tokens}),
        slider("features", {min: 2, max: data.limits.features, label: t("features"), fallback: data.features}),
        slider("padding", {min: 0, max: data.limits.tokens - 1, label: t("padding"), fallback: 0}),
      ),
      h(
        "div",
        {class: "row"},
        G.choice(
          {
            name: "mode",
            options: [
              ["train", t("training")],
              ["inference", t("inference")],
            ],
            label: t("mode"),
          },
          context,
          later,
        ),
        G.choice(
          {
            name: "pool",
            options: [
              ["tokens", t("pool_tokens")],
              ["batch", t("pool_batch")],
            ],
            label: t("pool"),
          },
          context,
          later,
        ),
        G.choice(
          {
            name: "grids",
            options: [
              ["after", t("show_after")],
              ["before", t("show_before")],
            ],
            label: t("grids"),
          },
          context,
          later,
        ),
      ),
      h(
        "div",
        {class: "row"},
        slider("gain", {min: -4, max: 4, step: 0.1, label: "γ", fallback: 1}),
        slider("bias", {min: -4, max: 4, step: 0.1, label: "β", fallback: 0}),
        slider("eps", {min: 1e-12, max: 1, log: true, label: "ε", fallback: data.eps, show: (x) => G.number(x, 2)}),
        G.choice(
          {
            name: "epsilon",
            options: [
              ["inside", t("eps_inside")],
              ["outside", t("eps_outside")],
            ],
            label: t("eps_where"),
          },
          context,
          later,
        ),
      ),
      h(
        "div",
        {class: "row"},
        h("span", {}, t("try")),
        G.button(t("try_outlier"), () => edited(s.cell, String(OUTLIER)), {id: "outlier"}),
        G.button(t("try_one"), () => change({batch: 1, tokens: 1, padding: null, mode: null}), {id: "one"}),
        G.button(t("try_sequence"), () => change({batch: 1, tokens: 3, mode: null}), {id: "sequence"}),
        G.button(t("try_padding"), () => change({padding: 2, tokens: Math.max(3, s.tokens), mode: null}), {id: "pad"}),
        G.button(t("try_inference"), () => change({mode: "inference"}), {id: "infer"}),
        G.button(
          t("reset"),
          () =>
            change({
              x: null,
              batch: null,
              tokens: null,
              features: null,
              padding: null,
              mode: null,
              step: null,
              gain: null,
              bias: null,
              eps: null,
              epsilon: null,
              pool: null,
              cell: null,
              momentum: null,
              grids: null,
            }),
          {id: "reset"},
        ),
      ),
    );
    const legend = h(
      "ul",
      {class: "legend"},
      h("li", {}, h("span", {class: "key chosen"}), t("legend_chosen")),
      h("li", {}, h("span", {class: "key shared"}), t("legend_shared")),
      h("li", {}, h("span", {class: "key padded"}), t("padding_cell")),
      h(
        "li",
        {},
        t("negative"),
        h("span", {
          class: "ramp",
          style: {background: `linear-gradient(90deg, ${[-1, -0.5, -0.2, 0, 0.2, 0.5, 1].map(G.colour.signed).join(", ")})`},
        }),
        t("positive"),
      ),
      h("li", {}, h("span", {class: "made"}, "✓"), t("legend_made")),
    );
    const side = h(
      "article",
      {class: "panel norm input"},
      h("h3", {}, t("input")),
      h("p", {class: "what"}, t("input_what")),
      h("div", {class: "top"}, h("p", {class: "shape"}, t("shape"))),
      input,
      h("div", {class: "below"}, status, h("p", {}, t("input_keys"))),
    );
    root.append(
      h("h2", {}, t("title")),
      h("p", {class: "lead"}, t("lead")),
      controls,
      legend,
      h(
        "div",
        {class: "norms"},
        side,
        panels.map((panel) =>
          h(
            "article",
            {class: "panel norm", id: `norm-${panel.kind}`},
            h("h3", {}, t(panel.kind)),
            h("p", {class: "what"}, t(`what_${panel.kind}`)),
            panel.top,
            panel.grid,
            panel.worked,
            panel.slope,
            panel.facts,
          ),
        ),
      ),
      h(
        "section",
        {class: "panel", "aria-labelledby": "running-title"},
        h("h2", {id: "running-title"}, t("running_title")),
        h("p", {class: "lead"}, t("running_what")),
        h(
          "div",
          {class: "row"},
          G.button(t("back"), () => step(-1), {id: "back"}),
          G.button(t("next"), () => step(1), {id: "next"}),
          slider("step", {min: 0, max: data.stream.shape[0] - 1, label: t("step"), fallback: SEEN}),
          batchName,
          slider("momentum", {min: 0, max: 1, step: 0.01, label: t("momentum"), fallback: data.momentum}),
        ),
        running,
      ),
    );
    update();
    return {
      key(event) {
        if (event.key === "[") return step(-1);
        if (event.key === "]") return step(1);
        if (event.key === "i") {
          change({mode: s.training ? "inference" : null});
          return true;
        }
        if (event.key === "o") {
          edited(s.cell, String(OUTLIER));
          return true;
        }
        return false;
      },
      csv: () => [
        ["sequence", "token", "feature", "padding", "x", "batch_norm", "layer_norm", "rms_norm"],
        ...N.places(s.x).map((each, at) => [
          ...each,
          s.padded(each) ? 1 : 0,
          s.x.values[at],
          ...panels.map((panel) => panel.result?.values[at] ?? ""),
        ]),
      ],
      destroy() {
        cancelAnimationFrame(asked);
      },
    };
  }

  G.view("norms", {
    keys: [
      ["Enter", "norms.key_edit"],
      ["Delete", "norms.key_delete"],
      ["[ ]", "norms.key_step"],
      ["i", "norms.key_mode"],
      ["o", "norms.key_outlier"],
    ],
    mount,
  });
}
