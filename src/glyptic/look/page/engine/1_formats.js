// Finite formats, as glyptic.numbers.formats has them: all S · 2^E with |S| < 2^p and q_min ≤ E ≤ q_max, up to the largest, B.
// Values are doubles; where a format is not refused (Engine.refusal) every one of them is exact, and so is every code.
const Engine = {};
{
  // Sentences are in words/engine.json; an error carries its key, so that a page can say it in another language.
  Engine.error = (key, values = {}) => {
    const known = typeof G !== "undefined" && G.t;
    const error = new Error(known ? G.t(`engine.${key}`, values) : `engine.${key} ${JSON.stringify(values)}`);
    return Object.assign(error, {key: `engine.${key}`, values});
  };

  Engine.power = (exponent) => 2 ** exponent; // exact in the range of doubles, as every engine's ** is for whole exponents of 2

  const bits = new Float64Array(1),
    words = new Int32Array(bits.buffer);
  const high = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0; // which half of a double holds its exponent

  // floor(log2 |x|), of a normal double.
  Engine.exponent = (x) => {
    bits[0] = x;
    return ((words[high] >>> 20) & 2047) - 1023;
  };

  // 2^exponent for −1022 ≤ exponent ≤ 1023, by its bits: quicker than **.
  const POWERS = Float64Array.from({length: 2046}, (_, i) => 2 ** (i - 1022));
  Engine.powerOf = (exponent) => POWERS[exponent + 1022];

  function format(name, precision, leastExponent, greatestExponent, rest = {}) {
    const made = {
      name,
      precision,
      leastExponent,
      greatestExponent,
      top: 2 ** precision - 1,
      ties: "zero",
      defaultTies: "zero",
      subnormals: true,
      twosComplement: false,
      isExact: false,
      ...rest,
    };
    return finished(made);
  }

  // What follows from the rest: limits, codes, and the name with the tie rule where that is not the usual one.
  function finished(made) {
    const half = 2 ** (made.precision - 1),
      missing = made.subnormals ? 0 : half - 1;
    const unit = 2 ** made.leastExponent;
    const max = made.top * 2 ** made.greatestExponent;
    const maxCode = (made.greatestExponent - made.leastExponent) * half + made.top - missing;
    return Object.freeze({
      ...made,
      half,
      missing,
      unit,
      max,
      plain: made.plain ?? made.name,
      name: (made.plain ?? made.name) + (made.ties === made.defaultTies ? "" : `/${made.ties}`),
      isFixed: made.leastExponent === made.greatestExponent,
      min: -max - (made.twosComplement ? unit : 0),
      least: made.subnormals ? unit : half * unit,
      maxCode,
      minCode: -maxCode - (made.twosComplement ? 1 : 0),
    });
  }

  const fixed = (s) => format(`fixed:${s}`, 2 * s, -s, -s);
  const float = (e, s) => (e === 0 ? fixed(s) : format(`float:${e},${s}`, 2 * s, -(2 ** (e - 1)) - s, 2 ** (e - 1) - 1 - s));
  const q = (m, f) => format(`q:${m},${f}`, m + f, -f, -f, {twosComplement: true});
  const even = {ties: "even", defaultTies: "even"};
  function ieee(e, m, subnormals = true, name = `ieee:${e},${m}${subnormals ? "" : ",normal"}`) {
    const bias = 2 ** (e - 1) - 1;
    return format(name, m + 1, 1 - bias - m, bias - m, {...even, subnormals});
  }
  // An OCP format, which keeps its top exponent for numbers; `top` is the largest significand there.
  function minifloat(name, e, m, top) {
    const bias = 2 ** (e - 1) - 1;
    return format(name, m + 1, 1 - bias - m, 2 ** e - 1 - bias - m, {...even, top});
  }

  const NAMED = {
    fp32: ieee(8, 23, true, "fp32"),
    fp16: ieee(5, 10, true, "fp16"),
    bf16: ieee(8, 7, true, "bf16"),
    fp8_e5m2: ieee(5, 2, true, "fp8_e5m2"),
    fp8_e4m3: minifloat("fp8_e4m3", 4, 3, 14), // the code of 480 is NaN there: the largest is 448
    fp6_e3m2: minifloat("fp6_e3m2", 3, 2, 7),
    fp6_e2m3: minifloat("fp6_e2m3", 2, 3, 15),
    fp4_e2m1: minifloat("fp4_e2m1", 2, 1, 3),
  };
  const within = (n, low, high) => low <= n && n <= high;
  // kind -> [how many numbers, which are allowed, the format]
  const KINDS = {
    fixed: [1, (s) => within(s, 1, 512), fixed],
    float: [2, (e, s) => within(e, 0, 16) && within(s, 1, 512), float],
    q: [2, (m, f) => m >= 0 && f >= 0 && within(m + f, 1, 1024), q],
    ieee: [2, (e, m) => within(e, 2, 15) && within(m, 1, 256), ieee],
  };
  Engine.formatNames = Object.keys(NAMED);

  // The format that a text names; the inverse of its name.
  Engine.parseFormat = (text) => {
    const [name, ...rest] = String(text).trim().split("/");
    if (rest.length && !["zero", "even"].includes(rest.join("/"))) throw Engine.error("format_ties", {text: String(text)});
    const found = named(name, String(text));
    return rest.length ? Engine.withTies(found, rest[0]) : found;
  };

  Engine.withTies = (format, ties) => (format.isExact ? format : finished({...format, ties}));

  function named(name, text) {
    if (Object.hasOwn(NAMED, name)) return NAMED[name];
    const colon = name.indexOf(":");
    const kind = colon < 0 ? name : name.slice(0, colon);
    const words = colon < 0 || colon === name.length - 1 ? [] : name.slice(colon + 1).split(",");
    const normal = kind === "ieee" && words.at(-1) === "normal";
    if (normal) words.pop();
    const wrong = !words.every((word) => /^-?[0-9]{1,18}$/.test(word));
    const numbers = words.map(Number);
    if (!wrong && kind === "exact" && numbers.length <= 1 && (numbers[0] ?? 1) >= 1) return exact(numbers[0] ?? 1);
    if (wrong || !Object.hasOwn(KINDS, kind) || numbers.length !== KINDS[kind][0]) throw Engine.error("format_unknown", {text});
    const [, allowed, make] = KINDS[kind];
    if (!allowed(...numbers)) throw Engine.error("format_range", {text});
    return normal ? make(...numbers, false) : make(...numbers);
  }

  // The rationals, which a page shows but does not compute in.
  const exact = (denominator) =>
    Object.freeze({
      name: denominator === 1 ? "exact" : `exact:${denominator}`,
      isExact: true,
      denominator,
      ties: "zero",
      isFixed: false,
      twosComplement: false,
      max: NaN,
      min: NaN,
      least: NaN,
      maxCode: NaN,
      minCode: NaN,
    });

  // Why doubles do not carry a format, or null: a key of the words, with its values. Every operation here is decided by its exact
  // error term (see rounding), so that p + 2 ≤ 53 bits are enough; products, and the last bits of them, must be normal doubles.
  Engine.refusal = (format) => {
    const {name, precision, leastExponent, greatestExponent, maxCode} = format;
    if (format.isExact) return {key: "engine.refused_exact", values: {format: name}};
    if (precision > 51) return {key: "engine.refused_precision", values: {format: name, bits: precision}};
    if (leastExponent < -450) return {key: "engine.refused_small", values: {format: name, exponent: leastExponent}};
    if (greatestExponent + precision > 450) return {key: "engine.refused_large", values: {format: name}};
    if (maxCode > Number.MAX_SAFE_INTEGER) return {key: "engine.refused_codes", values: {format: name}};
    return null;
  };

  // Codes: signed ranks ---------------------------------------------------------------------------------------------------

  Engine.value = (format, code) => {
    if (!Number.isInteger(code) || code < format.minCode || code > format.maxCode)
      throw Engine.error("code", {format: format.name, code: String(code), low: format.minCode, high: format.maxCode});
    if (code === 0) return 0;
    if (format.isFixed) return code * format.unit;
    const rank = Math.abs(code) + format.missing;
    const binade = Math.max(0, Math.floor(rank / format.half) - 1);
    const magnitude = (rank - binade * format.half) * Engine.powerOf(format.leastExponent + binade);
    return code > 0 ? magnitude : -magnitude;
  };

  // The code of a value; a number that is not in the format is an error that names its neighbours.
  Engine.code = (format, x) => {
    if (Engine.round(format, x) !== x) throw Engine.notAValue(format, x);
    if (x === 0) return 0;
    if (format.isFixed) return x / format.unit;
    const magnitude = Math.abs(x);
    const exponent = Math.max(format.leastExponent, Engine.exponent(magnitude) - format.precision + 1);
    const rank = (exponent - format.leastExponent) * format.half + magnitude / Engine.powerOf(exponent) - format.missing;
    return x > 0 ? rank : -rank;
  };

  Engine.notAValue = (format, x, text = Engine.fractionText(x)) => {
    const near = Engine.code(format, Engine.round(format, x));
    const below = Engine.value(format, near) > x ? near - 1 : near;
    const shown = (code) =>
      code < format.minCode || code > format.maxCode ? "–" : Engine.show(format, Engine.value(format, code));
    return Engine.error("not_a_value", {format: format.name, number: text, below: shown(below), above: shown(below + 1)});
  };
}
