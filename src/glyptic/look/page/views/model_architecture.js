// The architecture, drawn from the config: the stacks, and the chosen layer opened beside them. Every block can be clicked.
{
  const {h, svg, math} = G;
  const mi = (text) => math("mi", {}, text),
    mo = (text) => math("mo", {}, text),
    row = (...parts) => math("mrow", {}, parts);
  const sub = (a, b) => math("msub", {}, mi(a), mi(b)),
    sup = (a, b) => math("msup", {}, mi(a), mi(b));
  const bracket = (...parts) => row(mo("("), ...parts, mo(")"));
  const roman = (name) => math("mi", {mathvariant: "normal"}, name);

  function normFormula(config) {
    if (config.norm === "none") return [mi("x")];
    const mean = config.norm.startsWith("rms"),
      root = math(
        "msqrt",
        {},
        row(mean ? row(roman("mean"), bracket(sup("x", "2"))) : row(roman("var"), bracket(mi("x"))), mo("+"), mi("ε")),
      );
    return [
      math("mfrac", {}, mean ? mi("x") : row(mi("x"), mo("−"), roman("mean"), bracket(mi("x"))), root),
      mo("·"),
      mi("γ"),
      ...(mean ? [] : [mo("+"), mi("β")]),
    ];
  }
  const gated = (config) => config.feed_forward === "swiglu" || config.feed_forward === "geglu";
  function feedForwardFormula(config) {
    const name = {relu: "ReLU", gelu: "GELU", gelu_tanh: "GELU", silu: "SiLU", swiglu: "SiLU", geglu: "GELU"}[
        config.feed_forward
      ],
      bias = config.feed_forward_bias;
    const inner = row(mi("x"), sub("W", "1"), ...(bias ? [mo("+"), sub("b", "1")] : []));
    return gated(config)
      ? [bracket(roman(name), bracket(mi("x"), sub("W", "1")), mo("⊙"), mi("x"), sub("W", "3")), sub("W", "2")]
      : [roman(name), bracket(inner), sub("W", "2"), ...(bias ? [mo("+"), sub("b", "2")] : [])];
  }
  function attentionFormula(part, config, causal) {
    const product = row(mi("Q"), sup("K", "⊤")),
      scaled =
        Math.abs(config.scale - config.head_size ** -0.5) < 1e-9
          ? math("mfrac", {}, product, math("msqrt", {}, math("mn", {}, String(config.head_size))))
          : product;
    return [roman("softmax"), bracket(scaled, ...(causal ? [mo("+"), mi("M")] : [])), mi("V")];
  }
  function outputFormula(config) {
    if (config.head === "none") return [mi("x")];
    return [roman("softmax"), bracket(mi("x"), config.tied && config.head !== "class" ? sup("E", "⊤") : mi("W"))];
  }
  const positionFormula = (config) =>
    (
      ({
        learned: () => [mi("x"), mo("+"), sub("P", "i")],
        sinusoidal: () => [mi("x"), mo("+"), bracket(roman("sin"), mi("ωi"), mo(","), roman("cos"), mi("ωi"), mo(","), mo("…"))],
        rotary: () => [sub("R", "i"), mi("q"), mo("·"), sub("R", "j"), mi("k")],
        alibi: () => [
          math("mfrac", {}, row(mi("q"), mo("·"), mi("k")), math("msqrt", {}, mi("K"))),
          mo("−"),
          mi("m"),
          mo("|"),
          mi("i"),
          mo("−"),
          mi("j"),
          mo("|"),
        ],
        t5: () => [mi("q"), mo("·"), mi("k"), mo("+"), sub("b", "i−j")],
        shaw: () => [mi("q"), mo("·"), bracket(mi("k"), mo("+"), sub("a", "i−j"))],
        transformer_xl: () => [
          bracket(mi("q"), mo("+"), mi("u")),
          mo("·"),
          mi("k"),
          mo("+"),
          bracket(mi("q"), mo("+"), mi("v")),
          mo("·"),
          sub("r", "i−j"),
        ],
      })[config.positions] ?? (() => [mi("x")])
    )();

  // The parts of one stack's layer, from below: what the drawing stacks up.
  const sublayers = (stack) => (stack === "decoder" ? ["attention", "cross", "feed_forward"] : ["attention", "feed_forward"]);
  const inLayers = new Set(["attention", "cross", "feed_forward", "norm"]),
    PARTS = new Set([...inLayers, "embedding", "positions", "embedding_norm", "final_norm", "output"]);

  function shapes(part, config, rows) {
    const {width: D, heads: H, groups, head_size: K, hidden_size: F} = config;
    const matrix = (name, a, b) => [name, `${G.model.count(a)} × ${G.model.count(b)}`];
    if (part === "attention" || part === "cross")
      return [
        matrix(H === 1 ? "Q" : G.t("model.shape_q", {n: H}), D, H * K),
        matrix(groups === 1 ? G.t("model.shape_kv_one") : G.t("model.shape_kv", {n: groups}), D, groups * K),
        matrix(G.t("model.shape_o"), H * K, D),
        [G.t("model.shape_head"), String(K)],
      ];
    if (part === "feed_forward") return [matrix(gated(config) ? "W₁, W₃" : "W₁", D, F), matrix("W₂", F, D)];
    if (part === "embedding")
      return config.kind === "vit"
        ? [
            matrix(G.t("model.shape_patch"), config.channels * config.patch_size ** 2, D),
            [G.t("model.shape_patches"), `${config.image_size / config.patch_size} × ${config.image_size / config.patch_size}`],
          ]
        : config.vocabulary
          ? [matrix("E", config.vocabulary, config.embedding_width ?? D)]
          : [[G.t("model.shape_vectors"), String(D)]];
    if (part === "positions") return config.positions === "learned" ? [matrix("P", rows ?? config.context, D)] : [];
    if (part === "output")
      return config.head === "class"
        ? [matrix("W", D, config.classes)]
        : config.vocabulary && config.head !== "none"
          ? [matrix(config.tied ? "Eᵀ" : "W", config.embedding_width ?? D, config.vocabulary)]
          : [];
    return [[G.t("model.shape_vector"), String(D)]];
  }

  function facts(model, context) {
    const {config, data} = model,
      [stack, part] = chosenPart(model, context);
    const key = (name) => (stack && `${stack}.${name}` in data.parts ? `${stack}.${name}` : name),
      found = data.parts[key(part)],
      total = data.parts.total;
    const causal = stack === "decoder" || (!stack && config.kind === "decoder");
    const formula = {
      attention: () => attentionFormula(part, config, causal),
      cross: () => attentionFormula(part, config, false),
      feed_forward: () => feedForwardFormula(config),
      norm: () => normFormula(config),
      final_norm: () => normFormula(config),
      embedding_norm: () => normFormula(config),
      output: () => outputFormula(config),
      positions: () => positionFormula(config),
    }[part];
    const layers = found && inLayers.has(part) ? found.times : 1;
    const about =
      part === "positions"
        ? `model.about_positions_${config.positions}`
        : part === "norm" || part === "final_norm" || part === "embedding_norm"
          ? `model.about_norm_${config.norm}`
          : part === "feed_forward"
            ? gated(config)
              ? "model.about_gated"
              : "model.about_feed_forward"
            : part === "attention"
              ? causal
                ? "model.about_attention_causal"
                : "model.about_attention"
              : part === "embedding" && config.kind === "vit"
                ? "model.about_patches"
                : part === "embedding" && !config.vocabulary
                  ? "model.about_vectors"
                  : part === "output"
                    ? `model.about_output_${config.head}`
                    : `model.about_part_${part}`;
    const sizes = found
      ? [
          [G.t("model.parameters"), G.model.count(found.parameters)],
          layers > 1 && [G.t("model.in_each", {n: layers}), G.model.count(Math.round(found.parameters / layers))],
          [G.t("model.share_parameters"), G.model.percent(found.parameters / Math.max(1, total.parameters))],
          [G.t("model.share_flops"), G.model.percent(found.flops / Math.max(1, total.flops))],
        ]
      : [];
    return [
      h("h3", {}, partName(config, stack, part)),
      h("p", {class: "formula"}, formula && math("math", {display: "block"}, row(...formula()))),
      h("p", {class: "plain"}, G.t(about)),
      G.table(null, [...shapes(part, config, data.sequences[0].length), ...sizes].filter(Boolean)),
    ];
  }

  const stacks = (config) => (config.kind === "encoder_decoder" ? ["encoder", "decoder"] : [""]);
  const depth = (config, stack) => (stack === "encoder" ? config.encoder_layers : config.layers);
  function partName(config, stack, part) {
    const name =
      part === "attention"
        ? config.groups < config.heads
          ? G.t(config.groups === 1 ? "model.part_multi_query" : "model.part_grouped", {
              heads: config.heads,
              groups: config.groups,
            })
          : G.t("model.part_attention", {heads: config.heads})
        : part === "cross"
          ? G.t("model.part_cross", {heads: config.heads})
          : part === "feed_forward"
            ? G.t("model.part_feed_forward", {
                kind: config.feed_forward
                  .replace("_tanh", "")
                  .replace("relu", "ReLU")
                  .replace("geglu", "GEGLU")
                  .replace("swiglu", "SwiGLU")
                  .replace("gelu", "GELU")
                  .replace("silu", "SiLU"),
              })
            : part === "positions"
              ? G.t(`model.positions_${config.positions}`)
              : part.endsWith("norm")
                ? G.t(`model.norm_${config.norm}`)
                : part === "embedding"
                  ? G.t(
                      config.kind === "vit"
                        ? "model.part_patches"
                        : config.vocabulary
                          ? "model.part_embedding"
                          : "model.part_vectors",
                    )
                  : part === "output"
                    ? G.t(`model.part_output_${config.head}`)
                    : part;
    return name;
  }
  function chosenPart(model, context) {
    const {site} = G.model.chosen(model, context.state),
      own = site.key === "cross" ? "decoder" : site.key === "self" ? "" : site.key;
    const said = context.state.get("part", site.key === "cross" ? "cross" : "attention"),
      [stack, part] = said.includes(".") ? said.split(".") : [own, said];
    const at = stacks(model.config).includes(stack) ? stack : own;
    return [at, PARTS.has(part) && (part !== "cross" || at === "decoder") ? part : "attention"];
  }

  // One block: a box with its name, which the mouse and the keyboard choose.
  function block(x, y, width, height, name, {on = false, label = name, faint = false, onpick}) {
    const text = svg(
      "text",
      {
        x: x + width / 2,
        y: y + height / 2 + 4,
        "text-anchor": "middle",
        "font-size": Math.min(height < 18 ? 10 : 12, (width - 8) / (0.56 * Math.max(1, name.length))).toFixed(1),
      },
      height >= 12 ? name : "",
    );
    const group = svg(
      "g",
      {
        class: `block${on ? " on" : ""}${faint ? " faint" : ""}`,
        role: "button",
        tabindex: "0",
        "aria-label": label,
        "aria-pressed": String(on),
        onclick: onpick,
        onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            event.stopPropagation();
            onpick();
          }
        },
      },
      svg("rect", {x, y, width, height, rx: 5}),
      text,
    );
    return group;
  }
  const arrow = (x1, y1, x2, y2) => svg("path", {d: `M${x1} ${y1}L${x2} ${y2}`, class: "flow", "marker-end": "url(#arrowhead)"});

  function drawing(model, context, select) {
    const {config} = model,
      view = G.model.chosen(model, context.state),
      [stack, part] = chosenPart(model, context);
    const columns = stacks(config),
      each = Math.max(7, Math.min(24, Math.floor(250 / Math.max(...columns.map((s) => depth(config, s)))))),
      gap = each > 14 ? 4 : 2;
    const tower = Math.max(...columns.map((s) => depth(config, s))) * (each + gap),
      wide = columns.length > 1 ? 104 : 128;
    const layerX = columns.length * (wide + 26) + 34,
      layerWidth = 176,
      width = layerX + layerWidth + 4;
    const list = sublayers(columns.length > 1 ? stack : ""),
      post = config.norm_place === "post",
      opened = config.parallel ? 196 : list.length * 96 + 30;
    const top = 84,
      height = Math.max(top + tower + 132, opened + 70),
      base = height - 132;
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "group",
        "aria-label": G.t("model.drawing"),
        class: "architecture",
      },
      svg(
        "defs",
        {},
        svg(
          "marker",
          {id: "arrowhead", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto"},
          svg("path", {d: "M0 0L8 4L0 8z", class: "tip"}),
        ),
      ),
    );
    const choose = (name, of, layer) => () => {
      const changes = {part: of ? `${of}.${name}` : name};
      if (layer !== undefined) changes.layer = layer;
      if (of && (name === "attention" || layer !== undefined) && name !== "cross") Object.assign(changes, {site: of});
      if (name === "cross") changes.site = "cross";
      select(changes);
    };
    const say = (name) => {
      const text = partName(config, "", name);
      return text.length > 24 ? text.slice(0, 23) + "…" : text;
    };
    columns.forEach((of, at) => {
      const x = 4 + at * (wide + 26),
        middle = x + wide / 2,
        mine = of === stack || !of,
        count = depth(config, of);
      if (of)
        picture.append(
          svg(
            "text",
            {
              x: middle,
              y: base - count * (each + gap) - (config.final_norm ? 32 : 12) - (of === "decoder" ? 32 : 0),
              "text-anchor": "middle",
              "font-size": 12,
              class: "strong",
            },
            G.t(`model.site_${of}`),
          ),
        );
      picture.append(
        svg(
          "text",
          {x: middle, y: height - 6, "text-anchor": "middle", "font-size": 12, class: "quiet"},
          config.kind === "vit"
            ? G.t("model.image")
            : of
              ? G.t(of === "encoder" ? "model.source" : "model.target")
              : G.t("model.tokens"),
        ),
      );
      picture.append(arrow(middle, height - 20, middle, height - 30));
      picture.append(
        block(x, height - 58, wide, 26, say("embedding"), {on: part === "embedding" && mine, onpick: choose("embedding", of)}),
      );
      if (config.positions !== "none")
        picture.append(
          block(x, height - 92, wide, 26, say("positions"), {on: part === "positions" && mine, onpick: choose("positions", of)}),
        );
      if (config.embedding_norm)
        picture.append(
          block(x, height - 118, wide, 20, say("embedding_norm"), {
            on: part === "embedding_norm" && mine,
            onpick: choose("embedding_norm", of),
          }),
        );
      picture.append(
        arrow(middle, height - (config.embedding_norm ? 120 : config.positions === "none" ? 60 : 94), middle, base - 1),
      );
      for (let layer = 0; layer < count; layer++) {
        const y = base - (layer + 1) * (each + gap) + gap,
          now = mine && view.layer === layer;
        picture.append(
          block(x, y, wide, each, G.t("model.layer_n", {n: layer}), {
            on: now && (!of || inLayers.has(part)),
            onpick: choose(
              part === "cross" && of === "decoder" ? "cross" : inLayers.has(part) && part !== "cross" ? part : "attention",
              of,
              layer,
            ),
          }),
        );
        if (now)
          picture.append(
            svg("path", {
              d: `M${x + wide} ${y}L${layerX - 2} 36M${x + wide} ${y + each}L${layerX - 2} ${36 + opened}`,
              class: "open",
            }),
          );
      }
      let y = base - count * (each + gap);
      if (config.final_norm) {
        y -= 24;
        picture.append(
          block(x, y, wide, 20, say("final_norm"), {on: part === "final_norm" && mine, onpick: choose("final_norm", of)}),
        );
      }
      if (of !== "encoder") {
        y -= 34;
        picture.append(
          arrow(middle, y + 34, middle, y + 28),
          block(x, y, wide, 26, say("output"), {on: part === "output", onpick: choose("output", of)}),
        );
      }
      if (of === "encoder")
        picture.append(
          svg("path", {
            d: `M${middle} ${y}V${y - 8}H${x + wide + 13}V${base - tower / 2}H${x + wide + 24}`,
            class: "flow",
            "marker-end": "url(#arrowhead)",
          }),
        );
    });
    picture.append(
      ...layerDrawing(config, list, post, layerX, 36, layerWidth, opened, {
        part,
        say,
        choose,
        of: columns.length > 1 ? stack : "",
        layer: view.layer,
      }),
    );
    return picture;
  }

  // The opened layer: the residual line at the left, its parts beside it, each added to it.
  function layerDrawing(config, list, post, x, y, width, height, {part, say, choose, of, layer}) {
    const line = x + 20,
      left = x + 44,
      wide = width - 54,
      out = [];
    out.push(
      svg("rect", {x, y, width, height, rx: 8, class: "frame"}),
      svg(
        "text",
        {x: x + width / 2, y: y - 8, "text-anchor": "middle", "font-size": 12, class: "strong"},
        G.t("model.inside", {n: layer}),
      ),
    );
    const plus = (at) => [
      svg("circle", {cx: line, cy: at, r: 8, class: "plus"}),
      svg("path", {d: `M${line - 4} ${at}H${line + 4}M${line} ${at - 4}V${at + 4}`, class: "flow"}),
    ];
    const box = (name, at, tall) => block(left, at, wide, tall, say(name), {on: part === name, onpick: choose(name, of)});
    out.push(arrow(line, y + height + 14, line, y - 2));
    if (config.parallel) {
      const foot = y + height;
      out.push(
        box("norm", foot - 44, 22),
        box("attention", foot - 84, 30),
        box("feed_forward", foot - 124, 30),
        ...plus(foot - 150),
      );
      out.push(
        svg("path", {
          d: `M${line} ${foot - 14}H${left + wide / 2}V${foot - 21}M${left + wide / 2} ${foot - 124}V${foot - 150}H${line + 10}`,
          class: "flow",
          "marker-end": "url(#arrowhead)",
        }),
      );
      return out;
    }
    list.forEach((name, at) => {
      const foot = y + height - at * 96 - 8,
        middle = left + wide / 2;
      if (post)
        out.push(
          svg("path", {d: `M${line} ${foot - 8}H${middle}V${foot - 14}`, class: "flow", "marker-end": "url(#arrowhead)"}),
          box(name, foot - 46, 30),
          svg("path", {
            d: `M${left} ${foot - 31}H${left - 6}V${foot - 58}H${line + 10}`,
            class: "flow",
            "marker-end": "url(#arrowhead)",
          }),
          ...plus(foot - 58),
          block(line - 14, foot - 86, wide + 40, 19, say("norm"), {on: part === "norm", onpick: choose("norm", of)}),
        );
      else
        out.push(
          svg("path", {d: `M${line} ${foot - 6}H${middle}V${foot - 12}`, class: "flow", "marker-end": "url(#arrowhead)"}),
          box("norm", foot - 36, 22),
          box(name, foot - 72, 30),
          svg("path", {d: `M${middle} ${foot - 72}V${foot - 80}H${line + 10}`, class: "flow", "marker-end": "url(#arrowhead)"}),
          ...plus(foot - 80),
        );
    });
    return out;
  }

  function architecture(model, context, select) {
    const place = h("div", {}),
      words = h("div", {class: "part", "aria-live": "polite"});
    const element = h(
      "section",
      {class: "panel"},
      h("h2", {}, G.t("model.architecture")),
      G.note(G.t("model.architecture_how")),
      place,
      words,
    );
    element.redraw = () => {
      const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
      G.clear(place).append(G.scroll(G.t("model.drawing"), drawing(model, context, select)));
      G.clear(words).append(...facts(model, context));
      if (focused)
        [...place.querySelectorAll("[role=button]")].find((each) => each.getAttribute("aria-label") === focused)?.focus();
    };
    element.redraw();
    return element;
  }

  G.model = Object.assign(G.model ?? {}, {architecture});
}
