"""A file is there whole or not at all: written beside its place under a name of its own, synced, and renamed.

The name is locked for as long as its writer lives. What a killed writer has left is not, and the next write beside it removes it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from glyptic.errors import FileError
from glyptic.files.reading import quoted_path, read_bytes

try:
    import fcntl
except ImportError:  # not on this system: then nobody can tell a leftover from a file being written, and nothing is removed
    fcntl = None  # type: ignore[assignment]

_FULL = (errno.ENOSPC, errno.EDQUOT)
MARK = "drawn by Glyptic"

_TEMPORARY = re.compile(r"\.glyptic-[0-9a-f]{16}\.tmp")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_LOOK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def write_whole(path: str | os.PathLike[str], data: bytes, what: str = "", *, parents: bool = False) -> None:
    """Write a file so that it is there whole or not at all; `what` names it in the sentence that says why it cannot be.

    >>> write_whole("/nowhere/proof.json", b"{}", "the certificate")
    Traceback (most recent call last):
    glyptic.errors.FileError: cannot write the certificate /nowhere/proof.json: No such file or directory.
    """
    write_together({Path(path): data}, what, parents=parents)


def write_together(files: Mapping[Path, bytes], what: str = "", *, parents: bool = False) -> None:
    """Write files of which none takes its place before all are written: a full disk leaves the old ones as they were.

    A link stays a link: what it leads to is written. Each file is whole at any time; a kill between two renames leaves some of
    them new and some old, so files that mean something only together go into a folder (`write_folder`).
    """
    with sentences(next(iter(files)), what), ExitStack() as stack:
        places = {regular_place(path): data for path, data in files.items()}
        ready: list[tuple[Path, Path]] = []
        for place, data in places.items():
            if parents:
                stack.enter_context(folder_for(place))
            ready.append((stack.enter_context(_beside(place, data)), place))
        for temporary, place in ready:
            os.replace(temporary, place)
        for folder in {place.parent for place in places}:
            sync_folder(folder)


def append(path: str | os.PathLike[str], data: bytes, what: str = "") -> None:
    """Add to the end of a file that is there, on the disk; if that fails its end is where it was. Of what a kill or a power cut
    breaks off a beginning may be there, so that readers leave out a last line that has no end.
    """
    with sentences(path, what):
        handle = os.open(regular_place(Path(path)), os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))
        try:
            size = os.fstat(handle).st_size
            try:
                write_all(handle, data)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)


def regular_place(path: Path) -> Path:
    """Where a file at this path is in truth; what is there and is no regular file (a folder, a device) is not replaced."""
    place = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        mode = os.stat(place).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
    return place


@contextmanager
def sentences(path: str | os.PathLike[str], what: str = "") -> Iterator[None]:
    """Inside, whatever the system refuses becomes one sentence."""
    try:
        yield
    except FileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        named = f"{what} {quoted_path(path)}" if what else quoted_path(path)
        full = "; make room there, or name another place" if getattr(error, "errno", None) in _FULL else ""
        raise FileError(f"cannot write {named}: {getattr(error, 'strerror', None) or error}{full}.") from None


@contextmanager
def folder_for(place: Path) -> Iterator[None]:
    """The folder of a place, made with those above it if need be, and unmade if what was to be written in it is not."""
    made: list[Path] = []
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        for folder in reversed(missing):
            with suppress(FileExistsError):  # another process was faster
                os.mkdir(folder)
                made.append(folder)
        yield
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError):
                os.rmdir(folder)
        raise


def taken(path: str | os.PathLike[str]) -> bool:
    """Whether there is a file that does not bear our mark, as pictures do in their metadata."""
    return os.path.isfile(path) and MARK.encode() not in read_bytes(path)


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder, and those above it, if they are not there."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"the folder {quoted_path(folder)} cannot be made: {why}; name another.") from None


@contextmanager
def _beside(place: Path, data: bytes) -> Iterator[Path]:
    """The data in a synced file beside its place; unless it was renamed it is gone afterwards."""
    remove_leftovers(place.parent)
    temporary, handle = _locked_name(place.parent, lambda path: os.open(path, _NEW, 0o666))
    try:
        with suppress(FileNotFoundError):
            os.fchmod(handle, stat.S_IMODE(os.stat(place).st_mode))
        write_all(handle, data)
        yield temporary
    finally:
        remove(temporary)
        os.close(handle)


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A new folder beside others; whatever bears its name afterwards is removed."""

    def make(path: Path) -> int:
        os.mkdir(path)
        try:
            return os.open(path, _LOOK)
        except BaseException:
            os.rmdir(path)
            raise

    remove_leftovers(parent)
    temporary, handle = _locked_name(parent, make)
    try:
        yield temporary
    finally:
        remove(temporary)
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """All bytes, on the disk: a file that is renamed before it is synced can be empty after a power cut."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """The names in a folder, on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# What killed writers have left ----------------------------------------------------------------------------------------


def remove_leftovers(folder: Path) -> None:
    """Remove what bears the name of something unfinished, and that no living writer has locked."""
    with suppress(OSError):
        for name in filter(_TEMPORARY.fullmatch, os.listdir(folder)):
            with suppress(OSError):
                _remove_if_left(folder / name)


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, _LOOK)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, if it is there and can be removed."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def _locked_name(folder: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """A new name in a folder and a handle that has it locked; one that was just taken for a leftover is made anew."""
    while True:
        path = folder / f".glyptic-{secrets.token_hex(8)}.tmp"
        handle = make(path)
        try:
            if take_lock(handle) and path.exists():
                return path, handle
        except BaseException:
            remove(path)
            os.close(handle)
            raise
        os.close(handle)


def take_lock(handle: int) -> bool:
    """Whether it is ours now, until we end; a file system without locks refuses them to those who remove leftovers too."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
