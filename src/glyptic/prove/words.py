"""Words of a file or a user as they may be printed: quoted and escaped, so that they are seen to be words, and break nothing.

>>> print(quoted('say "x"' + chr(10)), quoted("x\\u202e\\x1b[2J"))
"say \\"x\\"\\n" "x\\u202e\\u001b[2J"
>>> [word("x0"), word("a.b"), word("x = 0 ∨ y"), word("B"), word("−1")]
['x0', 'a.b', '"x = 0 ∨ y"', '"B"', '"−1"']
"""

from __future__ import annotations

import json
import re
import unicodedata

# What stands for something else where claims are printed, though it looks like a name.
_TAKEN = frozenset(
    "B least true false answer input relu exp root abs max min let if else of in for all some logit token before after".split()
)


def quoted(text: str, most: int = 200) -> str:
    """A text in quotes, as JSON writes it; what is not printed, or turns the direction of writing, as its number."""
    cut = text if len(text) <= most else text[:most] + "…"
    return "".join(_escaped(character) for character in json.dumps(cut, ensure_ascii=False))


def word(name: str) -> str:
    """A name as it is if it is plainly one; else quoted."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]{0,60}", name) is not None
    return name if plain and name not in _TAKEN else quoted(name)


def _escaped(character: str) -> str:
    """Control, format (bidi marks), separators, and what combines with its neighbour or looks like a space."""
    if character == " " or unicodedata.category(character)[0] not in "CZM":
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
