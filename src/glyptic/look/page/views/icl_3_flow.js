// Gradient flow, solved in the page: the reduced system of the theorem's start, and all (d+1)² weights from anywhere.
{
  const {eye, transpose, dot, apply, norm, product, solve, eigen} = G.icl.algebra;
  const {optimalMap, curvature, threshold, lossAndGradient, hessian, classify} = G.icl.theory;

  // One step of a stiff solver: Rosenbrock's method of order 4 with Shampine's numbers, and an estimate of its error.
  function rosenbrock(velocity, jacobian, y, h) {
    const n = y.length,
      J = jacobian(y),
      A = eye(n).map((row, i) => row.map((x, j) => (x * 2) / h - J[i][j]));
    const stage = (f, parts) =>
      solve(
        A,
        f.map((x, i) => [x + parts.reduce((sum, [c, g]) => sum + (c * g[i]) / h, 0)]),
      ).map((row) => row[0]);
    const at = (...parts) => y.map((x, i) => x + parts.reduce((sum, [a, g]) => sum + a * g[i], 0));
    const g1 = stage(velocity(y), []);
    const g2 = stage(velocity(at([2, g1])), [[-8, g1]]);
    const middle = velocity(at([48 / 25, g1], [6 / 25, g2]));
    const g3 = stage(middle, [
      [372 / 25, g1],
      [12 / 5, g2],
    ]);
    const g4 = stage(middle, [
      [-112 / 125, g1],
      [-54 / 125, g2],
      [-2 / 5, g3],
    ]);
    const next = at([19 / 9, g1], [1 / 2, g2], [25 / 108, g3], [125 / 108, g4]);
    const error = y.map((_, i) => (17 / 54) * g1[i] + (7 / 36) * g2[i] + (125 / 108) * g4[i]);
    return {next, error};
  }

  // The state at each of the times, which rise from 0.
  function stiff(velocity, jacobian, first, times, tolerance = 1e-11) {
    let t = 0,
      y = first,
      h = times[0] / 10 || 1e-6;
    const found = [];
    for (const end of times) {
      for (let tries = 0; t < end && tries < 20000; tries++) {
        const step = Math.min(h, end - t),
          {next, error} = rosenbrock(velocity, jacobian, y, step);
        const size = Math.max(
          ...error.map((e, i) => Math.abs(e) / (tolerance * Math.max(Math.abs(y[i]), Math.abs(next[i]), 1e-8))),
        );
        if (size <= 1) {
          t += step;
          y = next;
        }
        if (size > 1 || step === h) h = step * Math.min(4, Math.max(0.2, 0.9 * (size || 1e-9) ** -0.25));
      }
      found.push(y);
    }
    return found;
  }

  // The flow from Θ = I at half of the theorem's threshold, in the common basis of Λ and Ψ: (K_11 … K_dd, p2). null if there is none.
  function reducedFlow(p, points = 120) {
    const d = p.d,
      mixed = p.L.map((row, i) => row.map((x, j) => x / norm(p.L) + (0.6180339887 * p.Psi[i][j]) / norm(p.Psi)));
    const {vectors: V} = eigen(mixed),
      turned = (A) => product(product(transpose(V), A), V),
      [L, Psi] = [turned(p.L), turned(p.Psi)];
    const commute = [L, Psi].every((A) => A.every((row, i) => row.every((x, j) => i === j || Math.abs(x) <= 1e-9 * norm(A))));
    if (!commute || L.some((_, i) => Psi[i][i] <= 1e-12 * norm(Psi))) return null;
    const lambda = L.map((row, i) => row[i]),
      signal = lambda.map((x, i) => x * x * Psi[i][i]);
    const rate = lambda.map((x, i) => ((1 + 1 / p.N) * signal[i] + (p.tau / p.N) * x) * x),
      sigma = threshold(p) / 2;
    const velocity = (y) => {
      const u = y[d];
      return [
        ...signal.map((s, i) => u * (s - u * rate[i] * y[i])),
        signal.reduce((sum, s, i) => sum + s * y[i] - u * rate[i] * y[i] * y[i], 0),
      ];
    };
    const jacobian = (y) => {
      const u = y[d],
        J = G.icl.algebra.zeros(d + 1);
      for (let i = 0; i < d; i++) {
        J[i][i] = -u * u * rate[i];
        J[i][d] = J[d][i] = signal[i] - 2 * u * rate[i] * y[i];
        J[d][d] -= rate[i] * y[i] * y[i];
      }
      return J;
    };
    const slowest = 1 / (Math.min(...eigen(curvature(p)).values) * Math.min(...lambda) * norm(optimalMap(p)));
    const fastest = 1 / Math.max(...rate.map((r) => r * norm(optimalMap(p)))),
      end = 25 * slowest + 10 / Math.max(...signal);
    const begin = Math.min(fastest / 20, end / 1000),
      times = Array.from({length: points}, (_, i) => begin * (end / begin) ** (i / (points - 1)));
    const states = stiff(velocity, jacobian, [...lambda.map(() => sigma / Math.sqrt(d)), sigma], times);
    const maps = states.map((y) =>
      product(
        product(
          V,
          y.slice(0, d).map((x, i) => G.icl.algebra.scaled(x * y[d], eye(d)[i])),
        ),
        transpose(V),
      ),
    );
    return {times, maps, sigma, lambda, shares: states.map((y) => y.slice(0, d).map((x, i) => (x * y[d] * rate[i]) / signal[i]))};
  }

  // Runge and Kutta's fourth order with halved steps: the flow of all weights, until it rests or there are enough steps.
  function descend(p, theta, {steps = 800, tolerance = 1e-7} = {}) {
    const velocity = (y) => lossAndGradient(p, y).slope.map((x) => -x);
    const step = (y, k1, h) => {
      const move = (k, f) => y.map((x, i) => x + f * k[i]);
      const k2 = velocity(move(k1, h / 2)),
        k3 = velocity(move(k2, h / 2)),
        k4 = velocity(move(k3, h));
      return y.map((x, i) => x + (h / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
    };
    const path = [{time: 0, theta, loss: lossAndGradient(p, theta).value}];
    let y = theta,
      t = 0,
      h = 0.02;
    for (let count = 0; count < steps; count++) {
      const k1 = velocity(y),
        slope = Math.sqrt(dot(k1, k1)),
        size = Math.sqrt(dot(y, y));
      if (slope * Math.max(size, 0.1) < 1e-9 * p.signal) break;
      const half = step(y, k1, h / 2),
        whole = step(y, k1, h),
        next = step(half, velocity(half), h / 2);
      const error = Math.max(...next.map((x, i) => Math.abs(x - whole[i]))) / 15;
      if (error <= tolerance * Math.max(size, 0.1)) {
        y = next;
        t += h;
        path.push({time: t, theta: y, loss: lossAndGradient(p, y).value});
      }
      h *= Math.min(3, Math.max(0.2, 0.9 * ((tolerance * Math.max(size, 0.1)) / (error || 1e-300)) ** 0.2));
    }
    return {path, end: endOf(p, path[path.length - 1])};
  }

  // The critical point that the flow was about to reach, by Newton's method across the flat directions; null if it is still on its way.
  function endOf(p, last) {
    let theta = last.theta;
    for (let count = 0; count < 30; count++) {
      const {slope} = lossAndGradient(p, theta);
      if (dot(slope, slope) < 1e-24 * p.signal * p.signal) break;
      const {values, vectors} = eigen(hessian(p, theta)),
        zero = 1e-8 * Math.max(...values.map(Math.abs)),
        turned = apply(transpose(vectors), slope);
      const step = apply(
        vectors,
        turned.map((g, i) => (Math.abs(values[i]) > zero ? g / values[i] : 0)),
      );
      theta = theta.map((x, i) => x - step[i]);
    }
    const {value, slope} = lossAndGradient(p, theta);
    if (!(Math.sqrt(dot(slope, slope)) < 1e-8 * p.signal) || !(Math.abs(value - last.loss) <= 1e-3 * p.signal)) return null;
    return classify(p, theta);
  }

  G.icl = {...G.icl, flow: {reducedFlow, descend}};
}
