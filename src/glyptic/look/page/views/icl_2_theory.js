// The closed forms of glyptic.icl.theory, line by line: the map that training ends at, its loss, its risk under any shift.
{
  const {
    zeros,
    eye,
    diagonal,
    transpose,
    times,
    plus,
    minus,
    dot,
    apply,
    outer,
    trace,
    inner,
    symmetric,
    norm,
    scaled,
    added,
    product,
    solve,
    eigen,
    through,
  } = G.icl.algebra;

  // A law of prompts: Λ, Ψ, N, s²; τ = tr(ΛΨ) + s² is the power of a label.
  function law(L, Psi, N, s2) {
    const signal = inner(L, Psi);
    return {d: L.length, L, Psi, N, s2, signal, tau: signal + s2};
  }

  // P* = ((1+1/N) ΨΛ + τ/N I)⁻¹Ψ, symmetric.
  function optimalMap({d, L, Psi, N, tau}) {
    return symmetric(solve(plus(times(1 + 1 / N, product(Psi, L)), times(tau / N, eye(d))), Psi));
  }

  // Where P* goes as N grows: Λ⁻¹ if Ψ is invertible; else the same on what Ψ reaches, Ψ^½(Ψ^½ΛΨ^½)⁺Ψ^½.
  function limitMap({L, Psi}) {
    const root = through(Psi, (x) => Math.sqrt(Math.max(0, x))),
      {values, vectors} = eigen(product(product(root, L), root));
    const inverse = values.map((x) => (x > 1e-12 * values[0] ? 1 / x : 0));
    const middle = product(product(vectors, diagonal(inverse)), transpose(vectors));
    return symmetric(product(product(root, middle), root));
  }

  const curvature = ({L, Psi, N, tau}) => plus(times(1 + 1 / N, product(product(L, Psi), L)), times(tau / N, L));

  // L* = (1/2N) tr(Λ(ΨΛ + τI)P*), so that large N cancels nothing.
  function minimumLoss(p) {
    const rest = plus(product(p.Psi, p.L), times(p.tau, eye(p.d)));
    return trace(product(product(p.L, rest), optimalMap(p))) / (2 * p.N);
  }

  // L − L* of weights with p1 = k = 0 and p2 K = X.
  function excessOfMap(p, X) {
    const difference = minus(X, optimalMap(p));
    return inner(product(curvature(p), difference), product(difference, p.L)) / 2;
  }

  // E(ŷ − ⟨w, x_q⟩)² of ŷ = bᵀPx_q: what stays for M → ∞, and what falls as 1/M.
  function shiftedRisk(P, {context, query, task, s2}, M) {
    const lack = minus(product(transpose(P), context), eye(P.length));
    const sigma = plus(times(inner(context, task) + s2, context), product(product(context, task), context));
    const stays = inner(query, product(product(lack, task), transpose(lack)));
    const falls = inner(product(product(P, query), transpose(P)), sigma);
    return {stays, falls, total: stays + falls / M};
  }
  const unshifted = (p) => ({context: p.L, query: p.L, task: p.Psi, s2: p.s2});
  const power = (shift) => inner(shift.query, shift.task); // the risk of answering 0

  // Λ = diag(λ), λ_i ~ Exp(1) anew in every prompt: the best map is p·I.
  function randomCovariance({d, s2}, N, M) {
    const [m1, m2, m3] = [1, 2, 6],
      square = (n) => (1 + 1 / n) * m3 + (m3 + (d - 1) * m1 * m2 + s2 * m2) / n;
    const p = m2 / square(N);
    return {p, risk: d * (m1 - 2 * p * m2 + p * p * square(M))};
  }

  // The largest σ of the theorem: σ²‖Γ‖√d < 2; Γ = P*⁻¹ for an invertible Ψ.
  function threshold(p) {
    const {values} = eigen(optimalMap(p));
    return Math.sqrt((2 * values[values.length - 1]) / Math.sqrt(p.d));
  }

  // ------------------------------------------------------------ the loss on all (d+1)² weights: p1, p2, K by rows, k

  const split = (theta, d) => ({
    p1: theta.slice(0, d),
    p2: theta[d],
    K: G.icl.algebra.fromFlat(theta, d, d, d + 1),
    k: theta.slice(d + 1 + d * d),
  });
  const joined = ({p1, p2, K, k}) => [...p1, p2, ...K.flat(), ...k];

  function lossAndGradient(p, theta) {
    const {d} = p,
      weights = split(theta, d);
    const terms = [contextTerm(p, weights), queryTerm(p, weights), crossTerm(p, weights), targetTerm(p, weights)];
    const slope = new Array(theta.length).fill(0);
    let value = p.signal;
    for (const term of terms) {
      value += term.value;
      joined(term).forEach((x, i) => {
        slope[i] += x / 2;
      });
    }
    return {value: value / 2, slope};
  }

  function contextTerm({L, Psi, N, tau}, {p1, p2, K, k}) {
    const once = 1 + 1 / N,
      twice = 1 / N,
      LPsi = product(L, Psi),
      PsiL = transpose(LPsi),
      LPsiL = product(LPsi, L);
    const power2 = tau * tau + 2 * inner(LPsi, transpose(LPsi));
    const KL = product(K, L),
      Lk = apply(L, k),
      b = apply(L, p1),
      M = product(KL, transpose(K)),
      h = apply(K, Lk),
      c = dot(k, Lk),
      q = dot(p1, b);
    const LPsib = apply(LPsi, b),
      PsiLh = apply(PsiL, h),
      Psib = apply(Psi, b),
      Mb = apply(M, b);
    const label = dot(b, Psib) + p2 * p2 * power2,
      shared = q * tau + p2 * p2 * power2,
      traceML = inner(M, L),
      traceM = inner(M, LPsiL),
      bh = dot(b, h),
      hb = dot(h, LPsib);
    const A1 = dot(b, Mb) + p2 * p2 * traceM + 2 * p2 * (tau * bh + hb) + c * label;
    const A2 = traceML * (q + p2 * p2 * tau) + 4 * p2 * hb + c * shared;
    const forM = plus(times(once, plus(outer(b, b), times(p2 * p2, LPsiL))), times(twice * (q + p2 * p2 * tau), L));
    const forh = added(scaled(once * 2 * p2, added(scaled(tau, b), LPsib)), scaled(twice * 4 * p2, LPsib));
    const forb = added(
      scaled(once * 2, added(Mb, scaled(p2, added(scaled(tau, h), PsiLh)), scaled(c, Psib))),
      scaled(twice * 4 * p2, PsiLh),
    );
    const forq = twice * (traceML + c * tau);
    const forp2 =
      once * 2 * (p2 * traceM + tau * bh + hb + c * p2 * power2) +
      twice * (2 * p2 * tau * traceML + 4 * hb + 2 * c * p2 * power2);
    return {
      value: once * A1 + twice * A2,
      p1: added(apply(L, forb), scaled(2 * forq, b)),
      p2: forp2,
      K: plus(times(2, product(forM, KL)), outer(forh, Lk)),
      k: added(apply(transpose(KL), forh), scaled(2 * (once * label + twice * shared), Lk)),
    };
  }

  function queryTerm({d, L, N}, {p1, K: K0}) {
    const K = symmetric(K0),
      b = apply(L, p1),
      LK = product(L, K),
      v = apply(K, b),
      q = dot(p1, b),
      t = trace(LK),
      square = inner(LK, transpose(LK)),
      bv = dot(b, v),
      Lv = apply(L, v),
      n = 1 / (N * N);
    const forv = added(scaled(4 * t, b), scaled(16, Lv));
    const forK = plus(plus(times(2 * q * t + 4 * bv, L), times(4 * q, product(LK, L))), symmetric(outer(forv, b)));
    const forp1 = added(scaled(2 * (t * t + 2 * square), b), apply(L, added(scaled(4 * t, v), apply(K, forv))));
    return {
      value: n * (q * (t * t + 2 * square) + 4 * t * bv + 8 * dot(v, Lv)),
      p1: scaled(n, forp1),
      p2: 0,
      K: times(n, forK),
      k: new Array(d).fill(0),
    };
  }

  function crossTerm({L, N, tau}, {p1, p2, K: K0, k}) {
    const K = symmetric(K0),
      b = apply(L, p1),
      t = inner(L, K),
      mean = added(apply(transpose(K0), b), scaled(p2 * tau, k)),
      cubic = added(scaled(t, b), scaled(2, apply(L, apply(K, b)))),
      n = 2 / N;
    const forv = scaled(2, apply(L, mean));
    const forK = plus(plus(outer(b, cubic), times(dot(b, mean), L)), symmetric(outer(forv, b)));
    const forp1 = apply(L, added(apply(K0, cubic), scaled(t, mean), apply(K, forv)));
    return {
      value: n * dot(mean, cubic),
      p1: scaled(n, forp1),
      p2: n * tau * dot(k, cubic),
      K: times(n, forK),
      k: scaled(n * p2 * tau, cubic),
    };
  }

  function targetTerm({L, Psi}, {p1, p2, K, k}) {
    const signal = product(product(L, Psi), L),
      forp2 = inner(K, signal),
      Sk = apply(signal, k);
    return {
      value: -2 * (dot(p1, Sk) + p2 * forp2),
      p1: scaled(-2, Sk),
      p2: -2 * forp2,
      K: times(-2 * p2, signal),
      k: scaled(-2, apply(signal, p1)),
    };
  }

  // The gradient is a cubic, so Richardson's second step removes all of the error of central differences.
  function hessian(p, theta) {
    const n = theta.length,
      size = 0.05 * (1 + Math.sqrt(dot(theta, theta))),
      rows = [];
    const difference = (i, h) => {
      const up = [...theta],
        down = [...theta];
      up[i] += h;
      down[i] -= h;
      const a = lossAndGradient(p, up).slope,
        b = lossAndGradient(p, down).slope;
      return a.map((x, j) => (x - b[j]) / (2 * h));
    };
    for (let i = 0; i < n; i++) {
      const one = difference(i, size),
        two = difference(i, 2 * size);
      rows.push(one.map((x, j) => (4 * x - two[j]) / 3));
    }
    return symmetric(rows);
  }

  // The kind of a critical point by the signs of its Hessian.
  function classify(p, theta, tolerance = 1e-7) {
    const value = lossAndGradient(p, theta).value,
      {values} = eigen(hessian(p, theta)),
      zero = tolerance * Math.max(...values.map(Math.abs));
    const descending = values.filter((x) => x < -zero).length;
    const best = value - minimumLoss(p) <= (1e-9 * p.signal) / 2;
    return {loss: value, descending, kind: descending ? "saddle" : best ? "global minimum" : "spurious minimum"};
  }

  // Where the theorem's flow ends: p2 = ‖P*‖^½, K = P*/p2.
  function optimalWeights(p) {
    const P = optimalMap(p),
      p2 = Math.sqrt(norm(P)),
      none = new Array(p.d).fill(0);
    return joined({p1: none, p2, K: times(1 / p2, P), k: none});
  }

  // p2 = 0, K = 0, p1 kᵀ the i-th rank-one part of P*: one direction, learnt through the other pair of blocks.
  function rankOneWeights(p, direction) {
    const C = curvature(p),
      rootC = through(C, Math.sqrt),
      lessC = through(C, (x) => 1 / Math.sqrt(x)),
      rootL = through(p.L, Math.sqrt),
      lessL = through(p.L, (x) => 1 / Math.sqrt(x));
    const A = product(product(rootC, optimalMap(p)), rootL),
      {values, vectors} = eigen(product(transpose(A), A));
    const v = vectors.map((row) => row[direction]),
      strength = Math.sqrt(Math.max(0, values[direction]));
    let p1 = apply(lessC, scaled(1 / strength, apply(A, v))),
      k = apply(lessL, v);
    const largest = p1.reduce((best, x) => (Math.abs(x) > Math.abs(best) ? x : best), 0),
      sign = largest < 0 ? -1 : 1;
    const length = (w) => Math.sqrt(dot(w, w)),
      ratio = Math.sqrt(length(k) / length(p1)),
      root = Math.sqrt(strength);
    p1 = scaled(sign * root * ratio, p1);
    k = scaled((sign * root) / ratio, k);
    return joined({p1, p2: 0, K: zeros(p.d), k});
  }

  G.icl = {
    ...G.icl,
    theory: {
      law,
      optimalMap,
      limitMap,
      curvature,
      minimumLoss,
      excessOfMap,
      shiftedRisk,
      unshifted,
      power,
      randomCovariance,
      threshold,
      split,
      joined,
      lossAndGradient,
      hessian,
      classify,
      optimalWeights,
      rankOneWeights,
    },
  };
}
