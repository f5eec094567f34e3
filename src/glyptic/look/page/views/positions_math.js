// The mathematics of positions, as `glyptic.nn.parts.positions` has it: every number of the page comes from here.
{
  const P = (G.positions ??= {});
  const f32 = Math.fround;

  P.frequencies = (width, base) => Float64Array.from({length: width / 2}, (_, m) => 1 / base ** ((2 * m) / width));

  // sin, cos, sin, cos … of one position; negative positions are distances (Transformer-XL).
  P.sinusoids = (position, width, base) => {
    const row = new Float64Array(width);
    for (let i = 0; i < width; i += 2) {
      const angle = position / base ** (i / width);
      row[i] = Math.sin(angle);
      row[i + 1] = Math.cos(angle);
    }
    return row;
  };

  // Coordinates (2m, 2m + 1) of a vector turned by position · θ_m.
  P.rotate = (vector, position, frequencies, factor = 1) => {
    const turned = Float64Array.from(vector);
    frequencies.forEach((frequency, m) => {
      const angle = position * frequency,
        c = Math.cos(angle) * factor,
        s = Math.sin(angle) * factor;
      const a = vector[2 * m],
        b = vector[2 * m + 1];
      turned[2 * m] = a * c - b * s;
      turned[2 * m + 1] = a * s + b * c;
    });
    return turned;
  };

  // 2^{−8h/H} for a power of two; otherwise the sequence of the power below, then every other one of the next.
  P.slopes = (heads) => {
    const power = 2 ** Math.floor(Math.log2(heads));
    const first = Array.from({length: power}, (_, h) => 2 ** ((-8 * (h + 1)) / power));
    const between = Array.from({length: heads - power}, (_, h) => 2 ** ((-4 * (2 * h + 1)) / power));
    return [...first, ...between];
  };

  // T5's bucket of j − i; in float32 as there, since a bucket begins where a rounded logarithm does.
  P.bucket = (ahead, buckets, distance, bidirectional) => {
    let offset = 0,
      behind = Math.max(0, -ahead);
    if (bidirectional) {
      buckets = Math.floor(buckets / 2);
      offset = ahead > 0 ? buckets : 0;
      behind = Math.abs(ahead);
    }
    const exact = Math.floor(buckets / 2);
    if (behind < exact) return offset + behind;
    const growth = f32(f32(Math.log(f32(behind / exact))) / f32(Math.log(distance / exact)));
    return offset + Math.min(buckets - 1, exact + Math.trunc(f32(growth * f32(buckets - exact))));
  };

  P.clip = (ahead, most) => Math.max(-most, Math.min(most, ahead));
  P.dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };

  const row = (table, i, width) => table.subarray(i * table.shape[1], i * table.shape[1] + width);
  const memo = (compute) => {
    const kept = new Map();
    return (key) => {
      if (!kept.has(key)) kept.set(key, compute(key));
      return kept.get(key);
    };
  };

  // Each kind for one setting s. `table`: what there is, rows × columns; `score(i, j)`: what a query at i and a key at j get;
  // `exists(t)`: whether there is anything for position t; `byDistance`: the score needs i − j alone.
  const KINDS = {
    sinusoidal(s) {
      const at = memo((t) => P.sinusoids(t, s.width, s.base));
      return {
        table: {rows: s.width, columns: s.length, value: (d, t) => at(t)[d], extent: 1},
        score: (i, j) => P.dot(at(i), at(j)) / (s.width / 2),
        byDistance: true,
        at,
      };
    },

    learned(s) {
      const table = s.tables.learned,
        most = Math.min(s.trained, table.shape[0]);
      const at = (t) => row(table, t, s.width),
        size = memo((t) => Math.sqrt(P.dot(at(t), at(t))) || 1);
      return {
        table: {rows: s.width, columns: s.length, value: (d, t) => at(t)[d], present: (d, t) => t < most},
        score: (i, j) => (Math.max(i, j) < most ? P.dot(at(i), at(j)) / (size(i) * size(j)) : NaN),
        exists: (t) => t < most,
        byDistance: false,
        at,
      };
    },

    rotary(s) {
      const q = memo((t) => P.rotate(s.q, t, s.frequencies, s.factor)),
        k = memo((t) => P.rotate(s.k, t, s.frequencies, s.factor));
      const angle = (r, t) => (r % 2 ? Math.cos : Math.sin)(t * s.frequencies[r >> 1]);
      return {
        table: {rows: 2 * s.frequencies.length, columns: s.length, value: angle, extent: 1},
        score: (i, j) => P.dot(q(i), k(j)) * s.scale,
        byDistance: true,
        q,
        k,
      };
    },

    alibi(s) {
      const slopes = P.slopes(s.heads);
      return {
        table: {rows: s.heads, columns: s.length, value: (h, d) => -slopes[h] * d, byDistance: true},
        score: (i, j, head = s.head) => -slopes[head] * Math.abs(i - j),
        byDistance: true,
        slopes,
      };
    },

    t5(s) {
      const table = s.tables.t5,
        bias = (bucket, head) => table[bucket * table.shape[1] + head];
      const bucket = memo((ahead) => P.bucket(ahead, s.buckets, s.distance, !s.causal));
      return {
        table: {
          rows: Math.min(s.heads, table.shape[1]),
          columns: s.length,
          value: (h, d) => bias(bucket(-d), h),
          byDistance: true,
        },
        score: (i, j, head = s.head) => bias(bucket(j - i), head),
        byDistance: true,
        bucket,
      };
    },

    shaw(s) {
      const table = s.tables.shaw,
        middle = (table.shape[0] - 1) / 2;
      const at = (ahead) => row(table, P.clip(ahead, s.clip) + middle, s.size);
      const bias = memo((ahead) => P.dot(s.q, at(ahead)) * s.scale);
      return {
        table: {rows: s.size, columns: s.length, value: (d, distance) => at(-distance)[d], byDistance: true},
        score: (i, j) => bias(j - i),
        byDistance: true,
        at,
      };
    },

    transformer_xl(s) {
      const {project, u, v} = s.tables.transformer_xl,
        from = s.head * s.size;
      const part = (list) => list.subarray(from, from + s.size),
        own = part(u),
        other = part(v);
      const keys = memo((distance) => {
        // W_r R_{i−j}; the sinusoids of the distance have Vaswani's base
        const r = P.sinusoids(distance, s.width, 10000);
        return Float64Array.from({length: s.size}, (_, d) => P.dot(row(project, from + d, s.width), r));
      });
      const sum = (a, b) => Float64Array.from(a, (x, i) => x + b[i]);
      const shifted = sum(s.q, other),
        bias = memo((distance) => P.dot(shifted, keys(distance)) * s.scale);
      return {
        table: {rows: s.size, columns: s.length, value: (d, distance) => keys(distance)[d], byDistance: true},
        score: (i, j) => bias(i - j),
        byDistance: true,
        keys,
        // Dai et al.'s (a) q·k, (b) q·W_r R, (c) u·k, (d) v·W_r R, all times the scale
        terms: (i, j) =>
          [P.dot(s.q, s.k), P.dot(s.q, keys(i - j)), P.dot(own, s.k), P.dot(other, keys(i - j))].map((x) => x * s.scale),
      };
    },
  };

  P.ORDER = ["sinusoidal", "learned", "rotary", "alibi", "t5", "shaw", "transformer_xl"];
  P.kind = (id, setting) => ({id, exists: () => true, ...KINDS[id](setting)});

  // Score by distance: one number where distance is all, else mean, least and most over all pairs so far apart.
  P.curve = (kind, setting) => {
    const distances = [],
      mean = [],
      low = [],
      high = [];
    for (let d = setting.causal ? 0 : 1 - setting.length; d < setting.length; d++) {
      let sum = 0,
        count = 0,
        least = Infinity,
        most = -Infinity;
      const first = Math.max(0, d),
        last = Math.min(setting.length - 1, setting.length - 1 + d);
      for (let i = first; i <= (kind.byDistance ? first : last); i++) {
        const score = kind.score(i, i - d);
        if (Number.isNaN(score)) continue;
        sum += score;
        count++;
        least = Math.min(least, score);
        most = Math.max(most, score);
      }
      distances.push(d);
      mean.push(count ? sum / count : NaN);
      low.push(count ? least : NaN);
      high.push(count ? most : NaN);
    }
    return {distances, mean, low, high};
  };
}
