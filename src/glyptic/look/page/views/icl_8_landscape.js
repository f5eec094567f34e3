// The landscape to walk in: the loss on a plane through 0, the global minimum and another critical point, in all (d+1)² weights.
//
// On such a plane θ = x·a + y·b the loss is a polynomial of degree four in (x, y), known from nine values. The flow from a start on it
// leaves the plane: its path is drawn as the nearest points of the plane, and its loss is its own.
{
  const {h, svg, t} = G;
  const {chosenLaw, asGiven, value, fact, facts, recorded} = G.icl.parts;
  const {dot, solve, scaled, added} = G.icl.algebra;
  const {lossAndGradient, classify, optimalWeights, rankOneWeights, minimumLoss} = G.icl.theory;
  const SIDE = 460,
    REACH = 1.6,
    CELLS = 116,
    STEP = 0.05;
  const MONOMIALS = [
    [0, 0],
    [2, 0],
    [1, 1],
    [0, 2],
    [4, 0],
    [3, 1],
    [2, 2],
    [1, 3],
    [0, 4],
  ];
  const POINTS = [
    [0, 0],
    [1, 0],
    [0, 1],
    [1, 1],
    [1, -1],
    [2, 0],
    [0, 2],
    [2, 1],
    [1, 2],
  ];
  const KINDS = {"global minimum": "global", "spurious minimum": "spurious", saddle: "saddle"};

  const at = (plane, x, y) => added(scaled(x, plane.a), scaled(y, plane.b));
  function polynomial(p, plane) {
    const rows = POINTS.map(([x, y]) => MONOMIALS.map(([i, j]) => x ** i * y ** j));
    const c = solve(
      rows,
      POINTS.map(([x, y]) => [lossAndGradient(p, at(plane, x, y)).value]),
    ).map((row) => row[0]);
    return (x, y) => {
      const X = x * x,
        Y = y * y;
      return (
        c[0] +
        c[1] * X +
        c[2] * x * y +
        c[3] * Y +
        c[4] * X * X +
        c[5] * X * x * y +
        c[6] * X * Y +
        c[7] * x * y * Y +
        c[8] * Y * Y
      );
    };
  }
  // The nearest point of the plane.
  function onto(plane, theta) {
    const {a, b} = plane,
      [[x], [y]] = solve(
        [
          [dot(a, a), dot(a, b)],
          [dot(a, b), dot(b, b)],
        ],
        [[dot(a, theta)], [dot(b, theta)]],
      );
    return [x, y];
  }

  // The second axis of the plane: a rank-one point in closed form, or a point that was found before the page was made.
  function axesOf(data, p, state) {
    const closed = Array.from({length: p.d}, (_, i) => ({
      id: `rank-${i}`,
      label: t("icl.axis_rank", {i: i + 1}),
      weights: () => rankOneWeights(p, i),
    }));
    const known = asGiven(data, state)
      ? (data.recorded.points ?? []).map((point, i) => ({point, i})).filter(({point}) => point.path.includes("+"))
      : [];
    return [
      ...closed,
      ...known.map(({point, i}) => ({
        id: `found-${i}`,
        label: t("icl.axis_found", {kind: t(`icl.kind_${KINDS[point.kind]}`), loss: G.number(point.loss, 4)}),
        weights: () => Array.from(point.weights),
      })),
    ];
  }

  // Lines of equal loss by marching squares: pieces of lines, one path a level.
  function contour(grid, level, place) {
    let path = "";
    const n = grid.length - 1;
    const cut = (a, b) => (level - a) / (b - a);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const [a, b, c, d] = [grid[i][j], grid[i][j + 1], grid[i + 1][j + 1], grid[i + 1][j]],
          ends = [];
        if (a > level !== b > level) ends.push([i, j + cut(a, b)]);
        if (b > level !== c > level) ends.push([i + cut(b, c), j + 1]);
        if (c > level !== d > level) ends.push([i + 1, j + 1 - cut(c, d)]);
        if (d > level !== a > level) ends.push([i + 1 - cut(d, a), j]);
        for (let k = 0; k + 1 < ends.length; k += 2) path += `M${place(ends[k])}L${place(ends[k + 1])}`;
      }
    return path;
  }

  // Colour by the loss above its minimum, on a logarithmic scale: valleys are dark, heights are paper.
  function picture(loss, least, top) {
    const canvas = h("canvas", {width: CELLS, height: CELLS}),
      image = new ImageData(CELLS, CELLS),
      floor = 1e-3 * (top - least);
    const depth = (x) => 1 - Math.log((Math.max(x, 0) + floor) / floor) / Math.log((8 * (top - least) + floor) / floor);
    for (let i = 0; i < CELLS; i++)
      for (let j = 0; j < CELLS; j++) {
        const x = -REACH + (2 * REACH * (j + 0.5)) / CELLS,
          y = REACH - (2 * REACH * (i + 0.5)) / CELLS;
        const share = Math.min(1, Math.max(0, depth(loss(x, y) - least))),
          [r, g, b] = G.colour.bytes("share", share * share * 0.8);
        image.data.set([r, g, b, 255], 4 * (i * CELLS + j));
      }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas.toDataURL();
  }

  function marked(kind, x, y, name) {
    const colour = {global: G.colour.good(), spurious: G.colour.bad(), saddle: G.colour.ink()}[kind],
      paper = G.colour.paper();
    const shape =
      kind === "saddle"
        ? svg("path", {
            d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}`,
            stroke: colour,
            "stroke-width": 2.6,
          })
        : kind === "global"
          ? svg("circle", {cx: x, cy: y, r: 7, fill: colour, stroke: paper, "stroke-width": 2})
          : svg("path", {
              d: `M${x} ${y - 9}L${x + 8} ${y + 6}L${x - 8} ${y + 6}Z`,
              fill: colour,
              stroke: paper,
              "stroke-width": 2,
            });
    return svg("g", {}, svg("title", {}, name), shape);
  }
  const legend = () =>
    h(
      "ul",
      {class: "legend"},
      ["global", "spurious", "saddle"].map((kind) =>
        h(
          "li",
          {},
          svg("svg", {width: 22, height: 22, "aria-hidden": "true"}, marked(kind, 11, 11, kind)),
          t(`icl.kind_${kind}`),
        ),
      ),
    );

  // All that stands still while one walks.
  function scene(p, plane, known) {
    const least = minimumLoss(p),
      top = p.signal / 2,
      loss = polynomial(p, plane);
    const px = (x) => ((x + REACH) / (2 * REACH)) * SIDE,
      py = (y) => ((REACH - y) / (2 * REACH)) * SIDE;
    const size = 72,
      grid = Array.from({length: size + 1}, (_, i) =>
        Array.from({length: size + 1}, (_, j) => loss(-REACH + (2 * REACH * j) / size, REACH - (2 * REACH * i) / size)),
      );
    const place = ([i, j]) => `${((j / size) * SIDE).toFixed(1)} ${((i / size) * SIDE).toFixed(1)}`;
    const levels = [0.02, 0.08, 0.2, 0.4, 0.7, 0.999, 1.5, 2.5, 5].map((f) => least + f * (top - least));
    const other = classify(p, plane.b),
      critical = [
        [0, 0, {kind: "saddle", loss: top}],
        [1, 0, {kind: "global minimum", loss: least}],
        [-1, 0, {kind: "global minimum", loss: least}],
        [0, 1, other],
        [0, -1, other],
      ];
    const found = known
      .map((point) => [...onto(plane, Array.from(point.weights)), point])
      .filter(
        ([x, y]) =>
          Math.abs(x) < REACH &&
          Math.abs(y) < REACH &&
          Math.hypot(x, y) > 0.03 &&
          Math.min(Math.hypot(Math.abs(x) - 1, y), Math.hypot(x, Math.abs(y) - 1)) > 0.03,
      );
    const name = (point) => t("icl.point_name", {kind: t(`icl.kind_${KINDS[point.kind]}`), loss: G.number(point.loss, 5)});
    const ring = ([x, y, point]) =>
      svg(
        "circle",
        {
          cx: px(x),
          cy: py(y),
          r: 6,
          fill: "none",
          stroke: {global: G.colour.good(), spurious: G.colour.bad(), saddle: G.colour.ink()}[KINDS[point.kind]],
          "stroke-width": 2,
          "stroke-dasharray": "3 2",
        },
        svg("title", {}, t("icl.off_plane", {name: name(point)})),
      );
    const still = svg(
      "g",
      {},
      svg("image", {href: picture(loss, least, top), x: 0, y: 0, width: SIDE, height: SIDE, preserveAspectRatio: "none"}),
      levels.map((level, i) =>
        svg("path", {
          d: contour(grid, level, place),
          fill: "none",
          stroke: G.colour.ink(),
          "stroke-opacity": i === 5 ? 0.7 : 0.28,
          "stroke-width": 1,
          "stroke-dasharray": i === 5 ? "4 3" : "",
        }),
      ),
      svg("path", {d: `M0 ${py(0)}H${SIDE}M${px(0)} 0V${SIDE}`, stroke: G.colour.ink(), "stroke-opacity": 0.25}),
      found.map(ring),
      critical.map(([x, y, point]) => marked(KINDS[point.kind], px(x), py(y), name(point))),
    );
    return {still, px, py, least, top, other};
  }

  G.icl.landscapePanel = (data, context) => {
    const {state} = context,
      holder = h("div", {}),
      words = h("div", {}),
      chooser = h("div", {class: "row"});
    let p,
      plane,
      view,
      walker,
      trail,
      timer = null,
      csv = [],
      focus = false;
    const here = () => [state.get("x", 0.35), state.get("y", 0.6)].map((v) => Math.min(REACH, Math.max(-REACH, v)));

    const map = svg("svg", {
      viewBox: `0 0 ${SIDE} ${SIDE}`,
      width: SIDE,
      height: SIDE,
      tabindex: "0",
      role: "application",
      class: "landscape",
      "aria-label": t("icl.map_label"),
      "aria-roledescription": t("icl.map_role"),
    });
    const go = (x, y) => {
      state.set({x: Number(x.toFixed(3)), y: Number(y.toFixed(3))});
      show();
    };
    map.addEventListener("click", (event) => {
      const box = map.getBoundingClientRect();
      go(
        ((event.clientX - box.left) / box.width) * 2 * REACH - REACH,
        REACH - ((event.clientY - box.top) / box.height) * 2 * REACH,
      );
    });
    map.addEventListener("keydown", (event) => {
      const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key],
        [x, y] = here(),
        f = event.shiftKey ? 5 * STEP : STEP;
      if (!move) return;
      event.preventDefault();
      event.stopPropagation();
      go(Math.min(REACH, Math.max(-REACH, x + f * move[0])), Math.min(REACH, Math.max(-REACH, y + f * move[1])));
    });

    function downhill() {
      // one step against the slope of the plane
      const [x, y] = here(),
        slope = lossAndGradient(p, at(plane, x, y)).slope,
        g = [dot(slope, plane.a), dot(slope, plane.b)],
        size = Math.hypot(...g);
      if (size > 1e-9) go(x - (STEP * g[0]) / size, y - (STEP * g[1]) / size);
      return true;
    }

    function show() {
      const [x, y] = here(),
        theta = at(plane, x, y),
        {value: loss, slope} = lossAndGradient(p, theta);
      walker.setAttribute("transform", `translate(${view.px(x)} ${view.py(y)})`);
      trail.setAttribute("d", "");
      G.clear(words).append(
        facts(
          fact(t("icl.here"), "here", loss),
          fact(t("icl.above"), "above", loss - view.least),
          fact(t("icl.slope"), "slope", Math.sqrt(dot(slope, slope))),
        ),
        h("p", {class: "note"}, t("icl.place", {x: G.number(x, 3), y: G.number(y, 3)})),
      );
      clearTimeout(timer);
      timer = setTimeout(follow, 40);
    }

    // The flow from here, of all weights; drawn when the walker stands still for a moment.
    function follow() {
      const [x, y] = here(),
        {path, end} = G.icl.flow.descend(p, at(plane, x, y)),
        last = path[path.length - 1];
      const spots = path.map((step) => onto(plane, step.theta));
      trail.setAttribute(
        "d",
        spots.map(([u, v], i) => `${i ? "L" : "M"}${view.px(u).toFixed(1)} ${view.py(v).toFixed(1)}`).join(""),
      );
      const stuck = path.length === 1,
        loss = end?.loss ?? last.loss;
      const kind = end === null ? null : KINDS[end.kind];
      const answer = stuck ? "icl.walk_stuck" : kind === null ? "icl.walk_on" : `icl.walk_${kind}`;
      csv = [
        ["time", "loss", "x", "y", ...last.theta.map((_, i) => `weight_${i}`)],
        ...path.map((step, i) => [step.time, step.loss, ...spots[i], ...step.theta]),
      ];
      const first = path[1]?.time ?? 1; // time 0 has no place on a logarithmic axis: it is drawn where the first step ends
      const thin = path.filter((_, i) => i % Math.ceil(path.length / 300) === 0 || i === path.length - 1);
      words.append(
        h("p", {class: "answer", role: "status"}, t(answer, {loss: G.number(loss, 5), least: G.number(view.least, 5)})),
        ...(thin.length > 2
          ? [
              G.plot({
                series: [
                  {
                    name: t("icl.loss_along"),
                    x: thin.map((s) => Math.max(s.time, first)),
                    y: thin.map((s) => s.loss),
                    style: "line",
                  },
                  {name: t("icl.least_line"), x: [first, last.time], y: [view.least, view.least], style: "dashed", colour: 2},
                ],
                xlabel: t("icl.flow_time"),
                ylabel: t("icl.loss_axis"),
                label: t("icl.loss_along"),
                width: 480,
                height: 250,
                logx: true,
              }),
            ]
          : []),
        facts(fact(t("icl.end_loss"), "end-loss", loss), fact(t("icl.end_time"), "end-time", last.time)),
      );
    }

    function draw() {
      clearTimeout(timer);
      p = chosenLaw(data, state);
      G.clear(holder);
      G.clear(chooser);
      G.clear(words);
      if (p.d > data.most_in_landscapes) {
        holder.append(G.note(t("icl.landscape_large", {d: p.d, most: data.most_in_landscapes})));
        plane = null;
        return;
      }
      const axes = axesOf(data, p, state),
        chosen = axes.find((axis) => axis.id === state.get("axis")) ?? axes[0],
        known = asGiven(data, state) ? (data.recorded.points ?? []) : [];
      plane = {a: optimalWeights(p), b: chosen.weights()};
      view = scene(p, plane, known);
      trail = svg("path", {
        fill: "none",
        stroke: G.colour.series(1),
        "stroke-width": 3,
        "stroke-linejoin": "round",
        class: "trail",
      });
      walker = svg(
        "g",
        {class: "walker"},
        svg("circle", {r: 9, fill: G.colour.paper(), stroke: G.colour.accent(), "stroke-width": 3}),
        svg("circle", {r: 2.5, fill: G.colour.accent()}),
      );
      G.clear(map).append(view.still, trail, walker);
      chooser.append(
        G.choice(
          {name: "axis", label: t("icl.axis"), options: axes.map((axis) => [axis.id, axis.label]), fallback: axes[0].id},
          context,
          draw,
        ),
        G.button(t("icl.downhill"), downhill),
        G.button(t("icl.start_zero"), () => go(0.02, 0.02)),
        G.button(t("icl.start_other"), () => go(0, 0.95)),
      );
      const share = known.some((point) => "share" in point);
      holder.append(
        h(
          "div",
          {class: "beside walk"},
          h(
            "div",
            {},
            h(
              "div",
              {class: "mapped"},
              h("span", {class: "up"}, t("icl.map_up")),
              map,
              h("span", {class: "across"}, t("icl.map_across")),
            ),
            legend(),
            G.note(t("icl.map_note")),
          ),
          words,
        ),
        ...[
          known.length
            ? h(
                "div",
                {},
                h("h3", {}, t("icl.points_title")),
                recorded(t("icl.points_note")),
                G.scroll(
                  t("icl.points_title"),
                  G.table(
                    [
                      t("icl.kind"),
                      t("icl.loss_axis"),
                      t("icl.falls_along"),
                      t("icl.through"),
                      ...(share ? [t("icl.share_of_starts")] : []),
                    ],
                    known.map((point, i) => [
                      t(`icl.kind_${KINDS[point.kind]}`),
                      value(`point-${i}`, point.loss, 6),
                      String(point.descending),
                      point.path === "none" ? "–" : point.path,
                      ...(share ? [`${G.number(100 * point.share, 3)} %`] : []),
                    ]),
                  ),
                ),
              )
            : null,
          flows(known),
        ].filter(Boolean),
      );
      show();
      if (focus) map.focus();
      focus = false;
    }

    // The loss of flows from random starts, recorded, in the colour of their ends.
    function flows(known) {
      const held = data.recorded.flows;
      if (!held || !known.length) return null;
      const n = held.losses.shape[1],
        times = Array.from(held.times),
        colour = (i) =>
          ({global: G.colour.good(), spurious: G.colour.bad(), saddle: G.colour.ink()})[KINDS[known[held.end_of[i]].kind]];
      const series = Array.from({length: n}, (_, i) => ({
        x: times,
        y: times.map((_, k) => held.losses[k * n + i]),
        style: "line",
        colour: colour(i),
        name: null,
      }));
      return h(
        "div",
        {},
        h("h3", {}, t("icl.flows_title")),
        recorded(t("icl.flows_note", {starts: held.starts, n})),
        G.plot({
          series,
          xlabel: t("icl.flow_time"),
          ylabel: t("icl.loss_axis"),
          logx: true,
          width: 760,
          height: 340,
          label: t("icl.flows_title"),
        }),
      );
    }
    const element = h("div", {}, G.note(t("icl.landscape_intro")), chooser, holder);
    draw();
    return {
      element,
      draw,
      csv: () => csv,
      destroy: () => clearTimeout(timer),
      key: (event) => (event.key === "g" && plane ? downhill() : false),
    };
  };
}
