{
  // A machine that reads words: the run of a word, shortest words, and how many words it accepts. No picture here.
  const LONGEST = 4096;

  function machine(data) {
    const [states, size] = data.moves.shape;
    const accepting = data.accepting && new Set(data.accepting);
    const spaced = data.alphabet.some((symbol) => [...symbol].length > 1);
    const separator = spaced ? " " : "";
    const next = (state, symbol) => data.moves[state * size + symbol];
    const found = {
      states,
      size,
      accepting,
      spaced,
      alphabet: data.alphabet,
      start: data.start,
      outputs: data.outputs,
      next,
      accepts: (state) => accepting !== null && accepting.has(state),
      label: (state) => (data.names ? data.names[state] : String(state)),
      text: (word) => (word.length ? word.map((symbol) => data.alphabet[symbol]).join(separator) : "ε"),
      run: (word) =>
        word.reduce(
          (path, symbol) => {
            path.push(next(path[path.length - 1], symbol));
            return path;
          },
          [data.start],
        ),
    };
    found.parse = (text) => parse(found, text);
    found.nearest = shortest(found);
    return found;
  }

  /** A word as its symbols' numbers, or what is wrong with it and where. */
  function parse({alphabet, spaced}, text) {
    const bare = text.trim();
    if (bare === "" || (bare === "ε" && !alphabet.includes("ε"))) return {word: []};
    const pieces = spaced ? bare.split(/\s+/) : [...bare].filter((c) => c.trim() !== "");
    if (pieces.length > LONGEST) return {long: pieces.length, most: LONGEST};
    const word = pieces.map((piece) => alphabet.indexOf(piece));
    const place = word.indexOf(-1);
    return place < 0 ? {word} : {unknown: pieces[place], place: place + 1};
  }

  /** How each state is reached first: parents in breadth from the start. */
  function shortest({states, size, start, next}) {
    const parent = new Int32Array(states).fill(-1),
      symbol = new Int32Array(states).fill(-1),
      depth = new Int32Array(states).fill(-1);
    const order = [start];
    depth[start] = 0;
    for (let k = 0; k < order.length; k += 1) {
      for (let s = 0; s < size; s += 1) {
        const target = next(order[k], s);
        if (depth[target] >= 0) continue;
        depth[target] = depth[order[k]] + 1;
        parent[target] = order[k];
        symbol[target] = s;
        order.push(target);
      }
    }
    const word = (state) => {
      const letters = [];
      for (let at = state; at !== start; at = parent[at]) letters.push(symbol[at]);
      return letters.reverse();
    };
    return {depth, order, word, reached: (state) => depth[state] >= 0};
  }

  /** How many words of length 0, 1, … most are accepted, exactly. */
  function counts({states, size, start, next, accepts}, most) {
    let ways = new Map([[start, 1n]]);
    const found = [];
    for (let length = 0; length <= most; length += 1) {
      let sum = 0n;
      const after = new Map();
      for (const [state, number] of ways) {
        if (accepts(state)) sum += number;
        for (let s = 0; s < size; s += 1) {
          const target = next(state, s);
          after.set(target, (after.get(target) ?? 0n) + number);
        }
      }
      found.push(sum);
      ways = after;
    }
    return found;
  }

  /** What is drawn: all states if they are few; else those near one state, by steps forward and back. */
  function drawn(found, centre, most, near) {
    if (found.states <= most) return {nodes: Array.from({length: found.states}, (_, k) => k), first: found.start, all: true};
    const nodes = new Set([centre]);
    let front = [centre];
    while (nodes.size < near && front.length) {
      const next = [];
      for (const state of front) {
        for (let s = 0; s < found.size && nodes.size < near; s += 1) {
          const target = found.next(state, s);
          if (!nodes.has(target)) {
            nodes.add(target);
            next.push(target);
          }
        }
      }
      front = next;
    }
    return {nodes: [...nodes].sort((a, b) => a - b), first: centre, all: false};
  }

  /** One edge for each pair of states, its symbols together. */
  function edges(found, nodes) {
    const inside = new Set(nodes),
      pairs = new Map();
    for (const from of nodes) {
      for (let s = 0; s < found.size; s += 1) {
        const to = found.next(from, s);
        if (!inside.has(to)) continue;
        const key = `${from} ${to}`;
        if (!pairs.has(key)) pairs.set(key, {from, to, symbols: []});
        pairs.get(key).symbols.push(s);
      }
    }
    return [...pairs.values()].map((edge) => ({...edge, text: written(found, edge.symbols)}));
  }

  function written({alphabet, size}, symbols) {
    if (symbols.length === size && size > 2) return G.t("automaton.any");
    const names = symbols
      .map((s) => alphabet[s])
      .map((name) => ([...name].length > 12 ? `${[...name].slice(0, 11).join("")}…` : name));
    return names.length > 4
      ? G.t("automaton.and_more", {some: names.slice(0, 3).join(", "), n: names.length - 3})
      : names.join(", ");
  }

  G.machine = {machine, counts, drawn, edges};
}
