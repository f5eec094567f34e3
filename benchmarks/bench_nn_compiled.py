"""Generation with the compiled decoder (`nn.CompiledSession`) against Hugging Face's `generate`.

Compiling is not part of the time; each row says how long it took. torch keeps the result for the next process.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks import nn_peers
from benchmarks.bench_nn_generation import NEW, PROMPT, hugging_face, prompt
from benchmarks.nn_peers import LARGE, SMALL, Size
from benchmarks.timing import contest, one_thread, row
from glyptic import nn


def compiled(size: Size, batch: int, target: str) -> dict[str, Any]:
    model, tokens = nn_peers.ours(size).eval(), prompt(size, batch)
    session = nn.CompiledSession(model, batch, PROMPT + NEW, mode="max-autotune")

    def ours() -> Any:
        session.reset()
        return nn.generate(model, tokens, max_new_tokens=NEW, session=session)

    start = time.perf_counter()
    assert ours().equal(nn.generate(model, tokens, max_new_tokens=NEW)), "compiled and eager tokens differ"
    ready = time.perf_counter() - start
    timings = contest({"ours": ours, "HF": hugging_face(size, batch)}, rounds=11, least_seconds=0.0)
    rates = nn_peers.rates(timings, "ours", batch * NEW)
    note = f"tokens/s: {rates}; ready after {ready:.0f} s of wall time; {nn_peers.versions('transformers')}"
    name = f"generation, {size.name}, batch {batch}, compiled against HF generate"
    return row(name, timings.speed("ours", "HF"), target, note)


def rows() -> list[dict[str, Any]]:
    one_thread()
    return [compiled(SMALL, 1, ">= 4"), compiled(LARGE, 1, ">= 1.8"), compiled(LARGE, 8, ">= 1.2")]


if __name__ == "__main__":
    for line in rows():
        print(line)
