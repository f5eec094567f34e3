"""A folder of files that belong together: after a crash it holds the old ones or the new ones, never some of each.

A whole new folder is written beside the old one, and the two names are exchanged in one step (`renameat2` of Linux). Where that
cannot be, the folder itself has to stay: it is the working folder or a mount, its parent is closed to us, the kernel does not
know the call, or it has other files, which are kept. Then the new files are gathered in a folder inside, one rename to
`.glyptic-new` decides, and the files move from there into their places. Whoever finds a `.glyptic-new` finishes the moves
(`recover`), so that a crash before that rename leaves the old ones, and one after it the new ones.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from glyptic.errors import FileError
from glyptic.files.reading import quoted_path, read_json
from glyptic.files.writing import folder_for, sentences, sync_folder, temporary_folder, write_all
from glyptic.text import quoted

Content = bytes | Callable[[Path], object]  # what a file holds, or a function that writes it at a path
Ours = Callable[[Path], bool]  # whether what a folder holds was written by the one who writes now

_DECIDED = ".glyptic-new"
_MUST_STAY = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS)


def write_folder(
    folder: str | os.PathLike[str], files: Mapping[str, Content], ours: Ours = lambda _: False, *, overwrite: bool = False
) -> None:
    """Write files by their names in a folder, all or none; it is made if needed, and refused as `check_folder` says."""
    check_folder(folder, files, ours, overwrite=overwrite)
    place = Path(os.path.realpath(folder))
    with sentences(folder):
        if _has_to_stay(place, files) or not _written_beside(place, files):
            _write_inside(place, files)


def check_folder(
    folder: str | os.PathLike[str], names: Iterable[str], ours: Ours = lambda _: False, *, overwrite: bool = False
) -> None:
    """Refuse a place that is taken: anything but a new or empty folder, or one that holds what is `ours` and nothing else.

    `overwrite` admits any folder: what has one of the names is replaced, the rest is kept. Hidden files are always kept.
    """
    shown, known = quoted_path(folder), list(names)
    with sentences(folder):
        place = Path(os.path.realpath(folder))
        if not place.exists():
            return
        if not place.is_dir():
            raise FileError(f"cannot write {shown}: it is not a folder; name another.")
        recover(place)
        for name in known:
            if (place / name).exists() and not (place / name).is_file():
                raise FileError(f"cannot write {shown}: {quoted(name)} in it is not a regular file; name another folder.")
        there = sorted(name for name in os.listdir(place) if not name.startswith("."))
        if there and not overwrite and not (set(there) <= set(known) and ours(place)):
            first = next((name for name in there if name not in known), there[0])
            raise FileError(
                f"{shown} is taken, for it holds {quoted(first, 80)}, which is not ours to replace; name a new folder, or say "
                f"--overwrite (overwrite=True), which replaces {' and '.join(known[:2])} and keeps the rest."
            )


def says(name: str, field: str, value: str) -> Ours:
    """Ours is a folder in which the JSON file of this name says so."""

    def ours(folder: Path) -> bool:
        try:
            content = read_json(folder / name)
        except FileError:
            return False
        return isinstance(content, dict) and content.get(field) == value

    return ours


def recover(folder: str | os.PathLike[str]) -> None:
    """Finish what a writer had decided when it was killed; to be called before a folder is read."""
    place = Path(folder)
    try:
        waits = stat.S_ISDIR(os.lstat(place / _DECIDED).st_mode)  # a link would lead elsewhere
    except (OSError, ValueError):
        return
    if waits:
        with sentences(folder):
            _move_decided(place)


def _has_to_stay(place: Path, files: Mapping[str, Content]) -> bool:
    """Whether a folder is not to be exchanged: one works in it, has other files in it, or may not rename it."""
    if not place.is_dir():
        return False
    if os.path.samefile(place, os.curdir) or not os.access(place.parent, os.W_OK | os.X_OK):
        return True
    return not set(os.listdir(place)) <= set(files)


def _written_beside(place: Path, files: Mapping[str, Content]) -> bool:
    """Write a new folder and put it in the place of the old; False, and nothing done, if the system does not let us."""
    with folder_for(place), temporary_folder(place.parent) as made:
        _fill(made, files)
        if place.exists():
            os.chmod(made, stat.S_IMODE(os.stat(place).st_mode))
        try:
            if place.exists() and os.listdir(place):
                exchange(made, place)
            else:
                os.rename(made, place)  # to nothing, or onto an empty folder
        except OSError as error:
            if error.errno in _MUST_STAY and place.is_dir():
                return False
            raise
        sync_folder(place.parent)
    return True


def _write_inside(place: Path, files: Mapping[str, Content]) -> None:
    with temporary_folder(place) as made:
        _fill(made, files)
        recover(place)
        os.rename(made, place / _DECIDED)  # this decides: from here on the folder holds the new files
        sync_folder(place)
    _move_decided(place)


def _move_decided(place: Path) -> None:
    """Move what was decided into its place; others may be doing the same."""
    decided = place / _DECIDED
    for name in sorted(os.listdir(decided)):
        with suppress(FileNotFoundError):
            os.replace(decided / name, place / name)
    sync_folder(place)
    with suppress(FileNotFoundError):
        os.rmdir(decided)


def _fill(folder: Path, files: Mapping[str, Content]) -> None:
    """Write new files, on the disk; names may have folders in front."""
    for name, content in files.items():
        path = folder / name
        if path.parent != folder:
            os.makedirs(path.parent, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            mode = stat.S_IMODE(os.fstat(handle).st_mode)  # as the user's umask has it
            if callable(content):  # which may put a file of its own there, and a mode of its own
                content(path)
                os.close(handle)
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
                os.fchmod(handle, mode)
            write_all(handle, b"" if callable(content) else content)
        finally:
            os.close(handle)
    for parent in {(folder / name).parent for name in files} | {folder}:
        sync_folder(parent)


def exchange(one: Path, other: Path) -> None:
    """Exchange what two names stand for, in one step; an OSError where the system cannot."""
    at_working_folder, exchanging = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    if rename(at_working_folder, os.fsencode(one), at_working_folder, os.fsencode(other), exchanging) != 0:
        code = ctypes.get_errno()
        raise OSError(errno.EXDEV if code in (errno.ENOSYS, errno.EINVAL) else code, os.strerror(code))
