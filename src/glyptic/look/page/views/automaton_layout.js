{
  // Where states and edges of a machine are drawn: layers by distance from the start, ordered so that few edges cross,
  // each edge bent as far as it must to keep clear of states and of other edges' labels. Pure: numbers in, numbers out.

  const RADIUS = 22;
  const ACROSS = 128; // between layers
  const DOWN = 98; // between states of a layer

  /** Layers by breadth from the start; what is not reached from it goes into one after the others. */
  function layered(nodes, start, after) {
    const layer = new Map();
    let now = [start],
      depth = 0;
    layer.set(start, 0);
    for (; now.length; depth += 1) {
      const next = [];
      for (const node of now) {
        for (const target of after(node)) {
          if (!layer.has(target)) {
            layer.set(target, depth + 1);
            next.push(target);
          }
        }
      }
      now = next;
    }
    for (const node of nodes) if (!layer.has(node)) layer.set(node, depth);
    return layer;
  }

  /** Long layers are broken into several, so that the picture has the shape of a screen and not of a column. */
  function columns(nodes, layer) {
    const found = [];
    for (const node of nodes) (found[layer.get(node)] ||= []).push(node);
    const most = Math.max(6, Math.ceil(Math.sqrt(nodes.length) * 1.1));
    return found.filter(Boolean).flatMap((column) => {
      const parts = Math.ceil(column.length / most);
      const size = Math.ceil(column.length / parts);
      return Array.from({length: parts}, (_, k) => column.slice(k * size, (k + 1) * size));
    });
  }

  /** Each column in the order of the mean place of its neighbours, to and fro; then places pulled towards them. */
  function placed(cols, edges) {
    const near = new Map();
    const join = (a, b) => {
      if (!near.has(a)) near.set(a, []);
      near.get(a).push(b);
    };
    for (const {from, to} of edges)
      if (from !== to) {
        join(from, to);
        join(to, from);
      }
    const y = new Map();
    const settle = (column) => column.forEach((node, k) => y.set(node, (k - (column.length - 1) / 2) * DOWN));
    cols.forEach(settle);
    const which = new Map(cols.flatMap((column, c) => column.map((node) => [node, c])));
    const mean = (node, c) => {
      const others = (near.get(node) || []).filter((other) => which.get(other) !== c);
      return others.length ? others.reduce((sum, other) => sum + y.get(other), 0) / others.length : y.get(node);
    };
    for (let round = 0; round < 12; round += 1) {
      const order = round % 2 ? cols.keys() : [...cols.keys()].reverse();
      for (const c of order) {
        const wish = new Map(cols[c].map((node) => [node, mean(node, c)]));
        cols[c].sort((a, b) => wish.get(a) - wish.get(b) || a - b);
        settle(cols[c]);
      }
    }
    for (let round = 0; round < 8; round += 1) cols.forEach((column, c) => pull(column, y, (node) => mean(node, c)));
    return {y, which};
  }

  /** Towards where a state's neighbours are, no two of a column nearer than they may be. */
  function pull(column, y, mean) {
    const wish = column.map((node) => (y.get(node) + mean(node)) / 2);
    for (let k = 1; k < wish.length; k += 1) wish[k] = Math.max(wish[k], wish[k - 1] + DOWN);
    const drift = column.reduce((sum, node, k) => sum + wish[k] - (y.get(node) + mean(node)) / 2, 0) / column.length;
    column.forEach((node, k) => y.set(node, wish[k] - drift));
  }

  const along = (p, q, r, t) => [
    (1 - t) ** 2 * p[0] + 2 * t * (1 - t) * q[0] + t * t * r[0],
    (1 - t) ** 2 * p[1] + 2 * t * (1 - t) * q[1] + t * t * r[1],
  ];

  /** A curve from one centre to another whose middle is `bend` to the left of the straight line. */
  function curve(a, b, bend) {
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
    const normal = [(b[1] - a[1]) / length, -(b[0] - a[0]) / length];
    return {middle: [(a[0] + b[0]) / 2 + normal[0] * 2 * bend, (a[1] + b[1]) / 2 + normal[1] * 2 * bend], normal};
  }

  const BENDS = [0, 11, -11, 18, -18, 32, -32, 52, -52, 80, -80, 115, -115, 160, -160, 220, -220];
  const SAMPLES = [0.08, 0.16, 0.25, 0.34, 0.42, 0.5, 0.58, 0.66, 0.75, 0.84, 0.92];

  /** How badly a label lies on other labels, or on states. */
  function clash(label, size, places, taken) {
    let cost = 0;
    for (const other of taken)
      if (Math.abs(other[0] - label[0]) < (size + other[2]) / 2 && Math.abs(other[1] - label[1]) < 16) cost += 60;
    for (const place of places.values())
      if (Math.abs(place[0] - label[0]) < RADIUS + size / 2 && Math.abs(place[1] - label[1]) < RADIUS + 7) cost += 50;
    return cost;
  }

  function bent(edge, places, both, taken) {
    const a = places.get(edge.from),
      b = places.get(edge.to);
    const size = 7.5 * edge.text.length + 10;
    let best = null;
    for (const bend of BENDS) {
      if (both && bend < 11) continue; // its counterpart comes back on the other side
      const {middle, normal} = curve(a, b, bend);
      const points = SAMPLES.map((t) => along(a, middle, b, t));
      let cost = Math.abs(bend) + (bend < 0 ? 0.5 : 0);
      for (const [node, place] of places) {
        if (node === edge.from || node === edge.to) continue;
        const gap = Math.min(...points.map((p) => Math.hypot(p[0] - place[0], p[1] - place[1])));
        if (gap < RADIUS + 10) cost += 420 * (1 - gap / (RADIUS + 30));
      }
      const side = bend < 0 ? -1 : 1,
        out = 9 + (1 - Math.abs(normal[1])) * (size / 2 - 4);
      for (const t of [0.5, 0.36, 0.64]) {
        const at = along(a, middle, b, t);
        const label = [at[0] + normal[0] * side * out, at[1] + normal[1] * side * out];
        const whole = cost + 30 * Math.abs(t - 0.5) + clash(label, size, places, taken);
        if (!best || whole < best.cost) best = {cost: whole, middle, label};
      }
    }
    taken.push([...best.label, size]);
    return trimmed(a, best.middle, b, best.label);
  }

  /** The part of a curve between the two circles, with a place for the arrow's point and its direction. */
  function trimmed(a, middle, b, label) {
    const toward = (from, to, by) => {
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
      return [from[0] + ((to[0] - from[0]) / length) * by, from[1] + ((to[1] - from[1]) / length) * by];
    };
    const begin = toward(a, middle, RADIUS + 1),
      end = toward(b, middle, RADIUS + 3);
    return {path: ["M", ...begin, "Q", ...middle, ...toward(end, middle, 7)], tip: end, aim: middle, label};
  }

  /** A loop on the side of a state from which fewest edges go. */
  function loop(edge, places, directions, taken) {
    const at = places.get(edge.from);
    const size = 7.5 * edge.text.length + 10;
    let best = null;
    [-90, 90, -135, -45, 135, 45, 180, 0].forEach((degrees, rank) => {
      const angle = (degrees * Math.PI) / 180;
      let cost = rank * 0.12;
      for (const other of directions) cost += Math.max(0, Math.cos(other - angle) - 0.35) * 3;
      const reach = RADIUS + 34;
      const label = [
        at[0] + Math.cos(angle) * (reach + size * 0.35 * Math.abs(Math.cos(angle))),
        at[1] + Math.sin(angle) * reach,
      ];
      for (const place of places.values()) {
        if (place !== at && Math.hypot(place[0] - label[0], place[1] - label[1]) < RADIUS + 16) cost += 4;
      }
      for (const other of taken) {
        if (Math.abs(other[0] - label[0]) < (size + other[2]) / 2 && Math.abs(other[1] - label[1]) < 16) cost += 2;
      }
      if (!best || cost < best.cost) best = {cost, angle, label};
    });
    taken.push([...best.label, size]);
    const point = (angle, by) => [at[0] + Math.cos(angle) * by, at[1] + Math.sin(angle) * by];
    const begin = point(best.angle - 0.5, RADIUS + 1),
      end = point(best.angle + 0.5, RADIUS + 3);
    const out = [point(best.angle - 0.62, RADIUS + 38), point(best.angle + 0.62, RADIUS + 38)];
    const back = [end[0] + (out[1][0] - end[0]) * 0.25, end[1] + (out[1][1] - end[1]) * 0.25];
    return {path: ["M", ...begin, "C", ...out[0], ...out[1], ...back], tip: end, aim: out[1], label: best.label};
  }

  /** nodes: numbers of states; edges: [{from, to, text}], one for each pair; gives places, drawn edges and the box of it all. */
  function layout(nodes, start, edges) {
    const next = new Map(nodes.map((node) => [node, []]));
    for (const {from, to} of edges) next.get(from).push(to);
    const cols = columns(
      nodes,
      layered(nodes, start, (node) => next.get(node)),
    );
    const {y, which} = placed(cols, edges);
    const places = new Map(nodes.map((node) => [node, [which.get(node) * ACROSS, y.get(node)]]));
    const pairs = new Set(edges.map(({from, to}) => `${from} ${to}`));
    const taken = [[-RADIUS - 20, y.get(start), 30]];
    const crowded = nodes.length * edges.length > 60000;
    const far = (edge) => Math.abs(which.get(edge.from) - which.get(edge.to));
    const order = [...edges].sort((a, b) => far(a) - far(b));
    const drawn = new Map();
    const directions = new Map(nodes.map((node) => [node, node === start ? [Math.PI] : []]));
    for (const edge of order) {
      if (edge.from === edge.to) continue;
      const both = pairs.has(`${edge.to} ${edge.from}`);
      const shape = crowded ? simple(edge, places) : bent(edge, places, both, taken);
      drawn.set(edge, shape);
      for (const node of [edge.from, edge.to]) {
        const at = places.get(node);
        directions.get(node).push(Math.atan2(shape.aim[1] - at[1], shape.aim[0] - at[0]));
      }
    }
    for (const edge of order) {
      if (edge.from === edge.to) drawn.set(edge, loop(edge, places, directions.get(edge.from), taken));
    }
    return {places, edges: edges.map((edge) => ({...edge, ...drawn.get(edge)})), box: box(places, drawn)};
  }

  function simple(edge, places) {
    const a = places.get(edge.from),
      b = places.get(edge.to);
    const {middle, normal} = curve(a, b, 24);
    const at = along(a, middle, b, 0.5);
    return trimmed(a, middle, b, [at[0] + normal[0] * 9, at[1] + normal[1] * 9]);
  }

  function box(places, drawn) {
    const xs = [],
      ys = [];
    for (const [x, y] of places.values()) {
      xs.push(x - 58, x + 40);
      ys.push(y - 40, y + 48);
    }
    for (const {path, label} of drawn.values()) {
      const numbers = path.filter((part) => typeof part === "number");
      const middle = path[3] === "Q" ? along(numbers.slice(0, 2), numbers.slice(2, 4), numbers.slice(4, 6), 0.5) : label;
      xs.push(middle[0] - 20, middle[0] + 20, label[0] - 14, label[0] + 14);
      ys.push(middle[1] - 14, middle[1] + 14, label[1] - 14, label[1] + 14);
    }
    const left = Math.min(...xs),
      top = Math.min(...ys);
    return {x: left, y: top, width: Math.max(...xs) - left, height: Math.max(...ys) - top};
  }

  G.automatonLayout = {layout, RADIUS};
}
