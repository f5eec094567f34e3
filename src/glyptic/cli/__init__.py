"""The `glyptic` command: a table of commands, one file each, loaded only when asked for.

A command is a frozen dataclass with a `main()` method; tyro turns its fields and their docstrings into flags. Modules
are imported lazily, so `glyptic run` never waits for torch.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence

from glyptic.errors import GlypticError

# words on the command line -> (module:dataclass, one line for the list)
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("glyptic.cli.run:Run", "run a transformer on an input, in its own arithmetic; trace it"),
    "show": ("glyptic.cli.show:Show", "a model's sizes, format, coordinates, sparsity and cost"),
    "normalize": ("glyptic.cli.normalize:Normalize", "normalize a decider: 0-1, ∞ or ±∞"),
    "combine": ("glyptic.cli.combine:Combine", 'combine deciders: "parity:8 & ~contains:101,8"'),
    "frame": ("glyptic.cli.frame:Frame", "what each construction in a model reads, writes, preserves and costs"),
    "prove": ("glyptic.cli.prove:Prove", "prove what a transformer computes, or get the smallest counterexample"),
    "precision": ("glyptic.cli.precision:Precision", "the least precision in which a construction is right, by length"),
    "lint": ("glyptic.cli.lint:Lint", "what the errata taught to look for in a transformer, by severity"),
    "icl flow": ("glyptic.cli.icl_flow:Flow", "in-context learning: gradient flow to the closed-form minimum"),
    "icl risk": ("glyptic.cli.icl_risk:RiskCommand", "in-context learning: the risk theorem in its three parts"),
    "icl shift": (
        "glyptic.cli.icl_shift:ShiftCommand",
        "in-context learning: what a shift between training and test costs",
    ),
    "icl landscape": (
        "glyptic.cli.icl_landscape:Landscape",
        "in-context learning: critical points and spurious minima",
    ),
    "icl train": ("glyptic.cli.icl_train:Train", "in-context learning: train a model, its curve over the exact flow"),
    "icl compare": (
        "glyptic.cli.icl_compare:Compare",
        "in-context learning: a trained model beside the classical baselines",
    ),
    "icl sweep": (
        "glyptic.cli.icl_sweep:Sweep",
        "in-context learning: a grid of problems, restartable, on a cluster if wanted",
    ),
    "icl reproduce": (
        "glyptic.cli.icl_reproduce:Reproduce",
        "in-context learning: the headline figures of the literature",
    ),
}

CLOSED = 141  # of what a closed pipe stopped before it was done, as shells say it (128 + SIGPIPE)
UNFORESEEN = 70  # the exit status of what was not foreseen (EX_SOFTWARE of sysexits.h)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input is one sentence on standard error and status 2, what was not foreseen another and 70."""
    _suit_terminal()
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--version"], ["version"]):
        print(f"glyptic {importlib.import_module('glyptic').__version__}")
        return 0
    name = _command_of(words)
    if name is None:
        return _explain(words)
    status = CLOSED
    try:
        status = _run(name, words[len(name.split()) :])
        sys.stdout.flush()
        return status
    except GlypticError as error:
        print(f"glyptic {name}: {type(error).__name__}: {_in_one_line(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nglyptic {name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `glyptic … | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return status  # 0 would be an answer: "proved"
    except Exception as error:  # never 1, which is an answer: "not proved"
        if os.environ.get("GLYPTIC_DEBUG"):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"glyptic {name}: an error that Glyptic did not foresee, {what}; GLYPTIC_DEBUG=1 shows where.", file=sys.stderr)
        return UNFORESEEN


def _suit_terminal() -> None:
    """Signs that a terminal cannot show are printed as numbers; one narrower than 20 columns is taken to have 20."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "")
    if len(columns) < 9 and columns.isascii() and columns.isdigit() and 0 < int(columns) < 20:
        os.environ["COLUMNS"] = "20"  # with fewer, help is laid out for ever


def _in_one_line(text: str) -> str:
    """A sentence may name what a file or a user named, control characters and all: these are shown as numbers.

    >>> _in_one_line("no model '\\x1b[2J'" + chr(10))
    "no model '\\\\x1b[2J'\\\\n"
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _command_of(words: Sequence[str]) -> str | None:
    """The longest registered command that the words begin with."""
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in COMMANDS:
            return name
    return None


def _run(name: str, arguments: list[str]) -> int:
    import tyro

    module, _, attribute = COMMANDS[name][0].partition(":")
    command_class = getattr(importlib.import_module(module), attribute)
    command = tyro.cli(command_class, args=arguments, prog=f"glyptic {name}", description=command_class.__doc__)
    return command.main() or 0


def _explain(words: Sequence[str]) -> int:
    """The list of commands: asked for, or because the words are not a command (then status 2)."""
    asked = not words or words[0] in ("-h", "--help", "help")
    under = {name: line for name, (_, line) in COMMANDS.items() if words and name.split()[0] == words[0]}
    if not asked and not under:
        print(f"glyptic: no command {words[0]!r}; `glyptic --help` lists them.", file=sys.stderr)
        return 2
    asked = asked or words[1:] in ([], ["-h"], ["--help"])
    if not asked:
        print(f"glyptic {words[0]}: no command {words[1]!r}; it has: {', '.join(under)}.", file=sys.stderr)
        return 2
    print("usage: glyptic COMMAND …        glyptic COMMAND --help explains one\n")
    for name, line in (under or {name: line for name, (_, line) in COMMANDS.items()}).items():
        print(f"  {name:<18} {line}")
    return 0
