"""The journal of an enumeration: its ledger in a file, so that an interruption loses nothing.

The file is rewritten whole, under a temporary name, and renamed. It is sealed: by the claim with its weights and the source of
its predicates, by Glyptic's own code, the engine and the plan of portions, so that it is never taken for another's; by a digest
of all that it holds. Nothing in it is believed that can be seen to be wrong: counts are compared with the sizes of portions, and
counterexamples are run. A portion is entered once: a second result for it, from a worker thought dead, is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from glyptic import __version__
from glyptic.errors import FileError
from glyptic.files import write_whole
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.elements.batches import free_names
from glyptic.prove.elements.counting import codes_size, input_size
from glyptic.prove.methods.enumeration.portions import Enumeration, Ledger, Portion, Tally, pieces, size_of
from glyptic.prove.portable.claims import digest, doubts
from glyptic.prove.portable.pinning import code_of_glyptic
from glyptic.prove.portable.reading import JsonPart, quoted_path, read_json, sealed
from glyptic.prove.verdicts.minimise import fails, input_fails

KIND, VERSION = "glyptic.prove.enumeration.journal", 2
_SECONDS_BETWEEN_WRITES = 0.5
_EXAMPLES_RUN = 8  # of those in a journal, the smallest: each takes a run in exact fractions


class Journal(Ledger):
    """A ledger that is in a file too, and in memory begins with what the file has."""

    def __init__(self, job: Enumeration, plan: list[Portion], path: Path) -> None:
        super().__init__(job, plan)
        self.path, self._written = path, 0.0
        _refuse_doubts(job.claim)
        self._lock: int | None = _locked(path)
        try:
            self._seal = _seal(job, [*self.portions])
            if path.exists():
                self._read(path)
            self.write()  # at once, so that a place that cannot be written is known before the work
        except BaseException:
            self.close()
            raise
        self.resumed = len(self.done)

    def enter(self, portion: Portion, tally: Tally) -> bool:
        entered = super().enter(portion, tally)
        if entered and time.monotonic() - self._written > _SECONDS_BETWEEN_WRITES:
            self.write()
        return entered

    def write(self) -> None:
        """Write the file."""
        done = {name: list(astuple(tally)) for name, tally in self.done.items()}
        content = sealed({**self._seal, "cut": self.cut, "done": done})
        write_whole(self.path, (json.dumps(content) + "\n").encode(), "the journal")
        self._written = time.monotonic()

    def remove(self) -> None:
        """The job is decided: the journal has served."""
        _place(self.path).unlink(missing_ok=True)

    def close(self) -> None:
        """Let others have the file."""
        if self._lock is not None:
            _lock_path(self.path).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    # Reading ------------------------------------------------------------------------------------------------------------

    def _read(self, path: Path) -> None:
        try:
            content = read_json(path, "a journal")
            if not isinstance(content, dict) or (content.get("kind"), content.get("version")) != (KIND, VERSION):
                raise FileError(f"{quoted_path(path)} is not a journal of version {VERSION}.")
            try:
                self._take(JsonPart(content, "the journal"))
            except FileError as error:
                raise FileError(f"{quoted_path(path)}: {error}") from None
        except FileError as error:
            raise FileError(f"{str(error).rstrip('.')}; delete it, or name another.") from None

    def _take(self, part: JsonPart) -> None:
        given = part.record(*self._seal, "cut", "done", "digest")
        if part.value != sealed(part.value):
            raise FileError("its digest differs from what it holds: it was edited, or is damaged.")
        for name, wanted in self._seal.items():
            if given[name].value != wanted or type(given[name].value) is not type(wanted):
                raise FileError(_DIFFERENCES.get(name, "it is not a journal that this Glyptic has written."))
        for name in given["cut"].texts():
            if name not in self.portions or not pieces(self.job.claim, self.portions[name]):
                raise FileError("it has cut a portion that is none of the job's.")
            self.cut_up(self.portions[name])
        for name, entry in given["done"].entries().items():
            if name not in self.portions:
                raise FileError("it has finished a portion that is none of the job's.")
            self.done[name] = _tally(entry)
            _check_tally(self.job, self.portions[name], self.done[name], entry)
        self._check_examples()

    def _check_examples(self) -> None:
        """The smallest must fail in exact fractions; and longer inputs are left out only where a shorter one fails."""
        claim = self.job.claim
        of_inputs = isinstance(claim.subject, Inputs)
        size: Any = input_size if of_inputs else codes_size
        examples = sorted((tally.example for tally in self.done.values() if tally.example is not None), key=size)
        for example in examples[:_EXAMPLES_RUN]:
            if not (input_fails if of_inputs else fails)(claim, example):
                raise FileError("it has a counterexample that does not fail, run in exact fractions.")
        for name, tally in self.done.items():
            if tally.skipped:
                portion = self.portions[name]
                length = min(portion.longest, len(examples[0])) if examples else portion.longest + 1
                if length > portion.longest or tally.inputs < size_of(claim, replace(portion, longest=length)):
                    raise FileError(f"portion {name} leaves inputs out, and no counterexample is known that makes them idle.")


_DIFFERENCES = {
    "claim": "it is the journal of another claim or model, or a predicate or what it calls has changed since.",
    "engine": "it is the journal of a run in another engine.",
    "count_all": "it is the journal of a run that counted failures otherwise (count_all).",
    "plan": "it is the journal of a run that was cut into other portions.",
    "glyptic": "it was written by another Glyptic, whose work is not taken over.",
    "code": "it was written by another Glyptic, whose work is not taken over.",
}


def _seal(job: Enumeration, plan: list[str]) -> dict[str, Any]:
    """What a journal must have been made of to be taken up again."""
    return {
        "kind": KIND,
        "version": VERSION,
        "glyptic": __version__,
        "code": code_of_glyptic(),
        "claim": digest(job.claim),
        "engine": job.engine,
        "count_all": job.count_all,
        "plan": hashlib.sha256(" ".join(plan).encode()).hexdigest(),
    }


def _refuse_doubts(claim: Claim) -> None:
    found = doubts(claim)
    if found:
        raise FileError(
            f"no journal can be kept, for when it is taken up again it could not be known that nothing has changed: {found[0]}; "
            "leave the journal out, or write the predicate as a function of a file, with constants only."
        )


def _tally(part: JsonPart) -> Tally:
    inputs, satisfying, failures, example, skipped = part.items(exactly=5)
    found = example.optional(lambda numbers: tuple(numbers.wholes(-(1 << 63), 1 << 63, 1 << 13)))
    return Tally(inputs.whole(0), satisfying.whole(0), failures.whole(0), found, skipped.flag())


def _check_tally(job: Enumeration, portion: Portion, tally: Tally, part: JsonPart) -> None:
    """Counts that cannot be are refused: they would add up to a verdict."""
    size = size_of(job.claim, portion)
    of_inputs = isinstance(job.claim.subject, Inputs)
    may_skip = of_inputs and not job.count_all
    if tally.inputs > size or (tally.inputs < size and not tally.skipped) or (tally.skipped and not may_skip):
        part.refuse(f"about the {size:,} elements of its portion", f"about {tally.inputs:,}")
    if not tally.failures <= tally.satisfying <= tally.inputs:
        part.refuse("made of counts of which none is larger than its whole", "not")
    if (tally.failures > 0) != (tally.example is not None):
        part.refuse("with a counterexample exactly if something fails", "not")
    if tally.example is not None and not _lies_in(job.claim, portion, tally.example):
        part.refuse("with a counterexample that lies in its portion", "not")


def _lies_in(claim: Claim, portion: Portion, example: tuple[int, ...]) -> bool:
    subject, size = claim.subject, len(example)
    if isinstance(subject, Inputs):
        tokens = all(0 <= token < len(subject.vocabulary) for token in example)
        begins = example[: len(portion.prefix)] == portion.prefix
        return tokens and begins and max(1, subject.min_length, len(portion.prefix)) <= size <= portion.longest
    format: Any = subject.format
    number = 0
    for code in example:
        if not format.min_code <= code <= format.max_code:
            return False
        number = number * format.size + code - format.min_code
    return size == len(free_names(claim)) and portion.first <= number < portion.last


# One process at a time ----------------------------------------------------------------------------------------------------


def _place(path: Path) -> Path:
    """Where a journal is in truth, as `write_whole` has it: by whatever link it is named, it is one, and has one lock."""
    return Path(os.path.realpath(path))


def _lock_path(path: Path) -> Path:
    place = _place(path)
    return place.with_name(f".{place.name}.lock")


def _locked(path: Path) -> int | None:
    """A lock on a file beside the journal, which the system gives back when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    beside = _lock_path(path)
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FileError(f"cannot write the journal {path}: {error.strerror or error}.") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            busy = f"{path} is the journal of a run that goes on in another process"
            raise FileError(f"{busy}; wait for it, or name another.") from None
        if beside.exists() and os.path.samestat(os.fstat(handle), beside.stat()):
            return handle
        os.close(handle)  # another process has just given it back, and removed this file
