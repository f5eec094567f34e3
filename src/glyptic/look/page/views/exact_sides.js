// A side: one model on one input, run here or recorded; every part of the view asks it for cells and does not care which.
{
  const X = (G.exact ??= {});

  X.isResidual = (name) => name === "embedding" || name === "final_norm" || name.includes(".after_");
  X.layerOf = (stage) => {
    const found = /^layer\.(\d+)\./.exec(stage ?? "");
    return found ? Number(found[1]) : null;
  };

  // The residual stream's stages, those in which nothing can happen left out.
  function residualStages(model, has) {
    const found = ["embedding"];
    model.layers.forEach((layer, l) => {
      if (layer.heads.length) found.push(`layer.${l}.after_attention`);
      if (layer.feed_forward || !layer.heads.length) found.push(`layer.${l}.after_feed_forward`);
    });
    if (model.final_norm) found.push("final_norm");
    return found.filter(has);
  }

  // Every stage that there is, in order, for the list to choose from.
  const stageNames = (stages) => [...stages.keys()];

  X.live = (model, tokens, steps) => {
    const run = Engine.run(model, tokens, steps),
      {format} = model;
    const shown = new Map();
    const text = (x) => {
      let found = shown.get(x);
      if (found === undefined) shown.set(x, (found = Engine.show(format, x)));
      return found;
    };
    const stage = (name) => run.stages.get(name) ?? run.inner.get(name);
    return {
      model,
      run,
      recorded: false,
      words: run.words,
      chain: run.chain,
      answer: run.answer,
      show: text,
      why: run.undefined ? G.t(run.undefined.key, run.undefined.values) : "",
      residual: residualStages(model, (name) => run.stages.has(name)),
      stages: stageNames(run.stages),
      has: (name) => Boolean(stage(name)),
      shape: (name) => [stage(name).rows, stage(name).columns],
      value: (name, i, j) => stage(name).at(i, j),
      text: (name, i, j) => text(stage(name).at(i, j)),
      key: (name, i, j) => stage(name).at(i, j),
      flags: (name, i, j) => stage(name).flags[i * stage(name).columns + j],
      logits: run.logits.map(text),
      probabilities: run.probabilities.map(text),
      limits: {max: Engine.fractionText(format.max), least: Engine.fractionText(format.least)},
    };
  };

  // `key` tells numbers apart: here their texts, for the doubles beside them are near and no more.
  X.recording = (model, recorded) => {
    const {stages} = recorded,
      stage = (name) => stages[name];
    const at = (name, i, j) => stage(name).index[i * stage(name).index.shape[1] + j];
    return {
      model,
      run: null,
      recorded: true,
      words: recorded.words,
      chain: recorded.chain,
      answer: recorded.chain.at(-1),
      why: recorded.why ? G.t(recorded.why.key, recorded.why.values) : "",
      show: String,
      leftOut: recorded.left_out,
      residual: residualStages(model, (name) => Object.hasOwn(stages, name)),
      stages: Object.keys(stages),
      has: (name) => Object.hasOwn(stages, name),
      shape: (name) => stage(name).index.shape,
      value: (name, i, j) => stage(name).sizes[at(name, i, j)],
      text: (name, i, j) => stage(name).texts[at(name, i, j)],
      key: (name, i, j) => stage(name).texts[at(name, i, j)],
      flags: () => 0,
      logits: recorded.logits ?? [],
      probabilities: recorded.probabilities ?? [],
      limits: recorded.limits ?? {},
    };
  };

  // Row names of a stage: coordinates, answers, positions or numbers.
  X.rowNames = (side, stage) => {
    const [rows] = side.shape(stage),
      {model} = side;
    if (X.isResidual(stage) || /\.(attention|feed_forward|output)$/.test(stage)) return model.coordinates;
    if (stage === "logits" || stage === "probabilities") return model.answers;
    if (/\.(scores|weights)$/.test(stage)) return side.words.map((word, i) => `${i} ${word}`);
    return Array.from({length: rows}, (_, i) => String(i));
  };

  X.stageTitle = (stage) => {
    const [first, l, kind, h, part] = stage.split(".");
    if (first !== "layer") return G.t(`exact.stage_${stage}`);
    if (kind === "head") return G.t(`exact.stage_head_${part}`, {l, h});
    return G.t(`exact.stage_${kind}`, {l});
  };

  // From the state to the model that is run: format, options, then the weights that were changed.
  X.edited = (base, state, format = state.get("format")) => {
    let model = base;
    const problems = {};
    const attempt = (field, change) => {
      try {
        model = change(model);
      } catch (error) {
        if (!error.key) throw error;
        problems[field] = error.message;
      }
    };
    if (format) attempt("format", (now) => Engine.inFormat(now, format));
    for (const name of Object.keys(Engine.choices)) {
      const value = state.get(`o.${name}`);
      if (value !== null)
        attempt("options", (now) => Engine.withOptions(now, {[name]: name === "scale" ? value === "true" : value}));
    }
    for (const [path, row, column, text] of X.edits(state))
      attempt("weights", (now) => Engine.withWeight(now, path, row, column, text));
    if (written(state).length > MOST_EDITS) problems.weights = X.tooMany();
    return {model, problems};
  };

  const MOST_EDITS = 40;
  // w=path:row:column:number;… as the link has it.
  const written = (state) => String(state.get("w", "")).split(";").filter(Boolean);
  X.edits = (state) =>
    written(state)
      .slice(0, MOST_EDITS)
      .map((edit) => {
        const [path, row, column, text] = edit.split(":");
        const whole = (digits) => (/^\d{1,9}$/.test(digits) ? Number(digits) : NaN);
        return [path, whole(row), whole(column), text ?? ""];
      });
  X.tooMany = () => G.t("exact.edits_many", {n: MOST_EDITS});
  // The same with one change more, or null where a link carries no more.
  X.withEdit = (state, path, row, column, text) => {
    const kept = X.edits(state).filter((edit) => edit[0] !== path || edit[1] !== row || edit[2] !== column);
    return kept.length >= MOST_EDITS ? null : [...kept, [path, row, column, text]].map((edit) => edit.join(":")).join(";");
  };

  // The input as the link has it: a text, or numbers of tokens where a text would be read otherwise (a token with a space in it).
  X.inputState = (model, tokens) => {
    const text = X.inputText(
      model,
      tokens.map((token) => model.vocabulary[token]),
    );
    let read = [];
    try {
      read = Engine.tokens(model, text);
    } catch (error) {
      if (!error.key) throw error;
    }
    return read.join() === tokens.join() ? {input: text, tokens: null} : {input: null, tokens: tokens.join(".")};
  };
  X.inputFrom = (model, state, given) => {
    const numbers = state.get("tokens");
    if (numbers === null) return Engine.tokens(model, state.get("input", given));
    return Engine.tokens(
      model,
      numbers.split(".").map((word) => (/^\d+$/.test(word) ? model.vocabulary[Number(word)] : null) ?? word),
    );
  };

  X.inputText = (model, words) => words.join(model.vocabulary.every((token) => [...token].length === 1) ? "" : " ");
}
