"""How `glyptic prove` is used: flags that would have no effect, and lengths that cannot be meant, are refused before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyptic.cli.idle import refuse_idle, refuse_idle_workers
from glyptic.errors import InputError

if TYPE_CHECKING:
    from glyptic.cli.prove import ProveCommand

_QUESTIONS = ("model", "other", "language", "tomita", "decisive", "never_zero_attention")
_OF_QUESTIONS = ("max_length", "min_length", "steps", "yes", "no", "format", "figure", "certificate", "count_all", "engine")
_OF_RECHECKS = ("model", "other", "format", "count_all", "engine")  # models are compared, rounded to the format first
_OF_SOLVERS = ("theorem", "terms")


def check_use(command: ProveCommand) -> None:
    """Refuse, in one sentence, what has no effect or cannot be meant."""
    refuse_idle_workers(command)
    if command.recheck is not None:
        asked = [name for name in (*_QUESTIONS, *_OF_QUESTIONS) if name not in _OF_RECHECKS]
        idle = (*asked, *(() if command.model else ("format",)), "formats", "journal", "library", "theorem")
        refuse_idle(command, idle, "with --recheck, which takes the claim from its file")
    elif command.library:
        idle = (*_QUESTIONS, *_OF_QUESTIONS, "backend")
        refuse_idle(command, idle, "with --library, which proves its own theorems")
        if command.export is not None:
            refuse_idle(command, ("workers", "journal"), "with --export, which is of one theorem in one format")
    else:
        _check_question(command)


def _check_question(command: ProveCommand) -> None:
    refuse_idle(command, _OF_SOLVERS, "on a question about inputs, which it is not for")
    if command.formats is not None:
        refuse_idle(command, ("format",), "beside --formats, which rounds to each of its formats")
        refuse_idle(command, ("count_all",), "beside --formats")
    else:
        refuse_idle(command, ("figure",), "without --formats, whose table it draws")
    if command.language is None and command.tomita is None:
        refuse_idle(command, ("yes", "no"), "without --language or --tomita")
    elif command.yes == command.no:
        raise InputError(f"--yes and --no are both {command.yes!r}; a decider's answers are two.")
    if command.never_zero_attention:
        refuse_idle(command, ("steps",), "with --never-zero-attention, which looks at the first answer only")
    longest = command.max_length
    if command.min_length < 1 or (longest is not None and longest < command.min_length):
        shown = f"--min-length {command.min_length}" + ("" if longest is None else f" and --max-length {longest}")
        raise InputError(f"{shown}: lengths begin with 1, and the longest is not below the shortest.")
