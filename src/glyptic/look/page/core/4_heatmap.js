// A matrix as a picture: one canvas with its axes. Hover previews, click pins, arrows walk, Escape lets go.
{
  const {h} = G;

  // Room for the names: as long as the longest, up to eleven letters.
  function roomFor(options) {
    const letters = (names, count) =>
      Math.min(11, Math.max(2, ...Array.from({length: count}, (_, i) => String(names?.[i] ?? i).length)));
    return {
      left: 14 + 7 * letters(options.rowNames, options.rows),
      top: 16 + 6 * letters(options.columnNames, options.columns),
      right: 24,
      bottom: 8,
    };
  }

  // One pixel a cell, to be scaled where it is drawn: a map of 512 × 512 is as quick as one of 8 × 8. Absent cells stay clear.
  G.cells = ({rows, columns, value, present}, scale, extent) => {
    const image = new ImageData(columns, rows);
    for (let i = 0, at = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++, at += 4) {
        if (present && !present(i, j)) continue;
        const [r, g, b] = G.colour.bytes(scale, value(i, j) / extent);
        image.data[at] = r;
        image.data[at + 1] = g;
        image.data[at + 2] = b;
        image.data[at + 3] = 255;
      }
    }
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(image, 0, 0);
    return small;
  };

  G.largest = ({rows, columns, value, present}) => {
    let most = 0;
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        if (present && !present(i, j)) continue;
        const size = Math.abs(value(i, j));
        if (Number.isFinite(size) && size > most) most = size;
      }
    return most || 1;
  };

  function paint(draw, matrix, scale, extent, [x, y, width, height]) {
    draw.imageSmoothingEnabled = false;
    draw.fillStyle = `rgb(${G.colour.bytes(scale, 0).join(" ")})`;
    draw.fillRect(x, y, width, height);
    draw.drawImage(G.cells(matrix, scale, extent), x, y, width, height);
  }

  G.thumbnail = (rows, columns, value, scale = "share", size = 64) => {
    const canvas = h("canvas", {width: size, height: size, class: "thumbnail", "aria-hidden": "true"});
    const matrix = {rows, columns, value};
    paint(canvas.getContext("2d"), matrix, scale, G.largest(matrix), [0, 0, size, size]);
    return canvas;
  };

  function axis(draw, names, count, size, place) {
    const every = Math.max(1, Math.ceil(12 / size));
    for (let i = 0; i < count; i += every) {
      const text = String(names?.[i] ?? i);
      place(i, text.length > 11 ? text.slice(0, 10) + "…" : text);
    }
  }

  // Texts of cells are drawn where they fit and there is room for them.
  function texts(draw, options, room, cell, extent) {
    if (!options.text || cell < 26) return;
    draw.font = `${Math.min(12, cell * 0.36)}px ${G.fontMono}`;
    draw.textAlign = "center";
    for (let i = 0; i < options.rows; i++)
      for (let j = 0; j < options.columns; j++) {
        if (options.present && !options.present(i, j)) continue;
        const text = options.text(i, j),
          width = draw.measureText(text).width;
        if (width > cell - 3) continue;
        draw.fillStyle = G.colour.inkOn(options.scale ?? "signed", options.value(i, j) / extent);
        draw.fillText(text, room.left + (j + 0.5) * cell, room.top + (i + 0.5) * cell);
      }
  }

  G.fontMono = "ui-monospace, Menlo, Consolas, monospace";

  G.heatmap = (options) => {
    const {rows, columns} = options,
      room = roomFor(options);
    const scale = options.scale ?? "signed";
    const cell = options.cell ?? Math.max(2, Math.min(34, Math.floor(520 / Math.max(rows, columns, 1))));
    const width = room.left + columns * cell + room.right,
      height = room.top + rows * cell + room.bottom;
    const {canvas, pen} = G.canvas(width, height);
    const readout = h("output", {class: "readout", "aria-live": "polite"});
    let pinned = options.pinned ?? null,
      seen = null;
    let last = pinned ?? [0, 0];

    function redraw() {
      const extent = options.extent ?? G.largest(options);
      const draw = pen();
      paint(draw, options, scale, extent, [room.left, room.top, columns * cell, rows * cell]);
      draw.fillStyle = G.colour.ink();
      draw.font = `11px ${G.fontMono}`;
      draw.textBaseline = "middle";
      axis(draw, options.rowNames, rows, cell, (i, text) => {
        draw.textAlign = "right";
        draw.fillText(text, room.left - 5, room.top + (i + 0.5) * cell);
      });
      axis(draw, options.columnNames, columns, cell, (j, text) => {
        draw.save();
        draw.translate(room.left + (j + 0.5) * cell, room.top - 5);
        draw.rotate(-Math.PI / 3);
        draw.textAlign = "left";
        draw.fillText(text, 0, 0);
        draw.restore();
      });
      texts(draw, {...options, scale}, room, cell, extent);
      const framed = (at, colour, dash) => {
        draw.strokeStyle = colour;
        draw.lineWidth = 2;
        draw.setLineDash(dash);
        draw.strokeRect(room.left + at[1] * cell, room.top + at[0] * cell, cell, cell);
      };
      if (seen) framed(seen, G.colour.ink(), [3, 2]);
      if (pinned) framed(pinned, G.colour.accent(), []);
      draw.setLineDash([]);
      tell(seen ?? pinned);
      canvas.setAttribute("aria-label", `${options.label ?? ""} ${readout.textContent}`.trim());
    }

    function tell(at) {
      if (!at) {
        readout.textContent = "";
        return;
      }
      const [i, j] = at;
      const there = !options.present || options.present(i, j);
      const value = there ? (options.text ? options.text(i, j) : G.number(options.value(i, j))) : "–";
      readout.textContent =
        `${options.rowTitle ?? ""} ${options.rowNames?.[i] ?? i}, ${options.columnTitle ?? ""} ${options.columnNames?.[j] ?? j}: ${value}`.trim();
    }

    function at(event) {
      const box = canvas.getBoundingClientRect();
      const j = Math.floor((((event.clientX - box.left) * width) / box.width - room.left) / cell);
      const i = Math.floor((((event.clientY - box.top) * height) / box.height - room.top) / cell);
      return i >= 0 && i < rows && j >= 0 && j < columns ? [i, j] : null;
    }

    const pin = (place) => {
      pinned = place;
      if (place) last = place;
      seen = null;
      redraw();
      options.onpin?.(place ? place[0] : null, place ? place[1] : null);
    };
    const walk = (down, across) => {
      const clip = (at, count) => Math.min(count - 1, Math.max(0, at));
      pin(pinned ? [clip(last[0] + down, rows), clip(last[1] + across, columns)] : last);
    };
    G.pointing(canvas, {
      at,
      walk,
      hover: (place) => {
        seen = place;
        redraw();
        if (place) options.onhover?.(place[0], place[1]);
      },
      pick: (place) => pin(String(place) === String(pinned) ? null : place),
      leave: () => Boolean(pinned) && pin(null),
    });
    redraw();
    const most = 64; // rows and columns of the table behind: what a person reads
    const table = () => {
      const shown = [Math.min(rows, most), Math.min(columns, most)];
      const text = (i, j) =>
        options.present && !options.present(i, j) ? "–" : options.text ? options.text(i, j) : G.number(options.value(i, j));
      const body = Array.from({length: shown[0]}, (_, i) => [
        String(options.rowNames?.[i] ?? i),
        ...Array.from({length: shown[1]}, (_, j) => text(i, j)),
      ]);
      const header = [options.rowTitle ?? "", ...Array.from({length: shown[1]}, (_, j) => String(options.columnNames?.[j] ?? j))];
      const cut = rows > most || columns > most ? G.t("core.first_of", {n: most}) : null;
      return G.table(header, body, {caption: cut});
    };
    const element = h(
      "div",
      {class: "heatmap"},
      G.scroll(options.label ?? G.t("core.picture"), canvas),
      readout,
      G.behind(G.t("core.as_table"), table),
    );
    element.redraw = redraw;
    element.pin = (i, j) => {
      pinned = i === null ? null : [i, j];
      if (pinned) last = pinned;
      redraw();
    };
    return element;
  };
}
