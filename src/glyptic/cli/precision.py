"""`glyptic precision`: the smallest s, for each length n, in which a construction is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import log
from typing import Annotated, Any

from tyro.conf import Positional, arg

from glyptic.arguments import Backend, Count, Picture, Seconds, Workers
from glyptic.cli.reading import refuse_idle, refuse_idle_workers
from glyptic.errors import InputError

_TOGETHER = 1 << 12  # texts that the large format answers in one batch


@dataclass(frozen=True)
class PrecisionCommand:
    """The least precision s(n) of a built-in decider, or of the recogniser of a regular language, as a table and a figure.

    A decider is right at n if it decides the language that is named, or else if it answers all inputs of length n as it does in a
    large format. The construction `automaton` is the recogniser that is built from the automaton of the language.

    Examples: glyptic precision majority --max-length 6 --exponents 0 2
              glyptic precision automaton --language "(0|1)*11" --figure s.svg

    Where the decider refuses one less, it is built nevertheless to show a counterexample ("forced, …"). Where that cannot be
    done or finds none, the refusal is shown ("refused: …"), beside the largest s that is refused and the largest that is
    refuted. The exit status is 0 if the question was answered, whatever the table says, and 2 if it could not be asked.
    """

    construction: Annotated[Positional[str], arg(metavar="CONSTRUCTION")]
    """A built-in decider such as majority or modular:3, or `automaton`."""
    max_length: Annotated[int, Count(1, 10_000)] = 8
    """The largest n."""
    language: str | None = None
    """What is right: a regular expression over 0 and 1, of symbols, . (any), | (or), & (and), ~(…) (not), *, +, ?."""
    tomita: Annotated[int, Count(1, 7)] | None = None
    """What is right: Tomita's language of this number."""
    large: Annotated[str, arg(metavar="FORMAT")] = "fixed:12"
    """What is right, if no language is named: the answers in this format."""
    exponents: tuple[Annotated[int, Count(0, 64)], ...] = (0,)
    """Exponent sizes e of F(e, s); 0 is fixed point."""
    largest: Annotated[int, Count(1, 64)] = 12
    """The largest s that is tried."""
    steps: str = "1"
    """Steps of chain of thought T(n): a number, or n."""
    figure: Picture | None = None
    """Draw s(n), T(n) and d(n) here (.svg, .png or .pdf); the data go beside it as .csv."""
    backend: Backend = "auto"
    """Where enumerations run: threads or processes of this machine, whichever suits the work, or a Ray or Dask cluster."""
    workers: Workers | None = None
    """How many; by default one a core, or as many as GLYPTIC_WORKERS says."""
    seconds: Seconds | None = None
    """A time limit for each format and length; without one, at most 16,777,216 inputs of a length are run."""
    latex: bool = False
    """Print the table in LaTeX, to paste into a paper."""

    def main(self) -> None:
        from glyptic.cli.prove import parse_steps
        from glyptic.figures import check_place
        from glyptic.studies.precision import COLUMNS, least_precision

        refuse_idle_workers(self)
        if self.figure is not None:
            check_place(self.figure, COLUMNS)
        if self.construction == "automaton" or self.language is not None or self.tomita is not None:
            refuse_idle(self, ("large",), "where a language is named, which says what is right")
        build, right = self._construction()
        found = least_precision(
            build, self.max_length, of=right, exponents=self.exponents, largest=self.largest, name=self.construction,
            steps=parse_steps(self.steps), backend=self.backend, workers=self.workers, seconds=self.seconds,
        )  # fmt: skip
        if self.latex:
            from glyptic.look.latex import latex

            print(latex(found))
        else:
            print(found)
        if self.figure is not None:
            print("% figure:" if self.latex else "figure:", *found.figure(self.figure))

    def _construction(self) -> tuple[Callable[[Any, int], Any], Any]:
        from glyptic.languages import regular, tomita
        from glyptic.programs.automata import recogniser

        named = tomita(self.tomita) if self.tomita is not None else None
        if self.language is not None:
            if named is not None:
                raise InputError("both --language and --tomita are given; name one language.")
            named = regular(self.language)
        if self.construction == "automaton":
            if named is None:
                raise InputError("the construction automaton needs a language: --language or --tomita.")
            automaton = named
            return lambda format, n: recogniser(automaton, format, n), automaton
        self._check_decider()
        return self._decider, named or self._as_in_large_format()

    def _check_decider(self) -> None:
        """Refuse a name that does not exist or that fixes the length, before any work."""
        from glyptic.programs.registry import kind_of

        kind, given = kind_of(self.construction)
        if "max_length" in kind.parameters(given):
            name = self.construction.partition(":")[0]
            raise InputError(
                f"{self.construction} fixes max_length, which is what varies here; write {name}, with its other parameters by "
                "name if need be, and --max-length for the largest."
            )

    def _decider(self, format: Any, n: int, force: bool = False) -> Any:
        from glyptic.programs import by_name

        joint = "," if ":" in self.construction else ":"
        return by_name(f"{self.construction}{joint}max_length={n}", format, force=force)

    def _as_in_large_format(self) -> Callable[[Any], bool]:
        """Whether the large format answers YES; texts with the same beginning are run together, and then forgotten."""
        from glyptic.numbers import parse_format

        format = parse_format(self.large)
        known: dict[Any, bool] = {}

        def right(text: Any) -> bool:
            if text not in known:
                model = self._decider(format, len(text))
                together = int(log(_TOGETHER, max(2, len(model.vocabulary))))
                ends = product(model.vocabulary, repeat=min(len(text), together))
                texts = [(*text[: max(0, len(text) - together)], *end) for end in ends]
                known.clear()
                yes = [answer == "YES" for answer in model.run_batch(texts).answers]
                known.update(zip(["".join(t) for t in texts] if isinstance(text, str) else texts, yes, strict=True))
            return known[text]

        right.__qualname__ = f"[YES in {format}]"  # what a counterexample calls it
        return right
