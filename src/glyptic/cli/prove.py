"""`glyptic prove`: a question about a transformer, decided for every input, with the smallest counterexample if it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from glyptic.arguments import (
    Backend,
    Count,
    FileToRead,
    FileToWrite,
    FolderToFill,
    Megabytes,
    Picture,
    Seconds,
    Workers,
    shown,
)
from glyptic.cli.reading import FormatName, Model, refuse_idle, refuse_idle_workers
from glyptic.errors import FormatError, InputError
from glyptic.exact.running import Engine

if TYPE_CHECKING:
    from glyptic.exact import Transformer
    from glyptic.prove import Claim, Verdict

_QUESTIONS = ("model", "other", "language", "tomita", "decisive", "never_zero_attention")
_OF_QUESTIONS = ("max_length", "min_length", "steps", "yes", "no", "format", "figure", "certificate", "count_all", "engine")
_OF_RECHECKS = ("model", "other", "format", "count_all", "engine")  # models are compared, rounded to the format first
_OF_SOLVERS = ("theorem", "terms")


@dataclass(frozen=True)
class ProveCommand:
    """Prove or refute what a transformer computes, on all inputs up to a length.

    Ask one thing: `glyptic prove A B` (the same answers), `glyptic prove A --language "(0*10*1)*0*"`, `--tomita 4`, `--decisive`,
    `--never-zero-attention`; or `--recheck FILE`, `--library`. The exit status is 0 if it is proved, 1 if not, 2 if it cannot
    be asked.

    `--recheck FILE [MODEL [OTHER]]` checks a certificate again, and that it is about these models. Its status is 0 for a proof
    that is confirmed, 1 for a counterexample (or an empty precondition) that is confirmed, 3 for what is not confirmed, 2 for
    what is refused.
    """

    model: Model = ""
    """A folder, or a built-in decider such as parity:8."""
    other: Annotated[Positional[str], arg(metavar="OTHER")] = ""
    """A second one: do both give the same answers?"""
    language: str | None = None
    """A regular expression: are exactly its texts answered YES? It has the vocabulary's symbols, . for any of them, | for or,
    & for and, ~(…) for not, * for any number, + for one or more, ? for none or one: "(0|1)*11", "(0*10*1)*0*&~(.*101.*)"."""
    tomita: Annotated[int, Count(1, 7)] | None = None
    """The same, for Tomita's language of this number, 1 to 7."""
    decisive: bool = False
    """Does every input get an answer, with no tie and no 0/0?"""
    never_zero_attention: bool = False
    """Does no softmax in attention ever meet 0/0?"""
    recheck: FileToRead | None = None
    """Check this certificate again; with a model, or two, that it is about them (rounded to --format first)."""
    library: bool = False
    """Prove the theorems of all constructions, for all values of a grid of formats."""
    theorem: str | None = None
    """With --library: only the theorem of this name, such as zero.at."""
    terms: Literal["simplified", "plain"] = "simplified"
    """With --library or --recheck: plain puts all layers to the solvers as they are, without Glyptic's own simplification."""
    max_length: Annotated[int, Count(1, 10**6)] | None = None
    """The longest inputs; by default what the transformer reads."""
    min_length: Annotated[int, Count(1, 10**6)] = 1
    """The shortest inputs."""
    steps: str = "1"
    """Steps of chain of thought: a number, or n for as many as the input has tokens."""
    yes: str = "YES"
    """The answer that means yes."""
    no: str = "NO"
    """The answer that means no."""
    format: FormatName = None
    """Round every weight to this format first."""
    formats: str | None = None
    """Ask it, or prove the library, in each of these formats, such as "fixed:1..6 float:1..3,2..4", and print the table."""
    figure: Picture | None = None
    """With --formats: draw the table here (.svg, .png or .pdf); the data go beside it as .csv."""
    certificate: FileToWrite | None = None
    """Write the verdict with its claim here, as JSON that --recheck reads."""
    export: FolderToFill | None = None
    """Write a new folder by which anyone can check the verdict without Glyptic; with --library, of one --theorem and format."""
    journal: FileToWrite | None = None
    """Keep finished work here: started again after an interruption, it goes on from there."""
    count_all: bool = False
    """Go on after a counterexample, to count all failures; with --recheck, run all to see that counts and smallness are right."""
    seconds: Seconds | None = None
    """Stop after so long, with the answer Unknown."""
    megabytes: Megabytes | None = None
    """Memory that a solver may take, with --library or --recheck."""
    backend: Backend = "auto"
    """auto takes threads of this machine for compiled work and processes (loky) for Python's own; or the Ray or Dask cluster
    that RAY_ADDRESS or DASK_SCHEDULER_ADDRESS names."""
    workers: Workers | None = None
    """How many; by default one a core, or as many as GLYPTIC_WORKERS says."""
    engine: Engine = "auto"
    """auto takes the compiled engine where it is proved exact; reference computes in fractions."""
    latex: bool = False
    """Print the verdict, or with --library the table of theorems, in LaTeX, to paste into a paper."""

    def main(self) -> int:
        check_use(self)
        if self.export is not None:
            self._check_export()
        if self.recheck is not None:
            return self._recheck()
        if self.library:
            return self._library()
        if self.megabytes is not None:
            raise InputError(
                "--megabytes bounds solvers, which --library and --recheck use; inputs are enumerated: leave it out."
            )
        return self._check() if self.formats is None else self._sweep(self.formats)

    def _library(self) -> int:
        from glyptic.studies.sweeps import format_grid
        from glyptic.theorems.proving import SCOPES, main_table, prove_all, read_scope, theorem

        scopes = [str(format) for format in format_grid(self.formats)] if self.formats is not None else SCOPES
        for scope in scopes:
            read_scope(scope)  # what is no format for theorems is told before any work
        names = [theorem(self.theorem).name] if self.theorem is not None else None
        if self.export is not None:
            return self._theorem(str(self.theorem), scopes)
        asked: dict[str, Any] = {"workers": self.workers, "terms": self.terms, "kept": self.journal, **self._limits()}
        rows = prove_all(scopes, names, **asked)
        if not self.latex:
            return main_table(rows)
        from glyptic.look.latex import latex

        print(latex(rows))
        return 0 if all(row.good for row in rows) else 1

    def _check_export(self) -> None:
        """What --export does not go with, and a folder that is there already, before anything is run."""
        from glyptic.prove.exporting.targets import check_target

        if self.library and (self.theorem is None or self.formats is None):
            raise InputError("--export is for one theorem: name it, as in --library --theorem zero.at --formats fixed:3.")
        if self.formats is not None and not self.library:
            raise InputError("--export is for one format; leave --formats out, or it.")
        assert self.export is not None
        check_target(self.export)

    def _check_exported(self, claim: Claim) -> None:
        """A claim that could not be exported, before it is decided."""
        if self.export is not None:
            from glyptic.prove.checking import in_format
            from glyptic.prove.exporting.folder import check_claim

            check_claim(in_format(claim, None))

    def _export(self, claim: Claim, verdict: Verdict) -> None:
        """The folder, if one is asked for."""
        if self.export is None:
            return
        from glyptic.prove import Unknown, export

        if isinstance(verdict, Unknown):
            print("  nothing is exported: the claim was left open")
        else:
            limit = {} if self.seconds is None else {"seconds": self.seconds}
            print(export(self.export, claim, verdict, **limit))

    def _theorem(self, name: str, scopes: Sequence[str]) -> int:
        """One theorem in one format, decided and exported."""
        from glyptic.prove.methods import smt
        from glyptic.theorems.proving import read_scope, theorem

        if len(scopes) != 1:
            raise InputError(f"--export is for one format; --formats names {len(scopes)}.")
        format, products = read_scope(scopes[0])
        claim = theorem(name).claim(format, products)
        self._check_exported(claim)
        verdict = smt.check(claim, format, terms=self.terms, **self._limits())
        print(verdict)
        self._export(claim, verdict)
        return 0 if verdict else 1

    def _recheck(self) -> int:
        from glyptic import programs
        from glyptic.prove import recheck
        from glyptic.prove.certificates.saving import load_certificate
        from glyptic.text import printable

        assert self.recheck is not None
        if self.export is not None:
            self._check_exported(load_certificate(self.recheck)[0])
        words = [word for word in (self.model, self.other) if word]
        models = [programs.open(word, self.format) for word in words] or None
        result = recheck(self.recheck, models=models, count_all=self.count_all, **self._rechecking())
        print(result)
        for assumption in result.assumptions:
            print(printable(f"  assuming that {assumption}"))
        if result.agrees:
            self._export(*load_certificate(self.recheck))
        elif self.export is not None:
            print("  nothing is exported: the certificate was not confirmed")
        return result.status

    def _rechecking(self) -> dict[str, Any]:
        """What was chosen: one that has no effect on a certificate's method is refused there."""
        chosen = {"backend": "auto", "workers": None, "engine": "auto", "terms": "simplified"}
        return {name: getattr(self, name) for name, usual in chosen.items() if getattr(self, name) != usual} | self._limits()

    def _limits(self) -> dict[str, Any]:
        """The limits that are given; else those of whoever is asked."""
        limits = {"seconds": self.seconds, "megabytes": self.megabytes}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def _check(self) -> int:
        from glyptic.prove import check

        claim = self._claim(self.format)
        if self.certificate is not None:
            from glyptic.prove.certificates.saving import check_place, save_certificate

            check_place(self.certificate)
        self._check_exported(claim)
        verdict = check(claim, journal=self.journal, count_all=self.count_all, **self._running())
        if self.latex:
            print(verdict.to_latex(assumptions=True))
        else:
            print(verdict)
            for assumption in getattr(verdict, "assumptions", ()):
                print(f"  assuming that {assumption}")
            print(f"  in {verdict.seconds:.1f} s")
        if self.certificate is not None:
            save_certificate(self.certificate, claim, verdict)
            print(f"{'%' if self.latex else ' '} certificate: {self.certificate}")
        self._export(claim, verdict)
        return 0 if verdict else 1

    def _sweep(self, formats: str) -> int:
        from glyptic.figures import check_place
        from glyptic.studies.sweeps import COLUMNS, sweep

        if self.certificate is not None:
            raise InputError("--certificate is for one format; leave --formats out, or it.")
        if self.figure is not None:
            check_place(self.figure, COLUMNS)
        self._try_question(formats)
        asked = self._asked()
        found = sweep(lambda format: self._claim(str(format)), formats, name=asked, kept=self.journal, **self._running())
        print(found)
        if self.figure is not None:
            print("figure:", *found.figure(self.figure))
        print(found.conclusion)
        return 0 if found.verdict else 1

    def _try_question(self, formats: str) -> None:
        """Ask it in the first format: what is wrong with the question, and not with the format, is wrong in all of them."""
        from glyptic.carve import FactError
        from glyptic.studies.sweeps import format_grid

        try:
            self._claim(str(format_grid(formats)[0]))
        except (FormatError, FactError):
            return

    def _running(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("seconds", "backend", "workers", "engine")}

    def _asked(self) -> str:
        """The one question, as words; none or two are an error."""
        questions = {
            f"{self.model} and {self.other} give the same answers": bool(self.other),
            f"{self.model} decides {self.language}": self.language is not None,
            f"{self.model} decides Tomita {self.tomita}": self.tomita is not None,
            f"{self.model} is decisive": self.decisive,
            f"{self.model} never meets 0/0 in its layers": self.never_zero_attention,
        }
        asked = [question for question, wanted in questions.items() if wanted]
        if not self.model or len(asked) != 1:
            raise InputError(
                f"{len(asked)} questions are asked of {self.model or 'no model'}; ask one: a second model, --language, --tomita, "
                "--decisive or --never-zero-attention (or --recheck FILE, --library)."
            )
        return asked[0]

    def _claim(self, format: str | None) -> Claim:
        from glyptic import programs
        from glyptic.prove import questions

        self._asked()
        model = programs.open(self.model, format)
        longest = self.max_length  # None: as long as the model reads, or without end
        lengths: dict[str, Any] = {"min_length": self.min_length, "steps": parse_steps(self.steps)}
        if self.other:
            return questions.equivalence(model, programs.open(self.other, format), longest, **lengths)
        if self.decisive:
            return questions.decisiveness(model, longest, **lengths)
        if self.never_zero_attention:
            return questions.defined_attention(model, longest, self.min_length)
        return questions.recognition(model, self._automaton(model), longest, yes=self.yes, no=self.no, **lengths)

    def _automaton(self, model: Transformer) -> Any:
        from glyptic import languages

        if self.tomita is not None:
            return languages.tomita(self.tomita)
        return languages.regular(str(self.language), model.vocabulary)


