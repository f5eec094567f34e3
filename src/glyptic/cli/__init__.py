"""The `glyptic` command: a table of commands, one file each, loaded only when asked for.

A command is a frozen dataclass with a `main()` method; tyro turns its fields and their docstrings into flags. Modules
are imported lazily, so `glyptic run` never waits for torch.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from glyptic.errors import GlypticError

# words on the command line -> (module:dataclass, one line for the list)
COMMANDS: dict[str, tuple[str, str]] = {}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input is one sentence on standard error and status 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--version"], ["version"]):
        print(f"glyptic {importlib.import_module('glyptic').__version__}")
        return 0
    name = _command_of(words)
    if name is None:
        return _explain(words)
    try:
        return _run(name, words[len(name.split()) :])
    except GlypticError as error:
        print(f"glyptic {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nglyptic {name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `glyptic … | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


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
