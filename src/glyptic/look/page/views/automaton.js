{
  // An automaton as a graph, and a word that is run through it, symbol by symbol, on this page.
  const h = G.h;
  const t = (key, values) => G.t(`automaton.${key}`, values);
  const MOST_DRAWN = 200,
    NEAR = 36,
    TAPE = 60,
    ROWS = 200,
    SUMS = 10;

  function mount(root, data, context) {
    const found = G.machine.machine(data);
    const {state} = context;
    let laid = null,
      part = null,
      view = null,
      hovered = null;

    const written = () => state.get("word", found.text(data.word));
    const read = () => found.parse(written());
    const pinned = () => {
      const node = state.get("state", -1);
      return Number.isInteger(node) && node >= 0 && node < found.states ? node : null;
    };
    const at = (word) => Math.min(word.length, Math.max(0, Math.round(state.get("at", word.length))));

    const verdict = h("div", {class: "answer", role: "status", id: "verdict"});
    const tape = h("div", {});
    const field = h("input", {
      id: "word",
      class: "mono",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      oninput: () => {
        state.set({word: field.value.trim() || "ε", at: null});
        show();
      },
    });
    const examples = h("span", {class: "row"});
    const stage = h("div", {class: "stage"}),
      beside = h("div", {class: "panel beside", tabindex: "0", role: "region", "aria-label": G.t("automaton.moves")}),
      below = h("div", {class: "grid"});

    const go = (step) => {
      const {word} = read();
      if (word) {
        const next = Math.min(word.length, Math.max(0, step(at(word), word.length)));
        state.set({at: next === word.length ? null : next});
        show();
      }
    };
    const pin = (node) => {
      state.set({state: node === null || node === pinned() ? null : node});
      show();
    };
    const walkTo = (node) => {
      state.set({state: node});
      show();
      view.picture.focus();
    };

    function answer(result, path) {
      G.clear(verdict);
      delete verdict.dataset.accepted;
      if (!result.word) {
        const why =
          result.unknown !== undefined
            ? t("unknown", {symbol: result.unknown, place: result.place, alphabet: data.alphabet.slice(0, 40).join(" ")})
            : t("too_long", {n: result.long, most: result.most});
        verdict.append(h("p", {class: "verdict bad"}, why));
        return;
      }
      const end = path[path.length - 1],
        word = shortened(found.text(result.word));
      verdict.dataset.end = end;
      if (found.accepting) {
        const yes = found.accepts(end);
        verdict.dataset.accepted = String(yes);
        verdict.append(
          h(
            "p",
            {class: `verdict ${yes ? "good" : "bad"}`},
            h("span", {class: "sign", "aria-hidden": "true"}, yes ? "✓" : "✗"),
            h("span", {}, t(yes ? "accepted" : "rejected", {word})),
          ),
        );
      }
      if (found.outputs) {
        verdict.dataset.output = found.outputs[end];
        verdict.append(h("p", {class: "verdict"}, t("output_is", {word, output: found.outputs[end]})));
      }
    }

    /** The word with the states between its symbols; each is a button to go there. */
    function ribbon(word, path, now) {
      const from = word.length <= TAPE ? 0 : Math.max(0, Math.min(word.length - TAPE, now - TAPE / 2)),
        to = Math.min(word.length, from + TAPE);
      const cells = [];
      for (let k = from; k <= to; k += 1) {
        const accepts = found.accepting
          ? found.accepts(path[k])
            ? t("is_accepting")
            : t("not_accepting")
          : found.outputs[path[k]];
        cells.push(
          h(
            "button",
            {
              type: "button",
              class: `place${found.accepts(path[k]) ? " double" : ""}`,
              "aria-current": k === now ? "step" : null,
              "aria-label": t("step_label", {n: k, state: found.label(path[k]), accepts}),
              onclick: () => go(() => k),
            },
            shortened(found.label(path[k]), 8),
          ),
        );
        if (k < to)
          cells.push(
            h(
              "span",
              {class: `symbol${k < now ? " read" : ""}`},
              data.alphabet[word[k]],
              h("span", {"aria-hidden": "true", class: "arrow"}, "→"),
            ),
          );
      }
      const cut = word.length > TAPE ? G.note(t("tape_cut", {from, to, n: word.length})) : null;
      return [G.scroll(t("tape"), h("div", {class: "tape", dataset: {path: path.slice(0, 2000).join(" ")}}, cells)), cut].filter(
        Boolean,
      );
    }

    function steps(word, now) {
      return h(
        "div",
        {class: "row", "data-not-exported": true},
        G.button("|◀", () => go(() => 0), {"aria-label": t("first"), title: t("first"), id: "first", disabled: now === 0}),
        G.button(`◀ [`, () => go((k) => k - 1), {"aria-label": t("back"), title: t("back"), id: "back", disabled: now === 0}),
        G.button(`] ▶`, () => go((k) => k + 1), {
          "aria-label": t("forth"),
          title: t("forth"),
          id: "forth",
          disabled: now === word.length,
        }),
        G.button("▶|", () => go((k, n) => n), {
          "aria-label": t("last"),
          title: t("last"),
          id: "last",
          disabled: now === word.length,
        }),
        h("span", {class: "note"}, t("step_of", {k: now, n: word.length})),
      );
    }

    function graph(word, path, now) {
      const current = path[now],
        chosen = found.states <= MOST_DRAWN ? null : (pinned() ?? current);
      if (!laid || (chosen !== null && chosen !== part.first)) {
        part = G.machine.drawn(found, chosen, MOST_DRAWN, NEAR);
        laid = G.automatonLayout.layout(part.nodes, part.first, G.machine.edges(found, part.nodes));
      }
      const walked = new Set(),
        passed = new Set(path.slice(0, now + 1));
      for (let k = 0; k < now; k += 1) walked.add(`${path[k]} ${path[k + 1]}`);
      const seen = {
        current,
        passed,
        pinned: pinned(),
        walked,
        last: now ? `${path[now - 1]} ${path[now]}` : null,
        title: (node) =>
          facts(node)
            .map(([name, value]) => `${name}: ${value}`)
            .join("\n"),
      };
      const focused = view && document.activeElement === view.picture;
      const size = {state, width: stage.clientWidth || 800};
      view = G.machineDrawing(found, part, laid, seen, size, {
        label: t("graph_label", {name: data.name, n: found.states}),
        onpin: (node, walk) => (walk ? walkTo(node) : pin(node)),
        onhover: (node) => {
          if (node !== hovered) {
            hovered = node;
            aside(path, now);
          }
        },
      });
      const tools = h(
        "div",
        {class: "row zoom", "data-not-exported": true},
        G.button("+", () => view.zoom(1.25), {"aria-label": t("zoom_in"), title: t("zoom_in"), id: "zoom-in"}),
        G.button("−", () => view.zoom(0.8), {"aria-label": t("zoom_out"), title: t("zoom_out"), id: "zoom-out"}),
        G.button(t("fit"), () => view.home(), {id: "fit"}),
      );
      const unreached = found.states - found.nearest.order.length;
      G.clear(stage).append(
        view.picture,
        h("div", {class: "row under"}, legend(), tools),
        ...[
          !part.all &&
            G.note(t("near", {n: part.nodes.length, all: found.states, state: found.label(part.first), most: MOST_DRAWN})),
          unreached > 0 && G.note(t("unreached", {n: unreached})),
        ].filter(Boolean),
      );
      if (focused) view.picture.focus();
    }

    function legend() {
      const ring = (more) => G.svg("svg", {width: 26, height: 22, "aria-hidden": "true"}, more);
      const circle = (attributes) =>
        G.svg("circle", {cx: 13, cy: 11, r: 9, fill: "none", stroke: G.colour.ink(), "stroke-width": 1.5, ...attributes});
      const line = (attributes) => G.svg("line", {x1: 1, x2: 25, y1: 11, y2: 11, ...attributes});
      return h(
        "ul",
        {class: "legend"},
        h(
          "li",
          {},
          ring([
            line({x2: 16, stroke: G.colour.ink(), "stroke-width": 1.8}),
            G.svg("polygon", {points: "25,11 15,6 15,16", fill: G.colour.ink()}),
          ]),
          t("legend_start"),
        ),
        found.accepting && h("li", {}, ring([circle({}), circle({r: 5.5})]), t("legend_accepting")),
        h("li", {}, ring([circle({fill: G.colour.accent(), stroke: G.colour.accent()})]), t("legend_current")),
        h("li", {}, ring([line({stroke: G.colour.accent(), "stroke-width": 3})]), t("legend_path")),
        h("li", {}, ring([circle({"stroke-dasharray": "3 2", "stroke-width": 2})]), t("legend_pinned")),
      );
    }

    function facts(node) {
      const rows = [[t("state"), found.label(node)]];
      if (found.accepting) rows.push([t("accepting"), t(found.accepts(node) ? "yes" : "no")]);
      if (found.outputs) rows.push([t("output"), found.outputs[node]]);
      const {depth} = found.nearest;
      rows.push([
        t("shortest"),
        depth[node] < 0
          ? t("none")
          : depth[node] > 200
            ? t("of_length", {n: depth[node]})
            : shortened(found.text(found.nearest.word(node)), 60),
      ]);
      return rows;
    }

    /** What is known of the state under the pointer, else of the pinned one, else of the one where the word is. */
    function aside(path, now) {
      const node = hovered ?? pinned() ?? path[now];
      const which = hovered !== null ? "seen" : pinned() !== null ? "pinned" : "current";
      const moves = data.alphabet.slice(0, 60).map((symbol, s) => [symbol, "→", found.label(found.next(node, s))]);
      G.clear(beside).append(
        h("h2", {}, t(`about_${which}`)),
        G.table(null, facts(node), {numeric: false}),
        h("h3", {}, t("moves")),
        G.table(null, moves, {numeric: false, onpick: (s) => pin(found.next(node, s))}),
        which === "pinned" ? G.button(t("let_go"), () => pin(null), {id: "let-go"}) : G.note(t("pin_hint")),
      );
    }

    function rows(first, last) {
      const body = [];
      for (let node = first; node < last; node += 1) {
        const {depth} = found.nearest;
        const word =
          depth[node] < 0 ? "" : depth[node] > 200 ? t("of_length", {n: depth[node]}) : found.text(found.nearest.word(node));
        body.push([
          found.label(node),
          ...data.alphabet.map((_, s) => found.label(found.next(node, s))),
          ...(found.accepting ? [found.accepts(node) ? t("yes") : t("no")] : []),
          ...(found.outputs ? [found.outputs[node]] : []),
          word,
        ]);
      }
      return body;
    }
    const header = () => [
      t("state"),
      ...data.alphabet,
      ...(found.accepting ? [t("accepting")] : []),
      ...(found.outputs ? [t("output")] : []),
      t("shortest"),
    ];

    let listed = null; // the first state of the table: what is open stays open while nothing else is to be shown
    function more(path, now) {
      const current = path[now],
        first = found.states <= ROWS ? 0 : Math.max(0, Math.min(found.states - ROWS, current - ROWS / 2)),
        last = Math.min(found.states, first + ROWS);
      if (listed === first) return;
      const open = below.querySelector("details")?.open;
      listed = first;
      const caption =
        found.states <= ROWS ? t("table_caption", {name: data.name}) : t("table_part", {first, last: last - 1, n: found.states});
      G.clear(below).append(
        ...[
          found.accepting && sums(),
          G.behind(t("table"), () => G.table(header(), rows(first, last), {caption, numeric: false})),
        ].filter(Boolean),
      );
      if (open) below.querySelector("details").open = true;
    }

    /** How many words of each length are in the language, beside how many there are. */
    function sums() {
      if (found.states * found.size > 40000) return null;
      const counted = G.machine.counts(found, SUMS),
        total = (n) => BigInt(found.size) ** BigInt(n);
      const wide = (n) => `${Math.max(counted[n] > 0n ? 0.4 : 0, Number((counted[n] * 1000n) / total(n)) / 10)}%`;
      const bars = counted.map((number, n) =>
        h(
          "div",
          {class: "bar-row"},
          h("span", {class: "number"}, String(n)),
          h("span", {class: "track", "aria-hidden": "true"}, h("span", {class: "fill", style: {width: wide(n)}})),
          h("span", {class: "number"}, t("of_total", {some: String(counted[n]), all: String(total(n))})),
        ),
      );
      return h("div", {class: "panel sums"}, h("h2", {}, t("how_many")), G.note(t("how_many_note")), bars);
    }

    function offers() {
      const {order, word} = found.nearest;
      const first = (wanted) => order.find((node) => found.accepts(node) === wanted);
      const offered = found.accepting ? [first(true), first(false)].filter((node) => node !== undefined) : order.slice(0, 3);
      G.clear(examples).append(
        h("span", {class: "note"}, t("try")),
        ...offered.map((node) => {
          const text = found.text(word(node));
          return G.button(
            shortened(text, 16),
            () => {
              field.value = text === "ε" ? "" : text;
              state.set({word: text, at: null});
              show();
            },
            {class: "mono", "aria-label": t("try_word", {word: shortened(text, 40)})},
          );
        }),
      );
    }

    function show() {
      const result = read(),
        word = result.word ?? [],
        path = found.run(word),
        now = at(word);
      const focused = document.activeElement?.id;
      answer(result, path);
      G.clear(tape).append(steps(word, now), ...ribbon(word, path, now));
      graph(word, path, now);
      aside(path, now);
      more(path, now);
      if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
    }

    field.value = written() === "ε" && !data.alphabet.includes("ε") ? "" : written();
    const kind = found.accepting ? "what" : "what_moore";
    root.append(
      h("h2", {class: "asked"}, t(found.accepting ? "asked" : "asked_moore", {name: data.name})),
      verdict,
      h("div", {class: "row", "data-not-exported": true}, h("label", {for: "word"}, t("word")), field, examples),
      G.note(t(found.spaced ? "type_spaced" : "type", {alphabet: data.alphabet.slice(0, 40).join(" ")})),
      tape,
      h("div", {class: "two"}, h("div", {class: "panel"}, stage), beside),
      G.note(t(kind)),
      below,
    );
    offers();
    show();

    return {
      key(event) {
        if (event.key === "[") go((k) => k - 1);
        else if (event.key === "]") go((k) => k + 1);
        else if (event.key === "Home") go(() => 0);
        else if (event.key === "End") go((k, n) => n);
        else if (event.key === "Escape") {
          if (pinned() === null) return false;
          pin(null);
        } else return view.key(event);
        return true;
      },
      csv: () => [header(), ...rows(0, found.states)],
    };
  }

  const shortened = (text, most = 40) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);

  G.view("automaton", {
    keys: [
      ["[ ]", "automaton.key_step"],
      ["Home End", "automaton.key_ends"],
      ["+ − 0", "automaton.key_zoom"],
      ["⇧ ←↑→↓", "automaton.key_pan"],
    ],
    mount,
  });
}
