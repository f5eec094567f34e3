// The construction's steps, and whether this run kept what each promised: only what was looked at is called ✓.
{
  const X = (G.exact ??= {}),
    {h} = G;

  const placesOf = (frame) =>
    frame.scattered?.length ? frame.scattered : Array.from({length: frame.layers}, (_, k) => frame.first_layer + k);
  const after = (side, l) =>
    l < 0
      ? "embedding"
      : [`layer.${l}.after_feed_forward`, `layer.${l}.after_attention`].find((name) => side.residual.includes(name));

  function covers(touch, position) {
    const listed = touch.positions
      .split(" ")
      .filter((word) => /^\d+$/.test(word))
      .map(Number);
    return touch.positions.startsWith("all") ? !listed.includes(position) : listed.includes(position);
  }

  // embedding, each construction or each layer, output
  X.steps = (side) => {
    const {model} = side,
      frames = (model.history ?? []).filter((frame) => placesOf(frame).every((l) => l < model.layers.length));
    const covered = new Set(frames.flatMap(placesOf));
    const lone = model.layers
      .map((_, l) => l)
      .filter((l) => !covered.has(l))
      .map((l) => ({title: G.t("exact.step_layer", {l}), layers: [l], frame: null}));
    const made = frames.map((frame) => ({title: frame.construction, layers: placesOf(frame), frame}));
    const inner = [...made, ...lone].sort((a, b) => (a.layers[0] ?? -1) - (b.layers[0] ?? -1));
    return [
      {title: G.t("exact.step_embedding"), layers: [], frame: null, stage: "embedding"},
      ...inner.map((step) => ({...step, stage: step.layers.length ? after(side, step.layers.at(-1)) : "embedding"})),
      {
        title: G.t("exact.step_output"),
        layers: [],
        frame: null,
        stage: side.has("probabilities") ? "probabilities" : "logits",
        output: true,
      },
    ].map((step) => ({...step, there: Boolean(step.stage) && side.has(step.stage)}));
  };

  // A formula of a touch as a test of a cell: {must(value, position)}; null where it cannot be decided here.
  function formula(text, side, from) {
    const {format, coordinates} = side.model;
    const number = (word) => {
      try {
        return Engine.number(format, word);
      } catch {
        return null;
      }
    };
    const plain = number(text);
    if (plain !== null) return (value) => value === plain;
    const source = coordinates.indexOf(text);
    if (source >= 0) return (value, j) => value === side.value(from, source, j);
    const either = /^(\S+) if YES else (\S+)$/.exec(text);
    if (either && number(either[1]) !== null && number(either[2]) !== null) {
      const last = side.words.length - 1;
      return (value, j) => j !== last || [number(either[1]), number(either[2])].includes(value);
    }
    return null;
  }

  // {mark: "yes" | "no" | "none", kept, written, unread, broken: {name, position, was, is}}
  X.checked = (side, steps, step) => {
    const nothing = {mark: "none", kept: 0, written: 0, unread: 0, broken: null};
    if (!step.frame || !step.layers.length || side.recorded || !step.there) return nothing;
    const {coordinates} = side.model,
      positions = side.words.map((_, j) => j);
    const sharing = steps.filter((other) => other.frame && other.layers.some((l) => step.layers.includes(l)));
    const touched = (i, j) =>
      sharing.some((other) =>
        other.frame.touches.some(
          (touch) =>
            ["writes", "clobbers"].includes(touch.action) && touch.coordinates.includes(coordinates[i]) && covers(touch, j),
        ),
      );
    let kept = 0,
      written = 0,
      unread = 0,
      broken = null;
    for (const l of step.layers) {
      const from = after(side, l - 1) ?? "embedding",
        to = after(side, l);
      if (!to) return nothing;
      for (let i = 0; i < coordinates.length; i++)
        for (const j of positions) {
          if (touched(i, j)) continue;
          kept++;
          if (side.value(from, i, j) !== side.value(to, i, j))
            broken ??= {name: coordinates[i], i, j, was: side.text(from, i, j), is: side.text(to, i, j), stage: to};
        }
    }
    const from = after(side, step.layers[0] - 1) ?? "embedding";
    for (const touch of step.frame.touches) {
      if (touch.action !== "writes" || !touch.coordinates.length) continue;
      const test = touch.value && sharing.length === 1 ? formula(touch.value, side, from) : null;
      if (!test) {
        unread += touch.coordinates.length;
        continue;
      }
      for (const name of touch.coordinates)
        for (const j of positions.filter((place) => covers(touch, place))) {
          const i = coordinates.indexOf(name);
          if (i < 0) continue;
          written++;
          if (!test(side.value(step.stage, i, j), j))
            broken ??= {name, i, j, was: touch.value, is: side.text(step.stage, i, j), stage: step.stage, formula: true};
        }
    }
    return {mark: broken ? "no" : kept + written ? "yes" : "none", kept, written, unread, broken};
  };

  const SIGNS = {yes: "✓", no: "✗", none: "–"};

  function told(check) {
    if (check.broken)
      return G.t(check.broken.formula ? "exact.check_broken_value" : "exact.check_broken", {
        ...check.broken,
        was: X.minus(check.broken.was),
        is: X.minus(check.broken.is),
      });
    if (check.mark === "none") return G.t("exact.check_none");
    const parts = check.kept ? [G.t("exact.check_kept", {n: check.kept})] : [];
    if (check.written) parts.push(G.t("exact.check_written", {n: check.written}));
    if (check.unread) parts.push(G.t("exact.check_unread", {n: check.unread}));
    return parts.join(" ");
  }

  const listed = (names) =>
    names.length <= 6 ? names.join(", ") : G.t("exact.and_more", {names: names.slice(0, 5).join(", "), n: names.length - 5});

  function touches(frame) {
    const rows = frame.touches.filter((touch) => touch.coordinates.length && touch.action !== "preserves");
    return h(
      "dl",
      {class: "touches"},
      rows.map((touch) => [
        h("dt", {}, G.t(`exact.touch_${touch.action}`)),
        h(
          "dd",
          {},
          h("span", {class: "mono"}, listed(touch.coordinates)),
          touch.value && [" ← ", h("span", {class: "mono"}, X.minus(touch.value))],
          touch.positions !== "all" &&
            h("span", {class: "note"}, " ", G.t("exact.touch_positions", {positions: touch.positions})),
        ),
      ]),
    );
  }

  const layerWords = (layers) =>
    !layers.length
      ? G.t("exact.no_layer")
      : layers.length === 1
        ? G.t("exact.in_layer", {l: layers[0]})
        : G.t("exact.in_layers", {
            list: layers.at(-1) - layers[0] === layers.length - 1 ? `${layers[0]}–${layers.at(-1)}` : layers.join(", "),
          });

  X.stepsPanel = (page) => {
    const {side} = page,
      steps = page.steps,
      chosen = page.step;
    const items = steps.map((step, k) => {
      const check = X.checked(side, steps, step),
        on = k === chosen;
      const button = h(
        "button",
        {
          type: "button",
          class: "step",
          id: `ex-step-${k}`,
          disabled: !step.there,
          "aria-current": on ? "step" : null,
          onclick: () => page.chooseStep(k),
        },
        h("span", {class: `check ${check.mark}`, role: "img", "aria-label": G.t(`exact.mark_${check.mark}`)}, SIGNS[check.mark]),
        h("span", {class: "steptitle"}, step.title),
        step.layers.length > 0 && h("span", {class: "where"}, layerWords(step.layers)),
      );
      const detail =
        on &&
        h(
          "div",
          {class: "stepdetail"},
          step.frame && touches(step.frame),
          h(
            "p",
            {class: check.broken ? "note bad" : "note"},
            step.frame
              ? told(check)
              : G.t(step.output ? "exact.about_output" : step.layers.length ? "exact.about_layer" : "exact.about_embedding"),
          ),
          check.broken &&
            G.button(G.t("exact.show_cell"), () => page.pin(check.broken.i, check.broken.j, check.broken.stage), {class: "link"}),
        );
      return h("li", {}, button, detail);
    });
    return [
      h("h2", {}, G.t(side.model.history?.length ? "exact.steps" : "exact.steps_layers")),
      h("ol", {class: "steps"}, items),
      h("p", {class: "note"}, G.t("exact.steps_keys")),
    ];
  };
}
