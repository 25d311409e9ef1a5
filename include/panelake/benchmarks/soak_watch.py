"""What a soak watches: the memory of the server, of its Python workers and of this client, and every table's files."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import psutil
from deltalake import DeltaTable

from panelake.context import Context
from panelake.maintenance.warehouse import large_tables, small_tables
from panelake.spark.record import load_record

SERVER, WORKERS, CLIENT = "server", "server's Python workers", "client"
_EVERY_SECONDS = 0.5
_MEGABYTE = 1 << 20


class MemoryWatch(threading.Thread):
    """Looks twice a second, and keeps the most of each since it was last asked."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._most: dict[str, float] = {}
        self._lock, self._ended = threading.Lock(), threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            self._look()

    def end(self) -> None:
        self._ended.set()
        self.join()

    def most(self) -> dict[str, float]:
        """Megabytes at most, by process, since the last call."""
        self._look()
        with self._lock:
            told, self._most = self._most, {}
        return told

    def _look(self) -> None:
        now = memory()
        with self._lock:
            self._most = {name: max(value, self._most.get(name, 0.0)) for name, value in now.items()}


def memory() -> dict[str, float]:
    """Resident megabytes now; of a server elsewhere nothing is known."""
    found = {CLIENT: _resident([psutil.Process(os.getpid())])}
    record = load_record()
    process = record.process.process() if record else None
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            found |= {SERVER: _resident([process]), WORKERS: _resident(process.children(recursive=True))}
    return found


def _resident(processes: list[psutil.Process]) -> float:
    total = 0
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            total += one.memory_info().rss
    return total / _MEGABYTE


def live_files(context: Context) -> dict[str, int]:
    """How many files each table's newest version has."""
    named = [*large_tables(context), *small_tables(context)]
    return {name: len(DeltaTable(address).file_uris()) for name, address in named}


def files_on_disk(warehouse: str) -> int:
    """All files below the warehouse."""
    return sum(1 for path in Path(warehouse).rglob("*") if path.is_file())
