// Numbers as people read them, tables, and the controls: each writes its value into the state.
{
  const {h} = G;
  let serial = 0;
  const fresh = () => `g${++serial}`;

  G.number = (x, digits = 4) => {
    if (typeof x !== "number") return String(x);
    if (Number.isNaN(x)) return "–";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    const size = Math.abs(x);
    const text =
      x === 0
        ? "0"
        : size >= 1e6 || size < 1e-4
          ? x.toExponential(Math.max(0, digits - 1))
          : String(Number(x.toPrecision(digits)));
    return text.replace(/-/g, "−");
  };

  G.fraction = (numerator, denominator) => {
    const n = String(numerator).replace("-", "−"),
      d = String(denominator);
    if (d === "1") return h("span", {class: "number"}, n);
    return h("span", {class: "fraction", role: "img", "aria-label": `${n}/${d}`}, h("span", {}, n), h("span", {}, d));
  };

  // Text such as "3/2", "-∞" or "7", as show_number writes it.
  G.shown = (text) => {
    const [n, d] = String(text).split("/");
    return d === undefined ? h("span", {class: "number" + (n === "0" ? " dim" : "")}, n.replace("-", "−")) : G.fraction(n, d);
  };

  G.table = (header, rows, {caption = null, numeric = true, onpick = null, rowHeaders = true} = {}) => {
    const cell = (content, i, j) => {
      const tag = j === 0 && rowHeaders ? "th" : "td";
      const element = h(
        tag,
        {scope: tag === "th" ? "row" : null, class: j > 0 && numeric ? "figure" : null},
        content instanceof Node ? content : typeof content === "number" ? G.number(content) : content,
      );
      if (onpick) element.addEventListener("click", () => onpick(i, j));
      return element;
    };
    return h(
      "table",
      {class: "table"},
      caption && h("caption", {}, caption),
      header &&
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            header.map((name) => h("th", {scope: "col"}, name)),
          ),
        ),
      h(
        "tbody",
        {},
        rows.map((row, i) =>
          h(
            "tr",
            {},
            row.map((content, j) => cell(content, i, j)),
          ),
        ),
      ),
    );
  };

  // The numbers behind a picture, for screen readers and for copying; built when it is opened.
  G.behind = (label, build) => {
    const details = h("details", {class: "behind"}, h("summary", {}, label));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(G.scroll(label, build()));
    });
    return details;
  };
  G.scroll = (label, ...children) => h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label}, children);
  G.note = (text) => h("p", {class: "note"}, text);
  G.button = (label, onclick, attributes = {}) => h("button", {type: "button", onclick, ...attributes}, label);

  G.tabs = ({name, items, label = null}, context) => {
    const chosen = () => {
      const id = context.state.get(name, items[0][0]);
      return items.some(([each]) => each === id) ? id : items[0][0];
    };
    const identity = fresh(),
      body = h("div", {class: "tabbody", role: "tabpanel", id: identity, tabindex: "0"});
    const buttons = items.map(([id, title]) =>
      h(
        "button",
        {type: "button", role: "tab", id: `${identity}-${id}`, "aria-controls": identity, onclick: () => choose(id)},
        title,
      ),
    );
    const list = h(
      "div",
      {
        class: "tabs",
        role: "tablist",
        "aria-label": label ?? name,
        onkeydown: (event) => {
          const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
          if (!step) return;
          event.preventDefault();
          event.stopPropagation();
          const at = items.findIndex(([id]) => id === chosen());
          const next = (at + step + items.length) % items.length;
          choose(items[next][0]);
          buttons[next].focus();
        },
      },
      buttons,
    );
    const build = () => {
      items.forEach(([id], i) => {
        const on = id === chosen();
        buttons[i].setAttribute("aria-selected", on);
        buttons[i].tabIndex = on ? 0 : -1;
      });
      body.setAttribute("aria-labelledby", `${identity}-${chosen()}`);
      G.clear(body).append(...[items.find(([id]) => id === chosen())[2]()].flat());
    };
    const choose = (id) => {
      context.state.set({[name]: id}, {push: true});
      build();
    };
    context.state.changed(build);
    build();
    return h("div", {class: "tabbed"}, list, body);
  };

  G.choice = ({name, options, label, fallback = options[0]?.[0]}, context, onchange) => {
    const value = String(context.state.get(name, fallback)),
      identity = fresh();
    const select = h(
      "select",
      {
        id: identity,
        onchange: () => {
          context.state.set({[name]: select.value});
          onchange?.(select.value);
        },
      },
      options.map(([id, text]) => h("option", {value: id, selected: String(id) === value}, text)),
    );
    return h("span", {class: "control"}, h("label", {for: identity}, label), select);
  };

  // `log`: the slider moves along a logarithmic scale; the state always has the value itself.
  G.slider = ({name, min, max, step = 1, label, log = false, fallback = min, show = (x) => G.number(x)}, context, onchange) => {
    const start = Math.min(max, Math.max(min, context.state.get(name, Number(fallback)))),
      identity = fresh();
    const to = (x) => (log ? Math.log(x) : x),
      from = (x) => (log ? Number(Math.exp(x).toPrecision(4)) : x);
    const output = h("output", {for: identity}, show(start));
    const input = h("input", {
      type: "range",
      id: identity,
      min: to(min),
      max: to(max),
      step: log ? (to(max) - to(min)) / 200 : step,
      value: to(start),
      oninput: () => {
        const value = from(Number(input.value));
        output.textContent = show(value);
        input.setAttribute("aria-valuetext", show(value));
        context.state.set({[name]: value});
        onchange?.(value);
      },
    });
    return h("span", {class: "control"}, h("label", {for: identity}, label), input, output);
  };

  G.toggle = ({name, label, fallback = false}, context, onchange) => {
    const identity = fresh();
    const box = h("input", {
      type: "checkbox",
      id: identity,
      onchange: () => {
        context.state.set({[name]: box.checked ? "1" : "0"});
        onchange?.(box.checked);
      },
    });
    box.checked = context.state.get(name, fallback ? "1" : "0") === "1";
    return h("span", {class: "control"}, box, h("label", {for: identity}, label));
  };
}
