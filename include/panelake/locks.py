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
    def working(self) -> Iterator[None]:
        """At work on any slice, beside others that are: maintenance waits for all of them."""
        with self._held("turnstile", "the warehouse", shared=True):
            pass  # maintenance that waits keeps it shut, so that it need not wait for ever
        with self._held("work", "the warehouse", shared=True):
            yield

    @contextmanager
    def maintaining(self) -> Iterator[None]:
        """Alone with the whole warehouse: no stage is at work, and none begins."""
        with self._held("turnstile", "the warehouse"), self._held("work", "the warehouse"):
            yield

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Alone with gold: answers are compared with what others brought, then published."""
        with self._held("publishing", "gold"):
            yield

    @contextmanager
    def _held(self, name: str, what: str, *, shared: bool = False) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{name}.lock").open("a+") as handle:
            self._acquire(handle, what, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            if not shared:
                handle.truncate(0)
                handle.write(f"process {os.getpid()}")
                handle.flush()
            yield

    def _acquire(self, handle: IO[str], what: str, kind: int) -> None:
        deadline = time.monotonic() + self._wait_seconds
        while not _try_lock(handle, kind):
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


def _try_lock(handle: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
