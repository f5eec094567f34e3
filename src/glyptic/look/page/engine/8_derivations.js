// Where a cell comes from: for every stage, the steps that made it, from the cells of the stages before.
{
  class Derivation {
    constructor(model, run) {
      Object.assign(this, {model, run, steps: new Engine.Steps(model), options: model.options});
    }

    // A cell of a stage, as a term.
    cell(stage, row, column, name) {
      return {name, value: stageOf(this.run, stage).at(row, column), stage, row, column};
    }

    weight(path, part, row, column, name) {
      return {name, value: part.values[row * part.columns + column], path, row, column};
    }

    // The residual at a position: h[flag, 3], or what a norm before the sublayer made of it, ĥ[flag, 3].
    residual(stage, column, normed = false) {
      return (row) => this.cell(stage, row, column, `${normed ? "ĥ" : "h"}[${this.model.coordinates[row]}, ${column}]`);
    }

    // Where a layer's sublayer finds its input: [stage, whether it was normed].
    inputOf(l, kind) {
      const before = this.before(l, kind),
        {model, options} = this;
      const norm = model.layers[l][`${kind}_norm`];
      return options.norm === "pre" && norm ? [`layer.${l}.${kind}_norm`, true] : [before, false];
    }

    before(l, kind) {
      if (kind === "feed_forward") return `layer.${l}.after_attention`;
      return l === 0 ? "embedding" : `layer.${l - 1}.after_feed_forward`;
    }

    // Σ_k W[row, k] · x(k), zero weights counted and left out.
    linear(path, part, row, rowName, columnName, x, symbol) {
      const kept = Engine.keptColumns(part, this.options.products)[row];
      const pairs = kept.map((k) => [this.weight(path, part, row, k, `${symbol}[${rowName}, ${columnName(k)}]`), x(k)]);
      return this.steps.inner(pairs, part.columns - kept.length);
    }

    embedding(row, column) {
      const {model, run} = this,
        name = model.coordinates[row],
        token = run.tokens[column];
      this.steps.add(
        this.weight("token_embedding", model.token_embedding, token, row, `E[${model.vocabulary[token]}, ${name}]`),
        this.weight("position_embedding", model.position_embedding, column, row, `P[${column}, ${name}]`),
      );
    }

    projection(l, h, part, row, column) {
      const symbol = {query: "W_Q", key: "W_K", value: "W_V"}[part];
      const x = this.residual(this.inputOf(l, "attention")[0], column, this.inputOf(l, "attention")[1]);
      this.linear(
        `layers.${l}.heads.${h}.${part}`,
        this.model.layers[l].heads[h][part],
        row,
        row,
        (k) => this.model.coordinates[k],
        x,
        symbol,
      );
    }

    scores(l, h, i, j) {
      const name = `layer.${l}.head.${h}`,
        rows = this.model.layers[l].heads[h].query.rows;
      if (!this.sees(i, j)) return this.masked();
      const pairs = Array.from({length: rows}, (_, k) => [
        this.cell(`${name}.query`, k, i, `q[${k}, ${i}]`),
        this.cell(`${name}.key`, k, j, `k[${k}, ${j}]`),
      ]);
      const score = this.steps.inner(pairs);
      if (!this.options.scale) return undefined;
      return this.steps.divide(score, {name: "√d_k", value: Engine.scoreDivisor(this.model.format, rows)}, "score");
    }

    sees(i, j) {
      return j < Engine.seen(this.options.mask, i, this.run.tokens.length);
    }

    masked() {
      this.steps.steps.push({op: "masked", left: null, right: null, exact: "0", result: 0, rounded: false, saturated: false});
    }

    weights(l, h, i, j) {
      if (!this.sees(i, j)) return this.masked();
      const scores = [],
        stage = `layer.${l}.head.${h}.scores`;
      for (let k = 0; this.sees(i, k) && k < this.run.tokens.length; k++)
        scores.push(this.cell(stage, i, k, `⟨q, k⟩[${i}, ${k}]`));
      return this.share(scores, j, this.options.attention, `layer.${l}.head.${h}.weights`);
    }

    // One of the shares that scores give, by softmax or to the largest.
    share(scores, j, kind, stage) {
      const {steps} = this;
      if (!["softmax", "max-subtracted"].includes(kind)) return this.hard(scores, j, kind);
      let terms = scores;
      if (kind === "max-subtracted") {
        const largest = steps.max(scores);
        terms = scores.map((score) => steps.subtract(score, largest, `${score.name} − max`));
      }
      const exps = terms.map((term) => steps.exp(term, `exp(${term.name})`));
      return this.quotient(exps[j], steps.total(exps, "Σ exp"), stage);
    }

    // a / b; where b is 0 the run has no value from here on, unless it had tied before, and goes on as if it were 1.
    quotient(a, b, stage) {
      if (b.value !== 0) return this.steps.divide(a, b, `${a.name} / ${b.name}`);
      if (!stageOf(this.run, stage, false)) return this.steps.undefined(a, b);
      return this.steps.divide(a, {name: "1", value: 1}, a.name);
    }

    hard(scores, j, kind) {
      const {steps} = this,
        largest = steps.max(scores);
      const best = scores.flatMap(({value}, k) => (value === largest.value ? [k] : []));
      const chosen = kind === "leftmost" ? best.slice(0, 1) : kind === "rightmost" ? best.slice(-1) : best;
      const here = chosen.includes(j);
      const one = steps.wrote("1", "choose", scores[j], largest, here ? "1" : "0", (use) => (here ? use.settle(1, 0) : 0), {
        chosen: here,
        count: chosen.length,
      });
      if (here && chosen.length > 1) steps.divide(one, {name: "n", value: chosen.length}, "1/n");
    }

    mixed(l, h, row, i) {
      const name = `layer.${l}.head.${h}`,
        pairs = [];
      for (let j = 0; this.sees(i, j) && j < this.run.tokens.length; j++)
        pairs.push([this.cell(`${name}.weights`, i, j, `s[${i}, ${j}]`), this.cell(`${name}.value`, row, j, `v[${row}, ${j}]`)]);
      this.steps.inner(pairs);
      if (!pairs.length) this.masked();
    }

    output(l, h, row, column) {
      const x = (k) => this.cell(`layer.${l}.head.${h}.mixed`, k, column, `m[${k}, ${column}]`);
      this.linear(
        `layers.${l}.heads.${h}.output`,
        this.model.layers[l].heads[h].output,
        row,
        this.model.coordinates[row],
        (k) => k,
        x,
        "W_O",
      );
    }

    attention(l, row, column) {
      const name = this.model.coordinates[row];
      const terms = this.model.layers[l].heads.map((_, h) =>
        this.cell(`layer.${l}.head.${h}.output`, row, column, `o${h}[${name}, ${column}]`),
      );
      if (terms.length === 1) this.steps.copy(terms[0]);
      else terms.reduce((sum, term) => this.steps.add(sum, term, "sum"));
    }

    hidden(l, row, column) {
      const {w1, b1} = this.model.layers[l].feed_forward,
        path = `layers.${l}.feed_forward`;
      const x = this.residual(this.inputOf(l, "feed_forward")[0], column, this.inputOf(l, "feed_forward")[1]);
      const sum = this.linear(`${path}.w1`, w1, row, row, (k) => this.model.coordinates[k], x, "W_1");
      this.steps.relu(this.steps.add(sum, this.weight(`${path}.b1`, b1, row, 0, `b_1[${row}]`)));
    }

    feedForward(l, row, column) {
      const {w2, b2} = this.model.layers[l].feed_forward,
        path = `layers.${l}.feed_forward`,
        name = this.model.coordinates[row];
      const x = (k) => this.cell(`layer.${l}.hidden`, k, column, `u[${k}, ${column}]`);
      const sum = this.linear(`${path}.w2`, w2, row, name, (k) => k, x, "W_2");
      this.steps.add(sum, this.weight(`${path}.b2`, b2, row, 0, `b_2[${name}]`));
    }

    // What the residual is after a sublayer: the sum, or its norm; or as it was, where there is no such sublayer.
    after(l, kind, row, column) {
      const layer = this.model.layers[l],
        there = kind === "attention" ? layer.heads.length > 0 : layer.feed_forward !== null;
      const norm = layer[`${kind}_norm`];
      if (!there) return this.steps.copy(this.residual(this.before(l, kind), column)(row));
      if (this.options.norm === "post" && norm)
        return this.norm(norm, `layers.${l}.${kind}_norm`, `layer.${l}.${kind}_sum`, `layer.${l}.after_${kind}`, row, column);
      return this.sum(l, kind, row, column);
    }

    sum(l, kind, row, column) {
      const name = this.model.coordinates[row],
        symbol = kind === "attention" ? "a" : "f";
      return this.steps.add(
        this.residual(this.before(l, kind), column)(row),
        this.cell(`layer.${l}.${kind}`, row, column, `${symbol}[${name}, ${column}]`),
      );
    }

    norm(norm, path, from, stage, row, column) {
      const {steps, model} = this,
        d = {name: "d", value: model.coordinates.length};
      const x = model.coordinates.map((name, i) => this.cell(from, i, column, `h[${name}, ${column}]`));
      const mean = steps.divide(steps.total(x), d, "μ", "mean");
      const centred = x.map((term) => steps.subtract(term, mean, `(${term.name} − μ)`));
      const squares = centred.map((term) =>
        term.value === 0 ? {name: `${term.name}²`, value: 0} : steps.multiply(term, term, `${term.name}²`),
      );
      const variance = steps.divide(steps.total(squares), d, "σ²", "mean");
      const deviation = steps.root(
        steps.add(variance, this.weight(`${path}.epsilon`, norm.epsilon, 0, 0, "ε"), "add", "σ² + ε"),
        "σ",
      );
      const quotient = this.quotient(centred[row], deviation, stage);
      if (quotient.value === null) return;
      const name = model.coordinates[row];
      const scaled = steps.multiply(this.weight(`${path}.gain`, norm.gain, row, 0, `γ[${name}]`), quotient);
      steps.add(scaled, this.weight(`${path}.bias`, norm.bias, row, 0, `β[${name}]`));
    }

    // The position whose residual a column of the logits is made of: one a step, or the last alone.
    positionOf(column) {
      const {run} = this;
      return this.options.mask === "full" ? run.tokens.length - 1 : run.inputLength - 1 + column;
    }

    lastStage() {
      const {model} = this;
      return model.final_norm ? "final_norm" : this.before(model.layers.length, "attention");
    }

    logits(row, column) {
      const x = this.residual(this.lastStage(), this.positionOf(column));
      this.linear("output", this.model.output, row, this.model.answers[row], (k) => this.model.coordinates[k], x, "θ");
    }

    probabilities(row, column) {
      const {answers} = this.model,
        kind = this.options.attention === "max-subtracted" ? "max-subtracted" : "softmax";
      this.share(
        answers.map((answer, i) => this.cell("logits", i, column, `ℓ[${answer}]`)),
        row,
        kind,
        "probabilities",
      );
    }

    of(stage, row, column) {
      const {model} = this,
        [first, l, kind, h, part] = stage.split("."),
        layer = Number(l),
        head = Number(h);
      if (first !== "layer") {
        if (stage !== "final_norm") return this[stage](row, column);
        return this.norm(model.final_norm, "final_norm", this.before(model.layers.length, "attention"), stage, row, column);
      }
      if (kind === "head")
        return ["query", "key", "value"].includes(part)
          ? this.projection(layer, head, part, row, column)
          : this[part](layer, head, row, column);
      if (kind === "attention" || kind === "hidden") return this[kind](layer, row, column);
      if (kind === "feed_forward") return this.feedForward(layer, row, column);
      const sublayer = kind.includes("attention") ? "attention" : "feed_forward";
      if (kind.startsWith("after_")) return this.after(layer, sublayer, row, column);
      if (kind.endsWith("_sum")) return this.sum(layer, sublayer, row, column);
      return this.norm(model.layers[layer][kind], `layers.${l}.${kind}`, this.before(layer, sublayer), stage, row, column);
    }
  }

  function stageOf(run, name, must = true) {
    const found = run.stages.get(name) ?? run.inner.get(name);
    if (!found && must) throw Engine.error("no_stage", {stage: name});
    return found;
  }

  // The steps that made a cell, in order; the last one's result is the cell. Also of the stage at which 0/0 was met.
  Engine.derive = (model, run, stage, row, column) => {
    if (stage !== run.undefined?.stage) stageOf(run, stage);
    const derivation = new Derivation(model, run);
    derivation.of(stage, row, column);
    const {steps} = derivation.steps;
    if (!steps.length) derivation.steps.zeros(0, true);
    return steps;
  };
}