def parse_steps(text: str) -> int | Callable[[int], int]:
    """A number of steps, or n for as many as the input is long.

    >>> parse_steps("3"), parse_steps("n")(5)
    (3, 5)
    """
    if text == "n":
        return lambda n: n
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        raise InputError(f"--steps is {shown(text)}; write a number from 1 up, or n for as many as the input has tokens.")
    return int(text)


def check_use(command: ProveCommand) -> None:
    """Refuse, in one sentence and before any work, what has no effect or cannot be meant."""
    refuse_idle_workers(command)
    if command.recheck is not None or command.export is not None or (command.formats is not None and not command.library):
        refuse_idle(command, ("latex",), "with --recheck, --export or --formats without --library")
    if command.recheck is not None:
        asked = [name for name in (*_QUESTIONS, *_OF_QUESTIONS) if name not in _OF_RECHECKS]
        idle = (*asked, *(() if command.model else ("format",)), "formats", "journal", "library", "theorem")
        refuse_idle(command, idle, "with --recheck, which takes the claim from its file")
    elif command.library:
        idle = (*_QUESTIONS, *_OF_QUESTIONS, "backend")
        refuse_idle(command, idle, "with --library, which proves its own theorems")
        if command.export is not None:
            refuse_idle(command, ("workers", "journal"), "with --export, which is of one theorem in one format")
    else:
        _check_question(command)


def _check_question(command: ProveCommand) -> None:
    refuse_idle(command, _OF_SOLVERS, "on a question about inputs, which it is not for")
    if command.formats is not None:
        refuse_idle(command, ("format",), "beside --formats, which rounds to each of its formats")
        refuse_idle(command, ("count_all",), "beside --formats")
    else:
        refuse_idle(command, ("figure",), "without --formats, whose table it draws")
    if command.language is None and command.tomita is None:
        refuse_idle(command, ("yes", "no"), "without --language or --tomita")
    elif command.yes == command.no:
        raise InputError(f"--yes and --no are both {command.yes!r}; a decider's answers are two.")
    if command.never_zero_attention:
        refuse_idle(command, ("steps",), "with --never-zero-attention, which looks at the first answer only")
    longest = command.max_length
    if command.min_length < 1 or (longest is not None and longest < command.min_length):
        shown = f"--min-length {command.min_length}" + ("" if longest is None else f" and --max-length {longest}")
        raise InputError(f"{shown}: lengths begin with 1, and the longest is not below the shortest.")
