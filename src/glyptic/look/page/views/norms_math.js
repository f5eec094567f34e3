// BatchNorm, LayerNorm and RMSNorm as `glyptic.nn.parts.norms` and torch have them: every number of the page comes from here.
{
  const N = (G.norms ??= {});

  // A tensor is {batch, tokens, features, values}; value (b, t, d) is at ((b · T) + t) · D + d.
  N.tensor = (batch, tokens, features, value) => {
    const values = new Float64Array(batch * tokens * features);
    const x = {batch, tokens, features, values};
    N.places(x).forEach(([b, t, d], at) => {
      values[at] = value(b, t, d);
    });
    return x;
  };
  N.places = ({batch, tokens, features}) =>
    Array.from({length: batch * tokens * features}, (_, at) => [
      Math.floor(at / (tokens * features)),
      Math.floor(at / features) % tokens,
      at % features,
    ]);
  N.index = (x, b, t, d) => (b * x.tokens + t) * x.features + d;

  // The number of the group that a cell shares its statistics with. `pool`: what BatchNorm averages over.
  N.group = (kind, pool, x, [b, t, d]) => (kind !== "batch" ? b * x.tokens + t : pool === "tokens" ? d : t * x.features + d);
  N.groups = (kind, pool, x) => (kind !== "batch" ? x.batch * x.tokens : pool === "tokens" ? x.features : x.tokens * x.features);

  // Count, mean, variance (÷ n) and mean square of each group; `counts(place)`: whether a cell is counted.
  N.statistics = (kind, pool, x, counts = () => true) => {
    const groups = Array.from({length: N.groups(kind, pool, x)}, () => []);
    N.places(x).forEach((place, at) => {
      if (counts(place)) groups[N.group(kind, pool, x, place)].push(x.values[at]);
    });
    return groups.map((values) => {
      const n = values.length,
        mean = values.reduce((a, b) => a + b, 0) / n;
      return {
        n,
        mean,
        variance: values.reduce((a, b) => a + (b - mean) ** 2, 0) / n,
        square: values.reduce((a, b) => a + b * b, 0) / n,
      };
    });
  };

  // What x − shift is divided by: ε inside the root, or outside as the Zaragoza course's code has it.
  N.divisor = (kind, statistic, options) => {
    if (kind !== "rms") return Math.sqrt(statistic.variance + options.eps);
    return options.outside ? Math.sqrt(statistic.square) + options.eps : Math.sqrt(statistic.square + options.eps);
  };
  N.shift = (kind, statistic) => (kind === "rms" ? 0 : statistic.mean);

  // One value a group has no variance in training: refused, as torch refuses it.
  N.refused = (kind, pool, x, training) => kind === "batch" && training && x.batch * (pool === "tokens" ? x.tokens : 1) === 1;

  // {values, statistics} or null where it is refused. At inference BatchNorm takes the running statistics.
  N.apply = (kind, x, options) => {
    if (N.refused(kind, options.pool, x, options.training)) return null;
    const running = kind === "batch" && !options.training;
    const statistics = running
      ? options.running.map(({mean, variance}) => ({mean, variance}))
      : N.statistics(kind, options.pool, x);
    const values = N.places(x).map((place, at) => {
      const statistic = statistics[N.group(kind, options.pool, x, place)];
      const normalized = (x.values[at] - N.shift(kind, statistic)) / N.divisor(kind, statistic, options);
      return options.gain * normalized + (kind === "rms" ? 0 : options.bias);
    });
    return {values, statistics};
  };

  // torch's: running ← (1 − momentum) · running + momentum · batch's, where the variance is divided by n − 1.
  N.beginning = (pool, x) => Array.from({length: N.groups("batch", pool, x)}, () => ({mean: 0, variance: 1}));
  N.step = (running, pool, x, momentum) => {
    if (N.refused("batch", pool, x, true)) return running;
    return N.statistics("batch", pool, x).map(({n, mean, variance}, g) => ({
      mean: (1 - momentum) * running[g].mean + momentum * mean,
      variance: (1 - momentum) * running[g].variance + (momentum * variance * n) / (n - 1),
    }));
  };
}
