"""What memory does not hold is one sentence that says what is too large and what helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from glyptic.errors import InputError

_OF_ALLOCATORS = ("allocate memory", "out of memory")  # in what torch says, of CPUs and of GPUs


@contextmanager
def held_by_memory(what: str, remedy: str) -> Iterator[None]:
    """Inside, memory that there is not is told as what needs it.

    >>> with held_by_memory("a batch of 1,000,000 sequences", "use a smaller batch"):
    ...     raise MemoryError
    Traceback (most recent call last):
    glyptic.errors.InputError: memory does not hold a batch of 1,000,000 sequences: use a smaller batch.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error).lower() for words in _OF_ALLOCATORS):
            raise
        raise InputError(f"memory does not hold {what}: {remedy}.") from None
