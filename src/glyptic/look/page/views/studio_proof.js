// The form of the question, the progress of its proof, and the verdict. A proof outlives a change of language or light.
{
  const {h} = G,
    part = G.studio;
  const TEXTS = {language: "0*10*(10*10*)*", against: "majority:8"};
  const proof = (part.proof = {event: null, model: null, error: null, close: null, draw: () => {}}); // of the whole page

  part.question = (state) => {
    const kind =
      ["language", "against", "decisive", "never_zero_attention"].find((each) => each === state.get("s.ask", "language")) ??
      "language";
    const longest = Number.parseInt(state.get("s.longest", ""), 10);
    const asked = kind in TEXTS ? {[kind]: state.get(`s.${kind}`, TEXTS[kind])} : {claim: kind};
    return {...asked, max_length: Number.isFinite(longest) ? longest : null};
  };

  const open = () => proof.event !== null && ["waiting", "running"].includes(proof.event.state);
  const plain = (n) => n.toLocaleString(G.language === "es" ? "es" : "en");

  part.begin = async (wish, model) => {
    part.forget();
    Object.assign(proof, {event: {state: "waiting", seconds: 0}, model, error: null});
    proof.draw();
    try {
      const job = await G.live.post("/api/prove", wish);
      proof.event = job;
      proof.close = G.live.events(`/api/jobs/${job.id}/events`, (event) => {
        if (event === null) Object.assign(proof, {event: null, error: G.t("studio.gone")});
        else {
          proof.event = event;
          if (!open()) {
            proof.close?.();
            proof.close = null;
          }
        }
        proof.draw();
      });
    } catch (error) {
      Object.assign(proof, {event: null, error: error.message});
    }
    proof.draw();
  };

  part.cancel = async () => {
    if (!open() || !proof.event.id) return;
    try {
      await G.live.post(`/api/jobs/${proof.event.id}/cancel`, {});
    } catch (error) {
      proof.error = error.message;
      proof.draw();
    }
  };

  part.forget = () => {
    proof.close?.();
    Object.assign(proof, {event: null, error: null, close: null});
  };

  // How many inputs there are up to a length, as a text; beyond what doubles count, as a power.
  function count(symbols, longest) {
    let total = 0n;
    if (longest > 200) return `${symbols}^${longest}`;
    for (let n = 1; n <= longest; n++) total += BigInt(symbols) ** BigInt(n);
    return total < 10n ** 15n ? plain(total) : Number(total).toExponential(1);
  }

  function running(event) {
    const {done, total} = event,
      seconds = Math.round(event.seconds);
    if (event.state === "waiting") return [h("p", {}, G.t("studio.waiting"))];
    const bar = h(
      "progress",
      total ? {max: total, value: done, "aria-label": G.t("studio.bar")} : {"aria-label": G.t("studio.bar")},
    );
    const left = done ? Math.max(1, Math.round((event.seconds * (total - done)) / done)) : 0;
    return [
      bar,
      h(
        "p",
        {},
        total
          ? G.t("studio.progress", {
              done: plain(done),
              total: plain(total),
              percent: Math.floor((100 * done) / total),
              seconds,
              left,
            })
          : G.t("studio.running", {seconds}),
      ),
    ];
  }

  function ended(event, show) {
    if (event.state === "failed") return [h("p", {class: "bad", role: "alert"}, event.error)];
    if (event.state === "cancelled") return [h("p", {}, G.t("studio.cancelled", {seconds: event.seconds}))];
    const {answer, counterexample} = event.verdict,
      example = counterexample?.input;
    const tone = {Proved: "good", Refuted: "bad"}[answer] ?? "";
    const text = example && example.join(counterexample.spaced ? " " : "");
    return [
      h("p", {class: `verdict big ${tone}`}, G.t(`studio.${answer}`)),
      h("p", {class: "dim"}, G.t("studio.took", {seconds: event.seconds, model: proof.model})),
      example &&
        h(
          "p",
          {},
          `${G.t("studio.example")} `,
          h("strong", {class: "mono"}, text),
          " ",
          G.button(G.t("studio.show_example"), () => show(text), {id: "show-example"}),
        ),
    ];
  }

  // The whole of what `glyptic look` shows of a verdict, across the page, when it is opened.
  function rests(event) {
    const shown = event.verdict.view;
    const details = h("details", {class: "rests panel"}, h("summary", {}, G.t("studio.details")));
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      const body = h("div", {class: `view-${shown.kind}`});
      details.append(body);
      G.views.get(shown.kind)?.mount(body, shown.data, {state: G.state, live: G.live});
    });
    return details;
  }

  part.prove = (session, context, start, show) => {
    const fields = h("div", {class: "fields"}),
      below = h("div", {}),
      result = h("div", {class: "result", role: "status"}),
      size = h("span", {class: "pill", id: "inputs"});
    const go = G.button("", () => (open() ? part.cancel() : start()), {id: "prove", class: "main"});
    const sized = () => {
      const about = session.about,
        longest = about && (part.question(context.state).max_length ?? about.max_length);
      const either = context.state.get("s.ask") === "against" && !context.state.get("s.longest"); // the other may read less
      size.hidden = !about || !Number.isFinite(Number(longest)) || either;
      if (about) size.textContent = G.t("studio.inputs", {n: count(about.vocabulary.length, Math.max(0, longest))});
    };
    const fill = () => {
      const kind = context.state.get("s.ask", "language");
      G.clear(fields).append(
        ...[
          kind === "language" &&
            part.field(
              {name: "s.language", id: "language-asked", label: G.t("studio.language"), fallback: TEXTS.language, wide: true},
              context,
              () => {},
            ),
          kind === "against" &&
            part.field(
              {name: "s.against", id: "against", label: G.t("studio.against"), fallback: TEXTS.against, wide: true},
              context,
              () => {},
            ),
          part.field(
            {
              name: "s.longest",
              id: "longest",
              label: G.t("studio.longest"),
              type: "number",
              min: 1,
              placeholder: session.about ? String(session.about.max_length) : "",
            },
            context,
            sized,
          ),
          h("span", {class: "field end"}, size),
        ].filter(Boolean),
      );
      sized();
    };
    let drawn = null;
    proof.draw = () => {
      const busy = open(),
        event = proof.event;
      go.textContent = G.t(busy ? "studio.cancel" : "studio.start");
      go.disabled = !busy && !session.about;
      if (event && event === drawn) return;
      drawn = event;
      G.clear(result).append(
        ...[
          proof.error
            ? [h("p", {class: "bad", role: "alert"}, proof.error)]
            : event === null
              ? []
              : busy
                ? running(event)
                : ended(event, show),
        ]
          .flat()
          .filter(Boolean),
      );
      G.clear(below).append(...(event?.state === "done" ? [rests(event)] : []));
      result.dataset.state = event?.state ?? "";
    };
    const options = ["language", "against", "decisive", "never_zero_attention"].map((kind) => [kind, G.t(`studio.ask_${kind}`)]);
    const panel = h(
      "section",
      {class: "panel", "aria-labelledby": "studio-prove"},
      h("h2", {id: "studio-prove"}, G.t("studio.prove")),
      part.select({name: "s.ask", id: "ask", label: G.t("studio.question"), fallback: "language", options}, context, fill),
      fields,
      h("p", {}, go),
      result,
    );
    fill();
    proof.draw();
    return {
      panel,
      below,
      refresh() {
        fill();
        proof.draw();
      },
    };
  };
}
