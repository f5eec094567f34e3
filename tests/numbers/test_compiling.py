"""Kernels of a fresh install: kept where they can be, compiled all the same where they cannot, with one word to who waits."""

import os
import pickle
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import types

import glyptic
from glyptic.exact import Sizes, random_transformer
from glyptic.exact.running import prepared_for
from glyptic.numbers.compiling import address_of, called_at, compiled

SOURCE = Path(glyptic.__file__).parent
ADD = """
import numpy as np
from glyptic.numbers import Fixed, compiling
from glyptic.numbers.fast import Fast
from glyptic.numbers.kernels import add_arrays
compiling.SECONDS_OF_SILENCE = {silence}
A = Fast(Fixed(8))
x = A.values(np.array([256, 65535]))
print(A.codes(A.add(x, x)).tolist(), sum(add_arrays.stats.cache_hits.values()), add_arrays.stats.cache_path)
"""


def run(home: Path, source: Path, silence: float = 0.0, **about: object) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    places = {"PYTHONPATH": str(source), "XDG_CACHE_HOME": str(home), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    code = ADD.format(silence=silence)
    return subprocess.run(
        [sys.executable, "-c", code], env=kept | places, text=True, check=True, timeout=300, stdout=subprocess.PIPE, **about
    )  # type: ignore[call-overload]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The package where nothing can be kept beside it, not even by the superuser: __pycache__ is a file."""
    shutil.copytree(SOURCE, tmp_path / "src" / "glyptic", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "glyptic" / "numbers" / "__pycache__").write_text("")
    return tmp_path / "src"


def test_where_the_package_cannot_be_written_kernels_are_kept_with_the_user(source: Path, tmp_path: Path) -> None:
    first, second = (run(tmp_path / "home", source, stderr=subprocess.PIPE) for _ in range(2))
    assert first.stdout.startswith("[512, 65535] 0 ") and second.stdout.startswith("[512, 65535] 1 ")
    assert str(tmp_path / "home") in first.stdout
    assert first.stderr == second.stderr == ""  # not a terminal: nobody reads it


def test_what_was_compiled_counts_until_any_file_of_the_room_changes(source: Path, tmp_path: Path) -> None:
    hits = []
    for changed in (None, None, "steps.py", None):
        if changed is not None:
            with (source / "glyptic" / "numbers" / changed).open("a") as file:
                file.write("# other steps\n")
        hits.append(run(tmp_path / "home", source, stderr=subprocess.PIPE).stdout.split()[2])
    assert hits == ["0", "1", "0", "1"]


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(source: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    assert run(tmp_path / "home", source).stdout == "[512, 65535] 0 None\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_who_waits_at_a_terminal_is_told_once_on_standard_error(source: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    done = run(tmp_path / "home", source, stderr=theirs)
    os.close(theirs)
    said = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.stdout.startswith("[512, 65535] 0 ")
    assert said.count("glyptic: compiling kernels for this processor") == 1
    assert f"kept in {tmp_path / 'home'}" in said.replace("\r\n", "")


# Kernels by their addresses --------------------------------------------------------------------------------------------------


@compiled
def _doubled(x, by):
    for i in range(x.size):
        x[i] *= by


@compiled
def _twice(address, x):
    called_at(address, (x, 2.0))
    called_at(address, (x[1:], 2.0))


def test_a_kernel_is_called_by_its_address() -> None:
    x = np.arange(4.0)
    address = address_of(_doubled, x, 2.0)
    _twice(address, x)
    assert x.tolist() == [0.0, 4.0, 8.0, 12.0]
    assert address_of(_doubled, x, 2.0) == address and len(_doubled.overloads) == 1
    assert [str(kind) for kind in _doubled.signatures[0]] == [str(types.Array(types.float64, 1, "C")), "float64"]


def test_addresses_stay_in_their_process() -> None:
    """What is sent to another process finds its own there: an address from here would be anything."""
    T = random_transformer("fixed:4", 1, Sizes(layers=1))
    fast, stack = prepared_for(T).arithmetic, prepared_for(T).stack
    residual = np.zeros((T.width, 2, 3), fast.host.dtype)
    visible = np.tril(np.ones((2, 2), bool))
    after = fast.through(stack, residual, None, visible, False)[0]
    assert fast._addresses is not None
    sent = pickle.loads(pickle.dumps(fast))
    assert sent._addresses is None
    assert np.array_equal(sent.through(stack, residual, None, visible, False)[0], after)
