// W against its limit: the map that training ends at for prompts of N examples, Λ⁻¹ beside it, the difference, and the way there in time.
{
  const {h, t} = G;
  const {chosenLaw, asGiven, value, fact, facts, recorded, matrix, largest, whole, rowsOf} = G.icl.parts;
  const {minus, norm, fromFlat} = G.icl.algebra;
  const {optimalMap, limitMap, excessOfMap, minimumLoss, law} = G.icl.theory;

  const three = (left, right, names, keys) => {
    const extent = largest(left, right),
      difference = minus(left, right);
    return h(
      "div",
      {class: "three"},
      matrix(names[0], left, {extent, name: keys[0]}),
      h("span", {class: "sign", "aria-hidden": "true"}, "−"),
      matrix(names[1], right, {extent, name: keys[1]}),
      h("span", {class: "sign", "aria-hidden": "true"}, "="),
      matrix(names[2], difference, {extent, name: keys[2]}),
    );
  };

  // The distance to the limit against N: it falls as 1/N.
  function approach(p, limit) {
    const lengths = [...new Set(Array.from({length: 60}, (_, i) => Math.round(10000 ** (i / 59))))],
      size = norm(limit);
    const away = (N) => norm(minus(optimalMap(law(p.L, p.Psi, N, p.s2)), limit)) / size;
    return G.plot({
      series: [{name: t("icl.distance"), x: lengths, y: lengths.map(away), style: "line"}],
      xlabel: t("icl.N_axis"),
      ylabel: t("icl.distance_axis"),
      label: t("icl.distance"),
      logx: true,
      logy: true,
      width: 560,
      height: 300,
      marks: [{x: Math.min(10000, p.N), y: away(Math.min(10000, p.N)), text: `N = ${p.N}`}],
    });
  }

  // A flow as one shape, recorded or solved here: times, maps, excess loss.
  function recordedFlow(flow, d) {
    return {
      times: Array.from(flow.times),
      maps: Array.from(flow.times, (_, i) => fromFlat(flow.maps, d, d, i * d * d)),
      excess: Array.from(flow.excess),
      recorded: true,
      separate: flow.separate,
    };
  }
  function flowOf(data, p, state) {
    if (data.recorded.flow && asGiven(data, state)) return recordedFlow(data.recorded.flow, p.d);
    const solved = G.icl.flow.reducedFlow(p);
    return solved && {...solved, excess: solved.maps.map((X) => excessOfMap(p, X)), recorded: false};
  }

  G.icl.weightsPanel = (data, context) => {
    const {state} = context,
      out = h("div", {}),
      moving = h("div", {}),
      tools = h("div", {class: "row"});
    let csv = [],
      flow = null,
      p = null;

    function still() {
      const P = optimalMap(p),
        limit = limitMap(p),
        away = norm(minus(P, limit)) / norm(limit),
        held = data.recorded.weights && asGiven(data, state) ? data.recorded.weights : null;
      csv = [
        ["matrix", "row", "column", "value"],
        ...[
          ["learned", P],
          ["limit", limit],
        ].flatMap(([name, A]) => A.flatMap((row, i) => row.map((x, j) => [name, i + 1, j + 1, x]))),
      ];
      const parts = [h("p", {class: "answer"}, t("icl.weights_answer", {N: p.N, away: G.number(100 * away, 3)}))];
      if (held)
        parts.push(
          h("h3", {}, t("icl.weights_given")),
          recorded(t("icl.weights_note", {loss: G.number(held.loss, 6)})),
          three(
            rowsOf(held.map),
            P,
            [t("icl.map_given"), t("icl.map_learned", {N: p.N}), t("icl.difference")],
            ["given", "learned-beside", "given-difference"],
          ),
        );
      parts.push(
        h("h3", {}, t("icl.still_title")),
        three(
          P,
          limit,
          [t("icl.map_learned", {N: p.N}), t("icl.map_limit"), t("icl.difference")],
          ["learned", "limit", "difference"],
        ),
        h(
          "div",
          {class: "beside"},
          approach(p, limit),
          facts(
            fact(t("icl.distance"), "distance", away),
            fact(t("icl.least_loss"), "minimum", minimumLoss(p), t("icl.least_loss_note")),
          ),
        ),
      );
      return parts;
    }

    function move() {
      G.clear(moving);
      if (!flow) return;
      const at = whole(state.get("time", 60), 0, flow.times.length - 1),
        P = optimalMap(p),
        X = flow.maps[at];
      const d = p.d,
        shown = flow.excess.map((x) => Math.max(x, 0)),
        top = Math.max(...shown);
      const share = (i) => flow.maps.map((Y) => Y[i][i] / P[i][i]);
      const directions = {
        series: Array.from({length: Math.min(d, 8)}, (_, i) => ({
          name: t("icl.direction", {i: i + 1}),
          x: flow.times,
          y: share(i),
          style: "plain",
          colour: i,
        })),
        xlabel: t("icl.flow_time"),
        ylabel: t("icl.share_learned"),
        label: t("icl.share_learned"),
        logx: true,
        width: 470,
        height: 280,
        marks: [{x: flow.times[at], y: share(0)[at], text: "t"}],
      };
      moving.append(
        h(
          "p",
          {class: "answer"},
          t("icl.flow_answer", {
            time: G.number(flow.times[at], 3),
            share: G.number(100 * (1 - shown[at] / (p.signal / 2 - minimumLoss(p))), 4),
          }),
        ),
        three(
          X,
          P,
          [t("icl.map_now", {time: G.number(flow.times[at], 3)}), t("icl.map_learned", {N: p.N}), t("icl.difference")],
          ["now", "end", "now-difference"],
        ),
        h(
          "div",
          {class: "beside"},
          G.plot({
            series: [{name: t("icl.excess"), x: flow.times, y: shown.map((x) => (x > 1e-9 * top ? x : NaN)), style: "line"}],
            xlabel: t("icl.flow_time"),
            ylabel: "",
            label: t("icl.excess"),
            logx: true,
            logy: true,
            width: 470,
            height: 280,
            marks: shown[at] > 1e-9 * top ? [{x: flow.times[at], y: shown[at], text: "t"}] : [],
          }),
          G.plot(directions),
        ),
        facts(fact(t("icl.flow_time"), "time", flow.times[at]), fact(t("icl.excess"), "excess", flow.excess[at])),
      );
    }

    function draw() {
      p = chosenLaw(data, state);
      flow = flowOf(data, p, state);
      G.clear(out).append(...still());
      G.clear(tools).append(
        ...(flow
          ? [
              G.slider(
                {
                  name: "time",
                  min: 0,
                  max: flow.times.length - 1,
                  label: t("icl.time_slider"),
                  fallback: Math.min(60, flow.times.length - 1),
                  show: (i) => G.number(flow.times[Math.min(i, flow.times.length - 1)], 3),
                },
                context,
                move,
              ),
            ]
          : []),
      );
      note.replaceChildren(
        ...(flow
          ? [flow.recorded ? recorded(t(flow.separate ? "icl.flow_separate" : "icl.flow_recorded")) : G.note(t("icl.flow_live"))]
          : [G.note(t("icl.flow_none"))]),
      );
      move();
    }
    const note = h("div", {});
    draw();
    const step = (by) => {
      if (flow) {
        state.set({time: whole(state.get("time", 60) + by, 0, flow.times.length - 1)});
        draw();
      }
      return true;
    };
    return {
      element: h("div", {}, G.note(t("icl.weights_intro")), out, h("h3", {}, t("icl.flow_title")), note, tools, moving),
      draw,
      csv: () => csv,
      key: (event) => (event.key === "[" ? step(-1) : event.key === "]" ? step(1) : false),
      value,
    };
  };
}
