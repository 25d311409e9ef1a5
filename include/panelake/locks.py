"""Locks between commands and tasks that meet on one workspace: one works, the others wait or are refused by name.

A lock is a file's advisory lock, so it ends with the process that holds it, however that ends. Files lie in the
warehouse where that is a folder, else among this machine's runtime files.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from panelake.errors import TransientError
from panelake.home import home
from panelake.slices import Slice
from panelake.tables import is_local

WAIT_SECONDS = 600.0
_POLL_SECONDS = 0.1
_SLICE_FILES = 256  # files are never removed, so slices share them; two that do wait for each other now and then


class Locks:
    """The locks of one warehouse; threads of one process exclude each other too."""

    def __init__(self, warehouse: str, wait_seconds: float = WAIT_SECONDS) -> None:
        self._folder = _folder(warehouse)
        self._wait_seconds = wait_seconds

    @contextmanager
    def slice(self, part: Slice) -> Iterator[None]:
        """Alone with one slice, whichever stage."""
        with self._held(f"slice-{part.start // part.length % _SLICE_FILES}", f"slice {part}"):
            yield

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Alone with gold: answers are compared with what others brought, then published."""
        with self._held("publishing", "gold"):
            yield

    @contextmanager
    def _held(self, name: str, what: str) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{name}.lock").open("a+") as handle:
            self._acquire(handle, what)
            handle.truncate(0)
            handle.write(f"process {os.getpid()}")
            handle.flush()
            yield

    def _acquire(self, handle: IO[str], what: str) -> None:
        deadline = time.monotonic() + self._wait_seconds
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                handle.seek(0)
                raise TransientError(
                    f"{what} is in the hands of {handle.read() or 'another run'}, for over {self._wait_seconds:.0f} s;"
                    " let that run finish, or end it, then run again"
                )
            time.sleep(_POLL_SECONDS)


def _folder(warehouse: str) -> Path:
    if is_local(warehouse):
        return Path(warehouse.removeprefix("file://")) / "ledger" / "locks"
    return home() / "locks" / hashlib.sha256(warehouse.encode()).hexdigest()[:16]


def _try_lock(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
