// The page around the views: title, language, light, size, export, keys; unpacks the data and mounts the view that is chosen.
{
  const {h} = G;
  const ARRAYS = {u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array};
  let page = null,
    mounted = null,
    root = null;

  async function inflate(packed) {
    const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const array = new ARRAYS[packed.packed](await new Response(stream).arrayBuffer());
    array.shape = packed.shape;
    return array;
  }

  // Every packed array in the data becomes a typed array.
  G.unpack = async (data) => {
    if (data === null || typeof data !== "object") return data;
    if (typeof data.packed === "string" && Array.isArray(data.shape)) return inflate(data);
    const entries = await Promise.all(Object.entries(data).map(async ([key, value]) => [key, await G.unpack(value)]));
    return Array.isArray(data) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
  };

  const chosen = () => Math.min(page.views.length - 1, Math.max(0, Math.trunc(G.state.get("view", 0))));
  const fileName = (ending) =>
    `${(page.views[chosen()].title || "glyptic")
      .normalize("NFKD")
      .replace(/[^\w.-]+/g, "-")
      .slice(0, 60)}.${ending}`;

  function look() {
    G.language = G.state.get("lang", page.language) === "es" ? "es" : "en";
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const light = G.state.get("light", system);
    Object.assign(document.documentElement.dataset, {
      light: light === "dark" ? "dark" : "light",
      size: G.state.get("size", "normal") === "large" ? "large" : "normal",
    });
    document.documentElement.lang = G.language;
  }

  const turn = (changes) => {
    G.state.set(changes);
    build();
  };

  async function saved(kind) {
    const status = document.getElementById("status");
    try {
      if (kind === "svg") G.download(fileName("svg"), G.svgText(root), "image/svg+xml");
      else if (kind === "png") G.download(fileName("png"), await G.toPng(root), "image/png");
      else G.download(fileName("csv"), G.csvText(mounted?.csv?.() ?? []), "text/csv;charset=utf-8");
      status.textContent = G.t("core.saved", {name: fileName(kind)});
    } catch (error) {
      status.textContent = G.t("core.not_saved", {why: error.message});
    }
  }

  function bar() {
    const other = G.language === "es" ? "en" : "es",
      data = document.documentElement.dataset;
    const views =
      page.views.length > 1 &&
      h(
        "nav",
        {"aria-label": G.t("core.views")},
        page.views.map((view, i) =>
          h(
            "a",
            {
              href: "#",
              "aria-current": i === chosen() ? "page" : null,
              onclick: (event) => {
                event.preventDefault();
                const keep = {lang: G.state.get("lang"), light: G.state.get("light"), size: G.state.get("size")};
                const gone = Object.fromEntries(Object.keys(G.state.all()).map((name) => [name, null]));
                G.state.set({...gone, ...keep, view: i || null}, {push: true});
                build();
              },
            },
            view.title,
          ),
        ),
      );
    return h(
      "header",
      {class: "bar"},
      h("h1", {}, page.title),
      views,
      h(
        "div",
        {class: "tools", role: "toolbar", "aria-label": G.t("core.tools"), "data-not-exported": true},
        G.button(other === "es" ? "Español" : "English", () => turn({lang: other}), {lang: other, id: "language"}),
        G.button(
          G.t(data.light === "dark" ? "core.light" : "core.dark"),
          () => turn({light: data.light === "dark" ? "light" : "dark"}),
          {id: "light"},
        ),
        G.button(
          G.t(data.size === "large" ? "core.normal" : "core.large"),
          () => turn({size: data.size === "large" ? null : "large"}),
          {id: "size"},
        ),
        ["svg", "png", "csv"].map((kind) =>
          G.button(kind.toUpperCase(), () => saved(kind), {
            id: `save-${kind}`,
            "aria-label": G.t("core.save_as", {kind: kind.toUpperCase()}),
          }),
        ),
        G.button("?", help, {id: "help", "aria-label": G.t("core.keys"), title: G.t("core.keys")}),
      ),
      h("p", {id: "status", role: "status", "data-not-exported": true}),
    );
  }

  function help() {
    const definition = G.views.get(page.views[chosen()].kind);
    const rows = [
      ["?", G.t("core.key_help")],
      ["←↑→↓", G.t("core.key_arrows")],
      ["Esc", G.t("core.key_escape")],
      ...(definition.keys ?? []).map(([key, word]) => [key, G.t(word)]),
    ];
    const dialog = h(
      "dialog",
      {class: "help", "aria-label": G.t("core.keys"), onclose: () => dialog.remove()},
      h("h2", {}, G.t("core.keys")),
      G.table(null, rows, {numeric: false}),
      G.button(G.t("core.close"), () => dialog.close()),
    );
    document.body.append(dialog);
    dialog.showModal();
  }

  function build() {
    look();
    mounted?.destroy?.();
    G.state.forget();
    G.state.changed(build); // Back, Forward, or a fragment written by hand: all is built anew from it
    const view = page.views[chosen()],
      definition = G.views.get(view.kind);
    root = h("section", {class: `view view-${view.kind}`, id: "view"});
    const y = scrollY,
      focused = document.activeElement?.id;
    document.title = page.title;
    document.body.replaceChildren(bar(), h("main", {}, root));
    mounted = definition.mount(root, view.data, {state: G.state, live: G.live ?? null}) ?? {};
    scrollTo(0, y);
    if (focused) document.getElementById(focused)?.focus();
    document.body.dataset.ready = "yes";
  }

  addEventListener("keydown", (event) => {
    if (!mounted || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (
      event.target.closest?.("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true]") &&
      event.key !== "Escape"
    )
      return;
    if (event.key === "?") help();
    else if (!mounted.key?.(event)) return;
    event.preventDefault();
  });

  G.start = async () => {
    page = JSON.parse(document.getElementById("data").textContent);
    G.words = page.words;
    for (const view of page.views) view.data = await G.unpack(view.data);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      if (!G.state.get("light")) build();
    });
    build();
    G.rebuild = build;
    G.page = page;
  };
}
