"""What a room offers, written once: imports under `if TYPE_CHECKING`, which at run time are made when a name is first used.

Type checkers and editors see plain imports; whoever uses one name waits for the modules behind that name alone.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazily(package: str) -> Lazy:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the imports under `if TYPE_CHECKING` in its `__init__.py`.

    What is imported at once, of its own modules and under its own name (`import X as X`), is offered too.

    >>> get, names, _ = lazily("glyptic")
    >>> get("Fixed")(8).max, "carve" in names()
    (Fraction(65535, 256), True)
    """
    home, plain = _offered(Path(str(sys.modules[package].__file__)), package)

    def get(name: str) -> Any:
        from glyptic.extras import brought_by

        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        if home[name] == package:  # a room or a module of this package
            with brought_by(f"{package}.{name}"):
                return importlib.import_module(f"{package}.{name}")
        with brought_by(f"{package}.{name}"):
            value = getattr(importlib.import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *home}), sorted({*home, *plain})


def _offered(path: Path, package: str) -> tuple[dict[str, str], list[str]]:
    """The modules that the names come from; and the names that are there already."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    ours = [node for node in tree.body if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{package}.")]
    plain = [alias.name for node in ours for alias in node.names if alias.asname == alias.name]
    return {alias.name: str(node.module) for node in imports for alias in node.names}, plain
