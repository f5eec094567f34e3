// The residual stream after a stage: coordinates down, positions across, as matrices act on columns. Flags apart; what stays 0 is
// folded away and said. Rounded cells have a dot, saturated ones a bar, changed ones a frame.
{
  const X = (G.exact ??= {}),
    {h} = G;

  // Which coordinates are what, over all residual stages of the run: zero throughout, flag (0 or 1, set once, never changed), other.
  X.sorted = (side) => {
    const kinds = side.model.coordinates.map((name, i) => {
      let zero = true,
        flag = true;
      const first = side.residual[0],
        columns = first ? side.shape(first)[1] : 0;
      for (const stage of side.residual)
        for (let j = 0; j < columns; j++) {
          const key = side.key(stage, i, j),
            none = key === 0 || key === "0";
          if (!none) zero = false;
          if (key !== side.key(first, i, j) || !(none || key === 1 || key === "1")) flag = false;
        }
      return zero ? "zero" : flag || (/^(is|not)_/.test(name) && flag) ? "flag" : "stream";
    });
    const of = (kind) => kinds.flatMap((each, i) => (each === kind ? [i] : []));
    return {stream: of("stream"), flag: of("flag"), zero: of("zero")};
  };

  X.before = (side, stage) => {
    const at = side.residual.indexOf(stage);
    return at > 0 ? side.residual[at - 1] : null;
  };

  function cell(side, stage, before, i, j, extent, differs) {
    const value = side.value(stage, i, j),
      flags = side.flags(stage, i, j);
    const changed = before !== null && side.key(before, i, j) !== side.key(stage, i, j);
    const mark = (kind) => h("i", {class: kind, role: "img", "aria-label": G.t(`exact.${kind}`)});
    const tint = X.tint(value, extent);
    return h(
      "td",
      {
        dataset: {i, j},
        class: [changed && "changed", differs && "differs"].filter(Boolean).join(" ") || null,
        style: tint && {background: tint},
      },
      h(
        "div",
        {},
        flags & 2 ? mark("saturated") : flags & 1 ? mark("rounded") : null,
        X.number(side.text(stage, i, j)),
        differs && h("b", {class: "unlike", role: "img", "aria-label": G.t("exact.differs")}, "≠"),
      ),
    );
  }

  // The table of one side; `differs(i, j)` marks what the other side has otherwise.
  X.streamTable = (page, side, {differs = () => false, caption}) => {
    const {stage} = page,
      residual = X.isResidual(stage),
      names = X.rowNames(side, stage),
      [rows, columns] = side.shape(stage);
    const before = residual ? X.before(side, stage) : null,
      extent = X.extent(side, stage),
      sorted = X.sorted(side);
    const all = page.state.get("zeros", "0") === "1";
    const row = (i) =>
      h(
        "tr",
        {dataset: {i}},
        h("th", {scope: "row"}, names[i]),
        Array.from({length: columns}, (_, j) => cell(side, stage, before, i, j, extent, differs(i, j))),
      );
    const body = (title, list, kind) =>
      list.length > 0 &&
      h(
        "tbody",
        {class: kind},
        title && h("tr", {class: "group"}, h("th", {scope: "rowgroup", colspan: columns + 1}, title)),
        list.map(row),
      );
    const every = Array.from({length: rows}, (_, i) => i);
    const bodies = !residual
      ? [body(null, every, "plain")]
      : [
          body(null, sorted.stream, "plain"),
          body(G.t("exact.flags"), sorted.flag, "flags"),
          all && body(G.t("exact.zero_group"), sorted.zero, "zeros"),
        ];
    const words = columns === side.words.length ? side.words : Array.from({length: columns}, () => "");
    return h(
      "table",
      {class: "stream"},
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {class: "corner"}, G.t(residual ? "exact.corner" : "exact.corner_plain")),
          words.map((word, j) =>
            h("th", {scope: "col", dataset: {j}}, h("span", {class: "place"}, j), h("span", {class: "word"}, word)),
          ),
        ),
      ),
      bodies,
    );
  };

  X.zeroNote = (page, side) => {
    const {zero} = X.sorted(side),
      all = page.state.get("zeros", "0") === "1";
    if (!zero.length || !X.isResidual(page.stage)) return null;
    return h(
      "p",
      {class: "note zeronote"},
      G.t(zero.length === 1 ? "exact.zero_one" : "exact.zeros", {n: zero.length}),
      " ",
      G.button(G.t(all ? "exact.fold" : "exact.unfold"), () => page.go({zeros: all ? null : "1"}), {
        "aria-expanded": String(all),
        class: "link",
        id: "ex-zeros",
      }),
    );
  };

  X.legend = () => {
    const sample = (kind, child) => h("span", {class: `sample ${kind}`, "aria-hidden": "true"}, child);
    return h(
      "ul",
      {class: "legend"},
      h("li", {}, sample("changed", "1"), G.t("exact.legend_changed")),
      h("li", {}, sample("", [h("i", {class: "rounded"}), "1"]), G.t("exact.legend_rounded")),
      h("li", {}, sample("", [h("i", {class: "saturated"}), "∞"]), G.t("exact.legend_saturated")),
      h(
        "li",
        {},
        h(
          "span",
          {class: "scale", "aria-hidden": "true"},
          [-1, -0.3, 0, 0.3, 1].map((x) =>
            h(
              "span",
              {style: {background: G.colour.signed(x * 0.16)}},
              x < 0 && x === -1 ? "−" : x === 1 ? "+" : x === 0 ? "0" : "",
            ),
          ),
        ),
        G.t("exact.legend_signed"),
      ),
    );
  };

  // What the mouse is over, in words.
  X.cellWords = (side, stage, i, j) => {
    const name = X.rowNames(side, stage)[i],
      before = X.isResidual(stage) ? X.before(side, stage) : null,
      flags = side.flags(stage, i, j);
    const values = {
      name,
      j,
      word: side.words[j] ?? "",
      value: X.minus(side.text(stage, i, j)),
      was: before ? X.minus(side.text(before, i, j)) : "",
    };
    const changed = before && side.key(before, i, j) !== side.key(stage, i, j);
    const words = G.t(changed ? "exact.read_changed" : "exact.read", values);
    return flags & 2 ? G.t("exact.read_saturated", {words}) : flags & 1 ? G.t("exact.read_rounded", {words}) : words;
  };
}
