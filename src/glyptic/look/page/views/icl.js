// The in-context lab: four panels over one law of prompts. Everything with a closed form is computed here; the rest is recorded.
{
  const {h, t} = G;
  const PANELS = {error: "errorPanel", weights: "weightsPanel", shifts: "shiftsPanel", landscape: "landscapePanel"};

  G.view("icl", {
    keys: [
      ["1 … 4", "icl.key_tabs"],
      ["[ ]", "icl.key_time"],
      ["←↑→↓", "icl.key_walk"],
      ["g", "icl.key_downhill"],
    ],
    mount(root, data, context) {
      let current = null;
      const names = data.problem ? Object.keys(PANELS) : ["error"];
      const build = (name) => () => {
        current?.destroy?.();
        current = G.icl[PANELS[name]](data, context);
        return current.element;
      };
      // The tab that answers what the value asks comes first.
      const ordered = [data.focus, ...names.filter((name) => name !== data.focus)].filter((name) => names.includes(name));
      const what = data.problem && h("p", {class: "law"}, t("icl.law_1"), G.math("math", {}, ...formula()), t("icl.law_2"));
      const controls = data.problem && G.icl.parts.controls(data, context, () => current?.draw());
      root.append(
        h("h2", {}, t(data.problem ? "icl.title" : "icl.title_curves")),
        ...[what, controls].filter(Boolean),
        G.tabs(
          {name: "panel", label: t("icl.panels"), items: ordered.map((name) => [name, t(`icl.tab_${name}`), build(name)])},
          context,
        ),
      );
      const choose = (name) => {
        context.state.set({panel: name}, {push: true});
        G.rebuild();
        return true;
      };
      return {
        key(event) {
          if (/^[1-4]$/.test(event.key) && ordered[event.key - 1]) return choose(ordered[event.key - 1]);
          return current?.key?.(event) ?? false;
        },
        csv: () => current?.csv() ?? [],
        destroy: () => current?.destroy?.(),
      };
    },
  });

  // ŷ = bᵀ P x_q, b = (1/M) Σ y_i x_i
  function formula() {
    const {math} = G,
      i = (x) => math("mi", {}, x),
      o = (x) => math("mo", {}, x),
      sub = (a, b) => math("msub", {}, a, b);
    return [
      math("mover", {}, i("y"), o("^")),
      o("="),
      math("msup", {}, i("b"), i("⊤")),
      i("P"),
      sub(i("x"), i("q")),
      o(","),
      i("b"),
      o("="),
      math("mfrac", {}, math("mn", {}, "1"), i("M")),
      o("∑"),
      sub(i("y"), i("i")),
      sub(i("x"), i("i")),
    ];
  }
}
