"""What a Python predicate is: its source with the source of all that it calls, and the values that it was made with.

Two predicates with the same `Pinned.text` behave alike, in any version of Python, unless there are `doubts`: what cannot be
known of it, such as a function without source, or a dict, which may be another by the next input.

>>> def longer_than(n):
...     return lambda text: len(text) > n
>>> three, again, four = (pinned(longer_than(n)) for n in (3, 3, 4))
>>> three == again, three == four, three.doubts
(True, False, ())
>>> seen = {}
>>> pinned(lambda text: text in seen).doubts
('it uses seen, a dict, which may change',)
"""

from __future__ import annotations

import ast
import dis
import hashlib
import linecache
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from glyptic import __version__

_PLAIN = (str, bytes, int, float, complex, Fraction, type(None), type(...), range)
_MAY_CHANGE = (list, set, dict, bytearray)
# What reads files, the clock, the environment, or names made up as it runs: by the next run it may read something else.
_READS_MORE = {"open", "input", "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "id", "hash", "dir"}
_OUTSIDE = {
    *("os", "posix", "nt", "io", "_io", "sys", "pathlib", "glob", "shutil", "tempfile", "fileinput", "linecache"),
    *("time", "datetime", "random", "secrets", "uuid", "platform", "locale", "getpass", "inspect", "importlib", "ctypes"),
    *("subprocess", "multiprocessing", "threading", "socket", "urllib", "http", "sqlite3", "shelve", "dbm", "gc", "atexit"),
}


@dataclass(frozen=True)
class Pinned:
    """A predicate's description, and why it may not be the whole of it."""

    text: str
    doubts: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()


def pinned(predicate: Any) -> Pinned:
    """Describe a predicate."""
    describing = _Describing()
    text = describing.value(predicate, getattr(predicate, "__name__", "the predicate"))
    return Pinned(text, tuple(dict.fromkeys(describing.doubts)))


@dataclass
class _Describing:
    """One walk over a predicate and what it reaches."""

    doubts: list[str] = field(default_factory=list)
    met: dict[int, int] = field(default_factory=dict)  # functions and classes by id: their number
    kept: list[Any] = field(default_factory=list)  # so that no id is used twice

    def value(self, value: Any, name: str) -> str:
        """A value that the predicate can reach under a name."""
        if isinstance(value, bool):
            return f"bool {value}"
        if isinstance(value, Enum):
            return self._member(value, name)
        if type(value) in _PLAIN:
            return f"{type(value).__name__} {value!r}"
        if type(value) in (tuple, frozenset, *_MAY_CHANGE):
            return self._container(value, name)
        if isinstance(value, re.Pattern):
            return f"pattern {value.pattern!r} {value.flags}"
        if isinstance(value, partial):
            made_with = (value.func, value.args, tuple(sorted(value.keywords.items())))
            return f"partial {self.value(made_with, name)}"
        if hasattr(value, "__wrapped__") and hasattr(value, "cache_info"):  # functools.cache
            return f"cached {self.value(value.__wrapped__, name)}"
        if isinstance(value, MethodType):
            return f"method {self.value(value.__func__, name)} of {self.value(value.__self__, name)}"
        if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, ModuleType | type(None)):
            return f"method {value.__name__} of {self.value(value.__self__, name)}"
        if isinstance(value, ModuleType):
            return self._module(value, name)
        return self._defined(value, name)

    def _container(self, value: Any, name: str) -> str:
        if isinstance(value, _MAY_CHANGE):
            self.doubts.append(f"it uses {name}, a {type(value).__name__}, which may change")
        items = list(value.items()) if isinstance(value, dict) else list(value)
        described = [self.value(item, name) for item in items]
        ordered = described if isinstance(value, tuple | list | bytearray) else sorted(described)
        return f"{type(value).__name__} [{', '.join(ordered)}]"

    def _member(self, value: Enum, name: str) -> str:
        """A member of an enumeration: what it stands for, and the methods that it has."""
        methods = [_unwrapped(item) for _, item in sorted(vars(type(value)).items()) if isinstance(item, FunctionType | property)]
        own = tuple(item for item in methods if _origin(str(getattr(item, "__module__", ""))) is None)
        return f"member {value.name} {self.value(value.value, name)} of {type(value).__qualname__} {self.value(own, name)}"

    def _module(self, module: ModuleType, name: str) -> str:
        known = _origin(module.__name__)
        if known is None:
            self.doubts.append(f"it uses the module {name}: import the functions that it calls by their names")
        self._outside(module.__name__, name)
        return f"module {module.__name__} {known}"

    def _outside(self, module: str, name: str, part: str = "eval") -> None:
        if module.partition(".")[0] in _OUTSIDE or (module == "builtins" and part in _READS_MORE):
            self.doubts.append(f"it uses {name}, which may read what is outside of it, and changes")

    def _defined(self, value: Any, name: str) -> str:
        """Functions and classes, and what is made of them."""
        module = str(getattr(value, "__module__", None) or type(value).__module__)
        qualified = getattr(value, "__qualname__", "<no name>")
        known = _origin(module)
        if known is not None and callable(value) and "<" not in qualified:  # <locals> and <lambda>: made with values
            self._outside(module, name, qualified)
            return f"{module}.{qualified} {known}"
        if id(value) in self.met:
            return f"again {self.met[id(value)]}"
        self.met[id(value)] = len(self.met)
        self.kept.append(value)
        if isinstance(value, FunctionType):
            return self._function(value, name)
        if isinstance(value, type):
            return self._class(value, name)
        if is_dataclass(value) and type(value).__dataclass_params__.frozen:  # type: ignore[attr-defined,union-attr]
            held = [self.value(getattr(value, each.name), f"{name}.{each.name}") for each in fields(value)]
            return f"{self.value(type(value), name)} of [{', '.join(held)}]"
        self.doubts.append(f"it uses {name}, a {type(value).__name__}, of which not all is known")
        return f"a {type(value).__module__}.{type(value).__qualname__}"

    def _function(self, function: FunctionType, name: str) -> str:
        source = _source(function.__code__, function.__globals__)
        if source is None:
            self.doubts.append(f"the source of {name} is not there, or is not what was loaded")
            source = "unknown"
        defaults = (function.__defaults__ or (), tuple(sorted((function.__kwdefaults__ or {}).items())))
        made_with = [self.value(defaults, name)]
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            made_with.append(f"{variable}: {self.value(cell.cell_contents, variable) if _filled(cell) else 'empty'}")
        for variable in sorted(_globals_of(function.__code__) & function.__globals__.keys()):
            made_with.append(f"{variable}: {self.value(function.__globals__[variable], variable)}")
        for builtin in sorted((_globals_of(function.__code__) & _READS_MORE) - function.__globals__.keys()):
            self.doubts.append(f"it calls {builtin}, which may read what is outside of it, and changes")
        for module in sorted(_imports_of(function.__code__)):
            known = _origin(module)
            if known is None:
                self.doubts.append(f"it imports {module} when it is called: import what it needs before, by name")
            self._outside(module, module)
            made_with.append(f"imports {module} {known}")
        for attribute in sorted(function.__dict__.keys() - {"__wrapped__"}):
            self.doubts.append(f"the function {name} has an attribute {attribute}, which may change")
        return f"function {source!r} [{', '.join(made_with)}]"

    def _class(self, kind: type, name: str) -> str:
        held = {key: item for key, item in vars(kind).items() if key not in _OF_EVERY_CLASS and not _generated(kind, item)}
        described = [f"{key}: {self.value(_unwrapped(item), f'{name}.{key}')}" for key, item in sorted(held.items())]
        bases = [self.value(base, base.__name__) for base in (type(kind), *kind.__bases__)]
        return f"class {kind.__qualname__} [{', '.join(bases)}] [{', '.join(described)}]"


