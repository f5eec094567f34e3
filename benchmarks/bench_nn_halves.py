"""Training in bfloat16 with the instructions of three kinds of processors, if this one has them: against peers and float32.

torch and oneDNN are told which instructions to use (ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA), each kind in a process of its own,
which measures for itself how products are taken. What else differs between such processors, caches and clocks, stays this one's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.timing import one_thread

KINDS = {
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "AVX-512": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "AVX-512 with bfloat16": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},
}
FLAGS = {"AVX2": "avx2", "AVX-512": "avx512f", "AVX-512 with bfloat16": "avx512_bf16"}


def rows() -> list[dict[str, Any]]:
    flags = Path("/proc/cpuinfo").read_text().split()
    found = []
    for kind in (kind for kind, flag in FLAGS.items() if flag in flags):
        with TemporaryDirectory() as cache:
            environment = {**os.environ, **KINDS[kind], "XDG_CACHE_HOME": cache}
            command = [sys.executable, "-m", "benchmarks.bench_nn_halves"]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found += [{**line, "name": f"{kind}: {line['name']}"} for line in json.loads(done.stdout.splitlines()[-1])]
    return found


def _alone() -> list[dict[str, Any]]:
    """The rows of bfloat16 in this process."""
    import torch

    from benchmarks.bench_nn_training import TARGETS, result

    one_thread()
    every = [line for (size, dtype), target in TARGETS.items() if dtype == torch.bfloat16 for line in result(size, dtype, target)]
    return [line for line in every if "MFU" not in line["name"]]


if __name__ == "__main__":
    print(json.dumps(_alone()))
