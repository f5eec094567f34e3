// A small map of one kind of positions: colours, what lies beyond the trained length hatched, what does not exist crossed out.
{
  const P = (G.positions ??= {});
  const {h} = G;
  const ROOM = {left: 40, right: 4, top: 6, bottom: 34};

  // Lines over the cells that `where` names: drawn whole, then cut out by a mask of one pixel a cell.
  function hatch(draw, frame, {rows, columns}, where, both, colour) {
    const mask = new ImageData(columns, rows);
    let any = false;
    for (let i = 0, at = 3; i < rows; i++)
      for (let j = 0; j < columns; j++, at += 4)
        if (where(i, j)) {
          mask.data[at] = 255;
          any = true;
        }
    if (!any) return;
    const small = new OffscreenCanvas(columns, rows),
      lines = new OffscreenCanvas(Math.ceil(frame.width), Math.ceil(frame.height));
    small.getContext("2d").putImageData(mask, 0, 0);
    const pen = lines.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    for (const way of both ? [1, -1] : [1]) {
      pen.beginPath();
      for (let x = -frame.height; x < frame.width + frame.height; x += both ? 9 : 7) {
        pen.moveTo(x, way > 0 ? frame.height : 0);
        pen.lineTo(x + frame.height, way > 0 ? 0 : frame.height);
      }
      pen.stroke();
    }
    pen.globalCompositeOperation = "destination-in";
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, 0, 0, frame.width, frame.height);
    draw.drawImage(lines, frame.x, frame.y);
  }

  function axes(draw, frame, options) {
    draw.fillStyle = G.colour.muted();
    draw.font = `11px ${G.fontMono}`;
    const across = frame.width / options.columns,
      down = frame.height / options.rows;
    const places = (count, size, room) => {
      const every = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((step) => step * size >= room) ?? count;
      return Array.from({length: Math.ceil(count / every)}, (_, k) => k * every);
    };
    draw.textBaseline = "middle";
    draw.textAlign = "right";
    for (const i of places(options.rows, down, 16)) draw.fillText(String(i), frame.x - 4, frame.y + (i + 0.5) * down);
    draw.textBaseline = "top";
    draw.textAlign = "center";
    for (const j of places(options.columns, across, 30))
      draw.fillText(String(j), frame.x + (j + 0.5) * across, frame.y + frame.height + 3);
    draw.font = "12px system-ui, sans-serif";
    draw.fillText(options.columnTitle, frame.x + frame.width / 2, frame.y + frame.height + 18);
    draw.save();
    draw.translate(2, frame.y + frame.height / 2);
    draw.rotate(-Math.PI / 2);
    draw.fillText(options.rowTitle, 0, 0);
    draw.restore();
  }

  // options: rows, columns, value, present, hidden (the mask), beyond, extent, rowTitle, columnTitle, label, marked: [i, j], onpin(i, j)
  P.map = (width = 300, height = 236) => {
    const {canvas, pen} = G.canvas(width, height);
    const readout = h("output", {class: "readout"});
    const frame = {x: ROOM.left, y: ROOM.top, width: width - ROOM.left - ROOM.right, height: height - ROOM.top - ROOM.bottom};
    let options = null,
      seen = null,
      picture = null;

    const value = (i, j) =>
      options.hidden(i, j)
        ? G.t("positions.masked")
        : options.present(i, j)
          ? G.number(options.value(i, j))
          : G.t("positions.does_not_exist");
    function tell() {
      const at = seen ?? options.marked;
      const text = at
        ? G.t("positions.cell", {row: options.rowTitle, i: at[0], column: options.columnTitle, j: at[1], value: value(...at)})
        : "";
      readout.textContent = text;
      canvas.setAttribute("aria-label", `${options.label}. ${text}`);
    }

    function redraw() {
      const draw = pen();
      draw.imageSmoothingEnabled = false;
      draw.drawImage(picture, frame.x, frame.y, frame.width, frame.height);
      const there = (i, j) => !options.hidden(i, j);
      hatch(
        draw,
        frame,
        options,
        (i, j) => there(i, j) && options.present(i, j) && options.beyond(i, j),
        false,
        G.colour.muted(),
      );
      hatch(draw, frame, options, (i, j) => there(i, j) && !options.present(i, j), true, G.colour.bad());
      draw.strokeStyle = G.colour.line();
      draw.strokeRect(frame.x, frame.y, frame.width, frame.height);
      axes(draw, frame, options);
      const box = (at, colour, dash) => {
        const across = frame.width / options.columns,
          down = frame.height / options.rows,
          grow = 2;
        draw.strokeStyle = colour;
        draw.lineWidth = 2;
        draw.setLineDash(dash);
        draw.strokeRect(frame.x + at[1] * across - grow, frame.y + at[0] * down - grow, across + 2 * grow, down + 2 * grow);
        draw.setLineDash([]);
        draw.lineWidth = 1;
      };
      if (options.marked) {
        box(options.marked, G.colour.paper(), []);
        box(options.marked, G.colour.ink(), [4, 2]);
      }
      if (seen) box(seen, G.colour.accent(), []);
      tell();
    }

    const at = (event) => {
      const place = canvas.getBoundingClientRect();
      const j = Math.floor((((event.clientX - place.left) * width) / place.width - frame.x) / (frame.width / options.columns));
      const i = Math.floor((((event.clientY - place.top) * height) / place.height - frame.y) / (frame.height / options.rows));
      return i >= 0 && i < options.rows && j >= 0 && j < options.columns ? [i, j] : null;
    };
    G.pointing(canvas, {
      at,
      hover: (place) => {
        seen = place;
        redraw();
      },
      pick: (place) => place && options.onpin(...place),
      walk: (down, across) => {
        const [i, j] = options.marked ?? [0, 0];
        options.onpin(Math.min(options.rows - 1, Math.max(0, i + down)), Math.min(options.columns - 1, Math.max(0, j + across)));
      },
    });
    const numbers = () => {
      const rows = Math.min(64, options.rows),
        columns = Math.min(64, options.columns);
      return G.table(
        [`${options.rowTitle} \\ ${options.columnTitle}`, ...Array.from({length: columns}, (_, j) => String(j))],
        Array.from({length: rows}, (_, i) => [String(i), ...Array.from({length: columns}, (_, j) => value(i, j))]),
        {caption: options.rows > 64 || options.columns > 64 ? G.t("core.first_of", {n: 64}) : null},
      );
    };
    const behind = h("div", {});
    const element = h("div", {class: "map"}, canvas, readout, behind);
    // What changes the colours paints them anew; a mark alone does not.
    element.set = (next) => {
      options = {present: () => true, hidden: () => false, beyond: () => false, ...next};
      const shown = {...options, present: (i, j) => options.present(i, j) && !options.hidden(i, j)};
      options.extent ??= G.largest(shown);
      picture = G.cells(shown, "signed", options.extent);
      G.clear(behind).append(G.behind(G.t("core.as_table"), numbers));
      redraw();
      return options.extent;
    };
    element.mark = (i, j) => {
      options.marked = i < options.rows && j < options.columns ? [i, j] : null;
      redraw();
    };
    return element;
  };
}
