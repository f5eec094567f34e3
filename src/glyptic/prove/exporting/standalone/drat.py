"""Checks a DRAT proof: that a list of clauses cannot all be true. Standard library only.

    python drat.py question.cnf question.drat      exit status 0 if the proof is right, 1 if it is not

A proof is a list of clauses, each of which may be added without making a satisfiable list unsatisfiable; the last is the empty
clause, which nothing satisfies. So the list it started from was not satisfiable. A clause may be added if it is

 RUP   all its literals made false, unit clauses force a contradiction ("reverse unit propagation"): it follows; or
 RAT   for its first literal p and every clause D with −p: the clause with D, without −p, is RUP. Then any solution can be
       turned into one that satisfies the clause too, by making p true.

A line that begins with d takes a clause away again, which is a matter of speed, and of RAT: fewer clauses rule out fewer
solutions. (What a clause has already forced stays, as in drat-trim; to keep more clauses than the proof asks for is sound.)

Unit propagation watches two literals of each clause that are not false: only when one of them becomes false is the clause looked
at. Every line of the proof is checked, from the first to the empty clause.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this folder: a file in it that is called re.py is not what is meant by re

import re
from collections.abc import Iterator

Clause = list[int]
MOST_VARIABLES = 1 << 22  # each takes some hundred bytes here


class Refused(Exception):
    """The proof, or the list of clauses, is not right; the text says where."""


def literals(words: list[str], place: str) -> Clause:
    """Whole numbers as DIMACS has them: ASCII digits without +, _ or leading zeros, and within bounds."""
    for word in words:
        if not re.fullmatch(r"0|-?[1-9][0-9]{0,8}", word) or abs(int(word)) > MOST_VARIABLES:
            raise Refused(f"{place} has {word[:20]!r}, which is no literal.")
    return list(map(int, words))


def lines_of(text: str, what: str) -> list[str]:
    """Lines end with a line feed and nothing else, or a comment could hold clauses that other readers do not see."""
    odd = re.search(r"[^ -~\t\n]", text)
    if odd:
        raise Refused(f"{what} has {odd.group()!r} at character {odd.start()}; it must be plain ASCII text.")
    return text.split("\n")


def read_cnf(text: str) -> tuple[list[Clause], int]:
    """The clauses of a DIMACS file, and its number of variables.

    >>> read_cnf("c a comment\\np cnf 2 2\\n1 2 0\\n-1 0\\n")
    ([[1, 2], [-1]], 2)
    """
    header: tuple[int, int] | None = None
    numbers: list[int] = []
    for line in lines_of(text, "the list of clauses"):
        if line.startswith("p"):
            found = re.fullmatch(r"p cnf ([0-9]{1,9}) ([0-9]{1,9})", line)
            if header is not None or numbers or not found or int(found[1]) > MOST_VARIABLES:
                raise Refused(f"the header {line[:80]!r} is not one of a list of clauses.")
            header = int(found[1]), int(found[2])
        elif not line.startswith("c"):
            numbers += literals(line.split(), "the list of clauses")
    if header is None:
        raise Refused("the list of clauses has no header.")
    clauses, current = list[Clause](), list[int]()
    for number in numbers:
        if abs(number) > header[0]:
            raise Refused(f"variable {abs(number)}: the header says that there are {header[0]}.")
        if number:
            current.append(number)
        else:
            clauses.append(current)
            current = []
    if current or len(clauses) != header[1]:
        raise Refused(f"the header says {header[1]} clauses; there are {len(clauses)}, the last one cut short or not.")
    return clauses, header[0]


def read_proof(text: str) -> Iterator[tuple[bool, Clause]]:
    """(whether it is taken away, clause) for every line of a DRAT proof in text form.

    >>> list(read_proof("1 0\\nd 1 2 0\\n0\\n"))
    [(False, [1]), (True, [1, 2]), (False, [])]
    """
    for place, line in enumerate(lines_of(text, "the proof"), 1):
        words = line.split()
        if not words or words[0] == "c":
            continue
        deleted = words[0] == "d"
        *clause, end = [*literals(words[deleted:], f"line {place} of the proof")] or [1]
        if end != 0 or 0 in clause:
            raise Refused(f"line {place} of the proof does not end with its only 0.")
        yield deleted, clause


class Clauses:
    """A growing list of clauses with all that follows from it by unit propagation.

    Lists are indexed by literals: Python counts index −3 from the end, which is where −3 has its place.
    """

    def __init__(self, variables: int) -> None:
        self.size = 0
        self.value = [0]  # of each literal: 1 true, −1 false, 0 open
        self.watching: list[list[int]] = [[]]  # of each literal: the clauses that watch it
        self.clauses: list[
            Clause | None
        ] = []  # each a list whose first two literals are watched; None once it is taken away
        self.trail: list[int] = []  # literals made true, in order
        self.places: dict[tuple[int, ...], list[int]] = {}  # sorted clause -> its numbers in the list
        self.forcing: set[int] = set()  # clauses that forced a literal for good
        self.refuted = False  # whether propagation alone found a contradiction
        self._grow(variables)

    def _grow(self, variables: int) -> None:
        """Room for more variables: a proof may bring its own."""
        if variables > self.size:
            value, watching = self.value, self.watching
            self.value = [0] * (2 * variables + 1)
            self.watching = [[] for _ in range(2 * variables + 1)]
            for literal in range(-self.size, self.size + 1):
                self.value[literal], self.watching[literal] = value[literal], watching[literal]
            self.size = variables

    def add(self, clause: Clause) -> None:
        """Add a clause, and for good what it forces."""
        self._grow(max(map(abs, clause), default=0))
        literals = sorted(set(clause), key=lambda literal: self.value[literal] < 0)  # those that are not false first
        number = len(self.clauses)
        self.clauses.append(literals)
        self.places.setdefault(tuple(sorted(literals)), []).append(number)
        for literal in literals[:2]:
            if len(literals) > 1:
                self.watching[literal].append(number)
        open_ones = [literal for literal in literals[:2] if self.value[literal] >= 0]
        if not open_ones:
            self.refuted = True
        elif len(open_ones) == 1 and self.value[open_ones[0]] == 0:
            self.forcing.add(number)
            self._assign(open_ones[0])
            self.refuted = self._contradiction(len(self.trail) - 1, self.forcing) or self.refuted

    def remove(self, clause: Clause) -> None:
        """Take a clause away; one that has forced a literal stays."""
        numbers = self.places.get(tuple(sorted(set(clause))))
        if not numbers:
            raise Refused(f"the proof takes away {clause}, which is not there.")
        if numbers[-1] not in self.forcing:
            self.clauses[numbers.pop()] = None

    def follows(self, clause: Clause) -> bool:
        """RUP: whether the clause's literals, all false, lead to a contradiction by unit propagation."""
        self._grow(max(map(abs, clause), default=0))
        start = len(self.trail)
        found = self._all_false(clause) or self._contradiction(start)
        self._undo(start)
        return found

    def harmless(self, clause: Clause) -> bool:
        """RAT on its first literal: with every clause that has the opposite literal, what both say follows."""
        pivot, start = clause[0], len(self.trail)
        others = [other for other in self.clauses if other is not None and -pivot in other]
        good = not self._all_false(clause) and not self._contradiction(start)
        middle = len(self.trail)
        for other in others:
            good = good and (self._all_false([x for x in other if x != -pivot]) or self._contradiction(middle))
            self._undo(middle)
        self._undo(start)
        return good

    # Unit propagation --------------------------------------------------------------------------------------------------

    def _assign(self, literal: int) -> None:
        self.value[literal], self.value[-literal] = 1, -1
        self.trail.append(literal)

    def _undo(self, length: int) -> None:
        for literal in self.trail[length:]:
            self.value[literal] = self.value[-literal] = 0
        del self.trail[length:]

    def _all_false(self, clause: Clause) -> bool:
        """Make the literals false; True if one of them is true already, which is a contradiction at once."""
        for literal in clause:
            if self.value[literal] > 0:
                return True
            if self.value[literal] == 0:
                self._assign(-literal)
        return False

    def _contradiction(self, start: int, forcing: set[int] | None = None) -> bool:
        """Whether the literals made true from `start` on lead to a clause that is false; clauses that force go to `forcing`."""
        value, clauses, trail = self.value, self.clauses, self.trail
        while start < len(trail):
            false = -trail[start]
            start += 1
            watchers, self.watching[false] = self.watching[false], []
            stay = self.watching[false]
            for place, number in enumerate(watchers):
                clause = clauses[number]
                if clause is None:
                    continue
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], false
                first = clause[0]
                if value[first] > 0 or not self._watch_another(clause, number, false):
                    stay.append(number)
                    if value[first] < 0:
                        stay.extend(watchers[place + 1 :])
                        return True
                    if value[first] == 0:
                        self._assign(first)
                        if forcing is not None:
                            forcing.add(number)
        return False

    def _watch_another(self, clause: Clause, number: int, false: int) -> bool:
        """Let a clause watch another literal that is not false; False if there is none."""
        value = self.value
        for k in range(2, len(clause)):
            if value[clause[k]] >= 0:
                clause[1], clause[k] = clause[k], false
                self.watching[clause[1]].append(number)
                return True
        return False


