"""What is found kept in a file as it comes, so that long work goes on after an interruption, or after a change.

A row counts again only for the very question that it answers: it bears the question's fingerprint. The file is rewritten whole at
every row; one of another kind, or that somebody has edited, is refused and stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from glyptic.errors import FileError
from glyptic.files.reading import quoted_path, read_json
from glyptic.files.writing import sentences, write_whole

Found = TypeVar("Found")


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with the digest of everything else in it.

    >>> one = sealed({"says": "x = x"})
    >>> sealed(one) == one, sealed({**one, "says": "x = 0"}) == {**one, "says": "x = 0"}
    (True, False)
    """
    rest = {name: part for name, part in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**rest, "digest": hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()}


class KeptFile:
    """Rows by name, each with the fingerprint of its question under `question`; `what` is how sentences call the file.

    `about` is what the file must say of itself. With the digest of some `code`, it counts for that code only. All are sealed;
    of files that are not bound to code those of earlier versions, without a seal, are read too.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.json"
    >>> KeptFile(path, "the squares", {"kind": "squares"}).enter("7", "what is 7²?", {"is": 49})
    >>> again = KeptFile(path, "the squares", {"kind": "squares"})
    >>> again.find("7", lambda: "what is 7²?", lambda row: row["is"])
    49
    >>> again.find("7", lambda: "what is 7³?", lambda row: row["is"])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        what: str,
        about: Mapping[str, Any],
        *,
        code: str | None = None,
        rows: str = "rows",
        question: str = "question",
    ) -> None:
        self.path, self._what, self._about, self._code = Path(path), what, dict(about), code
        self._place, self._question = rows, question
        with sentences(self.path, what):
            self._rows = self._read() if self.path.exists() else {}

    def find(self, name: str, question: Callable[[], str], read: Callable[[dict[str, Any]], Found]) -> Found | None:
        """What `read` makes of the row of that name, if it answers the question; None of what cannot be read any more."""
        row = self._rows.get(name)
        if row is None or not row[self._question] or row[self._question] != question():
            return None
        try:
            return read({part: value for part, value in row.items() if part != self._question})
        except (FileError, KeyError, TypeError):  # written by another version
            return None

    def enter(self, name: str, question: str, row: Mapping[str, Any]) -> None:
        """Keep a row; one without a fingerprint could never count, and is not kept."""
        if not question:
            return
        self._rows[name] = {self._question: question, **row}
        content = self._about | {self._place: self._rows}
        content = sealed(content if self._code is None else content | {"code": self._code})
        write_whole(self.path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode(), self._what)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            return self._taken(read_json(self.path, what=f"a file of {self._what}"))
        except (FileError, KeyError, TypeError, AttributeError) as error:
            why = str(error).rstrip(".") if isinstance(error, FileError) else f"{quoted_path(self.path)} lacks what belongs in it"
            raise FileError(f"{why}; delete it, or name another.") from None

    def _taken(self, content: dict[str, Any]) -> dict[str, dict[str, Any]]:
        shown = quoted_path(self.path)
        if {name: content[name] for name in self._about} != self._about:
            raise FileError(f"{shown} is not a file of {self._what}, as this version writes it.")
        earlier = self._code is None and "digest" not in content
        if (self._code is not None and content["code"] != self._code) or not (earlier or content == sealed(content)):
            raise FileError(f"{shown} was edited, or written by another Glyptic.")
        return {name: {self._question: row[self._question], **row} for name, row in content[self._place].items()}
