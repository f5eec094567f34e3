// A run: the forward pass of glyptic.exact.forward for one input, stage by stage, with what was rounded and what saturated.
{
  Engine.Stage = class {
    constructor(rows, columns) {
      Object.assign(this, {rows, columns, values: new Float64Array(rows * columns), flags: new Uint8Array(rows * columns)});
    }

    at(row, column) {
      return this.values[row * this.columns + column];
    }

    set(row, column, value, flags) {
      this.values[row * this.columns + column] = value;
      this.flags[row * this.columns + column] = flags;
    }
  };

  // 0/0 was met: what ends a run, unless it has tied already.
  class Met extends Error {
    constructor(undefined) {
      super(undefined.key);
      this.undefined = undefined;
    }
  }

  // How one input goes through a model. Positions before `first` were computed in an earlier step, and are taken over.
  class Pass {
    constructor(model, tokens, before, first) {
      const {format, options} = model;
      Object.assign(this, {model, tokens, before, first, options, length: tokens.length, tied: before?.tied ?? false});
      this.arithmetic = new Engine.Arithmetic(format, options.products);
      ((this.stages = new Map(before?.stages)), (this.inner = new Map(before?.inner)));
      ((this.left = new Float64Array(1024)), (this.right = new Float64Array(1024)));
    }

    // A stage of so many rows, with what is known of it from earlier steps. Columns are positions.
    stage(name, rows, columns = this.length, into = this.stages) {
      const made = new Engine.Stage(rows, columns),
        old = this.first ? into.get(name) : undefined;
      if (old)
        for (let i = 0; i < old.rows; i++) {
          made.values.set(old.values.subarray(i * old.columns, (i + 1) * old.columns), i * columns);
          made.flags.set(old.flags.subarray(i * old.columns, (i + 1) * old.columns), i * columns);
        }
      into.set(name, made);
      return made;
    }

    room(count) {
      if (count > this.left.length) ((this.left = new Float64Array(2 * count)), (this.right = new Float64Array(2 * count)));
    }

    // Every new cell of a stage from a function of its place; what it rounds is noted.
    fill(stage, compute, first = this.first, rows = stage.rows) {
      const {arithmetic} = this;
      for (let i = 0; i < rows; i++)
        for (let t = first; t < stage.columns; t++) {
          arithmetic.flags = 0;
          const value = compute(i, t);
          stage.set(i, t, value, arithmetic.flags);
        }
      return stage;
    }

    // W x, for the new columns of x; with b, [W x + b].
    linear(name, weights, x, {bias = null, relu = false, first = this.first} = {}) {
      const {arithmetic, options} = this,
        stage = this.stage(name, weights.rows, x.columns);
      this.room(weights.columns);
      const {left, right} = this,
        kept = Engine.keptColumns(weights, options.products);
      return this.fill(
        stage,
        (i, t) => {
          const columns = kept[i];
          for (let k = 0; k < columns.length; k++) {
            left[k] = weights.values[i * weights.columns + columns[k]];
            right[k] = x.values[columns[k] * x.columns + t];
          }
          let value = arithmetic.inner(left, right, columns.length);
          if (bias) value = arithmetic.add(value, bias.values[i]);
          return relu && value < 0 ? 0 : value;
        },
        first,
      );
    }

    sum(name, a, b, into = this.stages) {
      const stage = this.stage(name, a.rows, a.columns, into);
      return this.fill(stage, (i, t) => this.arithmetic.add(a.at(i, t), b.at(i, t)));
    }

    run() {
      const {model} = this,
        d = model.coordinates.length;
      const te = model.token_embedding.values,
        pe = model.position_embedding.values;
      let residual = this.fill(this.stage("embedding", d), (i, t) =>
        this.arithmetic.add(te[this.tokens[t] * d + i], pe[t * d + i]),
      );
      model.layers.forEach((layer, l) => {
        residual = this.layer(layer, l, residual);
      });
      if (model.final_norm) residual = this.norm("final_norm", residual, model.final_norm, null);
      return residual;
    }

    layer(layer, l, residual) {
      const name = `layer.${l}`,
        placement = this.options.norm;
      const sublayers = [
        ["attention", layer.heads.length > 0, layer.attention_norm, (h) => this.attention(layer, l, h)],
        [
          "feed_forward",
          layer.feed_forward !== null,
          layer.feed_forward_norm,
          (h) => this.feedForward(layer.feed_forward, name, h),
        ],
      ];
      for (const [kind, there, norm, sublayer] of sublayers) {
        const after = `${name}.after_${kind}`;
        if (!there) {
          // nothing happens, and the stage is there all the same
          const stage = this.stage(after, residual.rows);
          stage.values.set(residual.values);
          residual = stage;
        } else if (placement === "pre" && norm) {
          residual = this.sum(after, residual, sublayer(this.norm(`${name}.${kind}_norm`, residual, norm, l, this.inner)));
        } else if (placement === "post" && norm) {
          residual = this.norm(after, this.sum(`${name}.${kind}_sum`, residual, sublayer(residual), this.inner), norm, l);
        } else {
          residual = this.sum(after, residual, sublayer(residual));
        }
      }
      return residual;
    }

    attention(layer, l, h) {
      const outputs = layer.heads.map((head, i) => this.head(head, l, i, h));
      return this.fill(this.stage(`layer.${l}.attention`, outputs[0].rows), (i, t) => {
        let total = outputs[0].at(i, t);
        for (let k = 1; k < outputs.length; k++) total = this.arithmetic.add(total, outputs[k].at(i, t));
        return total;
      });
    }

    feedForward({w1, b1, w2, b2}, name, h) {
      const hidden = this.linear(`${name}.hidden`, w1, h, {bias: b1, relu: true});
      return this.linear(`${name}.feed_forward`, w2, hidden, {bias: b2});
    }

    head(head, l, number, h) {
      const {arithmetic, options} = this,
        name = `layer.${l}.head.${number}`;
      const [query, key, value] = ["query", "key", "value"].map((part) => this.linear(`${name}.${part}`, head[part], h));
      const scale = options.scale ? Engine.scoreDivisor(this.model.format, head.query.rows) : null;
      this.room(query.rows);
      const {left, right} = this;
      const scores = this.square(`${name}.scores`, (i, j) => {
        for (let k = 0; k < query.rows; k++) ((left[k] = query.at(k, i)), (right[k] = key.at(k, j)));
        const score = arithmetic.inner(left, right, query.rows);
        return scale === null ? score : arithmetic.divide(score, scale);
      });
      const weights = this.weights(name, scores, l, number);
      const mixed = this.mixture(`${name}.mixed`, weights, value);
      return this.linear(`${name}.output`, head.output, mixed);
    }

    // Queries by keys; what a query does not see is 0.
    square(name, compute) {
      const {length, first, arithmetic} = this,
        stage = this.stage(name, length, length);
      for (let i = first; i < length; i++)
        for (let j = 0; j < Engine.seen(this.options.mask, i, length); j++) {
          arithmetic.flags = 0;
          const value = compute(i, j);
          stage.set(i, j, value, arithmetic.flags);
        }
      return stage;
    }

    weights(name, scores, l, head) {
      const rows = [];
      for (let i = this.first; i < this.length; i++) {
        const seen = Engine.seen(this.options.mask, i, this.length);
        const {shares, flags, zero} = Engine.distribute(
          this.arithmetic,
          scores.values.subarray(i * scores.columns, i * scores.columns + seen),
          this.options.attention,
        );
        if (zero) this.meet("zero_attention", {layer: l, head, position: i}, `${name}.weights`);
        rows.push([i, shares, flags]);
      }
      const stage = this.stage(`${name}.weights`, this.length);
      for (const [i, shares, flags] of rows) shares.forEach((share, j) => stage.set(i, j, share, flags[j]));
      return stage;
    }

    mixture(name, weights, value) {
      this.room(this.length);
      const {left, right} = this;
      return this.fill(this.stage(name, value.rows), (c, i) => {
        const seen = Engine.seen(this.options.mask, i, this.length);
        for (let j = 0; j < seen; j++) ((left[j] = weights.at(i, j)), (right[j] = value.at(c, j)));
        return this.arithmetic.inner(left, right, seen);
      });
    }

    // γ (x − mean) / √(variance + ε) + β, every step rounded.
    norm(name, x, norm, layer, into = this.stages) {
      const {arithmetic} = this,
        columns = [];
      for (let t = this.first; t < x.columns; t++) {
        const column = Engine.normed(
          arithmetic,
          Array.from({length: x.rows}, (_, i) => x.at(i, t)),
          norm,
        );
        if (column.zero) this.meet(layer === null ? "zero_final_variance" : "zero_variance", {layer, position: t}, name);
        columns.push([t, column]);
      }
      const stage = this.stage(name, x.rows, x.columns, into);
      for (const [t, {values, flags}] of columns) values.forEach((value, i) => stage.set(i, t, value, flags[i]));
      return stage;
    }

    meet(key, values, stage) {
      if (!this.tied) throw new Met({key: `engine.${key}`, values, stage, position: values.position});
    }

    // From the last residual the logits and shares, as a new column where earlier steps have theirs, and the answer's number.
    decide(residual) {
      const {arithmetic, model, options} = this,
        n = model.answers.length,
        position = this.length - 1;
      const old = this.first ? (this.stages.get("logits")?.columns ?? 0) : 0;
      const last = new Engine.Stage(residual.rows, old + 1); // so that the column's place is that of the logits
      for (let i = 0; i < residual.rows; i++) last.set(i, old, residual.at(i, position), 0);
      const logits = this.linear("logits", model.output, last, {first: old});
      let chosen = Array.from({length: n}, (_, i) => logits.at(i, old));
      if (options.answer === "softmax") {
        const kind = options.attention === "max-subtracted" ? "max-subtracted" : "softmax";
        const {shares, flags, zero} = Engine.distribute(arithmetic, chosen, kind);
        if (zero) this.meet("zero_output", {position}, "probabilities");
        const stage = this.stage("probabilities", n, old + 1);
        shares.forEach((share, i) => stage.set(i, old, share, flags[i]));
        chosen = shares;
      }
      const largest = Math.max(...chosen),
        best = chosen.indexOf(largest);
      return options.ties === "explicit" && chosen.lastIndexOf(largest) !== best ? -1 : best;
    }
  }

  // How many keys, from the first on, a query sees.
  Engine.seen = (mask, query, length) => (mask === "full" ? length : mask === "causal" ? query + 1 : query);

  // [√d_k]: d_k is a count, and is not rounded before its root.
  Engine.scoreDivisor = (format, count) => new Engine.Arithmetic(format).root(count);

  // The columns of each row that count: those that are not 0; where the first product is not rounded, the first two as well.
  const kept = new WeakMap();
  Engine.keptColumns = (weights, products) => {
    const known = kept.get(weights) ?? kept.set(weights, {}).get(weights),
      first = products === "unrounded" ? 2 : 0;
    return (known[first] ??= Array.from({length: weights.rows}, (_, i) => {
      const columns = [];
      for (let k = 0; k < weights.columns; k++) if (k < first || weights.values[i * weights.columns + k] !== 0) columns.push(k);
      return columns;
    }));
  };

  // The shares of one query over the keys that it sees: {shares, flags, zero: whether they are 0/0}.
  Engine.distribute = (arithmetic, scores, kind) => {
    const n = scores.length,
      flags = new Uint8Array(n);
    if (!n) return {shares: [], flags, zero: false};
    if (!["softmax", "max-subtracted"].includes(kind)) return {shares: hard(arithmetic, scores, kind, flags), flags, zero: false};
    let shared = 0,
      total = 0;
    const largest = kind === "max-subtracted" ? Math.max(...scores) : 0;
    const exps = Array.from(scores, (score) => {
      arithmetic.flags = 0;
      const exp = arithmetic.exp(kind === "max-subtracted" ? arithmetic.subtract(score, largest) : score);
      total = arithmetic.add(total, exp);
      shared |= arithmetic.flags;
      return exp;
    });
    const zero = total === 0;
    const shares = exps.map((exp, j) => {
      arithmetic.flags = 0;
      const share = arithmetic.divide(exp, zero ? 1 : total);
      flags[j] = shared | arithmetic.flags;
      return share;
    });
    return {shares, flags, zero};
  };

  // Weight 1 on the first or the last of the largest scores, or [1/count] on each of them.
  function hard(arithmetic, scores, kind, flags) {
    const largest = Math.max(...scores),
      best = [];
    scores.forEach((score, j) => {
      if (score === largest) best.push(j);
    });
    const chosen = kind === "leftmost" ? best.slice(0, 1) : kind === "rightmost" ? best.slice(-1) : best;
    arithmetic.flags = 0;
    const share = arithmetic.divide(arithmetic.settle(1, 0), chosen.length),
      shares = new Array(scores.length).fill(0);
    for (const j of chosen) ((shares[j] = share), (flags[j] = arithmetic.flags));
    return shares;
  }

  // LayerNorm of one column: {values, flags, zero}.
  Engine.normed = (arithmetic, x, {gain, bias, epsilon}) => {
    const d = x.length,
      total = (terms) => terms.reduce((sum, term) => arithmetic.add(sum, term), 0);
    arithmetic.flags = 0;
    const mean = arithmetic.divide(total(x), d);
    const centred = x.map((value) => arithmetic.subtract(value, mean));
    const variance = arithmetic.divide(total(centred.map((value) => arithmetic.multiply(value, value))), d);
    const deviation = arithmetic.root(arithmetic.add(variance, epsilon.values[0]));
    const shared = arithmetic.flags,
      flags = new Uint8Array(d),
      zero = deviation === 0;
    const values = centred.map((value, i) => {
      arithmetic.flags = 0;
      const ratio = arithmetic.divide(value, zero ? 1 : deviation);
      const result = arithmetic.add(arithmetic.multiply(gain.values[i], ratio), bias.values[i]);
      flags[i] = shared | arithmetic.flags;
      return result;
    });
    return {values, flags, zero};
  };

  // One input for some steps of chain of thought, each of which appends the answer.
  Engine.run = (model, tokens, steps = 1) => {
    check(model, tokens, steps);
    const chain = [],
      keep = model.options.mask !== "full";
    let all = [...tokens],
      before = null,
      met = null;
    for (let step = 0; step < steps && !met; step++) {
      if (step) all = [...all, model.vocabulary.indexOf(model.answers[Math.max(0, before.number)])];
      const pass = new Pass(model, all, keep ? before : before && {tied: before.tied}, keep && step ? all.length - 1 : 0);
      try {
        pass.number = pass.decide(pass.run());
        if (pass.tied) pass.number = -1; // there is no next token: such a chain stays tied
        pass.tied = pass.number === -1;
        chain.push(pass.tied ? "TIE" : model.answers[pass.number]);
      } catch (error) {
        if (!(error instanceof Met)) throw error;
        met = error.undefined;
        chain.push("UNDEFINED");
      }
      before = pass;
    }
    const last = (name) => {
      const stage = before.stages.get(name);
      return !stage || (met && met.stage !== "probabilities")
        ? []
        : Array.from({length: stage.rows}, (_, i) => stage.at(i, stage.columns - 1));
    };
    return {
      tokens: all,
      words: all.map((token) => model.vocabulary[token]),
      inputLength: tokens.length,
      chain,
      answer: chain.at(-1),
      undefined: met,
      logits: last("logits"),
      probabilities: met ? [] : last("probabilities"),
      stages: before.stages,
      inner: before.inner,
    };
  };

  function check(model, tokens, steps) {
    const refused = Engine.refusalOf(model);
    if (refused) throw Engine.error(refused.key.replace("engine.", ""), refused.values);
    if (!Number.isInteger(steps) || steps < 1) throw Engine.error("steps_few", {steps});
    if (!tokens.length) throw Engine.error("input_empty");
    if (tokens.length > model.maxLength) throw Engine.error("input_long", {length: tokens.length, most: model.maxLength});
    if (tokens.length + steps - 1 > model.maxLength)
      throw Engine.error("steps_many", {
        length: tokens.length,
        steps,
        positions: model.maxLength,
        most: model.maxLength - tokens.length + 1,
      });
    const missing = model.answers.find((answer) => !model.vocabulary.includes(answer));
    if (steps > 1 && missing !== undefined) throw Engine.error("steps_answers", {answer: missing});
  }
}
