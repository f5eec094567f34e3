"""The command: read the claim and the verdict, check them and what lies beside them, and print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .claims import Claim, read_claim
from .files import check_files, check_kinds
from .machine import Wrong, check_machine
from .reading import Unreadable, need, printable, read_json
from .report import Report
from .states import by_states
from .verdict import check, read_verdict
from .words import describe


def read(path: Path) -> tuple[Claim, dict[str, Any]]:
    """The claim and the verdict of a folder, or of a file that holds both."""
    file = path / "claim.json" if path.is_dir() else path
    data = read_json(file)
    need(isinstance(data, dict), f"{file} holds no claim.")
    whole = "claim" in data and "verdict" in data
    claim = read_claim(data["claim"] if whole else data)
    verdict = data["verdict"] if whole else read_json(file.parent / "verdict.json")
    return claim, read_verdict(verdict)


def main(arguments: list[str]) -> int:
    """The exit status: 0 if nothing contradicts the verdict, 1 if something does, 2 if the input cannot be read.

    What was not foreseen in a file is no reason to believe it.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that knows ASCII alone
    try:
        return checked(arguments)
    except Unreadable as reason:
        print(printable(f"check.py: {reason}"), file=sys.stderr)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RecursionError, TypeError, ValueError) as error:
        print(printable(f"check.py: the files cannot be checked: {type(error).__name__}: {error}"), file=sys.stderr)
    return 2


def machine_checked(folder: Path) -> int:
    """A folder that holds a machine instead of a claim."""
    try:
        lines = check_machine(folder)
    except Wrong as reason:
        print(printable(f"CONTRADICTED: {reason}"))
        return 1
    print("THE MACHINE", *(printable(f"verified: {line}") for line in lines), "", "nothing contradicts the machine", sep="\n")
    return 0


def checked(arguments: list[str]) -> int:
    """Read, check and print; 1 if something contradicts the verdict."""
    limit, paths = 20_000, list(arguments)
    if "--limit" in paths:
        place = paths.index("--limit")
        given = paths[place + 1] if place + 1 < len(paths) else ""
        need(given.isascii() and given.isdigit() and len(given) <= 18, "--limit needs a number after it, of at most 18 digits.")
        limit = int(given)
        del paths[place : place + 2]
    paths = paths or [str(Path(__file__).resolve().parents[1])]
    need(len(paths) == 1 and not paths[0].startswith("-"), "usage: python check.py [FOLDER] [--limit N]")
    folder = Path(paths[0])
    if folder.is_dir():
        check_kinds(folder)
    if (folder / "machine.json").is_file():
        return machine_checked(folder)
    claim, verdict = read(folder)
    print("THE CLAIM", *map(printable, describe(claim)), "", sep="\n")
    print(f"THE VERDICT: {verdict['answer']}, by {verdict['method']}")
    report = Report()
    walked = by_states(folder, claim, verdict, report) if folder.is_dir() else None
    check(claim, verdict, limit, report, walked)
    if folder.is_dir():
        check_files(folder, claim, verdict, report, limit)
    print(*map(printable, sorted(report.lines, key=lambda line: line.startswith("on trust"))), sep="\n")
    print("", "CONTRADICTED" if report.wrong else "nothing contradicts the verdict", sep="\n")
    return 1 if report.wrong else 0
