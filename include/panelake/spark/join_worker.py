"""The join kernel over Arrow batches, in a Python worker: tuples in time order come in, matched rows go out.

Results are taken from the tuples still held, at most one output batch at a time, so that a key with many tuples needs
no more memory than any other. Tuples that can be in no result to come are let go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from panelake.kernels.joins.arrivals import Matches, arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.window_join import WindowJoin

TS, STREAM, KEY, SEQ, SLICE, OWN = "_ts", "_stream", "_key", "_seq", "_slice", "_own"
WINDOW_END = "_window_end"
_GATHERED = 131_072  # rows taken in at once: fewer make the copying of held tuples dear
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class JoinTask:
    """What a worker must know: the windows, the columns each stream's tuples carry, and what comes out.

    A result is written if its newest tuple is not older than `emit_from` and one of its tuples is the slice's own.
    """

    spec: JoinSpec
    carried: tuple[tuple[str, ...], ...]
    aliases: tuple[str, ...]
    schema: pa.Schema
    emit_from: int | None


def numbered(column: str, alias: str) -> str:
    """The result's column for what every tuple has, such as _seq_r1."""
    return f"{column}_{alias}"


class Held:
    """Tuples that results may still need, by id; ids ascend."""

    def __init__(self, task: JoinTask) -> None:
        self._task = task
        self._rows: pa.Table | None = None
        self._numbers: dict[str, NDArray[Any]] = {}
        self._ids = np.empty(0, dtype=np.int64)

    def add(self, rows: pa.Table) -> Integers:
        """Take rows in under the next numbers; give these."""
        first = int(self._ids[-1]) + 1 if len(self._ids) else 0
        ids = np.arange(first, first + rows.num_rows, dtype=np.int64)
        self.append(rows, ids)
        return ids

    def append(self, rows: pa.Table, ids: Integers) -> None:
        """Take rows in under ids greater than all before."""
        both = rows if self._rows is None else pa.concat_tables([self._rows, rows])
        self.restore(both.combine_chunks(), np.concatenate([self._ids, ids]))

    def restore(self, rows: pa.Table, ids: Integers) -> None:
        """Hold these rows and no others."""
        self._rows, self._ids = rows, ids
        self._numbers = {name: np.asarray(rows[name].to_numpy()) for name in (TS, KEY, SEQ, SLICE, OWN)}

    def let_go(self, horizon: int) -> None:
        """Drop tuples older than the horizon, the newest aside, which numbers the next; they are in time order."""
        if self._rows is not None:
            gone = min(int(np.searchsorted(self._numbers[TS], horizon)), len(self._ids) - 1)
            self._rows, self._ids = self._rows.slice(gone), self._ids[gone:]

    def keep(self, ids: Integers) -> None:
        """Hold the tuples of these ids, which ascend, and no others."""
        if self._rows is not None:
            self.restore(self._rows.take(pa.array(self._places(ids))).combine_chunks(), ids)

    def all(self) -> tuple[pa.Table | None, Integers]:
        """All that is held."""
        return self._rows, self._ids

    def _places(self, ids: Integers) -> Integers:
        """Where tuples lie; ids without a gap need no search."""
        if len(self._ids) and self._ids[-1] - self._ids[0] == len(self._ids) - 1:
            return np.asarray(ids - self._ids[0], np.int64)
        return np.asarray(np.searchsorted(self._ids, ids), np.int64)

    def results(self, matches: Matches) -> pa.RecordBatch | None:
        """The matches of which a tuple is the slice's own, with everything they carry; None where there are none."""
        rows, numbers = self._rows, self._numbers
        if rows is None:
            raise ValueError("matches without tuples")
        places = self._places(matches.ids)
        mine = numbers[OWN][places].any(axis=0)
        places, ends = places[:, mine], matches.window_end[mine]
        if not len(ends):
            return None
        slices = numbers[SLICE][places].max(axis=0)
        columns = [pa.array(ends), pa.array(slices), pa.array(numbers[KEY][places[0]])]
        for common in (SEQ, TS):
            columns += [pa.array(numbers[common][place]) for place in places]
        for names, place in zip(self._task.carried, places, strict=True):
            wanted = pa.array(place)
            columns += [rows[name].combine_chunks().take(wanted) for name in names]
        return pa.RecordBatch.from_arrays(columns, schema=self._task.schema)


def integers(rows: pa.Table, name: str) -> Integers:
    """A column as numbers; it has no NULL."""
    return np.asarray(rows[name].to_numpy(), np.int64)


def join_partition(batches: Iterator[pa.RecordBatch], task: JoinTask) -> Iterator[pa.RecordBatch]:
    """Join the tuples of one partition, which come by (event time, place in FROM, sequence number)."""
    join, held = WindowJoin(task.spec, emit_from=task.emit_from), Held(task)
    for rows in gathered(batches):
        yield from fed(join, held, rows)


def fed(join: WindowJoin, held: Held, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The results that some more tuples bring."""
    ids = held.add(rows)
    batch = arrivals(integers(rows, TS), integers(rows, STREAM), integers(rows, KEY), ids)
    for matches in join.feed(batch):
        found = held.results(matches)
        if found is not None:
            yield found
    held.let_go(join.horizon())


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until there are many rows."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= _GATHERED:
            yield _together(waiting)
            waiting = []
    if any(one.num_rows for one in waiting):
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.Table:
    """One table whose every column may be NULL: whether Spark says so differs from slice to slice."""
    rows = pa.Table.from_batches(batches).combine_chunks()
    return rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))  # noqa: FBT003 - its signature
