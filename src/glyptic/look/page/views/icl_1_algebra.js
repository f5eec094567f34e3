// Small dense matrices, as lists of rows: what the theory of in-context regression needs of linear algebra.
{
  const zeros = (n, m = n) => Array.from({length: n}, () => new Array(m).fill(0));
  const make = (n, m, entry) => Array.from({length: n}, (_, i) => Array.from({length: m}, (_, j) => entry(i, j)));
  const eye = (n) => make(n, n, (i, j) => (i === j ? 1 : 0));
  const diagonal = (values) => make(values.length, values.length, (i, j) => (i === j ? values[i] : 0));
  const transpose = (A) => make(A[0].length, A.length, (i, j) => A[j][i]);
  const times = (x, A) => A.map((row) => row.map((a) => x * a));
  const plus = (A, B) => A.map((row, i) => row.map((a, j) => a + B[i][j]));
  const minus = (A, B) => A.map((row, i) => row.map((a, j) => a - B[i][j]));
  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };
  const apply = (A, v) => A.map((row) => dot(row, v));
  const outer = (a, b) => a.map((x) => b.map((y) => x * y));
  const trace = (A) => A.reduce((sum, row, i) => sum + row[i], 0);
  const inner = (A, B) => A.reduce((sum, row, i) => sum + dot(row, B[i]), 0); // Σ A∘B
  const symmetric = (A) => make(A.length, A.length, (i, j) => (A[i][j] + A[j][i]) / 2);
  const norm = (A) => Math.sqrt(inner(A, A));
  const scaled = (x, v) => v.map((a) => x * a);
  const added = (...vectors) => vectors[0].map((_, i) => vectors.reduce((sum, v) => sum + v[i], 0));

  function product(A, B) {
    const n = A.length,
      m = B[0].length,
      C = zeros(n, m);
    for (let i = 0; i < n; i++)
      for (let k = 0; k < B.length; k++) {
        const a = A[i][k];
        if (a !== 0) for (let j = 0; j < m; j++) C[i][j] += a * B[k][j];
      }
    return C;
  }

  // Gauss with the largest pivot; B has columns.
  function solve(A, B) {
    const n = A.length,
      M = A.map((row) => [...row]),
      R = B.map((row) => [...row]);
    for (let c = 0; c < n; c++) {
      let best = c;
      for (let r = c + 1; r < n; r++) if (Math.abs(M[r][c]) > Math.abs(M[best][c])) best = r;
      [M[c], M[best]] = [M[best], M[c]];
      [R[c], R[best]] = [R[best], R[c]];
      for (let r = c + 1; r < n; r++) {
        const f = M[r][c] / M[c][c];
        if (f === 0) continue;
        for (let j = c; j < n; j++) M[r][j] -= f * M[c][j];
        for (let j = 0; j < R[r].length; j++) R[r][j] -= f * R[c][j];
      }
    }
    for (let c = n - 1; c >= 0; c--)
      for (let j = 0; j < R[c].length; j++) {
        for (let k = c + 1; k < n; k++) R[c][j] -= M[c][k] * R[k][j];
        R[c][j] /= M[c][c];
      }
    return R;
  }

  // Jacobi's rotations: eigenvalues, largest first, and eigenvectors as columns, of a symmetric matrix.
  function eigen(matrix) {
    const n = matrix.length,
      A = matrix.map((row) => [...row]),
      V = eye(n);
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0,
        whole = 0;
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++) {
          whole += A[i][j] ** 2;
          if (i !== j) off += A[i][j] ** 2;
        }
      if (off <= 1e-32 * whole) break;
      for (let p = 0; p < n; p++)
        for (let q = p + 1; q < n; q++) {
          if (A[p][q] === 0) continue;
          const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
          const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1)),
            c = 1 / Math.sqrt(t * t + 1),
            s = t * c;
          for (let k = 0; k < n; k++) {
            const a = A[k][p],
              b = A[k][q];
            A[k][p] = c * a - s * b;
            A[k][q] = s * a + c * b;
          }
          for (let k = 0; k < n; k++) {
            const a = A[p][k],
              b = A[q][k];
            A[p][k] = c * a - s * b;
            A[q][k] = s * a + c * b;
          }
          for (let k = 0; k < n; k++) {
            const a = V[k][p],
              b = V[k][q];
            V[k][p] = c * a - s * b;
            V[k][q] = s * a + c * b;
          }
        }
    }
    const order = A.map((row, i) => i).sort((i, j) => A[j][j] - A[i][i]);
    return {values: order.map((i) => A[i][i]), vectors: make(n, n, (i, j) => V[i][order[j]])};
  }

  // f of a symmetric matrix, through its eigenvalues: roots and their inverses.
  function through(matrix, f) {
    const {values, vectors} = eigen(matrix);
    return product(
      make(values.length, values.length, (i, j) => vectors[i][j] * f(values[j])),
      transpose(vectors),
    );
  }

  const fromFlat = (flat, n, m = n, offset = 0) => make(n, m, (i, j) => flat[offset + i * m + j]);

  G.icl = {
    ...G.icl,
    algebra: {
      zeros,
      make,
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
      fromFlat,
    },
  };
}
