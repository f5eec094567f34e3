"""The engine of pages, in a page of Chromium that holds nothing else; and what Python says of the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glyptic.exact.answers import named
from glyptic.exact.numbering import by_number
from glyptic.exact.running import prepared_for, run_chunk
from glyptic.exact.transformer import Transformer
from glyptic.look.pages import _texts, as_script, words
from glyptic.look.values.exact_data import exact_data

# What the tests ask of the page: runs as codes, and derivations held against the cells.
_DRIVER = """
const models = [];
const load = async (data) => { models.push(Engine.load(await G.unpack(data))); return models.length - 1; };
const codes = (model, stage) => [stage.rows, stage.columns, Array.from(stage.values, (x) => Engine.code(model.format, x))];
const runOf = (job) => {
  const model = models[job.model], run = Engine.run(model, Engine.tokens(model, job.text), job.steps);
  return [model, run];
};
const shown = (job) => {
  const [model, run] = runOf(job);
  return {answer: run.answer, chain: run.chain, tokens: run.words, undefined: run.undefined,
    message: run.undefined && G.t(run.undefined.key, run.undefined.values),
    logits: run.logits.map((x) => Engine.code(model.format, x)),
    probabilities: run.probabilities.map((x) => Engine.code(model.format, x)),
    stages: Object.fromEntries([...run.stages].map(([name, stage]) => [name, codes(model, stage)]))};
};
const derived = (job) => { // the number of cells, and those whose derivation does not end in them or tells other flags
  const [model, run] = runOf(job), wrong = [];
  let count = 0;
  for (const [name, stage] of [...run.stages, ...run.inner])
    for (let i = 0; i < stage.rows; i++) for (let j = 0; j < stage.columns; j++) {
      const steps = Engine.derive(model, run, name, i, j), last = steps.at(-1);
      const flags = steps.reduce((all, step) => all | (step.rounded ? 1 : 0) | (step.saturated ? 2 : 0), 0);
      count++;
      if (last.result !== stage.at(i, j) || flags !== stage.flags[i * stage.columns + j])
        wrong.push([name, i, j, last.result, stage.at(i, j), flags]);
    }
  return [count, wrong.slice(0, 5)];
};
"""


class EngineInPage:
    """A tab with the engine; `call` gives an argument to a JavaScript function and brings back what it returns."""

    def __init__(self, browser: Any) -> None:
        self.tab = browser.new_page()
        scripts = "\n".join(text for folder in ("core", "engine") for _, text in _texts(folder, ".js"))
        start = f'G.words = {as_script(words())}; G.language = "en";'
        self.tab.set_content(f'<!DOCTYPE html><script>"use strict";\n{scripts}\n{start}\n{_DRIVER}</script>')
        assert self.tab.evaluate("typeof Engine.run") == "function"

    def call(self, function: str, argument: Any = None) -> Any:
        return self.tab.evaluate(function, argument)

    def load(self, transformer: Transformer) -> int:
        """Hand a transformer over; its number there."""
        return int(self.call("(data) => load(data)", exact_data(transformer)))


@dataclass(frozen=True)
class Expected:
    """A run as Python has it: codes of every stage, the chain, and where 0/0 is met."""

    chain: tuple[str, ...]
    stages: dict[str, np.ndarray]
    logits: np.ndarray
    probabilities: np.ndarray
    failure: Any


def expected(transformer: Transformer, text: str | Sequence[str], steps: int = 1) -> Expected:
    done = run_chunk(prepared_for(transformer), by_number(transformer, [transformer.tokens(text)]), steps, ["*"])
    shares = done.probabilities[0] if done.probabilities is not None else np.zeros(0, int)
    stages = {name: array[:, :, 0] for name, array in done.trace.items()}
    return Expected(named(transformer, done.chains[0].tolist()), stages, done.logits[0], shares, done.failures.get(0))


def difference(found: dict[str, Any], wanted: Expected) -> str | None:
    """The first difference between a page's run and Python's, or None."""
    if wanted.failure is not None:
        if found["message"] != _english(str(wanted.failure)):
            return f"0/0: {found['message']}, and not {wanted.failure}"
    elif tuple(found["chain"]) != wanted.chain or found["undefined"] is not None:
        return f"the chain is {found['chain']}, and not {wanted.chain}"
    elif found["stages"].keys() != wanted.stages.keys():
        return f"stages {sorted(found['stages'].keys() ^ wanted.stages.keys())}"
    elif found["logits"] != wanted.logits.tolist() or found["probabilities"] != wanted.probabilities.tolist():
        return "logits or probabilities"
    for name, (rows, columns, codes) in found["stages"].items():
        here = wanted.stages[name][:, :columns]  # where 0/0 ended the run, stages of earlier steps have fewer columns
        if name.endswith((".scores", ".weights")):
            here = here[:rows]
        if here.shape != (rows, columns) or here.ravel().tolist() != codes:
            return (
                f"{name}: {codes[:8]} of shape {rows}, {columns}; Python has {here.shape}, {here.ravel()[:8].tolist()}"
            )
    return None


def _english(message: str) -> str:
    return message.replace("'logits'", "“logits”")
