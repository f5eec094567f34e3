"""`glyptic translate`: texts through a trained encoder–decoder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from glyptic.arguments import Count
from glyptic.cli.generate import RunPlace
from glyptic.errors import InputError


@dataclass(frozen=True)
class TranslateCommand:
    """Translate texts with a trained encoder–decoder, one line each; without a text, every line of standard input as it comes.

    Examples: glyptic translate numbers "treinta y dos" "mil uno"
              glyptic translate numbers --beams 4 < spanish.txt
    """

    run: RunPlace
    """The run of a translation task, such as numbers:es,en or pairs:FILE."""
    text: Annotated[Positional[tuple[str, ...]], arg(metavar="[TEXT]")] = ()
    """What is to be translated; several texts are several arguments."""
    most: Annotated[int, Count(1, 10**6)] | None = None
    """New tokens at most, for each text."""
    beams: Annotated[int, Count(1, 1000)] = 1
    """Keep so many beginnings at a time, instead of the most likely token each time."""
    which: Literal["best", "last"] = "best"
    """Of a run: those of its best evaluation, or its last ones."""

    def main(self) -> None:
        from glyptic.train.using import in_use, translations

        used = in_use(self.run, self.which)
        if self.text:
            for text in translations(used, [*self.text], self.most, self.beams):
                print(text)
            return
        for number, line in enumerate(_lines(), 1):
            if line.strip():
                try:
                    print(*translations(used, [line.strip()], self.most, self.beams), flush=True)
                except InputError as error:
                    raise InputError(f"line {number}: {error}") from None
            else:
                print(flush=True)


def _lines() -> Iterator[str]:
    """Lines of standard input, as they come; bytes that are no UTF-8 are told with their line."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            place = f"line {number} of standard input is not UTF-8 at its byte {error.start}"
            raise InputError(f"{place}; convert it first.") from None
