"""What every run of the tests begins and ends with, those in docstrings included.

`--by-room` ends a run with what each room of it cost. What was left out for want of a program is told in a line each. A run that
pytest itself breaks off shows neither failures nor errors: here it ends with a few lines of each.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Generator

import pytest

BEGUN = pytest.StashKey[float]()
BROKEN_OFF: list[str] = []  # what pytest itself broke off by, in this process or in one of its workers


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--by-room", action="store_true", help="print tests and seconds of processor time by room")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["PYTHONIOENCODING"] = "utf-8"  # what tests start speaks so, whatever the terminal
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a script put in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # and can be interrupted, which would be inherited


def used() -> float:
    """Seconds of a processor that this process has used, and those that it started and that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    item.stash[BEGUN] = used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "teardown":
        report.user_properties.append(("used", used() - item.stash[BEGUN]))
    return report


def room(nodeid: str) -> str:
    """The room of a test, of `tests/` or in a docstring.

    >>> [room(f"{path}::a_test") for path in ("tests/prove/fuzz/test_fuzz.py", "src/glyptic/nn/hooks.py", "tests/test_rooms.py")]
    ['prove', 'nn', 'rooms']
    """
    path = nodeid.partition("::")[0].removeprefix("src/glyptic/").removeprefix("tests/")
    return path.partition("/")[0].removesuffix(".py").removeprefix("test_")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    _tell_what_was_left_out(terminalreporter)
    if not config.getoption("by_room"):
        return
    rooms: dict[str, list[float]] = defaultdict(list)
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        for name, seconds in getattr(report, "user_properties", ()):
            if name == "used":
                rooms[room(report.nodeid)].append(seconds)
    rooms["all"] = [seconds for of_one in rooms.values() for seconds in of_one]
    terminalreporter.section("seconds of a processor, by room")
    for name, of_one in sorted(rooms.items(), key=lambda item: -sum(item[1])):
        terminalreporter.write_line(f"{sum(of_one):8.1f} s in {len(of_one):5} tests   {name}")


def pytest_internalerror(excrepr: object) -> None:
    BROKEN_OFF.append(str(excrepr))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None]:
    yield
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus != pytest.ExitCode.INTERNAL_ERROR or terminal is None or hasattr(session.config, "workerinput"):
        return
    for kind in ("failed", "error"):
        for report in terminal.stats.get(kind, [])[:5]:
            terminal.write_line(f"{kind}: {report.nodeid}: {_end(report.longreprtext, 2)}")
    for text in BROKEN_OFF[:2]:
        terminal.write_line(f"broken off: {_end(text, 6)}")


def _end(text: str, lines: int) -> str:
    """What an error says of itself, where it does; else its last lines."""
    all_of_it = text.strip().splitlines()
    said = [line[1:] for line in all_of_it if line.startswith("E  ")] or all_of_it
    return " | ".join(line.strip()[-160:] for line in said[-lines:])


def _tell_what_was_left_out(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each program that is missing, with the files of tests that did not run without it."""
    missing: dict[str, set[str]] = defaultdict(set)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if "is missing: apt-get install" in reason:
            missing[reason.removeprefix("Skipped: ")].add(report.nodeid.partition("::")[0])
    for reason, places in missing.items():
        terminalreporter.write_line(f"NOT RUN: {', '.join(sorted(places))}: {reason}; `make system` brings it")
