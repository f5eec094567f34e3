"""Generation with a cache, eager, against Hugging Face's `generate`; its cost by length; and what `import glyptic` costs."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from benchmarks import nn_peers
from benchmarks.nn_peers import LARGE, SMALL, Size
from benchmarks.timing import contest, one_thread, row
from glyptic import nn

PROMPT, NEW = 16, 64


def prompt(size: Size, batch: int, length: int = PROMPT) -> torch.Tensor:
    return torch.randint(1, size.vocabulary, (batch, length), generator=torch.Generator().manual_seed(0))


def hugging_face(size: Size, batch: int) -> Callable[[], Any]:
    """Greedy `generate` of GPT-2 with its own cache."""
    model, tokens = nn_peers.hugging_face(size).eval(), prompt(size, batch)
    mask = torch.ones_like(tokens)
    return lambda: model.generate(tokens, attention_mask=mask, max_new_tokens=NEW, do_sample=False)


def against_hugging_face(size: Size, batch: int, target: str) -> dict[str, Any]:
    model, tokens = nn_peers.ours(size).eval(), prompt(size, batch)
    contestants = {
        "ours": lambda: nn.generate(model, tokens, max_new_tokens=NEW),
        "HF": hugging_face(size, batch),
    }
    timings = contest(contestants, rounds=11, least_seconds=0.0)
    note = f"tokens/s: {nn_peers.rates(timings, 'ours', batch * NEW)}; {nn_peers.versions('transformers')}"
    name = f"generation, {size.name}, batch {batch}, eager against HF generate"
    return row(name, timings.speed("ours", "HF"), target, note)


def growth_with_length() -> dict[str, Any]:
    """CPU time a token of 1,024 new tokens over that of 256: 1 is linear, 4 would be quadratic."""
    model = nn_peers.ours(SMALL, context=1100).eval()
    tokens = prompt(SMALL, 1)
    lengths = (256, 1024)
    timings = contest(
        {str(n): lambda n=n: nn.generate(model, tokens, max_new_tokens=n) for n in lengths}, rounds=5, least_seconds=0.0
    )
    short, long = (timings.seconds(str(n)) / n for n in lengths)
    note = f"{1e3 * short:.2f} and {1e3 * long:.2f} ms a token; without a cache it would be about 4"
    return row("cached generation, a token of 1,024 against a token of 256", long / short, "<= 1.5", note)


def import_seconds(code: str) -> float:
    """CPU seconds of a fresh interpreter, median of seven."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return median(once() for _ in range(7))


def import_cost() -> dict[str, Any]:
    light = "import glyptic, sys; assert 'torch' not in sys.modules"
    bare, ours = import_seconds("pass"), import_seconds(light)
    note = f"{ours:.2f} s with the interpreter's own {bare:.2f} s; torch is not loaded"
    return row("import glyptic", ours - bare, "<= 0.3", note, unit="s")


def rows() -> list[dict[str, Any]]:
    one_thread()
    return [
        against_hugging_face(SMALL, 1, ">= 1.8"),
        against_hugging_face(LARGE, 1, ">= 1.2"),
        against_hugging_face(SMALL, 8, ">= 1.2"),
        against_hugging_face(LARGE, 8, ">= 1.2"),
        growth_with_length(),
        import_cost(),
    ]


if __name__ == "__main__":
    for line in rows():
        print(line)
