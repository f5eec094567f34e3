// Elements, words and the state in the URL's fragment: what every view is made of.
const G = {views: new Map(), language: "en", words: {}};

{
  const SPACES = {svg: "http://www.w3.org/2000/svg", math: "http://www.w3.org/1998/Math/MathML"};

  // Strings become text nodes, always: no text of a model can become markup.
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style" && typeof value === "object") {
        for (const [property, text] of Object.entries(value))
          element.style.setProperty(
            property.replace(/[A-Z]/g, (c) => "-" + c.toLowerCase()),
            text,
          );
      } else if (name === "dataset") Object.assign(element.dataset, value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  }

  G.h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  G.svg = (tag, attributes, ...children) => fill(document.createElementNS(SPACES.svg, tag), attributes, children);
  G.math = (tag, attributes, ...children) => fill(document.createElementNS(SPACES.math, tag), attributes, children);
  G.clear = (element) => {
    element.replaceChildren();
    return element;
  };

  // One dictionary: `kind.key` -> [English, Spanish]; {name} is filled in. A key that is missing shows itself.
  G.t = (key, values = {}) => {
    const pair = G.words[key];
    if (!pair) {
      console.error(`no word for ${key}`);
      return key;
    }
    return pair[G.language === "es" ? 1 : 0].replace(/\{(\w+)\}/g, (whole, name) =>
      name in values ? String(values[name]) : whole,
    );
  };

  // The fragment is the state: a link to it is a link to what is seen.
  const listeners = new Set();
  const read = () => new URLSearchParams(location.hash.slice(1));
  let written = null;

  function write(changes, push) {
    const state = read();
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") state.delete(name);
      else state.set(name, value);
    }
    written = "#" + state.toString();
    if (written === location.hash || (written === "#" && !location.hash)) return;
    // In a notebook's frame (srcdoc) there is no history to write to: the state is then kept by the location alone.
    try {
      history[push ? "pushState" : "replaceState"](null, "", written);
    } catch {
      location.hash = written;
    }
  }

  G.state = {
    get(name, fallback = null) {
      const text = read().get(name);
      if (text === null) return fallback;
      if (typeof fallback !== "number") return text;
      const number = Number(text);
      return text.trim() !== "" && Number.isFinite(number) ? number : fallback;
    },
    set(changes, {push = false} = {}) {
      write(changes, push);
    },
    all: () => Object.fromEntries(read()),
    changed(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    forget() {
      listeners.clear();
    },
  };
  const tell = () => {
    if (location.hash === written) return;
    written = location.hash;
    for (const listener of [...listeners]) listener();
  };
  addEventListener("hashchange", tell);
  addEventListener("popstate", tell);

  G.view = (kind, definition) => G.views.set(kind, definition);
}
