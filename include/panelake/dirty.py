"""The dirty set: which event times of which stream changed after they were answered, and must be restated.

Ingest marks a slice's range when the slice brings tuples that windows already answered reach: late tuples, history,
filled gaps, restated slices. `keys` is a JSON list of the keys concerned, or NULL for all: the tuples themselves are
in bronze, with this `_slice` and an event time in [low, high). Publish empties what it answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable

from panelake import tables
from panelake.catalog import Catalog
from panelake.slices import Slice, format_instant, to_datetime, to_microseconds

_INSTANT = tables.timestamp_type()
_ADDITIONS = ("late", "early", "history")
DIRTY = pa.schema([
    ("stream", pa.string()),
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("low", pa.int64()),
    ("high", pa.int64()),
    ("keys", pa.string()),
    ("why", pa.string()),
    ("tuples", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True, order=True)
class DirtyRange:
    """Event times [low, high), microseconds, in which the slice changed `tuples` tuples."""

    slice: Slice
    low: int
    high: int
    why: str
    tuples: int
    keys: str | None = None

    @property
    def only_adds(self) -> bool:
        """Whether tuples came and none went: windows then change for the groups of the slice's tuples alone."""
        return self.why in _ADDITIONS


class DirtySet:
    """What must be restated of a workspace's streams."""

    def __init__(self, catalog: Catalog) -> None:
        self._address = catalog.ledger("dirty")

    def pending(self, stream: str) -> list[DirtyRange]:
        """The stream's ranges that nothing was published for yet."""
        rows = tables.read(self._address, DIRTY, where={"stream": stream}).to_pylist()
        return sorted(
            DirtyRange(
                Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"])),
                row["low"],
                row["high"],
                row["why"],
                row["tuples"],
                row["keys"],
            )
            for row in rows
        )

    def mark(self, stream: str, part: Slice, ranges: Iterable[DirtyRange]) -> None:
        """Put the slice's ranges in place of those it had."""
        rows = [_row(stream, known) for known in ranges]
        if rows or any(known.slice == part for known in self.pending(stream)):
            self._replace(stream, part, pa.Table.from_pylist(rows, schema=DIRTY))

    def clear(self, stream: str, part: Slice) -> None:
        """Take out the slice's ranges: their windows are published."""
        self.mark(stream, part, ())

    def _replace(self, stream: str, part: Slice, rows: pa.Table) -> None:
        tables.create(self._address, DIRTY)
        # A stream's name is an identifier, and instants are formatted from integers.
        predicate = (
            f"stream = '{stream}' AND slice_start = '{format_instant(part.start)}'"
            f" AND slice_end = '{format_instant(part.end)}'"
        )
        tables.retry_conflicts(lambda: tables.overwrite(DeltaTable(self._address), rows, predicate), self._address)


def _row(stream: str, known: DirtyRange) -> dict[str, object]:
    bounds = {"slice_start": to_datetime(known.slice.start), "slice_end": to_datetime(known.slice.end)}
    facts = {"low": known.low, "high": known.high, "keys": known.keys, "why": known.why, "tuples": known.tuples}
    return {"stream": stream, **bounds, **facts}
