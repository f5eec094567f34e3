"""One name, one meaning: over all flags of all `icl` commands, all public functions, and all files that they write."""

import csv
import dataclasses
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from glyptic import cli
from glyptic.arguments import Count, Number, fitting
from glyptic.errors import InputError
from glyptic.icl import names

COMMANDS = {name: where for name, (where, _) in cli.COMMANDS.items() if name.startswith("icl ")}
FILES = sorted((Path(__file__).parents[2] / "docs" / "figures" / "in-context").glob("*.csv"))
RETIRED = {
    *("noise", "n", "m", "T", "samples", "examples", "train_length", "test_length", "context_length"),
    *("scale", "error", "measured"),
}


def command(where):
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)


def flags():
    """(command, field, its type) for every flag."""
    for name, where in COMMANDS.items():
        kind = command(where)
        hints = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            yield name, field.name, hints[field.name]


def rules_of(hint):
    """The rules inside a type, those of the items if it is a tuple of them."""
    found = {arg for arg in get_args(hint) if isinstance(arg, Count | Number)}
    for arg in get_args(hint):
        if get_args(arg):
            found |= rules_of(arg)
    return found


def help_of(hint):
    return next((arg.help for arg in get_args(hint) if hasattr(arg, "help")), None)


def test_every_flag_has_the_sentence_of_its_name():
    seen = {}
    for name, field, hint in flags():
        if field in names.MEANING:
            assert help_of(hint).startswith(names.MEANING[field]), (name, field)
            seen.setdefault(field, []).append(name)
    assert len(seen["N"]) >= 7
    assert len(seen["noise_variance"]) >= 4
    assert set(names.MEANING) == set(seen)  # and no sentence is without a flag


def test_every_quantity_and_every_flag_of_two_commands_is_among_the_names():
    """A flag that takes numbers, or that stands in two commands, says what it means in `icl.names`, once for all of them."""
    commands = {}
    for name, field, hint in flags():
        commands.setdefault(field, set()).add(name)
        assert field in names.MEANING or not rules_of(hint) or field == "out", (name, field)
    shared = {field for field, where in commands.items() if len(where) > 1}
    assert shared - set(names.MEANING) == {"out"}
    assert set().union(*commands.values()) == set(COMMANDS)


def test_a_flag_admits_the_same_values_in_every_command():
    """Except that 0 steps or prompts may mean none."""
    kinds = {}
    for _, field, hint in flags():
        kinds.setdefault(field, set()).update(rule.most for rule in rules_of(hint))
    for field in names.MEANING:
        assert len(kinds[field]) <= 1, (field, kinds[field])


def test_no_flag_and_no_argument_bears_a_retired_name():
    for name, field, _ in flags():
        assert field not in RETIRED, (name, field)
    for where, parameter, _ in parameters():
        assert parameter not in RETIRED - {"n", "m"}, (where, parameter)


def parameters():
    """(function, parameter, its type as written) of every public function of the theory and the experiments."""
    for part in ("theory", "experiments"):
        package = importlib.import_module(f"glyptic.icl.{part}")
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            for name, value in vars(loaded).items():
                if name.startswith("_") or getattr(value, "__module__", None) != loaded.__name__:
                    continue
                if inspect.isfunction(value) or (dataclasses.is_dataclass(value) and isinstance(value, type)):
                    for parameter in inspect.signature(value).parameters.values():
                        yield f"{loaded.__name__}.{name}", parameter.name, parameter.annotation


def test_a_name_has_one_type_in_every_function():
    """N counts examples, s² is a number, d a dimension, wherever they are arguments."""
    allowed = {
        "N": {"int", "Length", "tuple[Length, ...]", "Annotated[int, Count(0, 10**9)]"},
        "M": {"int", "float", "Length", "tuple[Length, ...]"},  # float: the limit of long prompts
        "d": {"int", "int | None", "Dimension", "tuple[Dimension, ...]", "Annotated[int, Count(2, 10**6)]"},
        "noise_variance": {"float", "Variance", "tuple[Variance, ...]", "Fraction"},
        "sigma": {"Sigma", "Sigma | None", "float"},
        "tasks": {"int", "TaskCount", "Sequence[int]", "tuple[int, ...]", "Annotated[int, Count(1, 10**7)]"},
        "prompts": {"int", "PromptCount", "Prompts"},
    }
    for where, name, kind in parameters():
        if name in allowed:
            assert str(kind).replace(" ** ", "**") in allowed[name], (where, name, kind)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_the_files_of_the_pages_have_no_retired_column_and_no_nan(path):
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert not RETIRED & set(rows[0])
    assert not any(cell.lower() == "nan" for row in rows for cell in row)


def test_the_types_refuse_what_the_names_exclude():
    bad = {names.Dimension: 0, names.Length: 2.5, names.Variance: -1e-9, names.Sigma: 0.0, names.Deviation: float("inf")}
    for kind, value in bad.items():
        with pytest.raises(InputError, match="it is"):
            fitting(kind, "it", value)
