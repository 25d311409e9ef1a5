"""What slices learned of filters, kept in Delta: a row a stream or query and slice, with the state before and after it.

A slice resumes what the last one to learn left; one that is run again starts from what it started from, and keeps its
turn: so it never changes what others resumed. A stream's row tells the order its tuples were counted in as well: run
again, the slice counts the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from panelake import tables
from panelake.catalog import Catalog
from panelake.slices import Slice, to_datetime, to_microseconds

Kind = Literal["stream", "query"]
_INSTANT = tables.timestamp_type()
_STATISTICS = pa.struct([
    ("conditions", pa.list_(pa.string())),
    ("order", pa.list_(pa.int64())),
    ("outcomes", pa.list_(pa.int64())),
    ("weights", pa.list_(pa.float64())),
    ("costs", pa.list_(pa.float64())),
    ("samples", pa.int64()),
])  # fmt: skip
_KEY = ("kind", "name", "slice_start", "slice_end", "turn", "recorded_at")
FILTERS = pa.schema([
    ("kind", pa.string()),
    ("name", pa.string()),
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("turn", pa.int64()),
    ("recorded_at", _INSTANT),
    ("used", pa.list_(pa.int64())),
    ("tuples", pa.int64()),
    ("idle", pa.float64()),
    ("before", _STATISTICS),
    ("after", _STATISTICS),
])  # fmt: skip


@dataclass(frozen=True)
class Learned:
    """One slice: the order used for its `tuples`, statistics before and after it as plain values.

    `idle` are the seconds that the filters have cost since a sample was last taken, as far as statistics tell.
    """

    kind: Kind
    name: str
    slice: Slice
    turn: int
    used: tuple[int, ...]
    tuples: int
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    idle: float = 0.0


class FilterMemory:
    """Reads and appends rows; the newest of a (kind, name, slice) counts."""

    def __init__(self, catalog: Catalog) -> None:
        self._address = catalog.filters
        self._read: list[dict[str, Any]] | None = None

    def record(self, rows: Iterable[Learned]) -> None:
        now = tables.next_moment(self._address)
        values = [_row(row) | {"recorded_at": now} for row in rows]
        self._read = None
        if values:
            tables.append(self._address, pa.Table.from_pylist(values, schema=FILTERS))

    def of_slice(self, kind: Kind, name: str, part: Slice) -> Learned | None:
        """What the slice itself left, if it was run before."""
        return self._whole([key for key in self._keys(kind, name) if _slice(key) == part])

    def last(self, kind: Kind, name: str, apart_from: Slice) -> Learned | None:
        """What the last slice to learn left, whatever its place in time."""
        others = [key for key in self._keys(kind, name) if _slice(key) != apart_from]
        return self._whole(sorted(others, key=lambda key: int(key["turn"]))[-1:])

    def history(self, kind: Kind, name: str) -> list[Learned]:
        """Every slice, in the order they learned."""
        rows = tables.read(self._address, FILTERS, where={"kind": kind, "name": name}).sort_by("recorded_at")
        newest = {_slice(row): row for row in rows.to_pylist()}
        return sorted((_learned(row) for row in newest.values()), key=lambda row: row.turn)

    def _keys(self, kind: Kind, name: str) -> list[dict[str, Any]]:
        """The newest key of each slice: statistics are read for the one slice that is asked for."""
        if self._read is None:
            self._read = tables.read(self._address, FILTERS, columns=list(_KEY)).sort_by("recorded_at").to_pylist()
        mine = [row for row in self._read if (row["kind"], row["name"]) == (kind, name)]
        return list({_slice(row): row for row in mine}.values())

    def _whole(self, keys: list[dict[str, Any]]) -> Learned | None:
        if not keys:
            return None
        rows = tables.read(self._address, FILTERS, where=keys[0])
        return _learned(rows.to_pylist()[0])


def _slice(row: Mapping[str, Any]) -> Slice:
    return Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"]))


def _row(learned: Learned) -> dict[str, Any]:
    part = learned.slice
    own = {name: value for name, value in vars(learned).items() if name != "slice"}
    bounds = {"slice_start": to_datetime(part.start), "slice_end": to_datetime(part.end)}
    return {**own, **bounds, "used": list(learned.used)}


def _learned(row: Mapping[str, Any]) -> Learned:
    own = {name: row[name] for name in ("kind", "name", "turn", "tuples", "idle", "before", "after")}
    return Learned(slice=_slice(row), used=tuple(row["used"]), **own)