_OF_EVERY_CLASS = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__static_attributes__", "__firstlineno__"),
    *("__dataclass_params__", "__dataclass_fields__", "__match_args__", "__qualname__", "__annotate__", "__slots__"),
}


def _generated(kind: type, item: Any) -> bool:
    """Whether `dataclass` wrote a method, which its fields say."""
    written = getattr(item, "__wrapped__", item)  # repr is wrapped
    return is_dataclass(kind) and isinstance(written, FunctionType) and written.__code__.co_filename == "<string>"


def _unwrapped(item: Any) -> Any:
    if isinstance(item, property):
        return item.fget, item.fset
    return item.__func__ if isinstance(item, staticmethod | classmethod) else item


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None or True
    except ValueError:
        return False


def _globals_of(code: CodeType) -> set[str]:
    """The global names that a function reads, functions inside it included."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = [_globals_of(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return names.union(*inner)


def _imports_of(code: CodeType) -> set[str]:
    """The modules that a function imports as it runs, functions inside it included; relative ones as a point."""
    names = {each.argval or "." for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"}
    inner = [_imports_of(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return names.union(*inner)


# Where things come from -------------------------------------------------------------------------------------------------


def _origin(module: str) -> str | None:
    """What stands for a module as a whole: Python's own by name, a package by its version; else None."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and top != "__main__":
        return "of Python"
    if top == "glyptic":
        return f"version {__version__}"
    place, version = _file(top), getattr(sys.modules.get(top), "__version__", None)
    installed = {"site-packages", "dist-packages"} & set(Path(place).parts)
    return f"version {version}" if installed and isinstance(version, str) else None


def _file(module: str) -> str:
    return getattr(sys.modules.get(module), "__file__", None) or ""


@cache
def code_of_glyptic() -> str:
    """A digest of all of Glyptic's own source: what decided a claim, to the letter."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


# Source -------------------------------------------------------------------------------------------------------------------


def _source(code: CodeType, of_module: dict[str, Any]) -> str | None:
    """The text of a function, if it is what was loaded: compiled anew, it gives the same code."""
    text = "".join(linecache.getlines(code.co_filename, of_module))
    try:
        tree = ast.parse(text)
        compiled = compile(tree, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    if not any(each == code for each in _codes(compiled)):
        return None
    nodes = [node for node in ast.walk(tree) if _first_line(node) == code.co_firstlineno and _holds(node, code)]
    return ast.get_source_segment(text, nodes[-1]) if nodes else None  # walked from the outside in: the last is innermost


_FUTURE = 0x1000000 | 0x800000  # annotations, generator_stop


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _first_line(node: ast.AST) -> int | None:
    if isinstance(node, ast.Lambda):
        return node.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return None


def _holds(node: Any, code: CodeType) -> bool:
    """Whether a function's code lies within a node: two lambdas may begin in one line."""
    if code.co_name != ("<lambda>" if isinstance(node, ast.Lambda) else node.name):
        return False
    if not isinstance(node, ast.Lambda):
        return True
    start, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
    places = [each for each in code.co_positions() if None not in each and each[2:] != (0, 0)]
    return all(start <= (line, column) and (last, until) <= end for line, last, column, until in places)


__all__ = ["Pinned", "code_of_glyptic", "pinned"]
