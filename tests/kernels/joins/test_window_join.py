"""The join without memory limit against its naive twin, and every way of cutting its work."""

from __future__ import annotations

import dataclasses
import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.kernels.joins.arrivals import arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.naive import join_naively
from panelake.kernels.joins.window_join import WindowJoin

from .streams import assert_same_snapshot, collect, inputs, joined, joined_in_pieces, specs

MOST_COMBINATIONS = 5_000
cuts = st.lists(st.integers(0, 60), max_size=4)


def inside(positions, batch):
    return [min(position, len(batch.ts)) for position in positions]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_results_are_those_of_brute_force_each_once(data):
    spec = data.draw(specs())
    batch = data.draw(inputs(spec.streams, MOST_COMBINATIONS))
    expected = sorted((*ids, end) for ids, end in join_naively(spec, batch).items())
    assert sorted(joined(spec, batch)[0]) == expected


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_cut_into_batches_gives_the_same_results_and_snapshot(data):
    spec = data.draw(specs())
    batch = data.draw(inputs(spec.streams, MOST_COMBINATIONS))
    whole, join = joined(spec, batch)
    pieces, snapshot = joined_in_pieces(spec, batch, inside(data.draw(cuts), batch))
    assert pieces == whole
    assert_same_snapshot(snapshot, join.snapshot())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_join_period_gives_the_same_results(data):
    spec = data.draw(specs())
    batch = data.draw(inputs(spec.streams, MOST_COMBINATIONS))
    whole, _ = joined(spec, batch)
    for every in range(1, spec.slide + 1):
        if spec.slide % every == 0:
            join = WindowJoin(dataclasses.replace(spec, every=every))
            periods = join.spec.period_rows(batch.ts)
            assert [found for rows in periods for found in collect(join.feed(batch.rows(rows)))] == whole


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_slices_without_state_give_what_one_run_gives(data):
    spec = data.draw(specs())
    batch = data.draw(inputs(spec.streams, MOST_COMBINATIONS))
    borders = sorted({-60, 61, *data.draw(st.lists(st.integers(-60, 60), max_size=4))})
    found = []
    for start, end in pairwise(borders):
        read = slice(*np.searchsorted(batch.ts, [start - max(spec.ranges), end]))
        found += joined(spec, batch.rows(read), emit_from=start)[0]
    assert found == joined(spec, batch)[0]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_join_stopped_in_the_middle_of_an_output_continues_from_its_snapshot(data):
    spec = data.draw(specs())
    batch = data.draw(inputs(spec.streams, MOST_COMBINATIONS))
    size = data.draw(st.integers(1, 7))
    whole, join = joined(spec, batch)
    found, snapshot, row = [], None, 0
    while row < len(batch.ts):
        stopped = WindowJoin(spec, snapshot, most_results=size)
        found += collect([next(stopped.feed(batch.rows(slice(row, None))), None) or _nothing(spec)])
        row, snapshot = row + stopped.consumed, stopped.snapshot()
    assert found == whole
    if snapshot is not None:
        assert_same_snapshot(snapshot, join.snapshot())


def _nothing(spec):
    return WindowJoin(spec)._output()._replace(ids=np.empty((spec.streams, 0)), window_end=np.empty(0))


def test_the_join_period_papers_example_with_its_slip_corrected():
    """One tuple a second on S1 and S2, W = 4, T = 2; a tuple is named by its second.

    S1  0 1 2 3 4 5
    S2  0 1 2 3 4 5
        |---|---|---|  T
    """
    seconds = np.repeat(np.arange(6), 2)
    batch = arrivals(seconds, np.tile([0, 1], 6), np.zeros(12), seconds)

    def emitted(every):
        spec = JoinSpec((4, 4), slide=2, every=every)
        join = WindowJoin(spec)
        periods = spec.period_rows(batch.ts)
        return [{(a, b) for a, b, _ in collect(join.feed(batch.rows(rows)))} for rows in periods]

    every_two, every_one = emitted(2), emitted(1)
    assert [len(found) for found in every_two] == [4, 12, 12]
    assert every_two[0] | every_two[1] == set(product(range(4), repeat=2))
    assert every_two[2] == {pair for pair in product(range(2, 6), repeat=2) if max(pair) >= 4}
    assert every_one[3] == {(3, 0), (3, 1), (3, 2), (3, 3), (0, 3), (1, 3), (2, 3)}
    assert every_one[4] == {(4, 2), (4, 3), (4, 4), (2, 4), (3, 4)}
    assert every_one[5] == {(5, 2), (5, 3), (5, 4), (5, 5), (2, 5), (3, 5), (4, 5)}
    assert all(every_two[t] == every_one[2 * t] | every_one[2 * t + 1] for t in range(3))


