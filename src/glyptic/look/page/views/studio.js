// The studio: a form that is the state, a model built for it by the server, its page in place, and proofs.
{
  const {h} = G;
  let part = null; // G.studio, of the files that are loaded after this one
  const WAIT = 250; // milliseconds of no typing before a model is asked for
  const KEPT = ["lang", "light", "size", "view"];
  // What outlives a change of language or light: the lists, the model that was built for a wish, what is under way.
  const session = {
    lists: null,
    failed: null,
    key: null,
    views: null,
    about: null,
    error: null,
    busy: false,
    abort: null,
    timer: null,
    draw: () => {},
  };

  async function list() {
    session.failed = null;
    try {
      session.lists = await G.live.get("/api/lists");
    } catch (error) {
      session.failed = error.message;
    }
    G.rebuild();
  }

  const wished = (state) => ({...part.wish(state, session.lists), input: state.get("s.input", "")});

  async function build(state) {
    const wish = wished(state),
      key = JSON.stringify(wish);
    if (key === session.key) return;
    session.abort?.abort();
    const before = session.key;
    Object.assign(session, {key, busy: true, error: null, abort: new AbortController()});
    session.draw();
    try {
      const made = await G.live.post("/api/page", {...wish, language: G.language}, session.abort.signal);
      const views = await G.unpack(made.views);
      if (session.key !== key) return;
      // What was pinned or edited belonged to the model before this one.
      if (before !== null)
        G.state.set(
          Object.fromEntries(
            Object.keys(G.state.all())
              .filter((name) => !name.startsWith("s.") && !KEPT.includes(name))
              .map((name) => [name, null]),
          ),
        );
      Object.assign(session, {views, about: made.about, busy: false});
    } catch (error) {
      if (error.name === "AbortError" || session.key !== key) return;
      Object.assign(session, {error: error.message, busy: false, views: null, about: null});
    }
    session.draw(true);
  }

  function mount(root, data, context) {
    part = G.studio;
    if (!context.live) {
      root.append(G.note(G.t("studio.gone")));
      return {};
    }
    root.append(h("p", {class: "lead"}, G.t("studio.lead")));
    if (session.lists === null) {
      if (session.failed) root.append(h("p", {class: "bad", role: "alert"}, session.failed), G.button(G.t("studio.again"), list));
      else {
        root.append(h("p", {class: "dim"}, G.t("studio.building")));
        list();
      }
      return {};
    }
    const status = h("div", {class: "status", role: "status"}),
      inside = h("div", {class: "inside"});
    let nested = [];
    const changed = () => {
      clearTimeout(session.timer);
      session.timer = setTimeout(() => build(context.state), WAIT);
    };
    const start = () =>
      part.begin({...part.wish(context.state, session.lists), ...part.question(context.state)}, session.about?.name ?? "");
    const show = (text) => {
      context.state.set({"s.input": text}, {push: true});
      G.rebuild();
      document.getElementById("inside")?.scrollIntoView({block: "start"});
    };
    const asking = part.prove(session, context, start, show);

    function tell() {
      const about = session.about,
        wish = wished(context.state);
      const address = `/page?${new URLSearchParams({...wish, language: G.language})}`;
      G.clear(status).append(
        ...[
          session.busy && h("p", {class: "dim"}, G.t("studio.building")),
          session.error && h("p", {class: "bad", role: "alert"}, session.error),
          about &&
            h(
              "p",
              {class: session.busy ? "dim" : ""},
              G.t("studio.built", {
                ...about,
                length: about.max_length,
                symbols: about.vocabulary.join(" "),
                answers: about.answers.join(", "),
              }),
              " ",
              h("a", {href: address, target: "_blank", rel: "noopener"}, G.t("studio.own_page")),
            ),
        ].filter(Boolean),
      );
      root.dataset.state = session.busy ? "busy" : session.error ? "error" : about ? "ready" : "";
    }

    function show_page() {
      for (const each of nested) each.destroy?.();
      nested = [];
      G.clear(inside).append(
        ...(session.views ?? []).map((view) => {
          const section = h("div", {class: `view-${view.kind}`}),
            definition = G.views.get(view.kind);
          nested.push(definition.mount(section, view.data, {state: context.state, live: context.live}) ?? {});
          return section;
        }),
      );
      if (!session.views) inside.append(G.note(G.t("studio.nothing")));
    }

    session.draw = (whole = false) => {
      tell();
      if (whole) {
        show_page();
        asking.refresh();
      }
    };
    root.append(
      h("div", {class: "forms"}, h("div", {}, part.model(session.lists, context, changed, list), status), asking.panel),
      asking.below,
      h("h2", {id: "inside"}, G.t("studio.inside")),
      inside,
    );
    tell();
    show_page();
    changed();
    return {
      key(event) {
        if (event.key === "p") {
          document.getElementById("prove")?.click();
          return true;
        }
        return nested.some((each) => each.key?.(event));
      },
      csv: () =>
        nested[0]?.csv?.() ?? [[G.t("studio.csv_part"), G.t("studio.csv_value")], ...Object.entries(session.about ?? {})],
      destroy() {
        for (const each of nested) each.destroy?.();
        session.draw = () => {};
        part.proof.draw = () => {};
      },
    };
  }

  G.view("studio", {keys: [["p", "studio.key_prove"]], mount});
}