def check(cnf: str, proof: str) -> int:
    """The number of clauses that the proof added; a proof that is not right is refused, with the place.

    >>> check("p cnf 2 4\\n1 2 0\\n-1 2 0\\n1 -2 0\\n-1 -2 0\\n", "2 0\\n0\\n")
    2
    >>> try:
    ...     check("p cnf 2 3\\n1 2 0\\n-1 2 0\\n1 -2 0\\n", "2 0\\n0\\n")
    ... except Refused as reason:
    ...     print(reason)
    clause 2 of the proof, [], does not follow.
    """
    start, variables = read_cnf(cnf)
    held = Clauses(variables)
    for clause in start:
        held.add(clause)
    added, ended = 0, False
    for deleted, clause in read_proof(proof):
        if ended:
            raise Refused("the proof goes on after the empty clause.")
        if deleted:
            held.remove(clause)
            continue
        added += 1
        if not (held.refuted or held.follows(clause) or (clause and held.harmless(clause))):
            raise Refused(f"clause {added} of the proof, {clause}, does not follow.")
        held.add(clause)
        ended = not clause
    if not ended:
        raise Refused("the proof does not end with the empty clause.")
    return added


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__)
        return 2
    try:
        texts = []
        for path in arguments:
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        added = check(*texts)
    except (Refused, ValueError, OSError) as error:
        print(f"REFUSED: {error}")
        return 1
    print(f"verified: {arguments[1]} proves in {added} steps that {arguments[0]} has no solution")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
