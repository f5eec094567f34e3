"""A processor that promises AMX and hides its tiles is not believed; all others, and a user's own setting, are left alone."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glyptic.nn.speed import machine

BASE = "fpu sse2 avx avx2 fma f16c"
AVX512 = f"{BASE} avx512f avx512bw avx512vl avx512_bf16"
AMX = f"{AVX512} avx512_fp16 amx_bf16 amx_tile amx_int8"


def cpuinfo(level: object, flags: str, processors: int = 2) -> str:
    block = f"processor\t: 0\nvendor_id\t: GenuineIntel\ncpuid level\t: {level}\nwp\t\t: yes\nflags\t\t: {flags}\nbugs\t\t:\n\n"
    return block * processors


@pytest.mark.parametrize(
    ("text", "limited"),
    [
        (cpuinfo(22, BASE), False),
        (cpuinfo(27, AVX512), False),
        (cpuinfo(31, AMX), False),
        (cpuinfo(29, AMX), False),
        (cpuinfo(28, AMX), True),
        (cpuinfo(13, AMX, processors=64), True),
        (cpuinfo("", AMX), False),
        (cpuinfo("many", AMX), False),
        (cpuinfo(10**30, AMX), False),
        (cpuinfo(28, f"{AVX512} not_amx_tile"), False),
        (cpuinfo(28, AVX512) + "model name\t: amx_tile\n", False),
        ("", False),
        ("\x00\ufffd\nflags", False),
        ("Features : fp asimd\nCPU architecture: 8\n", False),
    ],
)
def test_only_hidden_tiles_limit_the_instructions(text: str, limited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpuinfo", lambda: text)
    environment: dict[str, str] = {}
    machine.settle(environment)
    assert environment == ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"} if limited else {})


@pytest.mark.parametrize("name", ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"])
def test_a_setting_of_the_users_own_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpuinfo", lambda: cpuinfo(28, AMX))
    environment = {name: "AVX2"}
    machine.settle(environment)
    assert environment == {name: "AVX2"}


@pytest.mark.parametrize("error", [FileNotFoundError(2, "none"), PermissionError(13, "no"), ValueError("odd")], ids=repr)
def test_a_system_that_says_nothing_is_left_alone(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(builtins, "open", refuse)
    environment: dict[str, str] = {}
    machine.settle(environment)
    assert environment == {}


SIMULATED = """
import builtins, io, os, sys
real = builtins.open
text = {text!r}
builtins.open = lambda path, *more, **how: io.StringIO(text) if path == "/proc/cpuinfo" else real(path, *more, **how)
os.environ.pop("ONEDNN_MAX_CPU_ISA", None)
import {first}
assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX512_CORE_FP16"
"""
BFLOAT16 = """
import torch
from glyptic import nn
for backend in ("sdpa", "reference", "blocked"):
    config = nn.ModelConfig(kind="decoder", layers=1, width=64, heads=2, vocabulary=9, context=80, backend=backend)
    model = nn.build(config, seed=0).bfloat16()
    model(torch.randint(0, 9, (2, 70))).float().square().mean().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    assert nn.generate(model.eval(), [[1, 2, 3]], 4).shape == (1, 7)
assert (torch.randn(70, 70).bfloat16() @ torch.randn(70, 70).bfloat16()).isfinite().all()
print("done")
"""


@pytest.mark.parametrize("first", ["glyptic.nn", "glyptic.icl.experiments.learners", "glyptic.bridge"])
def test_bfloat16_runs_where_the_tiles_are_simulated_to_be_hidden(first: str) -> None:
    code = SIMULATED.format(text=cpuinfo(28, AMX), first=first) + (BFLOAT16 if first == "glyptic.nn" else "print('done')")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2] / "src")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "done\n"


def test_without_torch_one_sentence_says_what_brings_it() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from glyptic.errors import MissingExtra\n"
        "try:\n    from glyptic import nn\nexcept MissingExtra as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2] / "src")
    expected = "glyptic.nn needs PyTorch, which is not installed; in Glyptic's checkout, pip install '.[nn]' brings it.\n"
    assert (run.stdout, run.returncode) == (expected, 0), run.stderr
