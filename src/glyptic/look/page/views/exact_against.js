// Two runs side by side: cells are compared by stage, by the coordinate's name and by position, where both have them.
{
  const X = (G.exact ??= {});

  // ∞ is another number in another format.
  const number = (side, stage, i, j) => side.text(stage, i, j).replace("∞", side.limits.max ?? side.model.format.name);

  X.differs = (side, other, stage, i, j) => {
    if (!other.has(stage)) return false;
    const k = X.rowNames(other, stage).indexOf(X.rowNames(side, stage)[i]),
      [rows, columns] = other.shape(stage);
    if (k < 0 || k >= rows || j >= columns) return false;
    return number(side, stage, i, j) !== number(other, stage, k, j);
  };

  // Every cell that differs, in the order of stages: [{stage, i, j}], at most `most`.
  X.differences = (side, other, most = 5000) => {
    const found = [];
    for (const stage of [...side.residual, "logits", "probabilities"]) {
      if (!side.has(stage) || !other.has(stage)) continue;
      const [rows, columns] = side.shape(stage);
      for (let j = 0; j < columns; j++)
        for (let i = 0; i < rows; i++) {
          if (X.differs(side, other, stage, i, j)) found.push({stage, i, j});
          if (found.length >= most) return found;
        }
    }
    return found;
  };
}
