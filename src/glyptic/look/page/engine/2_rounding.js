// Rounding a double, with its error term, to a format: correctly, once.
//
// An operation's exact result is x + y: x the nearest double, y what is missing, of which only the sign is used. The boundaries
// between two values of a format (the middles, and B) have at most p + 1 ≤ 52 bits, so they are doubles; rounding to the nearest
// double never crosses a double. So x says on which side of a boundary the exact result lies, except where x is on the boundary:
// there the sign of y says it, and y = 0 is a tie. Instead of a pair there may be one double *rounded to odd* (Boldo & Melquiond
// 2008): its last bit is set where anything is missing, so it is never on a boundary by accident.
{
  // [x + y], saturating; ties by the format's rule.
  Engine.round = (format, x, y = 0) => {
    if (x === 0) return 0;
    if (x >= format.max) return format.max; // also where a little is missing of B: less than half a unit, for p ≤ 51
    if (x <= format.min) return format.min;
    return toGrid(format, x, y);
  };

  function toGrid(format, x, y) {
    const magnitude = x < 0 ? -x : x,
      more = x < 0 ? -y : y; // more > 0: the exact magnitude is larger
    if (!format.subnormals && magnitude < format.least) {
      // Between 0 and the least value; both tie rules choose 0, the smaller and the one of even rank.
      const half = format.least / 2;
      const up = magnitude > half || (magnitude === half && more > 0);
      return !up ? 0 : x < 0 ? -format.least : format.least;
    }
    let exponent = format.leastExponent;
    if (!format.isFixed) {
      const own = Engine.exponent(magnitude) - format.precision + 1;
      if (own > exponent) exponent = own;
    }
    const units = magnitude * Engine.powerOf(-exponent),
      whole = Math.floor(units),
      rest = units - whole;
    let up = rest > 0.5;
    if (rest === 0.5) up = more > 0 || (more === 0 && format.ties === "even" && whole % 2 === 1);
    const rounded = (up ? whole + 1 : whole) * Engine.powerOf(exponent);
    return x < 0 && rounded !== 0 ? -rounded : rounded;
  }

  // What is missing ---------------------------------------------------------------------------------------------------------

  // a + b = sum + missing (Knuth).
  Engine.missingOfSum = (a, b, sum) => {
    const part = sum - a;
    return a - (sum - part) + (b - part);
  };

  // a · b = product + missing (Dekker, Veltkamp): halves of 26 bits multiply exactly. |a|, |b| < 2^990 and no underflow.
  Engine.missingOfProduct = (a, b, product) => {
    const big = 134217729 * a,
      ah = big - (big - a),
      al = a - ah;
    const large = 134217729 * b,
      bh = large - (large - b),
      bl = b - bh;
    return ah * bh - product + ah * bl + al * bh + al * bl;
  };

  // The sign of what is missing of a quotient a / b: a − quotient · b, where the first difference is exact (Sterbenz).
  Engine.missingOfQuotient = (a, b, quotient) => {
    const product = quotient * b;
    const rest = a - product - Engine.missingOfProduct(quotient, b, product);
    return b < 0 ? -rest : rest;
  };

  Engine.missingOfRoot = (a, root) => {
    const square = root * root;
    return a - square - Engine.missingOfProduct(root, root, square);
  };

  // Whole numbers of any size -------------------------------------------------------------------------------------------------

  // A finite double as numerator · 2^exponent.
  Engine.dyadic = (x) => {
    if (x === 0) return [0n, 0];
    const exponent = Engine.exponent(x) - 52;
    return [BigInt(x * Engine.power(-exponent)), exponent];
  };

  Engine.fraction = (x) => {
    const [numerator, exponent] = Engine.dyadic(x);
    if (exponent >= 0) return [numerator << BigInt(exponent), 1n];
    return Engine.reduced(numerator, 1n << BigInt(-exponent));
  };

  Engine.reduced = (numerator, denominator) => {
    if (denominator < 0n) [numerator, denominator] = [-numerator, -denominator];
    let a = numerator < 0n ? -numerator : numerator,
      b = denominator;
    while (b) [a, b] = [b, a % b];
    return a ? [numerator / a, denominator / a] : [0n, 1n];
  };

  Engine.fractionText = (x) => Engine.ratioText(Engine.fraction(x));
  Engine.ratioText = ([numerator, denominator]) => (denominator === 1n ? `${numerator}` : `${numerator}/${denominator}`);

  const length = (n) => n.toString(16).length * 4; // in bits, or up to three more

  // numerator · 2^exponent / denominator as a double rounded to odd, for results in the range of normal doubles.
  Engine.odd = (numerator, exponent, denominator = 1n) => {
    if (numerator === 0n) return 0;
    let size = numerator < 0n ? -numerator : numerator;
    const shift = Math.max(0, 64 + length(denominator) - length(size));
    size = size << BigInt(shift);
    let inexact = size % denominator !== 0n;
    size /= denominator;
    exponent -= shift;
    const spare = size.toString(2).length - 53;
    if (spare > 0) {
      const kept = size >> BigInt(spare);
      inexact ||= kept << BigInt(spare) !== size;
      size = kept;
      exponent += spare;
    }
    if (inexact) size |= 1n;
    const found = Number(size) * Engine.power(exponent);
    return numerator < 0n ? -found : found;
  };

  // A value as a fraction; the largest is ∞. In two's complement the smallest value is not −B, and is written as a number.
  Engine.show = (format, x) => {
    if (x === format.max) return "∞";
    if (x === -format.max && !format.twosComplement) return "-∞";
    return Engine.fractionText(x);
  };
}
