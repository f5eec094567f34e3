"""The `glyptic` command: a table of commands, one file each, loaded only when asked for.

A command is a frozen dataclass with a `main()` method; tyro turns its fields and their docstrings into flags. Modules
are imported lazily, so `glyptic run` never waits for torch.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from textwrap import indent
from typing import Any

from glyptic.errors import GlypticError
from glyptic.extras import brought_by
from glyptic.text import printable

# words on the command line -> (module:dataclass, one line for the list)
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("glyptic.cli.run:RunCommand", "run a transformer on an input, in its own arithmetic; trace it"),
    "show": ("glyptic.cli.show:ShowCommand", "a model's sizes, format, coordinates, sparsity and cost"),
    "normalize": ("glyptic.cli.normalize:NormalizeCommand", "normalize a decider: 0-1, ∞ or ±∞"),
    "combine": ("glyptic.cli.combine:CombineCommand", 'combine deciders: "parity:8 & ~contains:101,8"'),
    "frame": ("glyptic.cli.frame:FrameCommand", "what each construction in a model reads, writes, preserves and costs"),
    "prove": ("glyptic.cli.prove:ProveCommand", "prove what a transformer computes, or get the smallest counterexample"),
    "precision": ("glyptic.cli.precision:PrecisionCommand", "the least precision in which a construction is right, by length"),
    "machine": ("glyptic.cli.machine:MachineCommand", "the exact automaton of a transformer, for every length; its language"),
    "lint": ("glyptic.cli.lint:LintCommand", "what the errata taught to look for in a transformer, by severity"),
    "look": ("glyptic.cli.look:LookCommand", "a page that shows a model, a proof or a lesson, and computes: one HTML file"),
    "studio": ("glyptic.cli.studio:StudioCommand", "the same pages live in the browser: edit a model, prove what it computes"),
    "train": ("glyptic.cli.train:TrainRunCommand", "train a transformer on a task, resumable anywhere; under torchrun on many"),
    "evaluate": ("glyptic.cli.evaluate:EvaluateCommand", "how well the model of a run does on data it was not trained on"),
    "generate": ("glyptic.cli.generate:GenerateCommand", "let a trained decoder go on after a prompt, as it comes"),
    "translate": ("glyptic.cli.translate:TranslateCommand", "translate texts with a trained encoder–decoder"),
    "recipes": ("glyptic.cli.recipes:RecipesCommand", "train by recipes, and see whether each reaches what it should"),
    "experiment": ("glyptic.cli.experiment:ExperimentCommand", "a claim of the lectures tried by small trainings"),
    "distill": ("glyptic.cli.distill:DistillCommand", "a trained decider made exact: proved, or trained until it is"),
    "icl flow": ("glyptic.cli.icl.flow:FlowCommand", "in-context learning: gradient flow to the closed-form minimum"),
    "icl risk": ("glyptic.cli.icl.risk:RiskCommand", "in-context learning: the risk theorem in its three parts"),
    "icl shift": (
        "glyptic.cli.icl.shift:ShiftCommand",
        "in-context learning: what a shift between training and test costs",
    ),
    "icl landscape": (
        "glyptic.cli.icl.landscape:LandscapeCommand",
        "in-context learning: critical points and spurious minima",
    ),
    "icl separate": (
        "glyptic.cli.icl.separate:SeparateCommand",
        "in-context learning: separate keys and queries, learnt down a staircase",
    ),
    "icl diversity": (
        "glyptic.cli.icl.diversity:DiversityCommand",
        "in-context learning: pretraining on few tasks or many, to its limit",
    ),
    "icl train": ("glyptic.cli.icl.train:TrainCommand", "in-context learning: train a model, its curve over the exact flow"),
    "icl compare": (
        "glyptic.cli.icl.compare:CompareCommand",
        "in-context learning: a trained model beside the classical baselines",
    ),
    "icl sweep": (
        "glyptic.cli.icl.sweep:SweepCommand",
        "in-context learning: a grid of problems, restartable, on a cluster if wanted",
    ),
    "icl reproduce": (
        "glyptic.cli.icl.reproduce:ReproduceCommand",
        "in-context learning: the headline figures of the literature",
    ),
}

# programs.registry.KINDS, named here so that the list of commands need not load them
DECIDERS = (
    *("contains", "first-equals-last", "majority", "parity", "brackets", "palindromes", "modular", "random"),
    *("occurs", "at-least", "exactly", "subsequence", "same-ends", "averaging-majority", "counting-majority"),
    *("starts-with", "ends-with", "factor", "last-of", "nested"),
    *("regex", "tomita"),
)

CLOSED = 141  # of what a closed pipe stopped before it was done, as shells say it (128 + SIGPIPE)
UNWRITTEN = 74  # of a command whose output cannot be written, to a full disk say (EX_IOERR of sysexits.h)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
UNFORESEEN = 70  # the exit status of what was not foreseen (EX_SOFTWARE of sysexits.h)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input is one sentence on standard error and status 2, what was not foreseen another and 70."""
    _suit_terminal()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["help"], ["-h"], ["--help"]) and words[1:]:  # `glyptic help run`
        words = [*words[1:], "--help"]
    name = _command_of(words)
    said, status = f"glyptic {name}" if name else "glyptic", None
    try:
        status = _answer(words, name)
        _flush()
        return status
    except GlypticError as error:
        return _say(f"{said}: {type(error).__name__}: {printable(str(error))}", 2)
    except KeyboardInterrupt:
        return _say(f"\n{said}: interrupted", 130)
    except BrokenPipeError:  # `glyptic … | head`: the reader has seen enough
        _give_up_output()
        return CLOSED if status is None else status  # 0 would be an answer: "proved"
    except Exception as error:  # never 1, which is an answer: "not proved"
        if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:  # a file would have told its name
            _give_up_output()
            return _say(f"{said}: the output cannot be written: {error.strerror or error}.", UNWRITTEN)
        if os.environ.get("GLYPTIC_DEBUG"):
            raise
        what = printable(" ".join(f"{type(error).__name__}: {error}".split()))
        return _say(f"{said}: an error that Glyptic did not foresee, {what}; GLYPTIC_DEBUG=1 shows where.", UNFORESEEN)


