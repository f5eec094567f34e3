"""What a studio is started with, and the bounds that keep it small whatever is asked of it."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from glyptic.arguments import Count, Number, check_fields
from glyptic.errors import InputError

Port = Annotated[int, Count(0, 65535)]


@dataclass(frozen=True)
class Settings:
    """A studio: where it listens, what it may open, and how much it does at once.

    >>> Settings(port=70000)
    Traceback (most recent call last):
    glyptic.errors.InputError: port is 70000, and must be a whole number from 0 to 65535.
    """

    host: str = "127.0.0.1"
    port: Port = 8787  # 0: any that is free
    folder: Path | None = None  # models in it and below may be opened; none: no file is read at all
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    pages_at_once: Annotated[int, Count(1, 64)] = 2
    pages_waiting: Annotated[int, Count(0, 1024)] = 32
    proofs_at_once: Annotated[int, Count(1, 64)] = 2
    proofs_waiting: Annotated[int, Count(0, 1024)] = 8
    page_seconds: Annotated[float, Number(above=0)] = 60.0  # the first run of all compiles the kernels
    proof_seconds: Annotated[float, Number(above=0)] = 3600.0
    unwatched_seconds: Annotated[float, Number(above=0)] = 15.0  # that a proof may go on before a page looks at it
    megabytes: Annotated[int, Count(512, 2**20)] = 4096  # of one process that builds or proves, its libraries included
    request_seconds: Annotated[int, Count(1, 3600)] = 10  # that a client may take to say what it wants
    body_bytes: Annotated[int, Count(1)] = 1 << 16

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.host.strip() or not self.host.isprintable() or len(self.host) > 255:
            raise InputError("the host must be an address of this machine, such as 127.0.0.1, or a name of it.")


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.5", "example.org")]
    [True, True, True, False, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
