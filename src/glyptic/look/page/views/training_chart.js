// One picture of many curves, each of up to a million points: thinned by columns of pixels, in which the least and the most are kept.
{
  const {h, svg, t} = G;
  const WIDTH = 1160,
    HEIGHT = 430,
    ROOM = {left: 76, right: 16, top: 14, bottom: 46},
    COLUMNS = WIDTH - ROOM.left - ROOM.right;
  const DASHES = ["", "8 4", "2 3", "10 3 2 3", "5 5", "14 4", "6 2 1 2", "3 6"];

  // The points of a metric in the order of its axis; a point without a place or a value is no point.
  function curve(columns, metric, axis, weight) {
    const own = (name) => (Object.hasOwn(columns, name) ? columns[name] : null),
      x = own(axis),
      y = own(metric);
    if (!x || !y) return {x: new Float64Array(0), raw: new Float64Array(0), smooth: new Float64Array(0)};
    let rising = true,
      before = -Infinity;
    const kept = [];
    for (let k = 0; k < x.length; k++) {
      if (!Number.isFinite(x[k]) || !Number.isFinite(y[k])) continue;
      if (x[k] < before) rising = false;
      before = x[k];
      kept.push(k);
    }
    if (!rising) kept.sort((a, b) => x[a] - x[b]);
    const xs = Float64Array.from(kept, (k) => x[k]),
      raw = Float64Array.from(kept, (k) => y[k]);
    return {x: xs, raw, smooth: weight ? smoothed(raw, weight) : raw};
  }

  // An exponential moving average without the pull of its start.
  function smoothed(values, weight) {
    const out = new Float64Array(values.length);
    let sum = 0,
      mass = 0;
    for (let k = 0; k < values.length; k++) {
      sum = weight * sum + (1 - weight) * values[k];
      mass = weight * mass + (1 - weight);
      out[k] = sum / mass;
    }
    return out;
  }

  // In each column of pixels the first, the least, the most and the last point: no spike is lost.
  function thinned(x, y, column, legal) {
    const kept = [];
    let at = null,
      first = -1,
      low = -1,
      high = -1,
      last = -1;
    const flush = () => {
      if (at !== null) kept.push(...new Set([first, ...(low < high ? [low, high] : [high, low]), last]));
    };
    for (let k = 0; k < x.length; k++) {
      if (!legal(x[k], y[k])) continue;
      const c = column(x[k]);
      if (c !== at) {
        flush();
        at = c;
        first = low = high = last = k;
      }
      if (y[k] < y[low]) low = k;
      if (y[k] > y[high]) high = k;
      last = k;
    }
    flush();
    return kept;
  }

  function range(shown, field, log) {
    let low = Infinity,
      high = -Infinity;
    for (const {curve: c} of shown)
      for (const v of c[field]) {
        if (log && v <= 0) continue;
        if (v < low) low = v;
        if (v > high) high = v;
      }
    if (!(low <= high)) return log ? [0.1, 1] : [0, 1];
    if (low === high)
      return log ? G.ends(low / 2, high * 2, log) : G.ends(low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2, log);
    if (field === "x") return [low, high];
    const pad = 0.04 * high - 0.04 * low;
    return log ? G.ends(low / 1.1, high * 1.1, log) : G.ends(low - pad, high + pad, log);
  }

  // Ticks as people write them: 10⁻⁶, 20 000.
  const raised = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻");
  function shownTick(x, digits) {
    const [head, tail] = x.toExponential(digits - 1).split("e"),
      power = Number(tail);
    if (x !== 0 && (power < -3 || power > 5))
      return Number(head) === 1 ? `10${raised(power)}` : `${G.number(Number(head), digits)}·10${raised(power)}`;
    return Math.abs(x) >= 1e4
      ? x.toLocaleString(G.language === "es" ? "es-ES" : "en-US", {maximumSignificantDigits: Math.max(6, digits)})
      : G.number(x, digits);
  }

  // The last point at or before a place: what a run had reached there.
  function before(c, place) {
    let low = 0,
      high = c.x.length - 1;
    if (high < 0 || c.x[0] > place) return -1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (c.x[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function path(c, field, {px, py, legal}) {
    const kept = thinned(c.x, c[field], (x) => Math.round(px(x)), legal);
    let text = "";
    for (const [n, k] of kept.entries()) text += `${n ? "L" : "M"}${px(c.x[k]).toFixed(1)} ${py(c[field][k]).toFixed(1)}`;
    return {text, count: kept.length};
  }

  function chart(shown, now, lines, context) {
    const {metric, axis, logx, logy, weight} = now,
      [x0, x1] = range(shown, "x", logx);
    let [y0, y1] = range(shown, "raw", logy);
    for (const {value} of lines)
      if (!logy || value > 0) {
        y0 = Math.min(y0, value);
        y1 = Math.max(y1, value);
      }
    const {along} = G;
    const px = (x) => ROOM.left + along(x, x0, x1, logx) * COLUMNS,
      py = (y) => HEIGHT - ROOM.bottom - along(y, y0, y1, logy) * (HEIGHT - ROOM.top - ROOM.bottom);
    const legal = (x, y) => !(logx && x <= 0) && !(logy && y <= 0),
      place = {px, py, legal};
    const ink = G.colour.ink(),
      muted = G.colour.muted(),
      text = (x, y, words, anchor, more = {}) =>
        svg("text", {x, y, "text-anchor": anchor, fill: ink, "font-size": 12, ...more}, words);
    const picture = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      class: "plot curves",
      tabindex: "0",
      role: "application",
      "aria-label": t("training.chart", {metric, n: shown.length}),
    });
    const yticks = G.ticks(y0, y1, logy, 6),
      xticks = G.ticks(x0, x1, logx, 6),
      ytexts = G.tickTexts(yticks, shownTick),
      xtexts = G.tickTexts(xticks, shownTick);
    for (const [k, tick] of yticks.entries())
      picture.append(
        svg("line", {x1: ROOM.left, x2: WIDTH - ROOM.right, y1: py(tick), y2: py(tick), stroke: G.colour.line()}),
        text(ROOM.left - 7, py(tick) + 4, ytexts[k], "end"),
      );
    for (const [k, tick] of xticks.entries())
      picture.append(
        svg("line", {x1: px(tick), x2: px(tick), y1: HEIGHT - ROOM.bottom, y2: HEIGHT - ROOM.bottom + 5, stroke: muted}),
        text(px(tick), HEIGHT - ROOM.bottom + 19, xtexts[k], "middle"),
      );
    picture.append(
      svg("line", {x1: ROOM.left, x2: WIDTH - ROOM.right, y1: HEIGHT - ROOM.bottom, y2: HEIGHT - ROOM.bottom, stroke: muted}),
      text((WIDTH + ROOM.left) / 2, HEIGHT - 7, t(`training.axis_${axis}`), "middle"),
      text(0, 0, metric.length > 40 ? metric.slice(0, 39) + "…" : metric, "middle", {
        transform: `translate(13 ${(HEIGHT - ROOM.bottom) / 2}) rotate(-90)`,
      }),
    );
    let drawn = 0;
    for (const {i, curve: c} of shown) {
      const stroke = G.colour.series(i),
        made = path(c, weight ? "smooth" : "raw", place);
      if (weight)
        picture.append(
          svg("path", {d: path(c, "raw", place).text, fill: "none", stroke, "stroke-width": 1, "stroke-opacity": 0.28}),
        );
      picture.append(
        svg("path", {
          d: made.text,
          fill: "none",
          stroke,
          "stroke-width": 2,
          "stroke-linejoin": "round",
          "stroke-dasharray": DASHES[Math.floor(i / 8) % 8] || (i % 2 ? DASHES[i % 8] : ""),
        }),
      );
      drawn += made.count;
    }
    lines
      .filter(({value}) => !logy || value > 0)
      .forEach(({name, value}) =>
        picture.append(
          svg("line", {
            x1: ROOM.left,
            x2: WIDTH - ROOM.right,
            y1: py(value),
            y2: py(value),
            stroke: ink,
            "stroke-dasharray": "2 4",
          }),
          text(WIDTH - ROOM.right - 4, py(value) - 5, name, "end", {
            fill: ink,
            stroke: "var(--panel)",
            "stroke-width": 4,
            "paint-order": "stroke",
          }),
        ),
      );
    picture.dataset.drawn = drawn;
    return walked(picture, shown, now, context, {px, py, legal, x0, x1});
  }

  // A line that follows the pointer and the arrows, and what every run has there. Click or Enter pins it, Escape lets go.
  function walked(picture, shown, now, context, {px, py, legal, x0, x1}) {
    const {state} = context,
      {axis, weight, logx} = now;
    const cursor = svg("g", {visibility: "hidden"}),
      readout = h("div", {class: "readout-all", "aria-live": "polite"});
    picture.append(cursor);
    let at = state.get("at") === null ? null : Math.min(x1, Math.max(x0, state.get("at", x0))),
      pinned = at !== null;
    const clear = () => {
      cursor.setAttribute("visibility", "hidden");
      G.clear(readout).append(G.note(t("training.hover")));
    };
    function show() {
      if (at === null) return clear();
      G.clear(cursor).append(
        svg("line", {
          x1: px(at),
          x2: px(at),
          y1: ROOM.top,
          y2: HEIGHT - ROOM.bottom,
          stroke: G.colour.ink(),
          "stroke-dasharray": pinned ? "" : "3 3",
        }),
      );
      const rows = shown.map(({run, i, curve: c}) => ({run, i, c, k: before(c, at)}));
      for (const {i, c, k} of rows)
        if (k >= 0 && legal(c.x[k], c.smooth[k]))
          cursor.append(
            svg("circle", {
              cx: px(c.x[k]),
              cy: py(c.smooth[k]),
              r: 4.5,
              fill: G.colour.series(i),
              stroke: G.colour.paper(),
              "stroke-width": 1.5,
            }),
          );
      cursor.setAttribute("visibility", "visible");
      const header = [
        t("training.run"),
        t(`training.axis_${axis}`),
        t("training.value"),
        ...(weight ? [t("training.smoothed_value")] : []),
      ];
      G.clear(readout).append(
        G.table(
          header,
          rows.map(({run, i, c, k}) => [
            sample(i, run.name),
            ...(k < 0
              ? ["–", "–", ...(weight ? ["–"] : [])]
              : [G.number(c.x[k], 7), exact(`value-${i}`, c.raw[k]), ...(weight ? [exact(`smooth-${i}`, c.smooth[k])] : [])]),
          ]),
          {
            caption: t(pinned ? "training.pinned_at" : "training.seen_at", {
              axis: t(`training.axis_${axis}`),
              x: G.number(at, 6),
            }),
          },
        ),
      );
    }
    const pin = (on) => {
      pinned = on;
      state.set({at: on ? at : null});
      if (!on) at = null;
      show();
    };
    const under = (event) => {
      const box = picture.getBoundingClientRect(),
        share = Math.min(1, Math.max(0, (((event.clientX - box.left) / box.width) * WIDTH - ROOM.left) / COLUMNS));
      return logx ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0);
    };
    picture.addEventListener("mousemove", (event) => {
      if (!pinned) {
        at = under(event);
        show();
      }
    });
    picture.addEventListener("mouseleave", () => {
      if (!pinned) {
        at = null;
        show();
      }
    });
    picture.addEventListener("click", (event) => {
      const place = under(event);
      if (pinned) pin(false);
      else {
        at = place;
        pin(true);
      }
    });
    picture.addEventListener("keydown", (event) => {
      const by = {ArrowLeft: -1, ArrowRight: 1}[event.key],
        longest = shown.reduce((a, b) => (b.curve.x.length > (a?.curve.x.length ?? 0) ? b : a), null);
      if (event.key === "Escape" && at !== null) pin(false);
      else if (event.key === "Enter" && at !== null) pin(!pinned);
      else if (by && longest) {
        const c = longest.curve,
          k = before(c, at ?? x0),
          stride = (event.shiftKey ? 10 : 1) * Math.max(1, Math.round(c.x.length / COLUMNS));
        at = c.x[Math.min(c.x.length - 1, Math.max(0, at === null ? 0 : k + by * stride))];
        pin(true);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    show();
    return h("div", {}, G.scroll(t("training.chart", {metric: now.metric, n: shown.length}), picture), readout);
  }

  function summary(c, high) {
    let best = -1;
    for (let k = 0; k < c.raw.length; k++) if (best < 0 || (high ? c.raw[k] > c.raw[best] : c.raw[k] < c.raw[best])) best = k;
    const end = c.raw.length - 1;
    return {
      points: c.raw.length,
      last: end < 0 ? NaN : c.raw[end],
      best: best < 0 ? NaN : c.raw[best],
      at: best < 0 ? NaN : c.x[best],
    };
  }

  const outside = (c, {logx, logy}) => {
    let n = 0;
    for (let k = 0; k < c.x.length; k++) if ((logx && c.x[k] <= 0) || (logy && c.raw[k] <= 0)) n++;
    return n;
  };
  const line = (i) =>
    svg(
      "svg",
      {width: 26, height: 12, "aria-hidden": "true"},
      svg("line", {
        x1: 1,
        x2: 25,
        y1: 6,
        y2: 6,
        stroke: G.colour.series(i),
        "stroke-width": 3,
        "stroke-dasharray": DASHES[Math.floor(i / 8) % 8] || (i % 2 ? DASHES[i % 8] : ""),
      }),
    );
  const sample = (i, name) => h("span", {class: "sample"}, line(i), name);
  const exact = (name, x) => h("span", {class: "number", dataset: {name, value: String(x)}, title: String(x)}, G.number(x, 6));

  G.training = {COLUMNS, curve, chart, summary, outside, line, sample, exact};
}
