{
  // A verdict or a certificate: the answer first, then the claim, the example, what it rests on, and what was checked.
  function mount(root, data, context) {
    const {proof: part, h} = G;
    const open = data.run
      ? () => {
          context.state.set({view: data.run}, {push: true});
          G.rebuild();
        }
      : null;
    const column = (...parts) => h("div", {class: "column"}, parts);
    root.append(
      part.answer(data),
      h(
        "div",
        {class: "parts"},
        column(part.claim(data), part.example(data, open), part.range(data), part.how(data)),
        column(part.trust(data), data.answer !== "Unknown" && part.rests(data)),
      ),
      ...[part.file(data)].filter(Boolean),
    );

    const rows = () => [
      [G.t("proof.csv_part"), G.t("proof.value")],
      [G.t("proof.csv_answer"), data.answer],
      [G.t("proof.formula"), data.formula],
      ...(data.requires ? [[G.t("proof.requires"), data.requires]] : []),
      [G.t("proof.range"), data.over],
      [G.t("proof.how"), data.method],
      ...["inputs", "satisfying", "failures"]
        .filter((name) => data[name] !== null)
        .map((name) => [G.t(`proof.count_${name === "inputs" ? "run" : name}`), data[name]]),
      ...(data.example?.input ? [[G.t("proof.input"), data.example.input.join(" ")]] : []),
      ...(data.example?.values ?? []),
      ...(data.example?.observed ?? []),
      ...data.solvers.map((text) => [G.t("proof.solvers"), text]),
      ...data.assumptions.map((one) => [G.t("proof.rests"), part.said(one)]),
      ...data.trust.map((link) => [G.t(`proof.state_${link.state}`), part.said(link)]),
      ...(data.file
        ? [
            [G.t("proof.file_digest"), data.file.digest],
            [G.t("proof.file_claim"), data.file.claim],
          ]
        : []),
    ];
    return {
      key: (event) => {
        if (event.key !== "]" || !open) return false;
        open();
        return true;
      },
      csv: rows,
    };
  }

  G.view("proof", {keys: [["]", "proof.key_run"]], mount});
}
