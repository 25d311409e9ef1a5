"""Sequence numbers: every accepted tuple of a stream has one, dense, for ever.

The first slice fixes the origin at 0; later slices continue upwards; history before the first slice counts down and
so comes newest first. A range is reserved by one conditional commit before bronze is written: two runs can never
take the same numbers. Only a restatement moves numbers: those on the far side of the changed slice, seen from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from panelake import tables
from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.slices import Slice, format_instant, to_datetime, to_microseconds

_INSTANT = tables.timestamp_type()
RESERVATIONS = pa.schema([
    ("stream", pa.string()),
    ("slice_start", _INSTANT),
    ("slice_end", _INSTANT),
    ("first", pa.int64()),
    ("count", pa.int64()),
    ("version", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True, order=True)
class NumberRange:
    """[first, first + count): the numbers of one slice of one stream."""

    slice: Slice
    first: int
    count: int

    @property
    def end(self) -> int:
        return self.first + self.count


def next_range(
    stream: str, taken: Sequence[NumberRange], part: Slice, count: int, *, allow_gap: bool = False
) -> NumberRange:
    """The range a slice gets, given those taken: the whole rule, pure."""
    same = _known(taken, part)
    if same is not None:
        return _unchanged(stream, same, count, taken)
    _refuse_overlap(stream, taken, part)
    if not taken:
        return NumberRange(part, 0, count)
    if not allow_gap:
        _require_adjacent(stream, taken, part)
    if part.end <= min(taken).slice.start:
        return NumberRange(part, min(known.first for known in taken) - count, count)
    return NumberRange(part, max(known.end for known in taken), count)


def restated(taken: Sequence[NumberRange], part: Slice, count: int) -> list[NumberRange]:
    """Every range that changes when an ingested slice gets another count, its own first: the others stay dense."""
    known = _known(taken, part)
    if known is None or known.count == count:
        return []
    more = count - known.count
    if known.first < 0:
        moved = [other for other in taken if other != known and other.end <= known.first]
        shifted = [replace(other, first=other.first - more) for other in moved]
        return [NumberRange(part, known.end - count, count), *shifted]
    moved = [other for other in taken if other != known and other.first >= known.end]
    return [NumberRange(part, known.first, count), *(replace(other, first=other.first + more) for other in moved)]


def covering(taken: Iterable[NumberRange], part: Slice) -> list[NumberRange]:
    """The ingested slices that a longer slice consists of; none where they do not fill it exactly."""
    inside = sorted(known for known in taken if part.start <= known.slice.start and known.slice.end <= part.end)
    borders = [part.start, *(known.slice.end for known in inside)]
    starts = [*(known.slice.start for known in inside), part.end]
    return inside if len(inside) > 1 and borders == starts else []


def _known(taken: Iterable[NumberRange], part: Slice) -> NumberRange | None:
    return next((known for known in taken if known.slice == part), None)


def _unchanged(stream: str, known: NumberRange, count: int, taken: Sequence[NumberRange]) -> NumberRange:
    if known.count != count:
        moved = [other.slice for other in restated(taken, known.slice, count)]
        span = Slice(min(moved).start, max(part.end for part in moved))
        raise BadInputError(
            f"stream {stream}, slice {known.slice}: {known.count} tuples were numbered before, {count} are there now."
            f" Put the source or streams.yaml back as it was, or restate the {len(moved)} slices of {span} whose"
            " numbers change: run it with --again --restate"
        )
    return known


def _refuse_overlap(stream: str, taken: Iterable[NumberRange], part: Slice) -> None:
    for known in taken:
        if known.slice.start < part.end and part.start < known.slice.end:
            raise BadInputError(
                f"stream {stream}: slice {part} overlaps slice {known.slice}, which is ingested already;"
                " run it with the same slice length"
            )


def _require_adjacent(stream: str, taken: Sequence[NumberRange], part: Slice) -> None:
    first, last = min(taken).slice.start, max(taken).slice.end
    if part.end < first:
        missing = Slice(part.end, first)
    elif part.start > last:
        missing = Slice(last, part.start)
    else:
        return
    raise BadInputError(
        f"stream {stream}: slice {part} is not adjacent to what is ingested: {missing} lies between."
        f" Run --from {format_instant(missing.start)} --to {format_instant(missing.end)} first,"
        " or skip it with --allow-gap; history comes newest first, in Airflow by a backfill with --run-backwards"
    )


class Numbers:
    """The reservations of a workspace's streams."""

    def __init__(self, catalog: Catalog) -> None:
        self._address = catalog.ledger("numbers")

    def taken(self, stream: str) -> list[NumberRange]:
        return _of_stream(tables.read(self._address, RESERVATIONS), stream)

    def require_free(self, stream: str, part: Slice, *, allow_gap: bool = False) -> None:
        """Refuse, before anything is read, a slice that could not be numbered."""
        taken = self.taken(stream)
        if _known(taken, part) is None:
            next_range(stream, taken, part, 0, allow_gap=allow_gap)

    def reserve(
        self, stream: str, part: Slice, count: int, *, allow_gap: bool = False, restate: bool = False
    ) -> NumberRange:
        """Reserve the slice's numbers, or give those it already has; `restate` moves others to make room."""
        reserved: list[NumberRange] = []

        def decide(rows: pa.Table) -> pa.Table | None:
            taken = _of_stream(rows, stream)
            changed = restated(taken, part, count) if restate else []
            reserved[:] = changed or [next_range(stream, taken, part, count, allow_gap=allow_gap)]
            return None if reserved[0] in taken else _rows(stream, reserved, version=rows.num_rows)

        tables.compare_and_append(self._address, RESERVATIONS, decide)
        return reserved[0]


def _of_stream(rows: pa.Table, stream: str) -> list[NumberRange]:
    """The ranges that count: of each slice the one reserved last."""
    mine = [row for row in rows.to_pylist() if row["stream"] == stream]
    newest = {_slice(row): row for row in sorted(mine, key=lambda row: row["version"])}
    return sorted(NumberRange(part, row["first"], row["count"]) for part, row in newest.items())


def _slice(row: dict[str, Any]) -> Slice:
    return Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"]))


def _rows(stream: str, given: Iterable[NumberRange], version: int) -> pa.Table:
    rows = [
        {
            "stream": stream,
            "slice_start": to_datetime(known.slice.start),
            "slice_end": to_datetime(known.slice.end),
            "first": known.first,
            "count": known.count,
            "version": version,
        }
        for known in given
    ]
    return pa.Table.from_pylist(rows, schema=RESERVATIONS)
