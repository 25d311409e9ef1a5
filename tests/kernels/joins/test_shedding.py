"""The join with a memory limit: each policy's victims, and what holds for all of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.kernels.joins.arrivals import arrivals
from panelake.kernels.joins.join_spec import POLICIES, JoinSpec
from panelake.kernels.joins.window_join import WindowJoin
from panelake.worlds.join_orders import normal_keys, unique_keys

from .streams import assert_same_snapshot, collect, headlines, inputs, joined, joined_in_pieces, specs
from .victims import MODELS, join_by_model

FOREVER = 10**6
policies = pytest.mark.parametrize("policy", POLICIES)


def counted(spec, batch):
    join = WindowJoin(spec)
    return sum(len(matches.window_end) for matches in join.feed(batch)), join


def held_keys(join, stream):
    snapshot = join.snapshot()
    return snapshot["key"][snapshot["stream"] == stream].tolist()


@pytest.mark.parametrize(
    ("policy", "kept"), [("arrival_order", 3), ("existence_growth", 3), ("frequency", 1), ("result", 1), ("oldest", 2)]
)
def test_how_many_of_the_three_common_headlines_four_slots_keep(policy, kept):
    batch, _ = headlines()
    spec = JoinSpec((FOREVER,) * 4, slide=FOREVER, memory=4, policy=policy)
    everything, _ = joined(dataclasses.replace(spec, memory=None), batch)
    found, _ = joined(spec, batch)
    assert [combination[:4] for combination in everything] == [(1, 10, 11, 12), (9, 22, 19, 20), (5, 14, 27, 28)]
    assert len(found) == kept
    assert set(found) <= set(everything)


def test_random_keeps_one_to_three_of_the_common_headlines_depending_on_the_seed():
    batch, _ = headlines()
    spec = JoinSpec((FOREVER,) * 4, slide=FOREVER, memory=4, policy="random")
    kept = {len(joined(dataclasses.replace(spec, seed=seed), batch)[0]) for seed in range(40)}
    assert {1, 3} <= kept <= {0, 1, 2, 3}
    assert joined(dataclasses.replace(spec, seed=5), batch)[0] == joined(dataclasses.replace(spec, seed=5), batch)[0]


def test_the_seventeenth_headline_displaces_the_nuclear_threat_from_s1():
    """재테크전략 comes to S1 (the text says S2); patterns that led to no result lose 복핵위협, which S3 had first."""
    batch, words = headlines()
    join = WindowJoin(JoinSpec((FOREVER,) * 4, slide=FOREVER, memory=4, policy="arrival_order"))
    list(join.feed(batch.rows(slice(16))))
    before = held_keys(join, 0)
    list(join.feed(batch.rows(slice(16, 17))))
    assert {words[key] for key in set(before) - set(held_keys(join, 0))} == {"복핵위협"}
    assert join.accounting().shed_by_pattern(0) == {"1010": 1}


def test_existence_patterns_are_the_bits_of_the_windows_that_held_the_key():
    """Figure 3: W1 = a b c, W2 = b d, W3 = a c; then e comes to W1 and b to W3."""
    rows = [(1, 0, 1), (2, 0, 2), (3, 0, 3), (4, 1, 2), (5, 1, 4), (6, 2, 1), (7, 2, 3), (8, 0, 5), (9, 2, 2)]
    ts, stream, key = np.array(rows).T
    _, join = joined(
        JoinSpec((FOREVER,) * 3, slide=FOREVER, memory=9, policy="arrival_order"), arrivals(ts, stream, key, ts)
    )
    snapshot = join.snapshot()
    pattern = dict(zip(snapshot["id"].tolist(), (format(ep, "03b")[::-1] for ep in snapshot["pattern"]), strict=True))
    assert pattern[8] == "100"
    assert pattern[9] == "111"
    assert pattern[6] == "101"


@policies
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_shedding_gives_a_subset_each_once_within_the_memory(policy, data):
    spec = data.draw(specs(memory=data.draw(st.integers(1, 6)), policy=policy))
    batch = data.draw(inputs(spec.streams, 4_000))
    everything = set(joined(dataclasses.replace(spec, memory=None), batch)[0])
    join = WindowJoin(spec)
    found = []
    for row in range(len(batch.ts)):
        found += collect(join.feed(batch.rows(slice(row, row + 1))))
        assert max(join.held()) <= spec.memory
    assert len(found) == len(set(found))
    assert set(found) <= everything


@policies
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_memory_that_suffices_loses_nothing(policy, data):
    spec = data.draw(specs(memory=60, policy=policy))
    batch = data.draw(inputs(spec.streams, 4_000))
    everything, _ = joined(dataclasses.replace(spec, memory=None), batch)
    found, join = joined(spec, batch)
    assert found == everything
    assert join.accounting().shed_tuples() == [0] * spec.streams


@policies
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_cut_gives_the_same_results_victims_and_snapshot(policy, data):
    spec = data.draw(specs(memory=data.draw(st.integers(1, 6)), policy=policy, seed=11))
    batch = data.draw(inputs(spec.streams, 20_000))
    size = data.draw(st.integers(1, 9))
    whole, join = joined(spec, batch)
    cuts = [min(cut, len(batch.ts)) for cut in data.draw(st.lists(st.integers(0, 60), max_size=4))]
    pieces, snapshot = joined_in_pieces(spec, batch, cuts, most_results=size)
    assert pieces == whole
    assert_same_snapshot(snapshot, join.snapshot())


@policies
def test_a_join_stopped_in_the_middle_of_an_output_continues_from_its_snapshot(policy):
    stream = np.repeat([0, 1, 2], [6, 6, 2])
    batch = arrivals(np.arange(14), stream, np.zeros(14), np.arange(14))
    spec = JoinSpec((FOREVER,) * 3, slide=FOREVER, memory=4, policy=policy)
    stopped = WindowJoin(spec, most_results=5)
    found = collect([next(stopped.feed(batch))])
    assert stopped.consumed == 12
    resumed = WindowJoin(spec, stopped.snapshot())
    found += collect(resumed.feed(batch.rows(slice(stopped.consumed, None))))
    whole, join = joined(spec, batch)
    assert found == whole
    assert len(whole) == 32
    assert_same_snapshot(resumed.snapshot(), join.snapshot())


@pytest.mark.parametrize("policy", sorted(MODELS))
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_victims_are_those_of_the_plain_model(policy, data):
    spec = data.draw(specs(memory=data.draw(st.integers(1, 5)), policy=policy))
    batch = data.draw(inputs(spec.streams, 20_000))
    found, join = joined(spec, batch)
    expected, shed = join_by_model(spec, batch)
    assert sorted(found) == sorted(expected)
    assert join.accounting().shed_tuples() == shed


def test_tables_grow_up_to_the_memory_and_no_further():
    rows = np.arange(40_000)
    join = WindowJoin(JoinSpec((FOREVER,) * 2, slide=FOREVER, memory=3_000, policy="arrival_order"))
    list(join.feed(arrivals(rows, rows % 2, rows // 8, rows)))
    windows = join._state._join.windows
    assert join.held() == [3_000, 3_000]
    assert len(windows.slots.tuples) == 2 * 3_000
    assert windows.slots.queue.shape[1] <= 8 * 3_000
    assert len(windows.biht.words) <= 2 * 3_000 + 1


def test_a_huge_memory_allocates_what_is_needed_only():
    join = WindowJoin(JoinSpec((5, 5), slide=5, memory=10**12, policy="result"))
    list(join.feed(arrivals([1, 2], [0, 1], [3, 3], [0, 1])))
    assert len(join._state._join.windows.slots.tuples) == 2 * 64


def test_accounting_tells_patterns_and_the_results_lost():
    """S1 holds one tuple: b displaces a, c displaces b, and then b comes to S2 in vain."""
    batch = arrivals([1, 2, 3, 4, 5], [0, 1, 0, 0, 1], [7, 7, 8, 9, 8], [1, 2, 3, 4, 5])
    spec = JoinSpec((FOREVER,) * 2, slide=FOREVER, memory=1, policy="oldest")
    found, join = joined(spec, batch)
    accounting = join.accounting()
    assert len(found) == 1
    assert accounting.shed_tuples() == [2, 1]
    assert accounting.shed_by_pattern(0) == {"10": 2}
    assert accounting.estimated_lost == 1
    assert accounting.estimated_accuracy(len(found)) == 1 / 2
    since = accounting.since(joined(spec, batch.rows(slice(3)))[1].accounting())
    assert since.shed_by_pattern(0) == {"10": 1}
    assert (since.estimated_lost, since.estimated_accuracy(0)) == (1, 0)


@policies
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_accuracy_of_few_tuples_is_known_and_not_estimated(policy, data):
    spec = data.draw(specs(memory=data.draw(st.integers(1, 6)), policy=policy))
    batch = data.draw(inputs(spec.streams, 4_000))
    true = len(joined(dataclasses.replace(spec, memory=None), batch)[0])
    found, join = joined(spec, batch)
    assert join.accounting().estimated_lost == pytest.approx(true - len(found))
    assert join.accounting().estimated_accuracy(len(found)) == pytest.approx(len(found) / true if true else 1.0)


@policies
@pytest.mark.parametrize("order", [unique_keys(4_000, 0.3, 0.3, 1), normal_keys(4_000, 400, 600, 0.0, 2)])
def test_a_sample_of_keys_tells_the_accuracy_of_a_shedding_join(policy, order):
    number = np.arange(len(order.key))
    batch = arrivals(number, order.stream, order.key, number)
    spec = JoinSpec((FOREVER,) * 5, slide=FOREVER, memory=2_000, policy=policy)
    true, _ = counted(dataclasses.replace(spec, memory=None), batch)
    found, join = counted(spec, batch)
    assert join.accounting().true_results != true, "not all keys are sampled"
    assert abs(join.accounting().estimated_accuracy(found) - found / true) < 0.1


def test_a_join_without_limit_accounts_for_nothing():
    _, join = joined(JoinSpec((5, 5), slide=5), arrivals([1], [0], [0], [0]))
    assert join.accounting().shed_tuples() == [0, 0]
    assert join.accounting().estimated_accuracy(0) == 1.0
