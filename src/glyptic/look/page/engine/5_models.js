// A transformer as a value: weights as doubles, never changed; what is made anew shares the rest. Parts have Python's names, so that
// a path such as "layers.0.heads.1.query" leads to a matrix {rows, columns, values}. In a format that is refused a matrix holds
// codes, as BigInts, and no values: such a model can be brought into another format, but not run.
{
  const matrix = (rows, columns, values, codes = null) => ({rows, columns, values, codes});

  function loaded(given, format) {
    const numbers = given.strings ?? given,
      shape = given.shape ?? [numbers.length];
    const rows = shape[0] ?? 1,
      columns = shape[1] ?? 1;
    if (Engine.refusal(format)) return matrix(rows, columns, null, Array.from(numbers, BigInt));
    return matrix(
      rows,
      columns,
      Float64Array.from(numbers, (code) => Engine.value(format, Number(code))),
    );
  }

  // A copy of a part of the data or the model, in which every matrix went through `change(matrix, path)`.
  function mapped(part, change, path) {
    if (part === null || part === undefined) return null;
    if (ArrayBuffer.isView(part) || part.strings || "rows" in part) return change(part, path);
    if (Array.isArray(part)) return part.map((item, i) => mapped(item, change, `${path}.${i}`));
    return Object.fromEntries(
      Object.entries(part).map(([name, item]) => [name, mapped(item, change, path ? `${path}.${name}` : name)]),
    );
  }

  const WEIGHTS = ["token_embedding", "position_embedding", "layers", "output", "final_norm"];
  const weightsOf = (from, change) => Object.fromEntries(WEIGHTS.map((name) => [name, mapped(from[name], change, name)]));

  // From what values/exact_data.py writes.
  Engine.load = (data) => {
    const format = Engine.parseFormat(data.format);
    const {name, vocabulary, answers, coordinates, options, history, newer = []} = data;
    const weights = weightsOf(data, (given) => loaded(given, format));
    return Object.freeze({
      name,
      format,
      vocabulary,
      answers,
      coordinates,
      options: Object.freeze({...options}),
      history,
      newer,
      maxLength: weights.position_embedding.rows,
      ...weights,
    });
  };

  // Why a model is not computed here, or null: for its format, or for a part that this engine does not know.
  Engine.refusalOf = (model) =>
    model.newer?.length ? {key: "engine.refused_part", values: {part: model.newer[0]}} : Engine.refusal(model.format);

  // Every matrix with its path, in order.
  Engine.parts = (model) => {
    const found = [];
    weightsOf(model, (part, path) => {
      found.push([path, part]);
      return part;
    });
    return found;
  };

  // Every weight rounded to another format; B stays B and −B stays −B, for ∞ is meant.
  Engine.inFormat = (model, given) => {
    const format = typeof given === "string" ? Engine.parseFormat(given) : given,
      old = model.format;
    const refused = Engine.refusal(format);
    if (refused) throw Engine.error(refused.key.replace("engine.", ""), refused.values);
    const rounded = (x) => {
      if (x === old.max) return format.max;
      return x === -old.max ? -format.max : Engine.round(format, x);
    };
    const change = (part) =>
      part.values
        ? {...part, values: part.values.map(rounded)}
        : matrix(
            part.rows,
            part.columns,
            Float64Array.from(part.codes, (code) => fromCode(old, code, format)),
          );
    return Object.freeze({...model, format, ...weightsOf(model, change)});
  };

  // A code of a format that doubles do not carry, rounded to one that they do.
  function fromCode(old, code, format) {
    if (old.isExact) return Engine.round(format, Engine.odd(code, 0, BigInt(old.denominator)));
    const one = 1n,
      half = one << BigInt(old.precision - 1),
      rank = code < 0n ? -code : code;
    const span = BigInt(old.greatestExponent - old.leastExponent),
      missing = old.subnormals ? 0n : half - one;
    if (rank === span * half + 2n * half - one - missing && !(old.twosComplement && code < -rank))
      return code < 0n ? -format.max : format.max;
    if (code === 0n) return 0;
    const place = rank + missing,
      binade = old.isFixed || place < 2n * half ? 0n : place / half - one;
    const [low, high] = [old.leastExponent + Number(binade) > 900, old.leastExponent + Number(binade) + old.precision < -900];
    if (low) return code < 0n ? format.min : format.max;
    if (high) return 0;
    const size = Engine.odd(place - binade * half, old.leastExponent + Number(binade));
    return Engine.round(format, code < 0n ? -size : size);
  }

  const CHOICES = {
    products: ["rounded", "fused", "unrounded"],
    attention: ["softmax", "max-subtracted", "leftmost", "rightmost", "average"],
    scale: [true, false],
    mask: ["causal", "strict", "full"],
    norm: ["none", "pre", "post"],
    answer: ["softmax", "logits"],
    ties: ["explicit", "first"],
  };
  Engine.choices = CHOICES;

  // The same weights, read otherwise.
  Engine.withOptions = (model, changes) => {
    for (const [name, value] of Object.entries(changes))
      if (!CHOICES[name]?.includes(value))
        throw Engine.error("option", {name, value: String(value), known: (CHOICES[name] ?? Object.keys(CHOICES)).join(", ")});
    const options = Object.freeze({...model.options, ...changes});
    for (const layer of model.layers)
      for (const [norm, used] of [
        [layer.attention_norm, layer.heads.length > 0],
        [layer.feed_forward_norm, layer.feed_forward !== null],
      ])
        if (options.norm === "none" ? norm !== null : used && norm === null)
          throw Engine.error("option_norm", {value: options.norm});
    if (options.scale && model.layers.some((layer) => layer.heads.some((head) => head.query.rows === 0)))
      throw Engine.error("option_scale");
    return Object.freeze({...model, options});
  };

  // One weight changed: a number as people write it, which must be in the format.
  Engine.withWeight = (model, path, row, column, text) => {
    const refused = Engine.refusalOf(model);
    if (refused) throw Engine.error(refused.key.replace("engine.", ""), refused.values);
    const number = Engine.number(model.format, text),
      within = (n, most) => Number.isInteger(n) && n >= 0 && n < most;
    let found = false;
    const change = (part, own) => {
      if (own !== path || !within(row, part.rows) || !within(column, part.columns)) return part;
      found = true;
      if (path.endsWith(".epsilon") && number < 0) throw Engine.error("epsilon", {number: Engine.show(model.format, number)});
      const values = part.values.slice();
      values[row * part.columns + column] = number;
      return {...part, values};
    };
    const weights = weightsOf(model, change);
    if (!found) throw Engine.error("no_weight", {path, row, column});
    return Object.freeze({...model, ...weights});
  };

  // A value of the format from what people write: 3, 0.25, 1/2, B or ∞ for the largest value, -B for its negative.
  Engine.number = (format, text) => {
    const name = String(text).trim().replaceAll("−", "-").replaceAll("∞", "B");
    if (["B", "+B", "-B"].includes(name)) return name[0] === "-" ? -format.max : format.max;
    const match = /^([+-]?)(\d+)(?:\/(\d+)|(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?)$/.exec(name.replace(/^([+-]?)\./, "$10."));
    if (!match || (match[3] && /^0+$/.test(match[3])) || name.length > 400) throw Engine.error("no_number", {text: String(text)});
    const [, sign, whole, below = "1", places = "", ten = "0"] = match;
    let numerator = BigInt(whole + places) * (sign === "-" ? -1n : 1n),
      denominator = BigInt(below) * 10n ** BigInt(places.length);
    if (Number(ten) > 0) numerator *= 10n ** BigInt(ten);
    else denominator *= 10n ** BigInt(-Number(ten));
    const ratio = Engine.reduced(numerator, denominator),
      size = ratio[0].toString(2).length - ratio[1].toString(2).length;
    const odd =
      size > 900
        ? Math.sign(Number(sign + 1)) * 2 ** 900
        : size < -900
          ? Number(`${sign}1`) * 2 ** -900
          : Engine.odd(ratio[0], 0, ratio[1]);
    if (Engine.round(format, odd) !== odd)
      throw Engine.notAValue(format, odd, Math.abs(size) > 900 ? name : Engine.ratioText(ratio));
    return odd;
  };

  // An input as token numbers: a text is read by characters if all tokens are single characters, else by words.
  Engine.tokens = (model, text) => {
    const single = model.vocabulary.every((token) => [...token].length === 1);
    const words = Array.isArray(text) ? text : single ? [...text] : text.split(/\s+/).filter((word) => word);
    if (!words.length) throw Engine.error("input_empty");
    words.forEach((token, place) => {
      if (!model.vocabulary.includes(token))
        throw Engine.error("input_token", {token, place, vocabulary: model.vocabulary.join(" ")});
    });
    if (words.length > model.maxLength) throw Engine.error("input_long", {length: words.length, most: model.maxLength});
    return words.map((token) => model.vocabulary.indexOf(token));
  };
}
