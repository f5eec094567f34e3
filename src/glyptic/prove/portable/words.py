"""Words of a file or a user as they may be printed: quoted and escaped, so that they are seen to be words, and break nothing.

>>> print(quoted('say "x"' + chr(10)), quoted("x\\u202e\\x1b[2J"))
"say \\"x\\"\\n" "x\\u202e\\u001b[2J"
>>> [is_variable(name) for name in ("x", "h_1", "B", "x = 0", "")]
[True, True, False, False, False]
>>> [is_coordinate(name) for name in ("a's turn", "f0→1", "x@0 = 0 ∨ before.x", "x or before.y", "x\\n")]
[True, True, False, False, False]
"""

from __future__ import annotations

import re

from glyptic.text import printable as printable
from glyptic.text import quoted as quoted

_MOST = 64
# What stands for something else where claims are printed, though it looks like a name.
_TAKEN = frozenset(
    ("B", "least", "true", "false", "answer", "input", "relu", "exp", "root", "abs", "max", "min", "let", "if", "else")
)
# Words between which a name would end: "before.x or before.y@0" is one coordinate, and looks like two.
_JOINING = frozenset(
    ("and", "or", "not", "if", "then", "else", "iff", "implies", "is", "in", "of", "at", "from", "with", "for", "all", "some")
)


# Names that stand in a printed claim without quotes, and so must not look like more than a name -----------------------------


def is_variable(name: str) -> bool:
    """Letters, digits and underscores, and no word that means something in a claim."""
    return re.fullmatch(rf"[^\W\d]\w{{0,{_MOST - 1}}}", name) is not None and name not in _TAKEN and _visible(name)


def is_coordinate(name: str) -> bool:
    """Words without any sign or word that claims are built of; in a claim it stands between a point and an @."""
    signs = re.search(r'[@=≠<≤>≥∧∨¬⇒⇔\[\]{}(),:;|·−+*/"\\]|\s\s', name)
    joins = " " in name and not _JOINING.isdisjoint(name.lower().split())
    return 0 < len(name) <= _MOST and signs is None and not joins and name == name.strip() and _visible(name)


def is_token(name: str) -> bool:
    """One visible character, or a word of letters, digits and a few signs."""
    return ((len(name) == 1 and name != " ") or re.fullmatch(rf"[\w.+'#$-]{{1,{_MOST}}}", name) is not None) and _visible(name)


def _visible(name: str) -> bool:
    return printable(name) == name
