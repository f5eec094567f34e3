{
  // The graph: an SVG that can be zoomed and panned by mouse and by keys; states are pinned in it, the path of the word is thick.
  const {svg} = G;
  const SCALE = 1.35; // a small machine is not blown up further than this

  const short = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);

  function arrow({tip, aim}, colour, size) {
    const angle = Math.atan2(tip[1] - aim[1], tip[0] - aim[0]);
    const point = (turn, by) =>
      `${(tip[0] - Math.cos(angle + turn) * by).toFixed(1)},${(tip[1] - Math.sin(angle + turn) * by).toFixed(1)}`;
    return svg("polygon", {
      points: `${tip[0].toFixed(1)},${tip[1].toFixed(1)} ${point(0.42, size)} ${point(-0.42, size)}`,
      fill: colour,
    });
  }

  const path = (parts) => parts.map((part) => (typeof part === "number" ? part.toFixed(1) : part)).join(" ");

  function edge(each, walked, last, crowded) {
    const colour = walked ? G.colour.accent() : G.colour.muted();
    const group = svg("g", {class: "edge", "data-edge": `${each.from}-${each.to}`});
    group.append(
      svg("path", {d: path(each.path), fill: "none", stroke: colour, "stroke-width": last ? 4 : walked ? 2.6 : 1.3}),
      arrow(each, colour, last ? 13 : walked ? 11 : 9),
    );
    if (!crowded || walked) {
      group.append(
        svg(
          "text",
          {
            x: each.label[0],
            y: each.label[1] + 4.5,
            "text-anchor": "middle",
            "font-size": 13,
            "font-weight": walked ? 700 : 500,
            fill: walked ? colour : G.colour.ink(),
            stroke: G.colour.paper(),
            "stroke-width": 4,
            "paint-order": "stroke",
            "stroke-linejoin": "round",
          },
          each.text,
        ),
      );
    }
    return group;
  }

  function state(found, node, place, {current, passed, pinned, title}) {
    const R = G.automatonLayout.RADIUS,
      [x, y] = place;
    const ring = passed || current ? G.colour.accent() : G.colour.ink();
    const fill = current ? G.colour.accent() : G.colour.paper();
    const name = found.label(node),
      inside = [...name].length <= 4;
    const dim = found.nearest.reached(node) ? 1 : 0.55;
    const group = svg("g", {class: "state", "data-state": node, opacity: dim, style: "cursor:pointer"}, svg("title", {}, title));
    if (pinned)
      group.append(
        svg("circle", {
          cx: x,
          cy: y,
          r: R + 6,
          fill: "none",
          stroke: G.colour.ink(),
          "stroke-width": 2,
          "stroke-dasharray": "4 3",
        }),
      );
    group.append(svg("circle", {cx: x, cy: y, r: R, fill, stroke: ring, "stroke-width": current || passed ? 2.6 : 1.5}));
    if (found.accepts(node))
      group.append(
        svg("circle", {cx: x, cy: y, r: R - 4.5, fill: "none", stroke: current ? G.colour.paper() : ring, "stroke-width": 1.5}),
      );
    group.append(
      svg(
        "text",
        {
          x,
          y: y + 5,
          "text-anchor": "middle",
          "font-size": 14,
          "font-weight": 600,
          fill: current ? G.colour.paper() : G.colour.ink(),
        },
        inside ? name : short(name, 4),
      ),
    );
    if (found.outputs) {
      group.append(
        svg(
          "text",
          {
            x,
            y: y + R + 15,
            "text-anchor": "middle",
            "font-size": 12,
            "font-weight": 600,
            fill: G.colour.ink(),
            stroke: G.colour.paper(),
            "stroke-width": 4,
            "paint-order": "stroke",
          },
          short(found.outputs[node], 16),
        ),
      );
    }
    return group;
  }

  /** The picture of a laid-out part of a machine. `seen` says what is current, passed and pinned; on… tell what is done in it. */
  function drawing(found, part, laid, seen, context, {onpin, onhover, label}) {
    const {box} = laid,
      crowded = laid.edges.length > 420;
    const room = Math.max(320, context.width),
      height = Math.round(Math.min(560, Math.max(230, box.height * SCALE * Math.min(1, room / (box.width * SCALE)))));
    const fit = Math.max(box.width / room, box.height / height, 1 / SCALE);
    const whole = {width: fit * room, height: fit * height, x: box.x + box.width / 2, y: box.y + box.height / 2};
    const picture = svg("svg", {
      class: "graph",
      width: "100%",
      height,
      tabindex: "0",
      role: "group",
      "aria-label": label,
      style: "display:block;touch-action:none;cursor:grab",
    });
    const eye = {
      zoom: Math.min(20, Math.max(0.4, context.state.get("zoom", 1))),
      x: context.state.get("x", 0),
      y: context.state.get("y", 0),
    };
    const aim = () => {
      const width = whole.width / eye.zoom,
        tall = whole.height / eye.zoom,
        within = (at, most) => Math.min(most / 2, Math.max(-most / 2, at));
      Object.assign(eye, {x: within(eye.x, whole.width), y: within(eye.y, whole.height)}); // something of the graph is always in sight
      picture.setAttribute(
        "viewBox",
        [whole.x + eye.x - width / 2, whole.y + eye.y - tall / 2, width, tall].map((n) => n.toFixed(2)).join(" "),
      );
    };
    const moved = () => {
      aim();
      context.state.set({
        zoom: eye.zoom === 1 ? null : Number(eye.zoom.toFixed(3)),
        x: Math.round(eye.x) || null,
        y: Math.round(eye.y) || null,
      });
    };
    const zoom = (factor) => {
      eye.zoom = Math.min(20, Math.max(0.4, eye.zoom * factor));
      moved();
    };
    const pan = (dx, dy) => {
      eye.x += (dx * whole.width) / eye.zoom;
      eye.y += (dy * whole.height) / eye.zoom;
      moved();
    };
    const home = () => {
      Object.assign(eye, {zoom: 1, x: 0, y: 0});
      moved();
    };

    const ground = svg("g", {}),
      above = svg("g", {});
    for (const each of laid.edges) {
      const walked = seen.walked.has(`${each.from} ${each.to}`);
      (walked ? above : ground).append(edge(each, walked, seen.last === `${each.from} ${each.to}`, crowded));
    }
    const [sx, sy] = laid.places.get(part.first),
      R = G.automatonLayout.RADIUS;
    const entry = part.all && {path: ["M", sx - R - 30, sy, "L", sx - R - 9, sy], tip: [sx - R - 2, sy], aim: [sx - R - 30, sy]};
    const nodes = part.nodes.map((node) =>
      state(found, node, laid.places.get(node), {
        current: node === seen.current,
        passed: seen.passed.has(node),
        pinned: node === seen.pinned,
        title: seen.title(node),
      }),
    );
    picture.append(
      ...[
        ground,
        above,
        entry &&
          svg(
            "g",
            {},
            svg("path", {d: path(entry.path), stroke: G.colour.ink(), "stroke-width": 1.8}),
            arrow(entry, G.colour.ink(), 10),
          ),
        ...nodes,
      ].filter(Boolean),
    );
    aim();

    const stateAt = (event) => {
      const group = event.target.closest?.(".state");
      return group ? Number(group.dataset.state) : null;
    };
    let drag = null;
    picture.addEventListener("pointerdown", (event) => {
      drag = {x: event.clientX, y: event.clientY, far: false};
    });
    picture.addEventListener("pointermove", (event) => {
      if (!drag) {
        onhover(stateAt(event));
        return;
      }
      const dx = event.clientX - drag.x,
        dy = event.clientY - drag.y,
        size = picture.getBoundingClientRect();
      if (!drag.far && Math.hypot(dx, dy) < 4) return;
      if (!drag.far) picture.setPointerCapture(event.pointerId);
      drag = {x: event.clientX, y: event.clientY, far: true};
      pan(-dx / size.width, -dy / size.height);
    });
    picture.addEventListener("pointerup", (event) => {
      const still = drag && !drag.far;
      drag = null;
      if (still) onpin(stateAt(event));
    });
    picture.addEventListener("pointercancel", () => {
      drag = null;
    });
    picture.addEventListener("pointerleave", () => {
      if (!drag) onhover(null);
    });
    picture.addEventListener(
      "wheel",
      (event) => {
        // the page scrolls on, unless the picture has the focus or Control is held
        if (!event.ctrlKey && document.activeElement !== picture) return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
      },
      {passive: false},
    );

    /** The nearest state in a direction, from the one that is pinned, or the current one. */
    const beside = (dx, dy) => {
      const from = laid.places.get(seen.pinned ?? seen.current) ?? laid.places.get(part.first);
      let best = null;
      for (const [node, [x, y]] of laid.places) {
        const along = (x - from[0]) * dx + (y - from[1]) * dy,
          off = Math.abs((x - from[0]) * dy) + Math.abs((y - from[1]) * dx);
        if (along > 1 && (!best || along + 2 * off < best.cost)) best = {node, cost: along + 2 * off};
      }
      return best && best.node;
    };
    const key = (event) => {
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (step && event.shiftKey) pan(step[0] * 0.08, step[1] * 0.08);
      else if (step && document.activeElement === picture) {
        const node = beside(...step);
        if (node !== null) onpin(node, true);
      } else if (event.key === "+" || event.key === "=") zoom(1.25);
      else if (event.key === "-") zoom(1 / 1.25);
      else if (event.key === "0") home();
      else return false;
      return true;
    };
    return {picture, key, zoom, home};
  }

  G.machineDrawing = drawing;
}
