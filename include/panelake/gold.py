"""Gold: the published answers of a query. Rows of a window range are replaced in one commit.

A row that changes gets a higher `_revision` and keeps its `_slice`; one that stays the same keeps all it had, so that
a slice run again leaves the table as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from numpy.typing import NDArray

from panelake import tables
from panelake.language.query import WindowKind
from panelake.slices import format_instant

START, END, SLICE, REVISION = "window_start", "window_end", "_slice", "_revision"
_INSTANT = tables.timestamp_type()
_POSITIONS: dict[WindowKind, pa.DataType] = {"TS": _INSTANT, "ROW": pa.int64()}
Places = NDArray[np.int64]


@dataclass(frozen=True, order=True)
class Span:
    """Windows whose end lies in (low, high] are answered in the slice that starts at `slice_start`.

    Positions are microseconds for windows over time, sequence numbers for windows over rows.
    """

    low: int
    high: int
    slice_start: int


def answer_schema(columns: pa.Schema, kind: WindowKind) -> pa.Schema:
    """The columns of answers before they are stamped: the window's bounds, then the query's own."""
    place = _POSITIONS[kind]
    return pa.schema([(START, place), (END, place), *columns])


def gold_schema(columns: pa.Schema, kind: WindowKind = "TS") -> pa.Schema:
    """The table's columns around the query's own."""
    return pa.schema([*answer_schema(columns, kind), (SLICE, _INSTANT), (REVISION, pa.int64())])


def in_answered_slices(rows: pa.Table, spans: Sequence[Span]) -> pa.Table:
    """Rows stamped with the slice their window ends in; those that end in none have no slice yet and go.

    Where a long slice covers short ones, a row belongs to the short one.
    """
    ends = _positions(rows[END])
    stamp = np.zeros(len(ends), np.int64)
    inside = np.zeros(len(ends), bool)
    near = [span for span in spans if len(ends) and span.low < ends.max() and span.high >= ends.min()]
    for span in sorted(near, key=lambda span: span.low - span.high):
        mine = (ends > span.low) & (ends <= span.high)
        stamp[mine], inside[mine] = span.slice_start, True
    return rows.append_column(SLICE, pa.array(stamp, _INSTANT)).filter(pa.array(inside))


@dataclass(frozen=True)
class Restated:
    """Windows answered before, of which only some groups are answered again: those staged, and those that go.

    `ends` are ranges [first, last] of the windows' ends; `gone` are rows whose window and group have no answer now.
    """

    ends: Sequence[Sequence[int]] = ()
    gone: pa.Table | None = None


@dataclass(frozen=True)
class Written:
    """How many of the rows given are in gold, and which answers changed that had been there, or were not due before.

    `changed` has the columns of the place, window end and group, of every row restated, added to a restated window or
    taken out of one; None where nothing was there before.
    """

    rows: int
    changed: pa.Table | None = None


def replace_windows(
    address: str, rows: pa.Table, keys: Sequence[str], ends: Sequence[int], restated: Restated | None = None
) -> Written:
    """Replace all windows that end in [ends[0], ends[-1]] by the stamped rows, in one commit; give what is there.

    Of restated windows only the groups given are replaced; the others' rows stay. The commit is lost, and tried again
    from what is there then, if anybody else committed since the table was read.
    """
    schema = pa.schema([*rows.schema, (REVISION, pa.int64())])
    tables.create(address, schema)
    partly = restated or Restated()
    ranges = [one for one in (ends, *partly.ends) if one]
    if not ranges:
        return Written(0)

    def commit() -> Written:
        table = DeltaTable(address)
        before = _between(table, ranges)
        kept = before.filter(_untouched(before, rows, keys, ends, partly))
        revised = with_revisions(rows, before, keys)
        everything = pa.concat_tables([revised, kept.select(revised.column_names).cast(revised.schema)])
        if same_rows(everything, before, keys):
            return Written(rows.num_rows)
        tables.overwrite(table, everything, _predicate(schema.field(END).type, ranges))
        there = int(_between(table, ranges).num_rows)
        return Written(there - kept.num_rows, _changed(revised, before, kept, keys))

    written = tables.retry_conflicts(commit, address)
    tables.keep_few_files(address)
    return written


def _untouched(
    before: pa.Table, rows: pa.Table, keys: Sequence[str], ends: Sequence[int], partly: Restated
) -> pa.Array:
    """Which rows stay as they are: those of restated windows whose group is neither answered again nor gone."""
    at = _positions(before[END])
    stays = np.ones(len(at), bool) if not ends else (at < ends[0]) | (at > ends[-1])
    for given in (rows, partly.gone):
        if given is not None and given.num_rows:
            stays &= _places_before(before, given, keys) < 0
    return pa.array(stays)


def _changed(revised: pa.Table, before: pa.Table, kept: pa.Table, keys: Sequence[str]) -> pa.Table | None:
    """Window end and group of every row that differs from before, in windows that had rows."""
    if not before.num_rows:
        return None
    place = _places_before(revised, before, keys)
    older = before[REVISION].to_numpy()[np.maximum(place, 0)]
    windows = np.isin(_positions(revised[END]), _positions(before[END]))
    differs = np.where(place < 0, windows, revised[REVISION].to_numpy() > older)
    after = pa.concat_tables([one.select([END, *keys]) for one in (revised, kept)])
    gone = _places_before(before, after, keys) < 0
    parts = [revised.filter(pa.array(differs)), before.filter(pa.array(gone))]
    return pa.concat_tables([part.select([END, *keys]).cast(after.schema) for part in parts])


def with_revisions(rows: pa.Table, before: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows with `_revision`: that of the same row before, one more where a value differs, 0 where it is new.

    A row that was there keeps its `_slice`.
    """
    place = _places_before(rows, before, keys)
    known = place >= 0
    matched = before.take(pa.array(np.maximum(place, 0))) if before.num_rows else rows.slice(0, 0)
    if not known.any():
        return rows.append_column(REVISION, pa.array(np.zeros(len(place), np.int64)))
    changed = np.zeros(len(place), bool)
    for name in rows.column_names:
        if name != SLICE:
            changed |= ~_equal(rows[name], matched[name])
    older = matched[REVISION].to_numpy()
    revision = np.where(known, older + changed, 0)
    kept = pc.if_else(pa.array(known), matched[SLICE], rows[SLICE])
    stamped = rows.set_column(rows.schema.get_field_index(SLICE), SLICE, kept)
    return stamped.append_column(REVISION, pa.array(revision, pa.int64()))


