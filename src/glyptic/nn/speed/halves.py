"""How products in bfloat16 and float16 are taken on this CPU: as torch takes them, or in float32 and rounded once.

Which is faster no list of CPU flags tells: with some instructions torch is four times as fast as float32, with others a quarter
slower, without any ten times slower. So both are measured at the first product, which takes some milliseconds. The two add up
in different orders, and results may differ in their last bit: so that a run that is taken up again goes on bit for bit, what was
found is kept in the user's cache folder for this processor and this torch, and torch's own way is left only for one that is
faster by a tenth. GLYPTIC_HALF_PRODUCTS says it by hand: native, or widened.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from glyptic.errors import GlypticError, InputError
from glyptic.files import read_json, write_whole
from glyptic.nn.speed.machine import SETTINGS, cpuinfo

Way = Literal["native", "widened"]
SETTING = "GLYPTIC_HALF_PRODUCTS"
SIDE = 256  # of the square matrices that are multiplied: as large as in small models
ROUNDS = 5
FASTER_BY = 1.1
HOPELESS = 3.0  # times as slow in the first round: it is not asked again


@torch.compiler.assume_constant_result
def is_widened(dtype: torch.dtype) -> bool:
    """Whether products of this type are taken in float32 on this CPU."""
    return dtype in (torch.bfloat16, torch.float16) and _way(dtype) == "widened"


@cache
def _way(dtype: torch.dtype) -> Way:
    """What was said, what was found before, or what is found now: once in a process."""
    said = os.environ.get(SETTING, "").strip()
    if said:
        if said not in get_args(Way):
            raise InputError(f"{SETTING} is {said[:40]!r}; it must be native or widened, or be unset.")
        return said  # type: ignore[return-value]  # one of the two, as was seen
    known, name = _known(), str(dtype).removeprefix("torch.")
    if known.get(name) not in get_args(Way):
        seconds = measured(dtype)
        known[name] = "widened" if seconds["native"] > FASTER_BY * seconds["widened"] else "native"
        _keep(known)
    return known[name]  # type: ignore[return-value]


def measured(dtype: torch.dtype) -> dict[str, float]:
    """Seconds of the three products of a layer's step, each way; the best of a few rounds, in turn."""
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        ramp = torch.linspace(-1, 1, SIDE * SIDE, dtype=torch.float32, device="cpu").view(SIDE, SIDE)
        x, weight, gradient = ((ramp * factor).to(dtype) for factor in (1.0, -0.5, 0.25))
        found = {"native": float("inf"), "widened": float("inf")}
        for turn in range(ROUNDS + 1):  # the first warms up
            for way in found:
                if way == "native" and turn > 1 and found["native"] > HOPELESS * found["widened"]:
                    continue
                start = time.perf_counter()
                for a, b in ((x, weight), (gradient, weight.t()), (gradient.t(), x.t())):
                    F.linear(a, b) if way == "native" else widened(a, b)
                found[way] = min(found[way], time.perf_counter() - start) if turn else found[way]
    return found


def widened(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b in float32, rounded once to the type of x."""
    return F.linear(x.float(), weight.float(), None if bias is None else bias.float()).to(x.dtype)


# What was found before ------------------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where a user's programs keep what they can find again."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given if os.path.isabs(given) else os.path.expanduser("~/.cache")) / "glyptic"


def _about() -> dict[str, str]:
    """What the answer depends on: the processor, torch, and what holds torch back."""
    info = cpuinfo()
    found = [re.search(rf"^{name}\s*:\s*(.*)$", info, re.MULTILINE) for name in ("model name", "flags")]
    model, flags = (match[1] if match else "" for match in found)
    held = {name: os.environ.get(name, "") for name in (*SETTINGS, "ATEN_CPU_CAPABILITY")}
    digest = hashlib.sha256(flags.encode()).hexdigest()[:16]
    return {"processor": model, "flags": digest, "torch": torch.__version__, **held}


def _place() -> Path:
    name = hashlib.sha256(json.dumps(_about(), sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / f"half-products-{name}.json"


def _known() -> dict[str, str]:
    """What the file of this processor says, if it is one: only the two words count, whatever else is in it."""
    try:
        content = read_json(_place(), 1 << 16, "what was measured of half precision")
    except (GlypticError, OSError):
        return {}
    ways = content.get("ways") if isinstance(content, dict) else None
    return {str(name): str(way) for name, way in ways.items()} if isinstance(ways, dict) else {}


def _keep(ways: dict[str, str]) -> None:
    """Where nothing can be kept, every process measures for itself."""
    known = {name: way for name, way in ways.items() if way in get_args(Way)}
    text = json.dumps({"about": _about(), "ways": known}, indent=1) + "\n"
    with suppress(GlypticError, OSError):
        write_whole(_place(), text.encode(), parents=True)
