"""Which windows a slice answers, against the definition written out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.aggregates import State
from panelake.kernels.window_spec import WindowSpec
from panelake.slices import Slice
from panelake.spark.slide import WindowTask, slide_partition
from panelake.stages.due import due_in_time, few_ranges

SPECS = st.builds(WindowSpec, st.integers(1, 40), st.integers(1, 25), st.integers(0, 30))
SLICES = st.integers(-5, 15).map(lambda at: Slice(at * 10, at * 10 + 10))
SPANS = st.lists(st.tuples(st.integers(-60, 150), st.integers(1, 15)).map(lambda s: (s[0], s[0] + s[1])), max_size=4)
RANGES = st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)).map(lambda r: range(r[0], r[0] + r[1])))
PRESENCE = State("count", None, ())
SCHEMA = pa.schema([
    ("_query", pa.string()), ("_window_start", pa.int64()), ("_window_end", pa.int64()), ("key", pa.int32()),
    (PRESENCE.column, pa.int64()),
])  # fmt: skip


@given(SPECS, SLICES, SPANS, st.lists(SLICES, max_size=5).map(sorted))
def test_own_windows_are_due_whole_and_answered_ones_where_a_tuple_lies(
    window: WindowSpec, part: Slice, spans: list[tuple[int, int]], answered: list[Slice]
) -> None:
    due = due_in_time(window, part, spans, answered)
    ks = range(-200, 400)
    assert list(due.whole) == [k for k in ks if part.start < window.end(k) <= part.end]
    touched = [k for one in due.touched for k in one]
    assert len(set(touched)) == len(touched), "no window is answered twice"
    assert not set(touched) & set(due.whole)
    in_gold = [k for k in ks if answered and answered[0].start < window.end(k) <= max(one.end for one in answered)]
    held = {k for k in in_gold for low, high in spans if low < window.end(k) and window.start(k) < high}
    assert held - set(due.whole) <= set(touched), "nothing that a tuple may have changed is left out"
    assert set(touched) <= set(in_gold), "nothing is answered that nobody asked for yet"


@given(RANGES, st.integers(1, 4))
def test_few_ranges_hold_all_that_was_given_and_overlap_nowhere(ranges: list[range], most: int) -> None:
    found = few_ranges(ranges, most)
    assert len(found) <= most
    assert {k for one in ranges for k in one} <= {k for one in found for k in one}
    assert all(one.stop < other.start for one, other in pairwise(found))
    assert {k for one in few_ranges(ranges, 99) for k in one} == {k for one in ranges for k in one}


@settings(deadline=None)  # the first call compiles
@given(
    SPECS,
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 2), st.booleans()), max_size=25),
)
def test_of_windows_that_are_restated_those_groups_come_that_a_changed_pane_is_in(
    window: WindowSpec, panes: list[tuple[int, int, int, bool]]
) -> None:
    """A pane is (group, position, tuples that pass WHERE, whether the slice brought it)."""
    columns = {
        "_set": pa.array(["set"] * len(panes), pa.string()),
        "_chunk": pa.array(np.zeros(len(panes), np.int64)),
        "_unit": pa.array([at for _, at, _, _ in panes], pa.int64()),
        "key": pa.array([key for key, _, _, _ in panes], pa.int32()),
        PRESENCE.column: pa.array([n for _, _, n, _ in panes], pa.int64()),
        "_changed": pa.array([changed for _, _, _, changed in panes], pa.bool_()),
    }
    task = WindowTask("q", "set", "_unit", ("key",), (PRESENCE,), PRESENCE, window, -5, 100, changed_only=True)
    rows = [
        row for batch in slide_partition(pa.table(columns).to_batches(), [task], SCHEMA) for row in batch.to_pylist()
    ]
    got = {(row["_window_end"], row["key"]): row[PRESENCE.column] for row in rows}
    expected = {}
    for k in range(-5, 100):
        for key in {key for key, _, _, _ in panes}:
            held = [p for p in panes if p[0] == key and window.start(k) <= p[1] < window.end(k)]
            if any(n and changed for _, _, n, changed in held):
                expected[(window.end(k), key)] = sum(n for _, _, n, _ in held)
    assert got == expected
