// The error after M examples, with the theory drawn in: what falls as 1/M, what stays, and the curves of learners beside it.
{
  const {h, t} = G;
  const {chosenLaw, asGiven, value, fact, facts, recorded, whole} = G.icl.parts;
  const {optimalMap, minimumLoss, shiftedRisk, unshifted, law} = G.icl.theory;

  const counts = (most) => [...new Set(Array.from({length: 90}, (_, i) => Math.round(most ** (i / 89))))];

  // The risk of the model trained at N, and of one trained at each length anew.
  function curvesOf(p, most) {
    const P = optimalMap(p),
      lengths = counts(most),
      parts = shiftedRisk(P, unshifted(p), 1);
    return {
      lengths,
      trained: lengths.map((M) => parts.stays + parts.falls / M),
      best: lengths.map((M) => 2 * minimumLoss(law(p.L, p.Psi, M, p.s2))),
      parts,
    };
  }

  function learners(data) {
    return (data.recorded.curves ?? []).map((one, i) => ({
      name: one.name,
      x: one.counts,
      y: Array.from(one.mean),
      low: Array.from(one.low),
      high: Array.from(one.high),
      style: "dashed",
      colour: i + 2,
    }));
  }

  function riskOfGiven(data) {
    const risk = data.recorded.risk;
    if (!risk) return null;
    const total = risk.floor + risk.variance + risk.bias;
    return h(
      "div",
      {class: "panel"},
      h("h3", {}, t("icl.risk_title")),
      recorded(t("icl.risk_note")),
      G.table(
        [t("icl.part"), t("icl.value"), t("icl.share_of_risk")],
        ["floor", "variance", "bias"].map((name) => [
          t(`icl.part_${name}`),
          value(`risk-${name}`, risk[name]),
          total ? G.number((100 * risk[name]) / total, 3) + " %" : "–",
        ]),
      ),
      facts(fact(t("icl.risk_total"), "risk-total", total)),
    );
  }

  G.icl.errorPanel = (data, context) => {
    const {state} = context,
      out = h("div", {}),
      own = learners(data);
    let csv = [];
    function alone() {
      // curves without a law: nothing to compute, and said so
      csv = [
        ["learner", "k", "mean", "low", "high"],
        ...own.flatMap((s) => s.x.map((k, i) => [s.name, k, s.y[i], s.low[i], s.high[i]])),
      ];
      if (!own.length) return;
      out.append(
        G.plot({
          series: own,
          xlabel: t("icl.examples_k"),
          ylabel: t("icl.error"),
          label: t("icl.error_title"),
          width: 860,
          height: 420,
          logy: state.get("elog", "0") === "1",
        }),
        recorded(t("icl.curves_note")),
      );
    }
    function draw() {
      G.clear(out);
      if (!data.problem) return alone();
      const p = chosenLaw(data, state),
        most = Math.max(10, whole(state.get("most", 200), 10, 1e6)),
        M = whole(state.get("M", G.icl.parts.given(data).N), 1, 1e9);
      const {lengths, trained, best, parts} = curvesOf(p, most),
        at = parts.stays + parts.falls / M;
      const flat = (y) => lengths.map(() => y);
      const series = [
        {name: t("icl.line_trained", {N: p.N}), x: lengths, y: trained, style: "line", colour: 0},
        {name: t("icl.line_best"), x: lengths, y: best, style: "dashed", colour: 2},
        {name: t("icl.line_limit"), x: lengths, y: flat(parts.stays), style: "band-less", colour: 3},
        {name: t("icl.line_zero"), x: lengths, y: flat(p.signal), style: "dashed", colour: G.colour.muted()},
      ];
      if (own.length) series.push(...own);
      csv = [
        ["M", "risk_trained_at_N", "risk_trained_at_M", "limit", "always_0"],
        ...lengths.map((m, i) => [m, trained[i], best[i], parts.stays, p.signal]),
      ];
      const worse = at > p.signal;
      out.append(
        h(
          "p",
          {class: "answer"},
          t(worse ? "icl.error_answer_worse" : "icl.error_answer", {
            N: p.N,
            M,
            risk: G.number(at, 4),
            limit: G.number(parts.stays, 4),
            zero: G.number(p.signal, 4),
          }),
        ),
        h(
          "div",
          {class: "beside"},
          G.plot({
            series,
            xlabel: t("icl.examples_M"),
            ylabel: t("icl.error"),
            label: t("icl.error_title"),
            width: 760,
            height: 400,
            logx: true,
            logy: state.get("elog", "1") === "1",
            marks: M <= most ? [{x: M, y: at, text: `M = ${M}`}] : [],
          }),
          h(
            "div",
            {class: "side"},
            h("h3", {}, t("icl.at_M", {M})),
            facts(
              fact(t("icl.risk_here"), "risk", at),
              fact(t("icl.bias"), "bias", parts.stays, t("icl.bias_note")),
              fact(t("icl.variance"), "variance", parts.falls / M, t("icl.variance_note")),
              fact(t("icl.best_here"), "best", 2 * minimumLoss(law(p.L, p.Psi, M, p.s2)), t("icl.best_note")),
              fact(t("icl.zero"), "zero", p.signal),
            ),
          ),
        ),
      );
      if (own.length && !asGiven(data, state)) out.append(recorded(t("icl.curves_other")));
      else if (own.length) out.append(recorded(t("icl.curves_note")));
    }
    draw();
    const element = h(
      "div",
      {},
      h("p", {class: "note"}, t("icl.error_intro")),
      data.problem &&
        h(
          "div",
          {class: "row"},
          G.icl.parts.lengthSlider(data, context, draw),
          G.slider(
            {
              name: "most",
              min: 10,
              max: 10000,
              log: true,
              label: t("icl.axis_to"),
              fallback: 200,
              show: (x) => String(Math.round(x)),
            },
            context,
            draw,
          ),
          G.toggle({name: "elog", label: t("icl.log_error"), fallback: true}, context, draw),
        ),
      out,
      riskOfGiven(data),
    );
    return {element, draw, csv: () => csv};
  };
}
