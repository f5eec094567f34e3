// The page of an exact run: verdict → step → stage → cell → derivation, and everything anew when the input, a weight or the format
// changes. All state is in the fragment; the parts are in exact_*.js.
{
  const X = (G.exact ??= {}),
    {h} = G;

  const bases = new WeakMap();
  const baseOf = (given) => bases.get(given) ?? bases.set(given, Engine.load(given.transformer)).get(given);

  // Stage, step, layer, part and cell, as the state has them or as the run suggests.
  function place(page) {
    const {state, side} = page;
    page.steps = X.steps(side);
    const wanted = state.get("stage"),
      last = side.residual.at(-1) ?? "embedding";
    page.stage = wanted && side.has(wanted) ? wanted : page.other && !wanted ? (page.differences[0]?.stage ?? last) : last;
    const own = page.steps.findIndex((step) => step.stage === page.stage),
      within = page.steps.findIndex((step) => step.layers.includes(X.layerOf(page.stage)));
    page.step = Math.min(page.steps.length - 1, Math.max(0, state.get("step", own >= 0 ? own : Math.max(0, within))));
    const layers = side.model.layers.length;
    page.layer = Math.min(
      layers - 1,
      Math.max(0, Math.trunc(state.get("layer", X.layerOf(page.stage) ?? (page.stage === "embedding" ? 0 : layers - 1)))),
    );
    page.part = state.get(
      "part",
      /head\.(\d+)/.test(page.stage)
        ? `head${/head\.(\d+)/.exec(page.stage)[1]}`
        : /feed_forward|hidden/.test(page.stage) && !side.model.layers[page.layer]?.heads.length
          ? "ff"
          : "head0",
    );
    page.cell = chosenCell(page);
    page.position =
      page.cell && X.isResidual(page.stage)
        ? page.cell.j
        : Math.min(
            side.words.length - 1,
            Math.max(
              0,
              Math.trunc(
                state.get(
                  "at",
                  page.cell && /^layer/.test(page.stage)
                    ? /\.(scores|weights)$/.test(page.stage)
                      ? page.cell.i
                      : page.cell.j
                    : side.words.length - 1,
                ),
              ),
            ),
          );
  }

  // name@position; without it, where two runs differ first, or the coordinate that decides the answer.
  function chosenCell(page) {
    const {state, side, stage} = page,
      text = state.get("cell");
    if (text === "none" || !side.has(stage)) return null;
    const names = X.rowNames(side, stage),
      [rows, columns] = side.shape(stage);
    if (text !== null) {
      const cut = text.lastIndexOf("@"),
        i = names.indexOf(text.slice(0, cut)),
        j = Number(text.slice(cut + 1));
      if (i >= 0 && i < rows && Number.isInteger(j) && j >= 0 && j < columns) return {i, j};
    }
    const unlike = page.other && page.differences.find((each) => each.stage === stage);
    if (unlike) return {i: unlike.i, j: unlike.j};
    if (!X.isResidual(stage)) return {i: 0, j: columns - 1};
    const answer = Math.max(0, side.model.answers.indexOf(side.answer)),
      {output} = side.model;
    let best = 0,
      most = -1;
    for (let i = 0; i < rows; i++) {
      const size = output.values ? output.values[answer * rows + i] * side.value(stage, i, columns - 1) : -i;
      if (size > most) [best, most] = [i, size];
    }
    return {i: best, j: columns - 1};
  }

  function compute(page) {
    const {state} = page,
      given = page.data.sides[0];
    const {model, problems} = X.edited(page.base, state);
    page.problems = problems;
    page.refused = Engine.refusalOf(model);
    page.count = Math.max(1, Math.trunc(state.get("steps", given.steps)));
    if (page.refused) {
      page.side = X.recording(model, given.recorded);
      page.inputLength = given.input.length;
    } else {
      let tokens = null;
      try {
        tokens = X.inputFrom(model, state, given.input);
      } catch (error) {
        if (!error.key) throw error;
        problems.input = error.message;
        tokens = Engine.tokens(model, given.input);
      }
      const begun = performance.now();
      try {
        page.side = X.live(model, tokens, page.count);
      } catch (error) {
        if (!error.key) throw error;
        problems.options = error.message;
        page.count = 1;
        page.side = X.live(model, tokens, 1);
      }
      page.took = performance.now() - begun;
      page.inputLength = tokens.length;
    }
    page.ladder = new Map();
    page.differences = page.other ? X.differences(page.side, page.other) : [];
  }

  function otherSide(given) {
    const model = baseOf(given);
    return Engine.refusalOf(model)
      ? X.recording(model, given.recorded)
      : X.live(model, Engine.tokens(model, given.input), given.steps);
  }

  // The centre -----------------------------------------------------------------------------------------------------------

  function stageChooser(page) {
    const {side} = page,
      at = side.residual.indexOf(page.stage);
    const select = h(
      "select",
      {
        id: "ex-stage",
        onchange: () =>
          page.go(
            {
              stage: select.value,
              step: null,
              layer: null,
              part: null,
              cell: X.isResidual(select.value) ? page.state.get("cell") : null,
            },
            true,
          ),
      },
      side.stages.map((name) => h("option", {value: name, selected: name === page.stage}, X.stageTitle(name))),
    );
    const to = (k) => () => page.go({stage: side.residual[k], step: null, layer: null, part: null}, true);
    return h(
      "div",
      {class: "row"},
      h("h2", {}, G.t("exact.stream")),
      h("span", {class: "control"}, h("label", {for: "ex-stage"}, G.t("exact.stage")), select),
      G.button("‹", to(at - 1), {disabled: at <= 0, "aria-label": G.t("exact.previous_stage"), id: "ex-back"}),
      G.button("›", to(at + 1), {
        disabled: at < 0 || at >= side.residual.length - 1,
        "aria-label": G.t("exact.next_stage"),
        id: "ex-on",
      }),
    );
  }

  function tableOf(page, side, other, caption, mine) {
    const table = side.has(page.stage)
      ? X.streamTable(page, side, {caption, differs: other ? (i, j) => X.differs(side, other, page.stage, i, j) : undefined})
      : G.note(G.t("exact.no_stage_here"));
    const region = h("div", {class: "scroll streambox", tabindex: "0", role: "region", "aria-label": caption}, table);
    region.addEventListener("mouseover", (event) => {
      const td = event.target.closest("td[data-i]");
      if (td) page.readout.textContent = X.cellWords(side, page.stage, Number(td.dataset.i), Number(td.dataset.j));
    });
    region.addEventListener("mouseleave", () => page.tell());
    if (mine)
      region.addEventListener("click", (event) => {
        const td = event.target.closest("td[data-i]");
        if (td) page.pin(Number(td.dataset.i), Number(td.dataset.j), page.stage);
      });
    return region;
  }

  function centre(page) {
    const {side, other} = page,
      caption = (each) =>
        G.t("exact.stream_caption", {stage: X.stageTitle(page.stage), input: X.inputText(each.model, each.words)});
    page.readout = h("output", {class: "readout", id: "ex-readout"});
    const tables = other
      ? h(
          "div",
          {class: "pair"},
          [side, other].map((each, k) =>
            h(
              "div",
              {},
              h(
                "h3",
                {},
                G.t(k ? "exact.side_other" : "exact.side_this", {
                  name: each.model.name || G.t("exact.unnamed"),
                  format: each.model.format.name,
                  input: X.inputText(each.model, each.words),
                  answer: each.answer,
                }),
              ),
              tableOf(page, each, k ? side : other, caption(each), k === 0),
            ),
          ),
        )
      : tableOf(page, side, null, caption(side), true);
    const compare =
      other &&
      h(
        "p",
        {class: "row"},
        h(
          "span",
          {},
          page.differences.length
            ? G.t("exact.differences", {n: page.differences.length})
            : G.t(side.answer === other.answer ? "exact.no_difference" : "exact.only_answers", {a: side.answer, b: other.answer}),
        ),
        page.differences.length > 0 && G.button(G.t("exact.next_difference"), () => page.nextDifference(), {id: "ex-next"}),
      );
    return [
      stageChooser(page),
      X.legend(),
      compare,
      tables,
      page.readout,
      X.zeroNote(page, side),
      page.stage === "embedding" || !X.isResidual(page.stage) ? null : G.note(G.t("exact.stream_note")),
    ];
  }

  // Mount ------------------------------------------------------------------------------------------------------------------

  G.view("exact", {
    keys: [
      ["[ ]", "exact.key_step"],
      ["< >", "exact.key_stage"],
      ["n", "exact.key_next"],
      ["Enter", "exact.key_enter"],
    ],
    mount(root, data, context) {
      const {state} = context;
      const render = {
        steps: X.stepsPanel,
        stream: centre,
        cell: X.cellPanel,
        head: X.headPanel,
        facts: X.factsPanel,
        ladder: X.ladderPanel,
      };
      const page = {
        data,
        state,
        base: baseOf(data.sides[0]),
        other: data.sides[1] ? otherSide(data.sides[1]) : null,
        took: 0,
        gone: false,
        focus: null,
      };
      const boxes = Object.fromEntries(
        Object.keys(render).map((name) => [
          name,
          h("section", {class: `panel box-${name}`, "aria-label": G.t(`exact.box_${name}`)}),
        ]),
      );
      const top = h("section", {class: "panel box-top", "aria-label": G.t("exact.box_top")});

      function mark() {
        root.querySelectorAll(".streambox td.pinned").forEach((td) => td.classList.remove("pinned"));
        if (!page.cell) return;
        const name = X.rowNames(page.side, page.stage)[page.cell.i];
        root.querySelectorAll(".streambox").forEach((region, k) => {
          const side = k ? page.other : page.side,
            i = side.has(page.stage) ? X.rowNames(side, page.stage).indexOf(name) : -1;
          const td = region.querySelector(`td[data-i="${i}"][data-j="${page.cell.j}"]`);
          td?.classList.add("pinned");
          td?.scrollIntoView?.({block: "nearest", inline: "nearest"});
        });
      }
      page.tell = () => {
        page.readout.textContent =
          page.cell && page.side.has(page.stage) ? X.cellWords(page.side, page.stage, page.cell.i, page.cell.j) : "";
      };
      page.refresh = (names = Object.keys(render)) => {
        const focused =
          page.focus ??
          (document.activeElement?.id && root.contains(document.activeElement)
            ? `#${CSS.escape(document.activeElement.id)}`
            : null);
        const y = scrollY,
          lefts = [...root.querySelectorAll(".streambox")].map((each) => [each.scrollLeft, each.scrollTop]);
        for (const name of names) G.clear(boxes[name]).append(...[render[name](page)].flat(Infinity).filter(Boolean));
        root.querySelectorAll(".streambox").forEach((each, k) => {
          if (lefts[k]) [each.scrollLeft, each.scrollTop] = lefts[k];
        });
        mark();
        page.tell();
        scrollTo(scrollX, y);
        if (focused) root.querySelector(focused)?.focus({preventScroll: true});
        page.focus = null;
      };
      page.renderTop = () => {
        const focused = top.contains(document.activeElement) ? document.activeElement.id : "";
        G.clear(top).append(...X.topPanel(page).flat(Infinity).filter(Boolean));
        if (focused) document.getElementById(focused)?.focus({preventScroll: true});
      };
      const recompute = () => {
        compute(page);
        place(page);
      };
      const COMPUTED = ["format", "input", "tokens", "w", "steps"];
      const isComputed = (changes) => Object.keys(changes).some((name) => COMPUTED.includes(name) || name.startsWith("o."));
      page.go = (changes, push = false) => {
        state.set(changes, {push});
        if (isComputed(changes)) {
          recompute();
          page.renderTop();
          page.refresh();
        } else {
          place(page);
          page.refresh(["steps", "stream", "cell", "head"]);
        }
      };
      page.goQuietly = (changes) => {
        state.set(changes);
        recompute();
        X.topAnswers(page);
        page.refresh();
      };
      page.reset = () =>
        page.go(
          Object.fromEntries(
            [
              "format",
              "input",
              "tokens",
              "w",
              "steps",
              "cell",
              "stage",
              "step",
              ...Object.keys(Engine.choices).map((name) => `o.${name}`),
            ].map((name) => [name, null]),
          ),
        );
      page.tryOption = (name, value) => {
        const given = name === "scale" ? value === "true" : value;
        try {
          Engine.withOptions(page.side.model, {[name]: given});
        } catch (error) {
          if (!error.key) throw error;
          document.getElementById("ex-options-problem").textContent = error.message;
          return;
        }
        page.go({[`o.${name}`]: page.base.options[name] === given ? null : value});
      };
      page.chooseStep = (k) => {
        const step = page.steps[k];
        page.go(
          {
            step: k,
            stage: step.stage,
            layer: step.layers[0] ?? null,
            part: null,
            cell: X.isResidual(step.stage) && X.isResidual(page.stage) ? state.get("cell") : null,
          },
          true,
        );
      };
      page.pin = (i, j, stage) => {
        const name = X.rowNames(page.side, stage)[i],
          moved = stage !== page.stage;
        page.go(
          {
            cell: `${name}@${j}`,
            stage,
            at: X.isResidual(stage) ? null : String(page.position),
            ...(moved ? {step: null, layer: X.layerOf(stage) === null ? state.get("layer") : null, part: null} : {}),
          },
          moved,
        );
      };
      page.nextDifference = () => {
        const list = page.differences,
          now = list.findIndex((each) => each.stage === page.stage && each.i === page.cell?.i && each.j === page.cell?.j),
          next = list[(now + 1) % list.length];
        if (next) page.pin(next.i, next.j, next.stage);
      };

      function walk(step) {
        const seen = [...root.querySelectorAll(".streambox")][0]?.querySelectorAll("tr[data-i]") ?? [];
        const order = [...seen].map((row) => Number(row.dataset.i)),
          at = order.indexOf(page.cell.i),
          [, columns] = page.side.shape(page.stage);
        const i = order[Math.min(order.length - 1, Math.max(0, at + step[0]))] ?? page.cell.i,
          j = Math.min(columns - 1, Math.max(0, page.cell.j + step[1]));
        state.set({cell: `${X.rowNames(page.side, page.stage)[i]}@${j}`});
        place(page);
        mark();
        page.tell();
        page.refresh(["cell", "head"]);
      }
      const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
      function key(event) {
        if (event.key === "[" || event.key === "]") {
          const to = page.step + (event.key === "]" ? 1 : -1);
          if (page.steps[to]?.there) page.chooseStep(to);
          return true;
        }
        if (event.key === "<" || event.key === ">") {
          const to = page.side.residual[page.side.residual.indexOf(page.stage) + (event.key === ">" ? 1 : -1)];
          if (to) page.go({stage: to, step: null, layer: null, part: null}, true);
          return true;
        }
        if (event.key === "n" && page.differences.length) {
          page.nextDifference();
          return true;
        }
        if (event.key === "Escape" && page.cell) {
          page.go({cell: "none"});
          return true;
        }
        const step = ARROWS[event.key],
          inside = event.target.closest?.(".streambox");
        if (!step || (!page.cell && !inside) || event.target.closest?.(".scroll:not(.streambox)")) return false;
        if (!page.cell) {
          page.go({cell: null});
          return true;
        }
        walk(step);
        return true;
      }
      function csv() {
        const {side, stage} = page,
          names = X.rowNames(side, stage),
          [rows, columns] = side.shape(stage);
        const words =
          columns === side.words.length
            ? side.words.map((word, j) => `${j} ${word}`)
            : Array.from({length: columns}, (_, j) => String(j));
        return [
          [stage, ...words],
          ...Array.from({length: rows}, (_, i) => [names[i], ...Array.from({length: columns}, (_, j) => side.text(stage, i, j))]),
        ];
      }

      recompute();
      root.append(
        top,
        h(
          "div",
          {class: page.other ? "columns two" : "columns"},
          boxes.steps,
          h("div", {class: "middle"}, boxes.stream, boxes.cell),
          boxes.head,
        ),
        h("div", {class: "bottom"}, boxes.facts, boxes.ladder),
      );
      page.renderTop();
      page.refresh();
      return {
        key,
        csv,
        destroy() {
          page.gone = true;
        },
      };
    },
  });
}
