"""A flag without effect is refused: whoever gave it meant something by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from glyptic.arguments import shown
from glyptic.cli.reading import flag
from glyptic.errors import InputError


def refuse_idle(command: Any, names: Iterable[str], where: str) -> None:
    """Refuse those of a command's fields that differ from their defaults, and `where` they have no effect.

    >>> from glyptic.cli.show import ShowCommand
    >>> refuse_idle(ShowCommand("parity:8", batch=4), ["batch", "length"], "on an exact transformer")
    Traceback (most recent call last):
    glyptic.errors.InputError: --batch has no effect on an exact transformer; leave it out.
    """
    usual = {field.name: field.default for field in fields(command)}
    for name in names:
        given = getattr(command, name)
        if given != usual[name]:
            called = f"the model {shown(given)}" if name in ("model", "other") else flag(name)
            raise InputError(f"{called} has no effect {where}; leave it out.")


def refuse_idle_workers(command: Any) -> None:
    """One after the other is done by nobody else."""
    if command.backend == "sequential":
        refuse_idle(command, ("workers",), "with --backend sequential, which has no workers")
