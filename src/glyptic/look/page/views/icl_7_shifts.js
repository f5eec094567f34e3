// Shifts between training and test: one formula predicts which are borne and which must fail, however many examples there are.
{
  const {h, t} = G;
  const {chosenLaw, asGiven, value, fact, facts, recorded, whole, rowsOf} = G.icl.parts;
  const {eye, times, product, transpose, outer, make, trace} = G.icl.algebra;
  const {optimalMap, limitMap, shiftedRisk, unshifted, power, randomCovariance} = G.icl.theory;

  const half = (d) => make(d, d, (i, j) => (i === j && i < Math.floor((d + 1) / 2) ? 1 : 0));
  const conjugated = (A, B) => product(product(A, B), transpose(A));
  // A turn in the plane of the first and the last coordinate.
  function turn(d, angle) {
    const R = eye(d),
      c = Math.cos(angle),
      s = Math.sin(angle);
    if (d > 1) {
      R[0][0] = R[d - 1][d - 1] = c;
      R[0][d - 1] = -s;
      R[d - 1][0] = s;
    }
    return R;
  }

  // The shifts of `glyptic icl shift`, without its dice: the one task is along (1, …, 1), the turn is by a right angle.
  function standard(p) {
    const {d, L, Psi, s2} = p,
      none = unshifted(p),
      H = half(d),
      rest = make(d, d, (i, j) => (i === j ? 1 - H[i][i] : 0));
    const w = new Array(d).fill((3 * Math.sqrt(trace(Psi))) / Math.sqrt(d)),
      R = turn(d, Math.PI / 2),
      turned = conjugated(R, L);
    return [
      ["none", none],
      ["task_long", {...none, task: outer(w, w)}],
      ["task_sparse", {...none, task: conjugated(H, Psi)}],
      ["query_large", {...none, query: times(9, L)}],
      ["query_half", {...none, query: conjugated(rest, L)}],
      ["noise", {...none, s2: s2 + 1}],
      ["inputs_half", {...none, context: times(0.25, L), query: times(0.25, L)}],
      ["inputs_twice", {...none, context: times(4, L), query: times(4, L)}],
      ["inputs_turned", {...none, context: turned, query: turned}],
      ["inputs_subspace", {...none, context: conjugated(H, L)}],
    ].filter(([, shift]) => power(shift) > 0);
  }

  // What the reader has set: inputs scaled by c and turned, queries, tasks and noise of their own.
  function chosenShift(p, state, c = state.get("c", 1)) {
    const R = turn(p.d, (state.get("angle", 0) * Math.PI) / 180),
      context = times(c * c, conjugated(R, p.L)),
      q = state.get("q", 1),
      w = state.get("w", 1);
    return {context, query: times(q * q, context), task: times(w * w, p.Psi), s2: p.s2 + state.get("more", 0)};
  }

  // Whether it fails: what is left for endless training and test prompts, over answering 0, is not zero.
  function judged(name, shift, p, M, P, limit) {
    const nothing = power(shift),
      now = shiftedRisk(P, shift, M),
      left = shiftedRisk(limit, shift, Infinity).total / nothing;
    return {name, risk: now.total, relative: now.total / nothing, long: now.stays / nothing, left: left < 1e-12 ? 0 : left};
  }
  function randomRow(p, M) {
    const now = randomCovariance(p, p.N, M),
      long = randomCovariance(p, p.N, Infinity);
    return {
      name: t("icl.shift_random"),
      key: "random",
      risk: now.risk,
      relative: now.risk / p.d,
      long: long.risk / p.d,
      left: 1 / 3,
    };
  }

  function verdict(row) {
    const fails = row.left > 1e-9,
      worse = row.relative >= 1;
    return h(
      "span",
      {class: `pill ${fails ? "bad" : "good"}`},
      t(fails ? (worse ? "icl.fails_worse" : "icl.fails") : worse ? "icl.holds_short" : "icl.holds"),
    );
  }
  const bar = (x) =>
    G.svg(
      "svg",
      {width: 92, height: 12, "aria-hidden": "true"},
      G.svg("rect", {x: 0, y: 3, width: Math.max(1, Math.min(90, 60 * x)), height: 6, fill: G.colour.series(0)}),
      G.svg("line", {x1: 60, x2: 60, y1: 0, y2: 12, stroke: G.colour.ink(), "stroke-dasharray": "2 2"}),
    );

  // Where the curve of c crosses the risk of answering 0: by halving.
  function crossings(f) {
    const grid = Array.from({length: 240}, (_, i) => 0.1 + (2.9 * i) / 239),
      found = [];
    for (let i = 1; i < grid.length; i++) {
      let [low, high] = [grid[i - 1], grid[i]];
      if ((f(low) - 1) * (f(high) - 1) >= 0) continue;
      const rising = f(high) > f(low);
      for (let k = 0; k < 60; k++) {
        const middle = (low + high) / 2;
        if (f(middle) > 1 === rising) high = middle;
        else low = middle;
      }
      found.push((low + high) / 2);
    }
    return found;
  }

  G.icl.shiftsPanel = (data, context) => {
    const {state} = context,
      out = h("div", {});
    let csv = [];
    function draw() {
      const p = chosenLaw(data, state),
        M = whole(state.get("M", G.icl.parts.given(data).N), 1, 1e9),
        P = optimalMap(p),
        limit = limitMap(p);
      const mine = judged(t("icl.shift_yours"), chosenShift(p, state), p, M, P, limit);
      const given = asGiven(data, state)
        ? (data.recorded.shifts ?? []).map((s, i) => ({
            ...judged(
              s.name,
              {context: rowsOf(s.context), query: rowsOf(s.query), task: rowsOf(s.task), s2: s.noise_variance},
              p,
              M,
              P,
              limit,
            ),
            key: `given-${i}`,
          }))
        : [];
      const rows = [
        {...mine, key: "yours"},
        ...given,
        ...standard(p).map(([key, shift]) => ({...judged(t(`icl.shift_${key}`), shift, p, M, P, limit), key})),
        randomRow(p, M),
      ];
      csv = [
        ["shift", "risk", "relative", "relative_M_infinite", "relative_N_M_infinite"],
        ...rows.map((r) => [r.name, r.risk, r.relative, r.long, r.left]),
      ];
      const scales = Array.from({length: 120}, (_, i) => 0.1 + (2.9 * i) / 119);
      const relative = (c, length) => {
        const shift = chosenShift(p, state, c);
        return shiftedRisk(P, shift, length).total / power(shift);
      };
      const crossed = crossings((c) => relative(c, M)),
        c = state.get("c", 1);
      const answer =
        mine.left > 1e-9
          ? mine.relative >= 1
            ? "icl.shift_answer_worse"
            : "icl.shift_answer_fails"
          : mine.relative >= 1
            ? "icl.shift_answer_short"
            : "icl.shift_answer_holds";
      G.clear(out).append(
        h("p", {class: "answer"}, t(answer, {relative: G.number(100 * mine.relative, 3), left: G.number(100 * mine.left, 3)})),
        h(
          "div",
          {class: "beside"},
          h(
            "div",
            {},
            h("h3", {}, t("icl.scale_title")),
            G.plot({
              series: [
                {name: t("icl.scale_M", {M}), x: scales, y: scales.map((x) => relative(x, M)), style: "line", colour: 0},
                {name: t("icl.scale_long"), x: scales, y: scales.map((x) => relative(x, Infinity)), style: "dashed", colour: 1},
                {name: t("icl.scale_zero"), x: scales, y: scales.map(() => 1), style: "dashed", colour: G.colour.muted()},
              ],
              xlabel: t("icl.scale_axis"),
              ylabel: t("icl.relative_axis"),
              label: t("icl.scale_title"),
              logy: true,
              width: 560,
              height: 330,
              marks: [...crossed.map((x) => ({x, y: 1, text: `✗ c = ${G.number(x, 3)}`})), {x: c, y: relative(c, M), text: ""}],
            }),
          ),
          facts(
            fact(t("icl.risk_here"), "shift-risk", mine.risk),
            fact(t("icl.relative"), "shift-relative", mine.relative),
            fact(t("icl.relative_long"), "shift-long", mine.long),
            fact(t("icl.relative_left"), "shift-left", mine.left, t("icl.left_note")),
            ...crossed.map((x, i) => fact(t("icl.crossing"), `crossing-${i}`, x)),
          ),
        ),
        h("h3", {}, t("icl.shifts_title")),
        G.scroll(
          t("icl.shifts_title"),
          G.table(
            [t("icl.shift"), t("icl.relative"), "", t("icl.relative_long"), t("icl.relative_left"), t("icl.theory_says")],
            rows.map((r) => [
              r.name,
              value(`relative-${r.key}`, r.relative),
              bar(r.relative),
              value(`long-${r.key}`, r.long),
              value(`left-${r.key}`, r.left),
              verdict(r),
            ]),
          ),
        ),
        G.note(t("icl.shifts_note")),
      );
      if (given.length) out.append(recorded(t("icl.shifts_given")));
    }
    const slide = (name, min, max, step, fallback = 1) =>
      G.slider({name, min, max, step, label: t(`icl.set_${name}`), fallback, show: (x) => G.number(x, 3)}, context, draw);
    draw();
    const element = h(
      "div",
      {},
      G.note(t("icl.shifts_intro")),
      h(
        "div",
        {class: "row"},
        slide("c", 0.1, 3, 0.05),
        slide("angle", 0, 90, 5, 0),
        slide("q", 0.1, 5, 0.1),
        slide("w", 0.1, 5, 0.1),
        slide("more", 0, 3, 0.1, 0),
        G.icl.parts.lengthSlider(data, context, draw),
      ),
      out,
    );
    return {element, draw, csv: () => csv};
  };
}