def _answer(words: list[str], name: str | None) -> int:
    if words in (["--version"], ["version"]):
        print(f"glyptic {importlib.import_module('glyptic').__version__}")
        return 0
    if name is None:
        return _explain(words)
    try:
        return _run(name, words[len(name.split()) :])
    except SystemExit:  # help was printed, perhaps to a reader who has seen enough
        _flush()
        raise


def _say(sentence: str, status: int) -> int:
    """A sentence on standard error, if that can be written, and the status that goes with it."""
    if sys.stderr is not None:  # closed: print would take standard output instead
        with suppress(OSError):
            print(sentence, file=sys.stderr, flush=True)
    return status


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _give_up_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try it again as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _suit_terminal() -> None:
    """Signs that a terminal cannot show are printed as numbers; one narrower than 20 columns is taken to have 20."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "")
    if len(columns) < 9 and columns.isascii() and columns.isdigit() and 0 < int(columns) < 20:
        os.environ["COLUMNS"] = "20"  # with fewer, help is laid out for ever


def _command_of(words: Sequence[str]) -> str | None:
    """The longest registered command that the words begin with."""
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in COMMANDS:
            return name
    return None


def _run(name: str, arguments: list[str]) -> int:
    from glyptic.cli.reading import read

    module, _, attribute = COMMANDS[name][0].partition(":")
    with brought_by(f"glyptic {name}"):
        command = getattr(importlib.import_module(module), attribute)
        return read(command, arguments, f"glyptic {name}", _description(command, arguments)).main() or 0


def _description(command: Any, arguments: Sequence[str]) -> str:
    """What help says of a command; where it takes a decider, with those that are built in."""
    said = inspect.cleandoc(command.__doc__)
    if {"-h", "--help"} & set(arguments) and "recipe" in {field.name for field in fields(command)}:
        from glyptic.train.tasks import registry

        return f"{said}\n\nTasks, with what they take if it is left out:\n" + indent(registry.usage(), "  ")
    takes_decider = {"model", "expression", "construction"} & {field.name for field in fields(command)}
    if not takes_decider or not {"-h", "--help"} & set(arguments):
        return said
    from glyptic.programs.registry import usage

    return f"{said}\n\n{usage()}"


def _explain(words: Sequence[str]) -> int:
    """The list of commands: asked for, or because the words are not a command (then status 2)."""
    asked = not words or words[0] in ("-h", "--help", "help")
    under = {name: line for name, (_, line) in COMMANDS.items() if words and name.split()[0] == words[0]}
    if not asked and not under:
        return _say(f"glyptic: no command {words[0]!r}; `glyptic --help` lists them.", 2)
    asked = asked or words[1:] in ([], ["-h"], ["--help"])
    if not asked:
        return _say(f"glyptic {words[0]}: no command {words[1]!r}; it has: {', '.join(under)}.", 2)
    print("usage: glyptic COMMAND …        glyptic COMMAND --help explains one\n")
    for name, line in (under or {name: line for name, (_, line) in COMMANDS.items()}).items():
        print(f"  {name:<18} {line}")
    if not under:
        print(f"\nbuilt-in deciders, wherever a MODEL is asked for: {', '.join(DECIDERS)}")
    return 0
