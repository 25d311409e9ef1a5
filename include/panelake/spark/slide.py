"""Pane rows in, window rows out: what a Spark task does with one Arrow partition of panes.

Runs on executors through mapInArrow, and anywhere else on a plain Arrow table: state goes in and out as values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from panelake.aggregates import State
from panelake.kernels.sliding import WindowStates, slide_windows
from panelake.kernels.state_column import Operation, StateColumn
from panelake.kernels.window_spec import WindowSpec
from panelake.spark.arrow_states import Encoded, decode_moments, encode, encode_moments
from panelake.spark.chunks import CHUNK, Chunks

QUERY, START, END = "_query", "_window_start", "_window_end"
SET, CHANGED = "_set", "_changed"


class SumOverflowError(ArithmeticError):
    """A window's sum does not fit its type: the slice is refused, never a wrapped number given."""


@dataclass(frozen=True)
class WindowTask:
    """One query's windows over one pane set: which set, keys and states, and which windows k are wanted.

    Of the windows of a task that is `changed_only`, those groups are wanted that a changed pane is in.
    """

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
    changed_only: bool = False

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
        mine = [task for task in tasks if task.pane_set == pane_set]
        for chunk, rows in _chunks(_only(panes, SET, pane_set)):
            ordered: dict[tuple[tuple[str, ...], str], OrderedPanes] = {}
            for task in (due for due in (task.within(chunk) for task in mine) if due.first < due.last):
                axis = task.keys, task.position
                if axis not in ordered:
                    ordered[axis] = OrderedPanes.of(rows, *axis)
                yield from _conformed(_windows(ordered[axis], task), schema).to_batches(max_chunksize=65_536)


def _chunks(panes: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each chunk; all of them are one where no set is in chunks."""
    numbers = pc.unique(panes[CHUNK]).to_pylist() if CHUNK in panes.column_names else [0]
    for number in numbers:
        rows = _only(panes, CHUNK, number).combine_chunks()
        if rows.num_rows:
            yield number, rows


def _only(panes: pa.Table, column: str, value: object) -> pa.Table:
    """The rows that have the value; all of them where the column, the same in every row, was left out."""
    return panes.filter(pc.equal(panes[column], value)) if column in panes.column_names else panes


@dataclass(frozen=True, eq=False)
class OrderedPanes:
    """Pane rows by (group, position), made once for all queries that slide over them; states are encoded once too."""

    rows: pa.Table
    group: NDArray[np.int64]
    position: NDArray[np.int64]
    keys: pa.Table
    encoded: dict[State, Encoded] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: pa.Table, keys: tuple[str, ...], position: str) -> OrderedPanes:
        """Sorted by where panes begin; `keys` has one row a group."""
        group, first_rows = _groups(rows, keys)
        at = rows[position].to_numpy()
        order = np.lexsort((at, group))
        distinct = rows.select(list(keys)).take(first_rows).combine_chunks()
        return cls(rows.take(order), group[order], at[order], distinct)

    def encode(self, state: State) -> Encoded:
        """The kernel's column of a state."""
        if state not in self.encoded:
            self.encoded[state] = self._encode(state)
        return self.encoded[state]

    def changed(self, presence: State) -> StateColumn:
        """1 for each changed pane that holds tuples of the query."""
        holds = pc.and_(self.rows[CHANGED], pc.greater(self.rows[presence.column], 0)).cast(pa.int64())
        return StateColumn(Operation.ADD_I64, (holds.fill_null(0).to_numpy(),), None)

    def _encode(self, state: State) -> Encoded:
        values = self.rows[state.column].combine_chunks()
        if state.kind != "m2":
            return encode(values, state)
        count, mean = (self.rows[_sibling(state, kind).column].combine_chunks() for kind in ("count", "mean"))
        return Encoded(encode_moments(count, mean, values), lambda done: decode_moments(done)[1])


def _windows(panes: OrderedPanes, task: WindowTask) -> pa.Table:
    folded = [state for state in task.states if _is_folded(state)]
    columns = [panes.encode(state).column for state in folded]
    columns += [panes.changed(task.presence)] if task.changed_only else []
    result = slide_windows(panes.group, panes.position, columns, task.window, range(task.first, task.last))
    _refuse_overflow(result, task)
    states = _decode(result, folded, panes)
    wanted = pc.greater(states[task.presence.column], 0)
    if task.changed_only:
        wanted = pc.and_(wanted, pa.array(result.columns[-1].arrays[0] > 0))
    keys = panes.keys.take(result.group)
    windows = {
        QUERY: pa.repeat(task.query, len(result.k)),
        START: pa.array(result.k * task.window.slide + task.window.shift - task.window.range),
        END: pa.array(result.k * task.window.slide + task.window.shift),
        **dict(zip(keys.column_names, keys.columns, strict=True)),
        **states,
    }
    return pa.table(windows).filter(wanted)


def _groups(rows: pa.Table, keys: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A dense number for each row's group, and a row of each group; NULL is a key like any other."""
    group, count = np.zeros(rows.num_rows, np.int64), 1
    for key in keys:
        values, distinct = _numbered(rows[key].combine_chunks())
        group, count = _numbered(pa.array(group * distinct + values)) if count > 1 else (values, distinct)
    first_rows = np.zeros(count, np.int64)
    first_rows[group[::-1]] = np.arange(len(group))[::-1]
    return group, first_rows


def _numbered(values: pa.Array) -> tuple[NDArray[np.int64], int]:
    """Each value's number among the distinct ones, and how many these are."""
    encoded = values.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def _decode(result: WindowStates, states: Sequence[State], panes: OrderedPanes) -> dict[str, pa.Array]:
    decoded = {}
    for state, column in zip(states, result.columns, strict=False):
        if state.kind == "m2":
            decoded[_sibling(state, "mean").column] = decode_moments(column)[0]
        decoded[state.column] = panes.encode(state).decode(column)
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
