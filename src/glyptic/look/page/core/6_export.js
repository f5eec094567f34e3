// What is seen, as a file: the DOM is walked and written as plain SVG (boxes, lines of text, inline pictures, canvases),
// which papers and drawing programs read; PNG is that SVG painted; CSV is what the view says.
{
  const {svg} = G;
  const visible = (style) => style.visibility !== "hidden" && style.display !== "none" && Number(style.opacity) > 0;
  const solid = (colour) => colour && colour !== "transparent" && !/rgba\(.*,\s*0\)$/.test(colour);

  function box(out, element, style, place) {
    const {x, y, width, height} = place(element.getBoundingClientRect());
    if (width === 0 || height === 0) return;
    if (solid(style.backgroundColor))
      out.append(
        svg("rect", {x, y, width, height, fill: style.backgroundColor, rx: parseFloat(style.borderTopLeftRadius) || null}),
      );
    const sides = {
      Top: [x, y, x + width, y],
      Bottom: [x, y + height, x + width, y + height],
      Left: [x, y, x, y + height],
      Right: [x + width, y, x + width, y + height],
    };
    for (const [side, [x1, y1, x2, y2]] of Object.entries(sides)) {
      const thick = parseFloat(style[`border${side}Width`]);
      if (thick > 0 && style[`border${side}Style`] !== "none" && solid(style[`border${side}Color`]))
        out.append(
          svg("line", {
            x1,
            y1,
            x2,
            y2,
            stroke: style[`border${side}Color`],
            "stroke-width": thick,
            "stroke-dasharray": style[`border${side}Style`] === "dashed" ? "4 3" : null,
          }),
        );
    }
    if (element.localName === "mfrac")
      out.append(svg("line", {x1: x, x2: x + width, y1: y + height / 2, y2: y + height / 2, stroke: style.color}));
  }

  // What is read as one letter, with where it begins: pairs of surrogates, accents and joined signs stay together.
  const pieces = (text) => Array.from(new Intl.Segmenter().segment(text), ({index, segment}) => [index, segment]);

  // Each line of a text node is one <text>: lines are found by where their letters are.
  function letters(out, node, style, place) {
    const range = document.createRange(),
      text = node.data;
    let line = "",
      top = null,
      left = 0,
      bottom = 0;
    const flush = () => {
      if (line.trim())
        out.append(
          svg(
            "text",
            {
              x: left,
              y: bottom - (bottom - top) * 0.24,
              fill: style.color,
              "font-size": style.fontSize,
              "font-family": style.fontFamily,
              "font-weight": style.fontWeight,
              "font-style": style.fontStyle,
              "xml:space": "preserve",
            },
            line,
          ),
        );
      line = "";
    };
    for (const [i, piece] of pieces(text)) {
      range.setStart(node, i);
      range.setEnd(node, i + piece.length);
      const rect = range.getClientRects()[0];
      if (!rect || rect.width === 0) continue;
      const at = place(rect);
      if (top === null || Math.abs(at.y - top) > 3) {
        flush();
        top = at.y;
        left = at.x;
        bottom = at.y + at.height;
      }
      left = Math.min(left, at.x); // where writing goes from right to left, a line begins at its end
      line += piece;
    }
    flush();
  }

  // A part that shows only what is within its box: an inner picture with the same coordinates, which ends where the box ends.
  function clipped(out, {x, y, width, height}) {
    const inner = svg("svg", {x, y, width, height, viewBox: `${x} ${y} ${width} ${height}`, overflow: "hidden"});
    if (width > 0 && height > 0) out.append(inner);
    return inner;
  }

  // `sticky` takes what stays in sight while the rest scrolls under it, to be drawn last.
  function walk(out, element, place, sticky = null) {
    const style = getComputedStyle(element);
    if (!visible(style) || element.closest("[data-not-exported]")) return;
    if (element.localName === "details" && element.className === "behind") return;
    if (sticky && style.position === "sticky") {
      sticky.push([Number(style.zIndex) || 0, element]);
      return;
    }
    const at = () => place(element.getBoundingClientRect());
    if (element.localName === "svg") {
      const {x, y, width, height} = at(),
        copy = element.cloneNode(true);
      for (const [name, value] of Object.entries({x, y, width, height})) copy.setAttribute(name, value);
      for (const each of [copy, ...copy.querySelectorAll("*")])
        for (const name of ["tabindex", "role", "aria-label", "class"])
          if (name !== "class" || each !== copy) each.removeAttribute(name);
      const originals = element.querySelectorAll("*");
      copy.querySelectorAll("*").forEach((each, i) => {
        // what a style sheet says is not in the copy
        const own = getComputedStyle(originals[i]);
        for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family"])
          if (!each.hasAttribute(name)) each.setAttribute(name, own.getPropertyValue(name));
      });
      out.append(copy);
      return;
    }
    if (element.localName === "canvas") {
      const {x, y, width, height} = at();
      if (width && height) out.append(svg("image", {x, y, width, height, href: element.toDataURL()}));
      return;
    }
    if (element.localName === "img") {
      const {x, y, width, height} = at();
      out.append(svg("image", {x, y, width, height, href: element.src}));
      return;
    }
    box(out, element, style, place);
    if (["input", "select", "textarea"].includes(element.localName)) {
      const {x, y, width, height} = at();
      const text =
        element.localName === "select"
          ? (element.selectedOptions[0]?.textContent ?? "")
          : element.type === "range"
            ? ""
            : element.type === "checkbox"
              ? element.checked
                ? "☑"
                : "☐"
              : element.value;
      (element.type === "checkbox" ? out : clipped(out, {x, y, width: width - 4, height})).append(
        svg(
          "text",
          {
            x: x + (element.type === "checkbox" ? 0 : 5),
            y: y + height * 0.68,
            fill: style.color,
            "font-size": style.fontSize,
            "font-family": style.fontFamily,
          },
          text,
        ),
      );
      return;
    }
    const cut = style.overflowX !== "visible" || style.overflowY !== "visible",
      inner = cut ? clipped(out, at()) : out,
      late = cut ? [] : sticky;
    const shut = element.localName === "details" && !element.open;
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        if (!shut && child.data.trim()) letters(inner, child, style, place);
      } else if (child.nodeType === Node.ELEMENT_NODE && (!shut || child.localName === "summary"))
        walk(inner, child, place, late);
    }
    if (cut) for (const [, each] of late.sort(([a], [b]) => a - b)) walk(inner, each, place);
  }

  G.toSvg = (element) => {
    const frame = element.getBoundingClientRect(),
      margin = 16;
    const width = Math.ceil(Math.max(frame.width, element.scrollWidth)) + 2 * margin,
      height = Math.ceil(Math.max(frame.height, element.scrollHeight)) + 2 * margin;
    const place = (rect) => ({
      x: rect.x - frame.x + margin,
      y: rect.y - frame.y + margin,
      width: rect.width,
      height: rect.height,
    });
    const out = svg(
      "svg",
      {xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height},
      svg("rect", {width, height, fill: G.colour.paper()}),
    );
    walk(out, element, place);
    return out;
  };

  // XML has no sign for control characters, nor for half a pair of surrogates: they become the sign for what is no sign.
  const written = (picture) =>
    new XMLSerializer().serializeToString(picture).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]/gu, "\ufffd");
  G.svgText = (element) => written(G.toSvg(element));

  G.toPng = (element) =>
    new Promise((resolve, reject) => {
      // Twice as fine as it is seen, or as fine as a canvas can be.
      const picture = G.toSvg(element),
        image = new Image(),
        [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
      const ratio = Math.min(2, 16000 / Math.max(width, height), Math.sqrt(1.6e8 / (width * height)));
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = Math.ceil(width * ratio);
        canvas.height = Math.ceil(height * ratio);
        const draw = canvas.getContext("2d");
        draw.scale(ratio, ratio);
        draw.drawImage(image, 0, 0);
        canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
      };
      image.onerror = () => reject(new Error("no picture"));
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(written(picture));
    });

  // A field that begins like a formula is quoted so that no spreadsheet computes it; numbers, and fractions as texts, are not.
  const NUMBER = /^[+-]?(∞|\d+(\/\d+|(\.\d+)?(e[+-]?\d+)?))$/;
  G.csvText = (rows) =>
    rows
      .map((row) =>
        row
          .map((field) => {
            let text = field === null || field === undefined ? "" : String(field);
            if (typeof field !== "number" && /^\s*[=+@\t\r\n＝＋＠－-]/.test(text) && !NUMBER.test(text)) text = "'" + text;
            return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
          })
          .join(","),
      )
      .join("\r\n") + "\r\n";

  G.download = (name, content, type) => {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
    const link = G.h("a", {href: url, download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };
}