def test_tuples_in_a_gap_between_windows_join_nothing():
    """W = 2, T = 5: windows are [3, 5), [8, 10); seconds 0, 1, 2 and 5, 6, 7 lie in gaps.

    0 1 2 [3 4) 5 6 7 [8 9)
    """
    seconds = np.repeat(np.arange(10), 2)
    batch = arrivals(seconds, np.tile([0, 1], 10), np.zeros(20), seconds)
    found, join = joined(JoinSpec((2, 2), slide=5), batch)
    assert {(a, b) for a, b, _ in found} == {*product((3, 4), repeat=2), *product((8, 9), repeat=2)}
    assert join.held() == [2, 2]


def test_expiry_happens_at_multiples_of_the_slide_only():
    """W = 4, T = 4: at 7 the tuple of 4 is still there, for the window is [4, 8); at 8 it is gone."""
    batch = arrivals([4, 7, 8], [0, 1, 1], [1, 1, 1], [10, 11, 12])
    assert joined(JoinSpec((4, 4), slide=4), batch)[0] == [(10, 11, 8)]


def test_a_key_with_ten_thousand_tuples_a_stream_needs_one_output_batch_of_memory():
    """Three streams, one key: 10^12 results; looked at are the first two million of one tuple's 10^8."""
    stream = np.repeat([0, 1, 2], [10_000, 10_000, 1])
    batch = arrivals(np.arange(20_001), stream, np.zeros(20_001), np.arange(20_001))
    join = WindowJoin(JoinSpec((10**6,) * 3, slide=10**6), most_results=10_000)
    results = join.feed(batch)
    next(results)
    tracemalloc.start()
    seen = sum(len(next(results).window_end) for _ in range(200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == 2_000_000
    assert peak < 3 * 10_000 * 4 * 8
    assert join.consumed == 20_000


def test_an_index_forgets_keys_that_left_all_windows():
    keys = np.arange(200_000)
    join = WindowJoin(JoinSpec((100, 100), slide=10))
    assert collect(join.feed(arrivals(keys, keys % 2, keys, keys))) == []
    assert len(join._state._join.keys.buckets) <= 1_024
    assert max(join.held()) <= 55


@pytest.mark.parametrize("row", [(5, 0), (6, -1), (6, 2)])
def test_rows_out_of_order_and_unknown_streams_are_refused_by_number(row):
    batch = arrivals([6, row[0]], [1, row[1]], [0, 0], [0, 1])
    with pytest.raises(ValueError, match=r"row 1 is .* after \(6, 1\)"):
        joined(JoinSpec((5, 5), slide=5), batch)


def test_a_batch_older_than_what_came_before_is_refused():
    join = WindowJoin(JoinSpec((5, 5), slide=5))
    list(join.feed(arrivals([9], [0], [0], [0])))
    with pytest.raises(ValueError, match=r"row 0 is \(8, 0\) after \(9, 0\)"):
        list(join.feed(arrivals([8], [0], [0], [0])))


def test_rows_after_those_whose_results_wait_are_refused():
    batch = arrivals([1, 1, 1, 2], [0, 0, 1, 1], [7, 7, 7, 7], [0, 1, 2, 3])
    join = WindowJoin(JoinSpec((5, 5), slide=5), most_results=1)
    next(join.feed(batch))
    assert join.consumed == 2
    with pytest.raises(ValueError, match="feed the rows not yet consumed first"):
        list(join.feed(batch.rows(slice(3, None))))
    assert len(collect(join.feed(batch.rows(slice(2, None))))) == 3


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        arrivals([1, 2], [0], [0, 0], [0, 0])
