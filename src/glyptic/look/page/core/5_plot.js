// Curves: one SVG, a legend by shape and colour, a readout under the pointer and the arrows, the numbers behind.
{
  const {h, svg} = G;
  const ROOM = {left: 62, right: 14, top: 12, bottom: 42};
  const DASHES = ["", "7 4", "2 3", "9 3 2 3", "1 4", "12 4", "5 2 1 2", "3 6"];

  // Round numbers along an axis, a few; where doubles are too coarse for them, its ends.
  G.ticks = (low, high, log, about = 5) => {
    if (!(low < high) || (log && low <= 0)) return [];
    if (log) {
      const found = [],
        first = Math.floor(Math.log10(low)),
        last = Math.ceil(Math.log10(high));
      const factors = last - first <= 2 ? [1, 2, 5] : [1];
      const every = Math.max(1, Math.ceil((last - first) / 8));
      for (let power = first; power <= last; power += every)
        for (const factor of factors) {
          const tick = Number(`${factor}e${power}`);
          if (tick >= low * 0.999 && tick <= high * 1.001 && tick > 0 && Number.isFinite(tick)) found.push(tick);
        }
      return found;
    }
    const rough = high / about - low / about,
      power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? power;
    const first = Math.ceil(low / step - 1e-9),
      last = Math.floor(high / step + 1e-9);
    if (!(step > 0 && Math.abs(first) < 1e14 && Math.abs(last) < 1e14 && first <= last && last - first < 30)) return [low, high];
    return Array.from({length: last - first + 1}, (_, k) => Number(((first + k) * step).toPrecision(15)));
  };

  // As many digits as tell neighbours apart: 0.9998 is not 1.
  G.tickTexts = (ticks, show = G.number, least = 3) => {
    for (let digits = least; ; digits++) {
      const texts = ticks.map((tick) => show(tick, digits));
      const right = ticks.every(
        (tick, k) => k === 0 || Math.abs(Number(tick.toPrecision(digits)) - tick) <= Math.abs(tick - ticks[k - 1]) / 100,
      );
      if (digits >= 17 || (right && new Set(texts).size === texts.length)) return texts;
    }
  };

  // How far a value is along an axis, from 0 to 1; quarters, where the length of the axis is beyond doubles.
  G.along = (value, low, high, log) => {
    if (log)
      return Number.isFinite(high / low)
        ? Math.log(value / low) / Math.log(high / low)
        : (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low));
    return Number.isFinite(high - low) ? (value - low) / (high - low) : (value / 4 - low / 4) / (high / 4 - low / 4);
  };
  // Ends of an axis that lie within doubles, the first below the second; of logarithms above 0.
  G.ends = (low, high, log) => {
    const most = Number.MAX_VALUE,
      least = log ? Number.MIN_VALUE : -most;
    const ends = [Math.min(most, Math.max(least, low)), Math.min(most, Math.max(least, high))];
    return ends[0] < ends[1] ? ends : ends[1] === least ? [least, log ? 2 * least : 0] : [ends[0] / 2, ends[1]];
  };

  function range(lists, log, given) {
    let low = Infinity,
      high = -Infinity;
    for (const list of lists)
      for (const value of list ?? []) {
        if (!Number.isFinite(value) || (log && value <= 0)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    if (!(low <= high)) [low, high] = log ? [0.1, 1] : [0, 1];
    if (given) [low, high] = [given[0] ?? low, given[1] ?? high];
    if (low === high) {
      const pad = log ? 2 : Math.abs(low) || 1;
      [low, high] = log ? [low / pad, high * pad] : [low - pad / 2, high + pad / 2];
    }
    if (!given && !log) {
      const pad = high * 0.04 - low * 0.04;
      low -= low >= 0 && low - pad < 0 ? low : pad;
      high += pad;
    }
    return G.ends(low, high, log);
  }

  G.plot = (options) => {
    const width = options.width ?? 520,
      height = options.height ?? 320;
    const series = options.series;
    const [x0, x1] = range(
      series.map((s) => s.x),
      options.logx,
      options.xrange,
    );
    const [y0, y1] = range(
      series.flatMap((s) => [s.y, s.low, s.high]),
      options.logy,
      options.yrange,
    );
    const {along} = G,
      xticks = G.ticks(x0, x1, options.logx),
      yticks = G.ticks(y0, y1, options.logy),
      xtexts = G.tickTexts(xticks),
      ytexts = G.tickTexts(yticks);
    const px = (x) => ROOM.left + along(x, x0, x1, options.logx) * (width - ROOM.left - ROOM.right);
    const py = (y) => height - ROOM.bottom - along(y, y0, y1, options.logy) * (height - ROOM.top - ROOM.bottom);
    const ink = G.colour.ink(),
      faint = G.colour.line(),
      muted = G.colour.muted();
    const colour = (s, i) =>
      s.colour === undefined ? G.colour.series(i) : typeof s.colour === "number" ? G.colour.series(s.colour) : s.colour;
    const on = (value, log) => Number.isFinite(value) && !(log && value <= 0); // what has a place on an axis
    const legal = (s, k) => on(s.x[k], options.logx) && on(s.y[k], options.logy);
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      tabindex: "0",
      "aria-label": options.label ?? options.ylabel ?? "",
      class: "plot",
    });
    const text = (x, y, words, anchor = "middle", more = {}) =>
      svg("text", {x, y, "text-anchor": anchor, fill: ink, "font-size": 12, ...more}, words);

    for (const [k, tick] of yticks.entries())
      picture.append(
        svg("line", {x1: ROOM.left, x2: width - ROOM.right, y1: py(tick), y2: py(tick), stroke: faint}),
        text(ROOM.left - 7, py(tick) + 4, ytexts[k], "end"),
      );
    for (const [k, tick] of xticks.entries())
      picture.append(
        svg("line", {x1: px(tick), x2: px(tick), y1: height - ROOM.bottom, y2: height - ROOM.bottom + 5, stroke: muted}),
        text(px(tick), height - ROOM.bottom + 18, xtexts[k]),
      );
    picture.append(
      svg("line", {x1: ROOM.left, x2: width - ROOM.right, y1: height - ROOM.bottom, y2: height - ROOM.bottom, stroke: muted}),
    );
    if (options.xlabel) picture.append(text((ROOM.left + width - ROOM.right) / 2, height - 6, options.xlabel));
    if (options.ylabel)
      picture.append(
        text(0, 0, options.ylabel, "middle", {transform: `translate(14 ${(height - ROOM.bottom + ROOM.top) / 2}) rotate(-90)`}),
      );

    const clip = `clip${Math.random().toString(36).slice(2)}`;
    picture.append(
      svg(
        "clipPath",
        {id: clip},
        svg("rect", {
          x: ROOM.left,
          y: ROOM.top - 4,
          width: width - ROOM.left - ROOM.right,
          height: height - ROOM.top - ROOM.bottom + 8,
        }),
      ),
    );
    const layer = svg("g", {"clip-path": `url(#${clip})`});
    picture.append(layer);
    series.forEach((s, i) => {
      const stroke = colour(s, i);
      if (s.low && s.high) {
        const there = Array.from(s.x, (_, k) => k).filter(
          (k) => on(s.x[k], options.logx) && on(s.high[k], options.logy) && Number.isFinite(s.low[k]),
        );
        const edge = (values) =>
          there.map((k) => `${px(s.x[k]).toFixed(1)},${py(options.logy ? Math.max(values[k], y0) : values[k]).toFixed(1)}`);
        const up = edge(s.high),
          down = edge(s.low).reverse();
        layer.append(svg("polygon", {points: [...up, ...down].join(" "), fill: stroke, "fill-opacity": 0.16}));
      }
      const there = Array.from(s.x, (_, k) => k).filter((k) => legal(s, k));
      if (s.style === "points")
        for (const k of there)
          layer.append(svg("circle", {cx: px(s.x[k]), cy: py(s.y[k]), r: 3.4, fill: stroke, stroke: G.colour.paper()}));
      else {
        let path = "",
          before = null;
        for (const k of there) {
          path += `${before === k - 1 ? "L" : "M"}${px(s.x[k]).toFixed(1)} ${py(s.y[k]).toFixed(1)}`;
          before = k;
        }
        layer.append(
          svg("path", {
            d: path,
            fill: "none",
            stroke,
            "stroke-width": s.faint ? 1 : 2,
            "stroke-opacity": s.faint ? 0.35 : 1,
            "stroke-dasharray": s.style === "dashed" ? "6 4" : s.style === "line" && s.dash !== true ? "" : DASHES[i % 8],
          }),
        );
      }
    });
    for (const mark of options.marks ?? [])
      picture.append(
        svg("circle", {cx: px(mark.x), cy: py(mark.y), r: 5, fill: "none", stroke: ink, "stroke-width": 1.6}),
        text(px(mark.x) + 8, py(mark.y) - 8, mark.text, "start"),
      );

    const readout = h("output", {class: "readout", "aria-live": "polite"});
    const cursor = svg("circle", {r: 5, fill: "none", stroke: ink, "stroke-width": 2, visibility: "hidden"});
    picture.append(cursor);
    let chosen = null;
    function show(i, k) {
      chosen = [i, k];
      const s = series[i];
      cursor.setAttribute("visibility", legal(s, k) ? "visible" : "hidden");
      if (legal(s, k)) {
        cursor.setAttribute("cx", px(s.x[k]));
        cursor.setAttribute("cy", py(s.y[k]));
      }
      readout.textContent = `${s.name ?? ""}: ${options.xlabel ?? "x"} ${G.number(s.x[k])}, ${options.ylabel ?? "y"} ${G.number(s.y[k], 6)}`;
    }
    function nearest(event) {
      const box = picture.getBoundingClientRect(),
        x = ((event.clientX - box.left) * width) / box.width,
        y = ((event.clientY - box.top) * height) / box.height;
      let best = null,
        distance = Infinity;
      series.forEach((s, i) => {
        if (!s.faint)
          for (let k = 0; k < s.x.length; k++) {
            if (!legal(s, k)) continue;
            const away = (px(s.x[k]) - x) ** 2 + (py(s.y[k]) - y) ** 2;
            if (away < distance) {
              distance = away;
              best = [i, k];
            }
          }
      });
      return best;
    }
    picture.addEventListener("mousemove", (event) => {
      const found = nearest(event);
      if (found) show(...found);
    });
    picture.addEventListener("click", (event) => {
      const found = nearest(event);
      if (found) {
        show(...found);
        options.onpick?.(...found);
      }
    });
    picture.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
      if (step) {
        const [i, k] = chosen ?? [0, 0],
          next = (i + step[0] + series.length) % series.length;
        show(next, Math.min(series[next].x.length - 1, Math.max(0, k + step[1])));
      } else if (event.key === "Enter" && chosen) options.onpick?.(...chosen);
      else if (event.key === "Escape") {
        chosen = null;
        cursor.setAttribute("visibility", "hidden");
        readout.textContent = "";
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });

    const sample = (s, i) =>
      svg(
        "svg",
        {width: 30, height: 12, "aria-hidden": "true"},
        s.style === "points"
          ? svg("circle", {cx: 15, cy: 6, r: 3.6, fill: colour(s, i)})
          : s.style === "band"
            ? svg("rect", {x: 2, y: 1, width: 26, height: 10, fill: colour(s, i), "fill-opacity": 0.3})
            : svg("line", {
                x1: 1,
                x2: 29,
                y1: 6,
                y2: 6,
                stroke: colour(s, i),
                "stroke-width": 2.4,
                "stroke-dasharray": s.style === "dashed" ? "6 4" : s.style === "line" && s.dash !== true ? "" : DASHES[i % 8],
              }),
      );
    const legend = h(
      "ul",
      {class: "legend"},
      series.map((s, i) => !s.faint && s.name && h("li", {}, sample(s, i), s.name)),
    );
    const table = () =>
      h(
        "div",
        {},
        series.map((s) =>
          G.table(
            [options.xlabel ?? "x", options.ylabel ?? "y"],
            Array.from({length: Math.min(500, s.x.length)}, (_, k) => [G.number(s.x[k], 6), G.number(s.y[k], 6)]),
            {caption: s.name ?? ""},
          ),
        ),
      );
    return h(
      "div",
      {class: "chart"},
      G.scroll(options.label ?? options.ylabel ?? G.t("core.picture"), picture),
      legend,
      readout,
      G.behind(G.t("core.as_table"), table),
    );
  };
}
