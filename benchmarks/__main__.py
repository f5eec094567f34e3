"""`make bench`: every benches' rows, printed and written to benchmarks/results/ as a table and as data.

`python -m benchmarks exact prove` runs some of them. Ratios are measured in one run, contestants in turn, in CPU time: see
`benchmarks.timing`. A row that misses its target is marked; nothing fails, since machines differ.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import re
import sys
from pathlib import Path

import benchmarks
from glyptic.files import write_whole

RESULTS = Path(__file__).parent / "results"


def main(wanted: list[str]) -> int:
    available = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")]
    unknown = [name for name in wanted if not any(name in topic for topic in available)]
    if unknown:
        print(
            f"benchmarks: no benchmark {unknown[0]!r}; there are {', '.join(t[6:] for t in available)}.",
            file=sys.stderr,
        )
        return 2
    for topic in available:
        if not wanted or any(name in topic for name in wanted):
            print(f"\n{topic[6:]} …", file=sys.stderr)
            text, rows = _measure(topic)
            print(text)
            write_whole(RESULTS / f"{topic[6:]}.md", text.encode())
            write_whole(RESULTS / f"{topic[6:]}.json", (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
    return 0


def _measure(topic: str) -> tuple[str, list[dict]]:
    module = importlib.import_module(f"benchmarks.{topic}")
    rows = module.rows()
    lines = [f"# {(module.__doc__ or topic).strip().splitlines()[0]}", ""]
    lines += [f"Python {platform.python_version()}, {_processor()}; `python -m benchmarks {topic[6:]}`.", ""]
    lines += ["| what | measured | target | | note |", "|---|---:|---|---|---|"]
    for row in rows:
        value = f"{row['value']:.4g} {row.get('unit', '')}".strip()
        lines.append(f"| {row['name']} | {value} | {row.get('target', '')} | {_verdict(row)} | {row.get('note', '')} |")
    return "\n".join(lines) + "\n", rows


def _verdict(row: dict) -> str:
    """✓ or ✗ for a target such as ">= 8" or "<= 2"; nothing for a row that only informs."""
    found = re.match(r"\s*(>=|≥|<=|≤|<|>)\s*([0-9.e+-]+)", str(row.get("target", "")))
    if not found:
        return ""
    bound = float(found[2])
    return "✓" if (row["value"] >= bound if found[1] in (">=", "≥", ">") else row["value"] <= bound) else "✗"


def _processor() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    name = re.search(r"model name\s*:\s*(.+)", info)
    width = next((w for w in ("avx512f", "avx2") if w in info), "no AVX2")
    family = re.search(r"cpu family\s*:\s*(\d+)\nmodel\s*:\s*(\d+)", info)  # for virtual machines that hide the name
    which = f", family {family[1]} model {family[2]}" if family else ""
    return f"{name[1] if name else platform.machine()} ({width}{which})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