def same_rows(rows: pa.Table, before: pa.Table, keys: Sequence[str]) -> bool:
    """Whether both hold the same rows, in whatever order."""
    if rows.num_rows != before.num_rows:
        return False
    place = _places_before(rows, before, keys)
    if (place < 0).any() or len(np.unique(place)) != len(place):
        return False
    matched = before.take(pa.array(place))
    return all(_equal(rows[name], matched[name]).all() for name in rows.column_names)


def _places_before(rows: pa.Table, before: pa.Table, keys: Sequence[str]) -> Places:
    """For each row the place of the row of the same window and group before, −1 where there is none."""
    if not (rows.num_rows and before.num_rows):
        return np.full(rows.num_rows, -1, np.int64)
    codes = np.zeros(before.num_rows + rows.num_rows, np.int64)
    for name in (END, *keys):
        both = pa.chunked_array([*before[name].chunks, *rows[name].cast(before.schema.field(name).type).chunks])
        values = both.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * (len(values.dictionary) + 1) + values.indices.to_numpy(zero_copy_only=False)
        _, codes = np.unique(codes, return_inverse=True)  # dense again: products of many keys must not overflow
    older, newer = codes[: before.num_rows], codes[before.num_rows :]
    place_of = np.full(int(codes.max()) + 1, -1, np.int64)
    place_of[older] = np.arange(len(older))
    return place_of[newer]


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Row by row: equal values, both NULL or both NaN."""
    same = pc.fill_null(pc.equal(one, other.cast(one.type)), False)  # noqa: FBT003 - pyarrow's signature
    same = pc.or_(same, pc.and_(one.is_null(), other.is_null()))
    if pa.types.is_floating(one.type):
        nan = pc.and_(pc.fill_null(pc.is_nan(one), False), pc.fill_null(pc.is_nan(other), False))  # noqa: FBT003
        same = pc.or_(same, nan)
    return np.asarray(same.to_numpy(), bool)


def _positions(column: pa.ChunkedArray) -> Places:
    return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)


def _predicate(kind: pa.DataType, ranges: Sequence[Sequence[int]]) -> str:
    """The windows' rows as a condition, formatted from integers."""

    def shown(end: int) -> str:
        return f"'{format_instant(end)}'" if pa.types.is_timestamp(kind) else str(end)

    return " OR ".join(f"({END} >= {shown(one[0])} AND {END} <= {shown(one[-1])})" for one in ranges)


def _between(table: DeltaTable, ranges: Sequence[Sequence[int]]) -> pa.Table:
    rows = tables.dataset(table)
    kind = rows.schema.field(END).type
    conditions = [
        (pc.field(END) >= pa.scalar(one[0], kind)) & (pc.field(END) <= pa.scalar(one[-1], kind)) for one in ranges
    ]
    return rows.to_table(filter=reduce(or_, conditions))
