// The operations: each is one exact result, rounded once. `flags` gathers what happened since it was last set to 0.
{
  Engine.ROUNDED = 1; // some operation changed a value
  Engine.SATURATED = 2; // some operation went beyond B or −B

  Engine.Arithmetic = class {
    constructor(format, products = "rounded") {
      this.format = format;
      this.products = products;
      this.flags = 0;
      this.exactProducts = 2 * format.precision <= 53; // doubles hold a product of two values
    }

    // [x + y], x + y the exact result.
    settle(x, y) {
      const {format} = this,
        result = Engine.round(format, x, y);
      if (result !== x || y !== 0) {
        this.flags |= Engine.ROUNDED;
        if (x > format.max || x < format.min || (x === format.max && y > 0) || (x === format.min && y < 0))
          this.flags |= Engine.SATURATED;
      }
      return result;
    }

    add(a, b) {
      const sum = a + b;
      return this.settle(sum, this.format.isFixed ? 0 : Engine.missingOfSum(a, b, sum));
    }

    subtract(a, b) {
      return this.add(a, -b);
    }

    multiply(a, b) {
      if (a === 0 || b === 0) return 0;
      const product = a * b;
      return this.settle(product, this.exactProducts ? 0 : Engine.missingOfProduct(a, b, product));
    }

    divide(a, b) {
      if (a === 0) return 0;
      const quotient = a / b;
      return this.settle(quotient, Engine.missingOfQuotient(a, b, quotient));
    }

    root(a) {
      if (a === 0) return 0;
      const root = Math.sqrt(a);
      return this.settle(root, Engine.missingOfRoot(a, root));
    }

    exp(a) {
      const {result, over} = Engine.expRounded(this.format, a);
      if (a !== 0 || result !== 1) this.flags |= Engine.ROUNDED;
      if (over) this.flags |= Engine.SATURATED;
      return result;
    }

    // [total + a·b], the product unrounded.
    fused(total, a, b) {
      if (a === 0 || b === 0) return total;
      if (this.exactProducts) return this.sumOfTwo(total, a * b);
      return this.settle(
        exactSum([
          [total, 1],
          [a, b],
        ]),
        0,
      );
    }

    // [a·b + c·d], neither rounded by itself.
    pair(a, b, c, d) {
      if (this.exactProducts) return this.sumOfTwo(a * b, c * d);
      return this.settle(
        exactSum([
          [a, b],
          [c, d],
        ]),
        0,
      );
    }

    sumOfTwo(x, y) {
      const sum = x + y;
      return this.settle(sum, Engine.missingOfSum(x, y, sum));
    }

    // ⟨a, b⟩ over the first `count` places: products rounded and summed left to right; fused into the running sum, which begins
    // at 0; or unrounded, where the sum begins with the first product itself.
    inner(a, b, count) {
      let total = 0,
        k = 0;
      if (this.products === "rounded") {
        for (; k < count; k++) {
          const product = this.multiply(a[k], b[k]);
          if (product !== 0) total = this.add(total, product);
        }
        return total;
      }
      if (this.products === "unrounded" && count > 1) {
        total = this.pair(a[0], b[0], a[1], b[1]);
        k = 2;
      }
      for (; k < count; k++) total = this.fused(total, a[k], b[k]);
      return total;
    }
  };

  // A sum of products, of any length, as a double rounded to odd.
  function exactSum(products) {
    const terms = products.map(([a, b]) => {
      const [m, e] = Engine.dyadic(a),
        [n, f] = Engine.dyadic(b);
      return [m * n, e + f];
    });
    const least = Math.min(...terms.map(([, exponent]) => exponent));
    const sum = terms.reduce((total, [n, exponent]) => total + (n << BigInt(exponent - least)), 0n);
    return Engine.odd(sum, least);
  }
}
