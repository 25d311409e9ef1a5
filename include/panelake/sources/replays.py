"""Replays: tuples taken out of quarantine after a fix, waiting for the next slice to bring them in.

Each replay has a number; a slice records the numbers it took, so that no tuple comes twice.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from panelake import tables
from panelake.catalog import Catalog
from panelake.sources.inputs import Recorded

REPLAYS = pa.schema([
    ("stream", pa.string()),
    ("number", pa.int64()),
    ("tuples", pa.int64()),
    ("recorded_at", tables.timestamp_type()),
])  # fmt: skip


class Replays:
    """The replays of one stream."""

    def __init__(self, catalog: Catalog, stream: str) -> None:
        self._address = catalog.ledger("replays")
        self._stream = stream

    def numbers(self) -> list[int]:
        """All replays that are done, oldest first."""
        return sorted(tables.read(self._address, REPLAYS, where={"stream": self._stream})["number"].to_pylist())

    def waiting(self, recorded: Recorded) -> tuple[int, ...]:
        """The replays that no slice took yet."""
        taken = {number for known in recorded.values() for number in known.replays}
        return tuple(number for number in self.numbers() if number not in taken)

    def record(self, number: int, tuples: int) -> None:
        """Make a replay known: from now on a slice may take it."""
        row = {"stream": self._stream, "number": number, "tuples": tuples, "recorded_at": datetime.now(UTC)}
        tables.append(self._address, pa.Table.from_pylist([row], schema=REPLAYS))
