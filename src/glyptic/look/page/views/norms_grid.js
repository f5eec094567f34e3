// A small tensor as a grid: sequences × tokens × features, with the means at its margins. Arrows walk, Enter edits, hover previews.
{
  const N = (G.norms ??= {});
  const {h} = G;
  const t = (key, values) => G.t(`norms.${key}`, values);
  const STEPS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

  N.figure = (x) =>
    Number.isFinite(x)
      ? (Math.abs(x) >= 100 ? x.toFixed(0) : x.toFixed(2)).replace(/^-(0(\.0+)?)$/, "$1").replace("-", "−")
      : "–";
  const spread = (values) => {
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    return [mean, Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length)];
  };
  // A tick where a mean is 0 and a deviation 1 to two figures: what a norm has made so, seen at its axis.
  function margin(values, tag, attributes) {
    if (!values.every(Number.isFinite)) return h(tag, {class: "margin", ...attributes}, "–");
    const [mean, deviation] = spread(values),
      made = Math.abs(mean) < 0.005 && Math.abs(deviation - 1) < 0.005;
    return h(
      tag,
      {class: `margin${made ? " made" : ""}`, ...attributes},
      h("span", {}, `${made ? "✓" : ""}${N.figure(mean)}`),
      h("span", {}, `±${N.figure(deviation)}`),
    );
  }

  // options: x, values, name, chosen, shared(place), padded(place), extent, onhover(place|null), onpin(place), onedit(place, text)|null
  N.grid = (options) => {
    const {x, values} = options,
      at = (b, k, d) => values[N.index(x, b, k, d)];
    const cell = (b, k, d) => {
      const value = at(b, k, d),
        place = [b, k, d],
        chosen = String(place) === String(options.chosen),
        part = value / options.extent;
      const marks = [chosen && "chosen", options.shared(place) && "shared", options.padded(place) && "padded"].filter(Boolean);
      return h(
        "td",
        {
          role: "gridcell",
          tabindex: chosen ? "0" : "-1",
          class: marks.join(" "),
          dataset: {place: place.join(".")},
          style:
            Number.isFinite(value) && !options.padded(place)
              ? {background: G.colour.signed(part), color: G.colour.inkOn("signed", part)}
              : {},
          "aria-label":
            t("cell_label", {b, t: k, d, value: N.figure(value)}) + (options.padded(place) ? `, ${t("padding_cell")}` : ""),
          "aria-selected": String(chosen),
        },
        N.figure(value),
      );
    };
    const list = (count) => Array.from({length: count}, (_, i) => i);
    const rows = list(x.batch).flatMap((b) =>
      list(x.tokens).map((k) =>
        h(
          "tr",
          {role: "row", class: k === 0 ? "first" : null},
          h("th", {scope: "row", role: "rowheader"}, t("row_name", {b, t: k})),
          list(x.features).map((d) => cell(b, k, d)),
          margin(
            list(x.features).map((d) => at(b, k, d)),
            "td",
            {role: "gridcell"},
          ),
        ),
      ),
    );
    const bottom = h(
      "tr",
      {role: "row"},
      h("th", {scope: "row", role: "rowheader"}, t("of_feature")),
      list(x.features).map((d) =>
        margin(
          list(x.batch).flatMap((b) => list(x.tokens).map((k) => at(b, k, d))),
          "td",
          {role: "gridcell"},
        ),
      ),
      h("td", {role: "gridcell"}),
    );
    const head = h(
      "tr",
      {role: "row"},
      h("th", {scope: "col", role: "columnheader"}, t("corner")),
      list(x.features).map((d) => h("th", {scope: "col", role: "columnheader"}, t("feature_n", {d}))),
      h("th", {scope: "col", role: "columnheader"}, t("of_token")),
    );
    const grid = h(
      "table",
      {class: "tensor", role: "grid", "aria-label": options.name},
      h("thead", {role: "rowgroup"}, head),
      h("tbody", {role: "rowgroup"}, rows, bottom),
    );

    const placeOf = (event) => event.target.closest?.("td[data-place]")?.dataset.place.split(".").map(Number) ?? null;
    grid.addEventListener("mouseover", (event) => {
      const place = placeOf(event);
      if (place) options.onhover(place);
    });
    grid.addEventListener("mouseleave", () => options.onhover(null));
    grid.addEventListener("click", (event) => {
      const place = placeOf(event);
      if (place && event.target.localName !== "input") options.onpin(place);
    });
    const edit = (place, first = null) => {
      const box = grid.querySelector(`[data-place="${place.join(".")}"]`);
      const input = h("input", {
        type: "text",
        inputmode: "decimal",
        "aria-label": t("edit_label", {b: place[0], t: place[1], d: place[2]}),
        value: first ?? String(x.values[N.index(x, ...place)]),
      });
      let done = false;
      const finish = (keep) => {
        if (done) return;
        done = true;
        options.onedit(place, keep ? input.value : null);
      };
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === "Tab") {
          event.preventDefault();
          finish(true);
        } else if (event.key === "Escape") finish(false);
        else return;
        event.stopPropagation();
      });
      input.addEventListener("blur", () => finish(true));
      box.replaceChildren(input);
      input.focus();
      if (first === null) input.select();
      else input.setSelectionRange(first.length, first.length); // further digits come after the first
    };
    grid.addEventListener("dblclick", (event) => {
      const place = placeOf(event);
      if (place && options.onedit) edit(place);
    });
    grid.addEventListener("keydown", (event) => {
      const place = placeOf(event);
      if (!place || event.target.localName === "input" || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = STEPS[event.key];
      if (step) {
        const row = Math.min(x.batch * x.tokens - 1, Math.max(0, place[0] * x.tokens + place[1] + step[0])),
          d = Math.min(x.features - 1, Math.max(0, place[2] + step[1]));
        options.onpin([Math.floor(row / x.tokens), row % x.tokens, d]);
      } else if (options.onedit && event.key === "Enter") edit(place);
      else if (options.onedit && /^[-−\d.]$/.test(event.key)) edit(place, event.key);
      else if (options.onedit && event.key === "Delete") options.onedit(place, "");
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return grid;
  };

  // The cells of one group, before (above) and after (below): how a norm shifts and squeezes them.
  N.slope = (before, after, chosen, label) => {
    const width = 300,
      height = 118,
      room = 20,
      left = 62,
      top = 26,
      bottom = height - 26;
    const axis = (values) => {
      const low = Math.min(0, ...values),
        high = Math.max(0, ...values),
        pad = (high - low || 1) * 0.06;
      return (v) => left + ((v - low + pad) / (high - low + 2 * pad)) * (width - left - room);
    };
    const from = axis(before),
      to = axis(after),
      {svg} = G,
      ink = G.colour.ink(),
      muted = G.colour.muted();
    const line = (y) => svg("line", {x1: left, x2: width - room, y1: y, y2: y, stroke: muted});
    const text = (x, y, words, anchor = "middle") =>
      svg("text", {x, y, "font-size": 12, fill: ink, "text-anchor": anchor}, words);
    return svg(
      "svg",
      {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "slope"},
      line(top),
      line(bottom),
      svg("line", {x1: from(0), x2: from(0), y1: top - 5, y2: top + 5, stroke: ink}),
      svg("line", {x1: to(0), x2: to(0), y1: bottom - 5, y2: bottom + 5, stroke: ink}),
      text(to(0), bottom + 17, "0"),
      text(from(0), top - 9, "0"),
      text(2, top + 4, t("before"), "start"),
      text(2, bottom + 4, t("after"), "start"),
      before.map((v, i) => [
        svg("line", {
          x1: from(v),
          x2: to(after[i]),
          y1: top,
          y2: bottom,
          stroke: i === chosen ? G.colour.accent() : muted,
          "stroke-width": i === chosen ? 2.4 : 1,
        }),
        svg("circle", {cx: from(v), cy: top, r: i === chosen ? 5 : 3.4, fill: G.colour.series(i === chosen ? 0 : 1)}),
        svg("circle", {cx: to(after[i]), cy: bottom, r: i === chosen ? 5 : 3.4, fill: G.colour.series(i === chosen ? 0 : 1)}),
      ]),
    );
  };
}
