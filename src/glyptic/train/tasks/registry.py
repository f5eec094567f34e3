"""A task by its name: a word, a colon, and parameters with commas between them, in order or as `name=value`, as deciders have.

    tomita:3      dyck:2,16      addition:3,chain=yes      text:book.txt      numbers:es,en      digits

Further rooms add names of their own: the table holds where a task is made, and nothing is loaded before it is asked for.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from difflib import get_close_matches

from glyptic.arguments import checked, shown
from glyptic.errors import GlypticError, InputError, ModelError
from glyptic.extras import brought_by
from glyptic.programs.registry import ModelKind
from glyptic.train.task import Task
from glyptic.train.tasks.finite import is_text


@dataclass(frozen=True)
class TaskKind(ModelKind):
    """What a name such as `tomita:3` stands for: the word before the colon, and the function that makes the task of the rest.

    >>> TASKS["tomita"].usage()
    'tomita:NUMBER,max_length=12,held_out=8,also='
    """

    about: str = ""

    def known(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self._make, eval_str=False).parameters.values())

    def made(self, text: str) -> Task:
        with brought_by(f"the task {self.name}"):
            given = self.parameters(text)
            try:
                return self._make(**given)  # type: ignore[return-value]
            except InputError as error:  # which names the parameter
                raise error if str(error).startswith(f"{self.name}:") else InputError(f"{self.name}: {error}") from None


def _kinds() -> dict[str, TaskKind]:
    here = "glyptic.train.tasks"
    table = {
        "tomita": (f"{here}.deciders:by_number", "a language of Tomita"),
        "regex": (f"{here}.deciders:by_expression", "a regular expression"),
        "parity": (f"{here}.deciders:parity", "an odd number of a letter"),
        "modular": (f"{here}.deciders:modular", "a letter counted modulo m"),
        "contains": (f"{here}.deciders:contains", "a word within the word"),
        "first-equals-last": (f"{here}.deciders:first_equals_last", "the first letter is the last"),
        "majority": (f"{here}.deciders:majority", "more than half are one letter"),
        "palindromes": (f"{here}.deciders:palindromes", "the same backwards"),
        "dyck": (f"{here}.deciders:dyck", "balanced brackets"),
        "program": (f"{here}.deciders:program", "what an exact transformer decides"),
        "addition": (f"{here}.arithmetic:addition", "sums of numbers, digit by digit"),
        "modular-sum": (f"{here}.arithmetic:modular_sum", "the sum of numbers modulo m"),
        "squaring": (f"{here}.arithmetic:squaring", "a number squared many times modulo p"),
        "s5": (f"{here}.arithmetic:s5", "permutations of five things, composed"),
        "text": (f"{here}.text:text", "the next byte or piece of a text of yours"),
        "numbers": (f"{here}.translation:numbers", "number words, from one language to another or to digits"),
        "dates": (f"{here}.translation:dates", "dates, from one language to another or to digits"),
        "pairs": (f"{here}.translation:pairs", "pairs of texts of yours, source, tab, target"),
        "digits": (f"{here}.images:digits", "scikit-learn's 1,797 handwritten digits"),
        "images": (f"{here}.images:images", "a folder of images of yours, a folder a class"),
        "regression": ("glyptic.icl.experiments.as_task:regression", "linear regression in context"),
    }
    return {name: TaskKind(name, maker, about) for name, (maker, about) in table.items()}


TASKS: dict[str, TaskKind] = _kinds()


@checked
def open(name: str) -> Task:
    """The task that a name stands for.

    >>> open("tomita:4").config().vocabulary
    2
    >>> open("tomitta:4")
    Traceback (most recent call last):
    glyptic.errors.ModelError: no task 'tomitta'; is it tomita? `glyptic train --help` lists all.
    """
    word, _, given = name.partition(":")
    if name and not is_text(name):
        raise InputError(f"the task {shown(name)} has a name that is not UTF-8, and a run has to write it down; rename the file.")
    if word not in TASKS:
        near = get_close_matches(word, TASKS, 1)
        said = f"is it {near[0]}? `glyptic train --help` lists all" if near else f"there are {', '.join(TASKS)}"
        raise ModelError(f"no task {shown(word)}; {said}.")
    return TASKS[word].made(given)


@checked
def register(kind: TaskKind) -> None:
    """A name that `open` knows from now on.

    >>> register(TaskKind("parity", "my.module:parity"))
    Traceback (most recent call last):
    glyptic.errors.ModelError: the name 'parity' is taken; choose another.
    """
    if TASKS.get(kind.name, kind) != kind:
        raise ModelError(f"the name {shown(kind.name)} is taken; choose another.")
    TASKS[kind.name] = kind


def usage() -> str:
    """How every name is written, a line each, with what it takes if it is left out.

    >>> print(usage().splitlines()[0])
    tomita:NUMBER,max_length=12,held_out=8,also=                          a language of Tomita
    """

    def line(kind: TaskKind) -> str:
        try:
            return f"{kind.usage():<69} {kind.about}"
        except GlypticError as error:  # what is not installed, or somebody registered, is no reason to hide the others
            return f"{kind.name:<69} {kind.about} ({error})"

    return "\n".join(line(kind) for kind in TASKS.values())
