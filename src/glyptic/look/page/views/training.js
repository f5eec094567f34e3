// Curves of training runs, laid over each other: aligned by step, time or tokens, raw or smoothed, with what was best and last.
{
  const {h, t} = G;
  const MOST_KEYS = 9;

  // Whether a larger value is better: a guess from the name, which the reader can change.
  const larger = (metric) => /acc|score|f1|bleu|reward|share|correct/i.test(metric);

  G.view("training", {
    keys: [
      ["1 … 9", "training.key_run"],
      ["a", "training.key_all"],
      ["m", "training.key_metric"],
      ["x", "training.key_axis"],
      ["l", "training.key_log"],
      ["[ ]", "training.key_smooth"],
      ["← →", "training.key_walk"],
    ],
    mount(root, data, context) {
      const {state} = context,
        {runs, metrics, axes} = data,
        P = G.training;
      const pick = (name, list) => {
        const found = state.get(name, list[0]);
        return list.includes(found) ? found : list[0];
      };
      const hidden = () => new Set(String(state.get("off", "")).split(".").filter(Boolean).map(Number));
      const settings = () => ({
        metric: pick("metric", metrics),
        axis: pick("axis", axes),
        logx: state.get("logx", "0") === "1",
        logy: state.get("logy", "0") === "1",
        weight: Math.min(0.995, Math.max(0, state.get("smooth", 0))),
        off: hidden(),
      });
      const best = (metric) => {
        const found = state.get("best", "guess");
        return found === "high" || (found !== "low" && larger(metric));
      };
      const chart = h("div", {class: "panel"}),
        table = h("div", {}),
        notes = h("div", {});
      const cache = new Map();

      // A run's curve: raw and smoothed; computed once for each choice.
      function curve(i, {metric, axis, weight}) {
        const key = JSON.stringify([i, metric, axis, weight]);
        if (!cache.has(key)) {
          if (cache.size > 200) cache.clear();
          cache.set(key, P.curve(runs[i].columns, metric, axis, weight));
        }
        return cache.get(key);
      }

      function draw() {
        const now = settings(),
          shown = runs.map((run, i) => ({run, i, curve: curve(i, now)})).filter(({i, curve: c}) => !now.off.has(i) && c.x.length);
        G.clear(chart).append(P.chart(shown, now, data.lines, context), said(shown, now));
        const lost = (i) => (Object.hasOwn(runs[i].lost, now.metric) ? runs[i].lost[now.metric] : 0);
        const high = best(now.metric),
          rows = runs.map((run, i) => ({i, ...P.summary(curve(i, {...now, weight: 0}), high)}));
        const order = [...rows].sort(
          (a, b) => Number.isNaN(a.best) - Number.isNaN(b.best) || (high ? b.best - a.best : a.best - b.best),
        );
        G.clear(table).append(
          G.scroll(
            t("training.table"),
            G.table(
              [
                t("training.run"),
                t("training.points"),
                t("training.last"),
                t("training.best_value"),
                t("training.best_at", {axis: t(`training.axis_${now.axis}`)}),
                t("training.not_finite"),
              ],
              order.map((row) => [
                P.sample(row.i, runs[row.i].name),
                String(row.points),
                P.exact(`last-${row.i}`, row.last),
                P.exact(`best-${row.i}`, row.best),
                P.exact(`at-${row.i}`, row.at),
                lost(row.i) ? String(lost(row.i)) : h("span", {class: "dim"}, "0"),
              ]),
              {caption: t(high ? "training.caption_high" : "training.caption_low", {metric: now.metric})},
            ),
          ),
        );
        buttons.forEach((button, i) => {
          button.setAttribute("aria-pressed", String(!now.off.has(i)));
        });
      }

      // What is seen is not always what was written: smoothing, thinning and what has no place on the axes are said.
      function said(shown, now) {
        const parts = [],
          most = Math.max(0, ...shown.map(({curve: c}) => c.x.length)),
          outside = shown.reduce((sum, {curve: c}) => sum + P.outside(c, now), 0);
        if (now.weight > 0) parts.push(t("training.smoothed", {weight: G.number(now.weight, 3)}));
        if (most > 2 * P.COLUMNS) parts.push(t("training.thinned", {most: most.toLocaleString(G.language), columns: P.COLUMNS}));
        if (outside) parts.push(t("training.outside", {n: outside}));
        return h(
          "div",
          {class: "said"},
          parts.map((text) => G.note(text)),
        );
      }

      const flip = (i) => {
        const off = hidden();
        if (!off.delete(i)) off.add(i);
        state.set({off: [...off].sort((a, b) => a - b).join(".") || null});
        draw();
        return true;
      };
      const all = () => {
        state.set({off: hidden().size ? null : runs.map((_, i) => i).join(".")});
        draw();
        return true;
      };
      const buttons = runs.map((run, i) =>
        h(
          "button",
          {
            type: "button",
            class: "toggle",
            "aria-pressed": "true",
            onclick: () => flip(i),
            title: i < MOST_KEYS ? t("training.key_hint", {key: i + 1}) : null,
          },
          P.line(i),
          h("span", {class: "name"}, run.name),
          i < MOST_KEYS ? h("kbd", {}, String(i + 1)) : null,
        ),
      );
      if (data.counted.length) notes.append(G.note(t("training.counted", {n: data.counted.length})));
      if (data.left_out.length) notes.append(G.note(t("training.left_out", {names: data.left_out.join(", ")})));

      root.append(
        h("h2", {}, t("training.title", {n: runs.length})),
        h("p", {class: "note"}, t("training.intro")),
        h(
          "div",
          {class: "row panel choices"},
          G.choice({name: "metric", label: t("training.metric"), options: metrics.map((name) => [name, name])}, context, draw),
          G.choice(
            {name: "axis", label: t("training.align"), options: axes.map((name) => [name, t(`training.axis_${name}`)])},
            context,
            draw,
          ),
          G.slider(
            {
              name: "smooth",
              min: 0,
              max: 0.99,
              step: 0.01,
              label: t("training.smooth"),
              fallback: 0,
              show: (x) => (x ? G.number(x, 3) : t("training.raw")),
            },
            context,
            draw,
          ),
          G.toggle({name: "logx", label: t("training.logx")}, context, draw),
          G.toggle({name: "logy", label: t("training.logy")}, context, draw),
          G.choice(
            {
              name: "best",
              label: t("training.best"),
              options: [
                ["guess", t("training.best_guess")],
                ["low", t("training.best_low")],
                ["high", t("training.best_high")],
              ],
            },
            context,
            draw,
          ),
        ),
        h(
          "div",
          {class: "runs", role: "group", "aria-label": t("training.runs")},
          buttons,
          runs.length > 1 && G.button(t("training.all"), all),
        ),
        chart,
        h("h3", {}, t("training.table")),
        table,
        notes,
      );
      draw();

      const cycle = (name, list) => {
        state.set({[name]: list[(list.indexOf(pick(name, list)) + 1) % list.length]});
        G.rebuild();
        return true;
      };
      const smooth = (by) => {
        const next = Math.min(0.99, Math.max(0, state.get("smooth", 0) + by));
        state.set({smooth: next ? Number(next.toFixed(2)) : null});
        G.rebuild();
        return true;
      };
      return {
        key(event) {
          if (/^[1-9]$/.test(event.key)) return Number(event.key) <= runs.length ? flip(Number(event.key) - 1) : false;
          return (
            {
              a: all,
              m: () => cycle("metric", metrics),
              x: () => cycle("axis", axes),
              l: () => cycle("logy", ["0", "1"]),
              "]": () => smooth(0.1),
              "[": () => smooth(-0.1),
            }[event.key]?.() ?? false
          );
        },
        csv() {
          const now = settings();
          return [
            ["run", now.axis, now.metric, ...(now.weight ? ["smoothed"] : [])],
            ...runs.flatMap((run, i) => {
              if (now.off.has(i)) return [];
              const c = curve(i, now);
              return Array.from(c.x, (x, k) => [run.name, x, c.raw[k], ...(now.weight ? [c.smooth[k]] : [])]);
            }),
          ];
        },
      };
    },
  });
}
