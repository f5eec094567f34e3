// What the panels of the lab share: the law of prompts that the reader has chosen, numbers that can be read back, matrices.
{
  const {h, t} = G;
  const {make, eye, diagonal, fromFlat, inner} = G.icl.algebra;
  const {law} = G.icl.theory;
  const LARGEST = 8; // dimensions of a law that is chosen in the page
  const LONGEST = 10000;

  const rowsOf = (array) => fromFlat(array, array.shape[0], array.shape[1]);

  // The law as it was given, or null; read once.
  const given = (data) =>
    data.problem && {
      L: rowsOf(data.problem.covariance),
      Psi: rowsOf(data.problem.prior),
      N: data.problem.N,
      s2: data.problem.noise_variance,
    };

  function eigenvalues(kind, d, state) {
    if (kind === "inverse") return Array.from({length: d}, (_, i) => 1 / (i + 1));
    if (kind === "kappa") {
      const kappa = state.get("kappa", 10);
      return Array.from({length: d}, (_, i) => (d === 1 ? 1 : kappa ** (-i / (d - 1))));
    }
    return new Array(d).fill(1);
  }

  // "1, 0.5": positive numbers, at most as many as the lab has dimensions; null where it is not that.
  function listed(text) {
    const parts = String(text)
      .split(/[\s,;]+/)
      .filter(Boolean)
      .map(Number);
    return parts.length >= 1 && parts.length <= LARGEST && parts.every((x) => Number.isFinite(x) && x >= 1e-6 && x <= 1e6)
      ? parts
      : null;
  }

  const whole = (x, least, most) => Math.min(most, Math.max(least, Math.round(x)));
  const spectrumOf = (data, state) => {
    const kind = state.get("spectrum", "given");
    return ["given", "isotropic", "inverse", "kappa", "own"].includes(kind) ? kind : "given";
  };

  function chosenLaw(data, state) {
    const first = given(data),
      kind = spectrumOf(data, state);
    const N = whole(state.get("N", first.N), 1, 1e9),
      s2 = Math.min(100, Math.max(0, state.get("s2", first.s2)));
    if (kind === "given") return law(first.L, first.Psi, N, s2);
    const d = whole(state.get("d", Math.min(LARGEST, first.L.length)), 1, LARGEST);
    const values = kind === "own" ? (listed(state.get("own", "1, 0.5")) ?? [1, 0.5]) : eigenvalues(kind, d, state);
    return law(diagonal(values), eye(values.length), N, s2);
  }
  // Whether the law is the one that recordings belong to.
  const asGiven = (data, state) => {
    const first = given(data),
      p = chosenLaw(data, state);
    return spectrumOf(data, state) === "given" && p.N === first.N && p.s2 === first.s2;
  };

  // A number with all of its digits behind it, for whoever reads it back.
  const value = (name, x, digits = 5) =>
    h("span", {class: "number", dataset: {name, value: String(x)}, title: String(x)}, G.number(x, digits));
  const fact = (label, name, x, note = null) =>
    h("div", {class: "fact"}, h("dt", {}, label), h("dd", {}, value(name, x), note && h("span", {class: "note"}, note)));
  const facts = (...items) => h("dl", {class: "facts"}, items);
  const recorded = (text) => h("p", {class: "note"}, h("span", {class: "pill"}, t("icl.recorded")), " ", text);

  const names = (d) => Array.from({length: d}, (_, i) => String(i + 1));
  function matrix(title, A, {extent, name, cell}) {
    const d = A.length,
      size = cell ?? Math.max(14, Math.min(62, Math.floor(300 / d)));
    const picture = G.heatmap({
      rows: d,
      columns: d,
      value: (i, j) => A[i][j],
      scale: "signed",
      extent: extent || 1,
      rowNames: names(d),
      columnNames: names(d),
      rowTitle: t("icl.row"),
      columnTitle: t("icl.column"),
      label: title,
      text: (i, j) => G.number(A[i][j], 3),
      cell: size,
    });
    picture.dataset.name = name;
    picture.dataset.value = JSON.stringify(A);
    return h("figure", {class: "matrix"}, h("figcaption", {}, title), picture);
  }
  const largest = (...matrices) => Math.max(...matrices.flat(2).map(Math.abs), 1e-300);

  // Every control tells the panel that something has changed.
  function controls(data, context, changed) {
    const {state} = context,
      first = given(data),
      own = first.L.length;
    const when = (element, ...kinds) => {
      element.dataset.kinds = kinds.join(" ");
      return element;
    };
    const show = () => {
      for (const each of row.querySelectorAll("[data-kinds]"))
        each.hidden = !each.dataset.kinds.split(" ").includes(spectrumOf(data, state));
    };
    const update = () => {
      show();
      changed();
    };
    const input = h("input", {
      id: "icl-own",
      size: 16,
      value: state.get("own", "1, 0.5"),
      oninput: () => {
        const good = listed(input.value);
        input.setAttribute("aria-invalid", good === null);
        if (good) {
          state.set({own: input.value});
          changed();
        }
      },
    });
    const row = h(
      "div",
      {class: "row panel chosen"},
      G.choice(
        {
          name: "spectrum",
          label: t("icl.spectrum"),
          options: [
            ["given", t("icl.given", {d: own})],
            ["isotropic", t("icl.isotropic")],
            ["inverse", t("icl.inverse")],
            ["kappa", t("icl.kappa")],
            ["own", t("icl.own")],
          ],
          fallback: "given",
        },
        context,
        update,
      ),
      when(
        G.slider({name: "d", min: 1, max: LARGEST, label: t("icl.d"), fallback: Math.min(LARGEST, own)}, context, update),
        "isotropic",
        "inverse",
        "kappa",
      ),
      when(
        G.slider(
          {name: "kappa", min: 1, max: 100, log: true, label: t("icl.condition"), fallback: 10, show: (x) => G.number(x, 3)},
          context,
          update,
        ),
        "kappa",
      ),
      when(h("span", {class: "control"}, h("label", {for: "icl-own"}, t("icl.own_values")), input), "own"),
      G.slider(
        {name: "N", min: 1, max: LONGEST, log: true, label: t("icl.N"), fallback: first.N, show: (x) => String(Math.round(x))},
        context,
        update,
      ),
      G.slider(
        {name: "s2", min: 0, max: 2, step: 0.05, label: t("icl.s2"), fallback: first.s2, show: (x) => G.number(x, 3)},
        context,
        update,
      ),
    );
    show();
    return row;
  }

  // M, the length of the prompt that is asked.
  const lengthSlider = (data, context, update) =>
    G.slider(
      {
        name: "M",
        min: 1,
        max: 10000,
        log: true,
        label: t("icl.M"),
        fallback: given(data).N,
        show: (x) => String(Math.round(x)),
      },
      context,
      update,
    );

  G.icl = {
    ...G.icl,
    parts: {
      LARGEST,
      rowsOf,
      given,
      chosenLaw,
      asGiven,
      value,
      fact,
      facts,
      recorded,
      matrix,
      largest,
      controls,
      lengthSlider,
      whole,
      make,
      inner,
    },
  };
}
