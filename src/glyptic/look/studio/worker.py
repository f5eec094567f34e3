"""The process that builds pages and proves, so that neither can hold up the server.

It reads one request a line, as JSON, and writes lines of JSON: {"progress": [done, of]} on the way, then {"done": …} or
{"error": sentence}. Its memory is limited; the server sees to the time. It ends when the server does: its input is then closed,
which a thread notices even while a proof is running.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glyptic.errors import GlypticError
from glyptic.text import printable

Tell = Callable[[dict[str, Any]], None]
_BETWEEN = 0.1  # seconds from one progress to the next


def main() -> None:
    """Answer requests until there are no more."""
    limit_memory(int(sys.argv[1]))
    tell, requests = _teller(), _requests()
    while True:
        request = json.loads(requests.get())
        tell(answer(request, tell))


def answer(request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """What a request comes to: a result, or a sentence and whether the user could have caused it.

    >>> answer({"ask": "page", "folder": None, "wish": {"text": "party:8"}}, print)["error"].partition(",")[0]
    "no built-in decider 'party'; there are contains"
    """
    from glyptic.look.studio import wishes

    root = None if request["folder"] is None else Path(request["folder"])
    try:
        if request["ask"] == "prove":
            return {"done": _prove(wishes.wish_of(wishes.ProofWish, request["wish"]), root, tell)}
        if request["ask"] == "lists":
            return {"done": _lists(root)}
        wish = wishes.wish_of(wishes.PageWish, request["wish"])
        return {"done": _page(wish, root, whole=request["ask"] == "html")}
    except GlypticError as error:
        return {"error": printable(str(error)), "caused": True}
    except MemoryError:
        return {
            "error": "this takes more memory than the studio gives to one page or proof; ask for less.",
            "caused": True,
        }
    except RecursionError:
        return {"error": "this is nested too deeply for the studio; ask for less.", "caused": True}
    except Exception as error:
        if os.environ.get("GLYPTIC_DEBUG"):
            raise
        what = printable(f"{type(error).__name__}: {error}")[:300]
        print(f"glyptic studio: an error that Glyptic did not foresee, {what}", file=sys.stderr, flush=True)
        return {"error": "an error that Glyptic did not foresee; the studio's terminal says which.", "caused": False}


def _page(wish: Any, root: Path | None, whole: bool) -> dict[str, Any]:
    from glyptic import look
    from glyptic.look.studio.opening import about, opened

    transformer = opened(wish, root)
    page = look.page(transformer, *((wish.input,) if wish.input else ()), language=wish.language)
    if whole:
        return {"html": page.html(), "title": page.title}
    views = [{"kind": view.kind, "title": view.title, "data": view.data} for view in page.views]
    return {"title": page.title, "views": views, "about": about(transformer)}


def _prove(wish: Any, root: Path | None, tell: Tell) -> dict[str, Any]:
    from glyptic import languages
    from glyptic.look.studio.opening import combined, opened
    from glyptic.look.values.proof import proof_view
    from glyptic.prove import check, questions
    from glyptic.prove.verdicts.answers import verdict_to_json

    model = opened(wish, root)
    other = combined(wish.against, wish.format, root) if wish.against else model
    longest = wish.max_length
    if wish.against:
        claim = questions.equivalence(model, other, longest)
    elif wish.language:
        claim = questions.recognition(model, languages.regular(wish.language, model.vocabulary), longest)
    elif wish.claim == "decisive":
        claim = questions.decisiveness(model, longest)
    else:
        claim = questions.defined_attention(model, longest)
    verdict = check(claim, seconds=wish.seconds, backend="sequential", progress=_progress(tell))
    view = proof_view(verdict, claim)[0]
    shown = {
        "kind": view.kind,
        "title": view.title,
        "data": {**view.data, "run": None},
    }  # the input is opened in the studio itself
    return {**verdict_to_json(verdict), "text": str(verdict), "view": shown}


def _progress(tell: Tell) -> Callable[[int, int], None]:
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _BETWEEN or done == total:
            last = time.monotonic()
            tell({"progress": [done, total]})

    return progress


def _lists(root: Path | None) -> dict[str, Any]:
    from glyptic.look.studio.folders import models_of
    from glyptic.look.studio.opening import built_in

    models, whole = models_of(root)
    folder = None if root is None else printable(root.name)
    return {"models": models, "whole": whole, "kinds": built_in(), "folder": folder}


def limit_memory(megabytes: int) -> None:
    """No more than this, libraries included, where the system can see to it."""
    try:
        import resource
    except ImportError:  # Windows: the deadline remains
        return
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _teller() -> Tell:
    """Writes a line to whoever started us; what libraries print goes elsewhere."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: dict[str, Any]) -> None:
        try:
            lines.write(json.dumps(event, ensure_ascii=True, allow_nan=False) + "\n")
            lines.flush()
        except OSError:  # nobody listens any more
            _end()

    return tell


def _requests() -> queue.Queue[bytes]:
    """Lines of the input, read by a thread that ends the process, and those that it started, when there are no more."""
    lines: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        _end()

    threading.Thread(target=read, daemon=True).start()
    return lines


def _end() -> None:
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():  # we lead our own group: nothing else is in it
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def warm() -> None:
    """Load what every request needs, while nobody waits."""
    import glyptic.look.studio.opening
    import glyptic.prove  # noqa: F401


def begin() -> None:
    """Load, then answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    warm()
    main()


if __name__ == "__main__":
    begin()
