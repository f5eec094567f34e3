// Rotary positions moving: a dial for each pair of coordinates, the query turned by mθ, the key by nθ, the angle between them.
{
  const P = (G.positions ??= {});
  const {h, svg} = G;
  const MOST = 16,
    SIZE = 128,
    MIDDLE = SIZE / 2,
    REACH = 48,
    TURN = 2 * Math.PI;
  const point = (angle, radius) => [MIDDLE + radius * Math.cos(angle), MIDDLE - radius * Math.sin(angle)];
  const at = ([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`;

  function arc(from, by, radius) {
    // anticlockwise by an angle, at most a whole turn
    const whole = Math.max(-TURN, Math.min(TURN, by)),
      half = from + whole / 2,
      way = whole > 0 ? 0 : 1;
    return `M${at(point(from, radius))}A${radius} ${radius} 0 0 ${way} ${at(point(half, radius))}A${radius} ${radius} 0 0 ${way} ${at(point(from + whole, radius))}`;
  }

  // One dial: what was seen in training is a sector; two arrows that move; the arc between them.
  function dial(frequency, trained) {
    const seen = Math.min(TURN, frequency * Math.max(0, trained - 1));
    const sector =
      seen >= TURN - 1e-9
        ? svg("circle", {cx: MIDDLE, cy: MIDDLE, r: REACH, fill: G.colour.share(0.22)})
        : svg("path", {d: `M${MIDDLE} ${MIDDLE}L${arc(0, seen, REACH).slice(1)}Z`, fill: G.colour.share(0.22)});
    const hand = (i, dash) =>
      svg("line", {
        x1: MIDDLE,
        y1: MIDDLE,
        stroke: G.colour.series(i),
        "stroke-width": 3,
        "stroke-dasharray": dash,
        "stroke-linecap": "round",
      });
    const name = (i, text) =>
      svg(
        "text",
        {fill: G.colour.series(i), "font-size": 13, "font-weight": 700, "text-anchor": "middle", "dominant-baseline": "middle"},
        text,
      );
    const gap = svg("path", {fill: "none", stroke: G.colour.ink(), "stroke-width": 1.6});
    const q = hand(0, ""),
      k = hand(1, "5 5"),
      qName = name(0, "q"),
      kName = name(1, "k");
    const ring = svg("circle", {cx: MIDDLE, cy: MIDDLE, r: REACH, fill: "none", stroke: G.colour.line(), "stroke-width": 1.4});
    const picture = svg(
      "svg",
      {viewBox: `0 0 ${SIZE} ${SIZE}`, width: SIZE, height: SIZE, "aria-hidden": "true"},
      sector,
      ring,
      gap,
      k,
      q,
      qName,
      kName,
    );
    const place = (line, label, angle, radius, away) => {
      const [x, y] = point(angle, radius),
        [u, v] = point(angle, away);
      line.setAttribute("x2", x);
      line.setAttribute("y2", y);
      label.setAttribute("x", u);
      label.setAttribute("y", v);
    };
    return {
      picture,
      turn(qAngle, qLong, kAngle, kLong, difference) {
        const close = Math.abs(Math.sin((qAngle - kAngle) / 2)) < 0.13;
        place(q, qName, qAngle, REACH * qLong, REACH + 9);
        place(k, kName, kAngle, REACH * kLong, close ? REACH - 12 : REACH + 9);
        gap.setAttribute("d", arc(kAngle, difference, 15));
      },
    };
  }

  // The pairs of a vector as (angle, length); or (1, 0) in each, so that the angle is that of the position alone.
  const polar = (vector, m) =>
    vector ? [Math.atan2(vector[2 * m + 1], vector[2 * m]), Math.hypot(vector[2 * m], vector[2 * m + 1])] : [0, 1];

  // `show(m, n)` draws without building anew, so that it can be called for every frame.
  P.dials = (setting, plain) => {
    const {frequencies} = setting,
      count = Math.min(MOST, frequencies.length);
    const q = plain ? null : setting.q,
      k = plain ? null : setting.k;
    const pairs = Array.from({length: frequencies.length}, (_, m) => ({
      frequency: frequencies[m],
      q: polar(q, m),
      k: polar(k, m),
    }));
    const longest = Math.max(...pairs.flatMap((pair) => [pair.q[1], pair.k[1]])) || 1;
    const shown = pairs.slice(0, count).map((pair, m) => {
      const drawn = dial(pair.frequency, setting.trained),
        difference = h("div", {class: "mono"});
      const period = TURN / pair.frequency;
      const element = h(
        "figure",
        {class: "dial"},
        drawn.picture,
        h(
          "figcaption",
          {},
          h(
            "div",
            {},
            h("b", {}, G.t("positions.pair", {m})),
            " ",
            h("span", {class: "mono"}, `θ = ${G.number(pair.frequency, 3)}`),
          ),
          h(
            "div",
            {class: "faded"},
            G.t(period <= setting.trained ? "positions.period_seen" : "positions.period_unseen", {n: G.number(period, 3)}),
          ),
          difference,
        ),
      );
      return {...pair, ...drawn, element, difference};
    });
    const sum = h("p", {class: "sum", role: "status"});
    const element = h(
      "div",
      {},
      h(
        "div",
        {class: "dials"},
        shown.map((each) => each.element),
      ),
      count < pairs.length && G.note(G.t("positions.dials_left", {n: count, all: pairs.length})),
      sum,
    );
    element.show = (m, n) => {
      for (const pair of shown) {
        const apart = (m - n) * pair.frequency;
        pair.turn(
          pair.q[0] + m * pair.frequency,
          pair.q[1] / longest,
          pair.k[0] + n * pair.frequency,
          pair.k[1] / longest,
          pair.q[0] - pair.k[0] + apart,
        );
        pair.difference.textContent = G.t("positions.apart", {turns: G.number(Number((apart / TURN).toFixed(2)), 4)});
      }
      const score =
        pairs.reduce((all, pair) => all + pair.q[1] * pair.k[1] * Math.cos(pair.q[0] - pair.k[0] + (m - n) * pair.frequency), 0) *
        setting.factor ** 2 *
        setting.scale;
      const round = (x) => G.number(Number(x.toFixed(1)), 5);
      sum.textContent = G.t("positions.dial_sum", {
        m: round(m),
        n: round(n),
        d: round(m - n),
        score: score.toFixed(4).replace("-", "−"),
      });
      element.score = score;
    };
    return element;
  };
}
