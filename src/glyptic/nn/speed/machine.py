"""This machine, before torch runs on it: that torch is there, that it believes no processor that lies, that memory suffices.

Some hypervisors show the flag `amx_tile` and hide CPUID leaf 0x1D, which describes the tiles. oneDNN, by which torch
multiplies bfloat16, goes by the flag and dies of an illegal instruction at the first product. Where /proc/cpuinfo shows that
(`amx_tile` there, `cpuid level` below 29), oneDNN is told to stay below AMX. It looks at its environment once, at its first
product: this module is imported before anything else of the room. A user's own setting is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping

from glyptic.errors import MissingExtra, ModelError

TILES = 0x1D  # the leaf that describes AMX's tiles
SETTINGS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # today's name, and the old one
BELOW_AMX = "AVX512_CORE_FP16"  # a limit, not a demand: what the processor does not have is not used


def hides_tiles(cpuinfo: str) -> bool:
    """Whether this text of /proc/cpuinfo is of a processor that promises AMX and cannot describe it.

    >>> hides_tiles("cpuid level : 28" + chr(10) + "flags : avx512f amx_bf16 amx_tile")
    True
    >>> hides_tiles("cpuid level : 31" + chr(10) + "flags : avx512f amx_bf16 amx_tile")
    False
    """
    promised = re.search(r"^flags\s*:.*\bamx_tile\b", cpuinfo, re.MULTILINE)
    levels = [int(level) for level in re.findall(r"^cpuid level\s*:\s*(\d{1,9})\s*$", cpuinfo, re.MULTILINE)]
    return promised is not None and bool(levels) and min(levels) < TILES


def settle(environment: MutableMapping[str, str]) -> None:
    """Keep oneDNN below AMX where its tiles are hidden and the user has not said otherwise."""
    if not any(environment.get(name) for name in SETTINGS) and hides_tiles(cpuinfo()):
        environment[SETTINGS[0]] = BELOW_AMX


def cpuinfo() -> str:
    """What the system says of its processors; nothing where it does not say it in this way."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return file.read(1 << 22)
    except (OSError, ValueError):
        return ""


def check_memory(size: int, what: str, remedy: str = "make it smaller") -> None:
    """Refuse what takes more bytes than the machine has; where it does not say how many, nothing is refused.

    >>> check_memory(10**18, "a cache of capacity=10**12")
    Traceback (most recent call last):
    glyptic.errors.ModelError: a cache of capacity=10**12 takes 1000000000.0 GB, more than this machine has; make it smaller.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if size > there > 0:
        raise ModelError(f"{what} takes {size / 1e9:.1f} GB, more than this machine has; {remedy}.")


settle(os.environ)
try:
    import torch  # noqa: F401
except ImportError as error:
    if (error.name or "torch").partition(".")[0] != "torch":
        raise
    raise MissingExtra(
        "glyptic.nn needs PyTorch, which is not installed; in Glyptic's checkout, pip install '.[nn]' brings it."
    ) from None
