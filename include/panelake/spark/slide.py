"""Pane rows in, window rows out: what a Spark task does with one Arrow partition of panes.

Runs on executors through mapInArrow, and anywhere else on a plain Arrow table: state goes in and out as values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from panelake.aggregates import State
from panelake.kernels.sliding import WindowStates, slide_windows
from panelake.kernels.state_column import StateColumn
from panelake.kernels.window_spec import WindowSpec
from panelake.spark.arrow_states import Encoded, decode_moments, encode, encode_moments
from panelake.spark.chunks import CHUNK, Chunks

QUERY, START, END = "_query", "_window_start", "_window_end"


class SumOverflowError(ArithmeticError):
    """A window's sum does not fit its type: the slice is refused, never a wrapped number given."""


@dataclass(frozen=True)
class WindowTask:
    """One query's windows over one pane set: which set, keys and states, and which windows k are wanted."""

    query: str
    pane_set: str
    position: str
    keys: tuple[str, ...]
    states: tuple[State, ...]
    presence: State
    window: WindowSpec
    first: int
    last: int
    chunks: Chunks | None = None

    def within(self, chunk: int) -> WindowTask:
        """The task for the windows of one chunk."""
        if self.chunks is None:
            return self
        due = self.chunks.windows(chunk, self.window, range(self.first, self.last))
        return replace(self, first=due.start, last=due.stop, chunks=None)


def slide_partition(
    batches: Iterable[pa.RecordBatch], tasks: Sequence[WindowTask], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The windows of all tasks over the partition's panes, each group of a chunk wholly inside the partition."""
    collected = list(batches)
    if not collected:
        return
    panes = pa.Table.from_batches(collected)
    for pane_set in dict.fromkeys(task.pane_set for task in tasks):
        mine = panes.filter(pc.equal(panes["_set"], pane_set))
        for chunk in pc.unique(mine[CHUNK]).to_pylist():
            rows = mine.filter(pc.equal(mine[CHUNK], chunk)).combine_chunks()
            for task in (task.within(chunk) for task in tasks if task.pane_set == pane_set):
                yield from _conformed(_windows(rows, task), schema).to_batches(max_chunksize=65_536)


def _windows(rows: pa.Table, task: WindowTask) -> pa.Table:
    group, first_rows = _groups(rows, task.keys)
    position = rows[task.position].to_numpy()
    order = np.lexsort((position, group))
    ordered = rows.take(order)
    encoded, columns = _encode(ordered, task.states)
    result = slide_windows(group[order], position[order], columns, task.window, range(task.first, task.last))
    _refuse_overflow(result, task)
    states = _decode(result, task.states, encoded)
    keys = rows.select(list(task.keys)).take(first_rows[result.group])
    windows = {
        QUERY: pa.array([task.query] * len(result.k), pa.string()),
        START: pa.array(result.k * task.window.slide + task.window.shift - task.window.range),
        END: pa.array(result.k * task.window.slide + task.window.shift),
        **dict(zip(keys.column_names, keys.columns, strict=True)),
        **states,
    }
    return pa.table(windows).filter(pc.greater(windows[task.presence.column], 0))


def _groups(rows: pa.Table, keys: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A dense number for each row's group, and a row of each group; NULL is a key like any other."""
    codes = np.zeros(rows.num_rows, np.int64)
    for key in keys:
        values = rows[key].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * (len(values.dictionary) + 1) + values.indices.to_numpy(zero_copy_only=False)
        _, codes = np.unique(codes, return_inverse=True)  # dense again: products of many keys must not overflow
    _, first_rows, group = np.unique(codes, return_index=True, return_inverse=True)
    return group.astype(np.int64), first_rows


def _encode(rows: pa.Table, states: tuple[State, ...]) -> tuple[list[Encoded | None], list[StateColumn]]:
    """The kernel's columns; mean is left to its squares' moments, which hold it."""
    encoded: list[Encoded | None] = []
    columns = []
    for state in states:
        if not _is_folded(state):
            continue
        values = rows[state.column].combine_chunks()
        if state.kind == "m2":
            count, mean = (_sibling(state, kind).column for kind in ("count", "mean"))
            columns.append(encode_moments(rows[count].combine_chunks(), rows[mean].combine_chunks(), values))
            encoded.append(None)
        else:
            one = encode(values, state)
            columns.append(one.column)
            encoded.append(one)
    return encoded, columns


def _decode(result: WindowStates, states: tuple[State, ...], encoded: list[Encoded | None]) -> dict[str, pa.Array]:
    decoded = {}
    kept = [state for state in states if _is_folded(state)]
    for state, column, way in zip(kept, result.columns, encoded, strict=True):
        if way is None:
            decoded[_sibling(state, "mean").column], decoded[state.column] = decode_moments(column)
        else:
            decoded[state.column] = way.decode(column)
    return decoded


def _is_folded(state: State) -> bool:
    """Whether a kernel folds the column itself: not a mean, which comes with its moments, nor Spark's sketches."""
    return state.kind != "mean" and state.fold != "sketch"


def _sibling(state: State, kind: str) -> State:
    return State(kind, state.argument, state.conditions)  # type: ignore[arg-type]


def _refuse_overflow(result: WindowStates, task: WindowTask) -> None:
    for overflow in result.overflows:
        raise SumOverflowError(
            f"query {task.query}: a sum overflows its type in {overflow.windows} windows, the first ending at"
            f" {task.window.end(overflow.k)}; cast the summed expression to a wider decimal"
        )


def _conformed(windows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of all queries, NULL where they are another's."""
    nothing = windows.num_rows
    columns = [
        windows[field.name].cast(field.type) if field.name in windows.column_names else pa.nulls(nothing, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
