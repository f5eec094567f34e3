// The form of the model: where it comes from, its parameters, format, construction and input. All of it is in the fragment, as s.*
{
  const {h} = G;
  const FORMATS = ["fixed:4", "fixed:6", "fixed:8", "fixed:12", "float:4,3", "float:5,10/even", "fp16", "bf16"];
  const part = (G.studio = {});
  let serial = 0;

  // A text that is kept in the state; what it is if nothing is written there.
  part.field = (
    {name, label, fallback = "", type = "text", list = null, placeholder = null, wide = false, min = null, id = `s${++serial}`},
    context,
    changed,
  ) => {
    const input = h("input", {
      type,
      id,
      class: "mono",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      list: list && `${id}-list`,
      placeholder,
      min,
      value: context.state.get(name, fallback),
      oninput: () => {
        context.state.set({[name]: input.value === String(fallback) ? null : input.value});
        changed();
      },
    });
    const options =
      list &&
      h(
        "datalist",
        {id: `${id}-list`},
        list.map((value) => h("option", {value})),
      );
    return h("span", {class: `field${wide ? " wide" : ""}`}, h("label", {for: id}, label), input, options);
  };

  part.select = ({name, label, options, fallback, id}, context, changed) => {
    const now = String(context.state.get(name, fallback)),
      known = options.some(([value]) => value === now);
    const select = h(
      "select",
      {
        id,
        onchange: () => {
          context.state.set({[name]: select.value === fallback ? null : select.value});
          changed(select.value);
        },
      },
      options.map(([value, text]) => h("option", {value, selected: value === (known ? now : fallback)}, text)),
    );
    return h("span", {class: "field"}, h("label", {for: id}, label), select);
  };

  const word = (name) => (`studio.param_${name}` in G.words ? G.t(`studio.param_${name}`) : name);
  const parameter = (kind, each) => `s.${kind.name}.${each.name}`;
  const first = (kind, each) => each.default ?? {expression: "(0|1)*11", number: 4}[each.name] ?? "";

  // parity:max_length=8: by name, so that an expression may hold an equals sign.
  function written(kind, state) {
    const given = kind.parameters.map((each) => [each, String(state.get(parameter(kind, each), String(first(kind, each))))]);
    const said = given
      .filter(([each, value]) => value !== "" && value !== String(each.default))
      .map(([each, value]) => `${each.name}=${value}`);
    return said.length ? `${kind.name}:${said.join(",")}` : kind.name;
  }

  part.wish = (state, lists) => {
    const source = state.get("s.source", "name");
    const named = (name) => lists.kinds.find((kind) => kind.name === name) ?? lists.kinds.find((kind) => kind.name === "parity");
    const text =
      source === "regex"
        ? written(named("regex"), state)
        : source === "expression"
          ? state.get("s.expression", "parity:8 & ~contains:101,8")
          : source === "folder"
            ? state.get("s.folder", lists.models[0] ?? "")
            : written(named(state.get("s.kind", "parity")), state);
    return {
      source: source === "regex" ? "name" : ["expression", "folder"].includes(source) ? source : "name",
      text,
      format: state.get("s.format", ""),
      normalize: state.get("s.normalize", ""),
      attention: state.get("s.attention", ""),
    };
  };

  const parameters = (kind, context, changed) =>
    h(
      "div",
      {class: "fields"},
      kind.parameters.map((each) =>
        part.field(
          {
            name: parameter(kind, each),
            label: word(each.name),
            fallback: String(first(kind, each)),
            type: each.whole ? "number" : "text",
            wide: each.name === "expression",
          },
          context,
          changed,
        ),
      ),
    );

  part.model = (lists, context, changed, again) => {
    const named = () => {
      const kinds = lists.kinds.filter((kind) => kind.name !== "regex"),
        body = h("div", {}),
        meaning = h("p", {class: "meaning"});
      const fill = () => {
        const kind = kinds.find((each) => each.name === context.state.get("s.kind", "parity")) ?? kinds[0];
        meaning.textContent = `studio.kind_${kind.name}` in G.words ? G.t(`studio.kind_${kind.name}`) : "";
        G.clear(body).append(parameters(kind, context, changed));
      };
      fill();
      return h(
        "div",
        {},
        h(
          "div",
          {class: "fields"},
          part.select(
            {
              name: "s.kind",
              id: "kind",
              label: G.t("studio.kind"),
              options: kinds.map((kind) => [kind.name, kind.name]),
              fallback: "parity",
            },
            context,
            () => {
              fill();
              changed();
            },
          ),
          meaning,
        ),
        body,
      );
    };
    const regex = () =>
      h(
        "div",
        {},
        parameters(
          lists.kinds.find((kind) => kind.name === "regex"),
          context,
          changed,
        ),
        G.note(G.t("studio.help_regex")),
      );
    const expression = () =>
      h(
        "div",
        {},
        part.field(
          {
            name: "s.expression",
            id: "expression",
            label: G.t("studio.expression"),
            fallback: "parity:8 & ~contains:101,8",
            wide: true,
          },
          context,
          changed,
        ),
        G.note(G.t("studio.help_expression")),
      );
    const folder = () =>
      h(
        "div",
        {class: "fields"},
        lists.folder === null
          ? G.note(G.t("studio.no_folder"))
          : lists.models.length === 0
            ? G.note(G.t("studio.empty_folder", {folder: lists.folder}))
            : part.select(
                {
                  name: "s.folder",
                  id: "folder",
                  label: G.t("studio.folder", {folder: lists.folder}),
                  options: lists.models.map((name) => [name, name]),
                  fallback: lists.models[0],
                },
                context,
                changed,
              ),
        lists.folder !== null && G.button(G.t("studio.again"), again),
        lists.folder !== null && !lists.whole && G.note(G.t("studio.not_all", {count: lists.models.length})),
      );
    const chosen = (build) => () => {
      changed();
      return build();
    };
    return h(
      "section",
      {class: "panel", "aria-labelledby": "studio-model"},
      h("h2", {id: "studio-model"}, G.t("studio.model")),
      G.tabs(
        {
          name: "s.source",
          label: G.t("studio.source"),
          items: [
            ["name", G.t("studio.from_name"), chosen(named)],
            ["regex", G.t("studio.from_regex"), chosen(regex)],
            ["expression", G.t("studio.from_expression"), chosen(expression)],
            ["folder", G.t("studio.from_folder"), chosen(folder)],
          ],
        },
        context,
      ),
      h(
        "div",
        {class: "fields more"},
        part.field(
          {name: "s.format", id: "format", label: G.t("studio.format"), list: FORMATS, placeholder: G.t("studio.own_format")},
          context,
          changed,
        ),
        part.select(
          {
            name: "s.normalize",
            id: "normalize",
            label: G.t("studio.normalize"),
            fallback: "",
            options: [
              ["", G.t("studio.normalize_none")],
              ...["zero_one", "infinity", "plus_minus"].map((kind) => [kind, G.t(`studio.normalize_${kind}`)]),
            ],
          },
          context,
          changed,
        ),
        part.select(
          {
            name: "s.attention",
            id: "attention",
            label: G.t("studio.attention"),
            fallback: "",
            options: [
              ["", G.t("studio.attention_own")],
              ...["softmax", "max-subtracted", "leftmost", "rightmost", "average"].map((kind) => [
                kind,
                G.t(`studio.attention_${kind}`),
              ]),
            ],
          },
          context,
          changed,
        ),
        part.field(
          {name: "s.input", id: "input", label: G.t("studio.input"), placeholder: G.t("studio.input_chosen"), wide: true},
          context,
          changed,
        ),
      ),
    );
  };
}
