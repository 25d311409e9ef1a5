"""Every policy, every property: rows kept, work done, and independence of how the input is cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.baselines.filter_policies import DEFAULT, NAMES, policy_named
from panelake.kernels.filter_order.batch import Batch, copied
from panelake.kernels.filter_order.best_order import best_order, cost_of
from panelake.kernels.filter_order.workloads import COSTS, FIGURE_4, REVERSAL

every_policy = pytest.mark.parametrize("name", NAMES)


def batch_of(seed, rows, filters):
    random = np.random.default_rng(seed)
    passes = random.random((rows, filters)) < random.uniform(0.05, 0.98, filters)
    return Batch(passes, random.permutation(rows) * 7 - rows, random.uniform(0.5, 9, filters))


def part(batch, start, stop):
    return Batch(batch.passes[start:stop], batch.positions[start:stop], batch.costs)


@every_policy
@given(seed=st.integers(0, 999), rows=st.integers(0, 300), filters=st.integers(1, 9))
@settings(max_examples=20, deadline=None)
def test_a_tuple_is_kept_if_it_passes_all_whatever_the_order(name, seed, rows, filters):
    policy, batch = policy_named(name, seed), batch_of(seed, rows, filters)
    routed = policy.route(policy.start(filters), batch)
    assert routed.kept.tolist() == batch.passes.all(axis=1).tolist()
    assert sorted(routed.state.order) == list(range(filters))


@every_policy
@given(seed=st.integers(0, 999), cuts=st.lists(st.integers(0, 4_000), max_size=6))
@settings(max_examples=15, deadline=None)
def test_cuts_into_batches_change_nothing(name, seed, cuts):
    policy, batch = policy_named(name, seed), batch_of(seed, 4_000, 5)
    whole = policy.route(policy.start(5), batch)
    state, kept, evaluations = policy.start(5), [], 0
    bounds = [0, *sorted(cuts), 4_000]
    for start, stop in pairwise(bounds):
        routed = policy.route(state, part(batch, start, stop))
        state, evaluations = routed.state, evaluations + routed.evaluations
        kept += routed.kept.tolist()
    assert kept == whole.kept.tolist()
    assert evaluations.tolist() == whole.evaluations.tolist()
    assert all(np.array_equal(one, other) for one, other in zip(state, whole.state, strict=True))


@every_policy
def test_the_state_given_stays_as_it_was(name):
    policy, batch = policy_named(name), batch_of(3, 5_000, 6)
    state = policy.route(policy.start(6), batch).state
    before = copied(state)
    policy.route(state, batch_of(4, 5_000, 6))
    assert all(np.array_equal(one, other) for one, other in zip(state, before, strict=True))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "a_greedy"])
@given(seed=st.integers(0, 999))
@settings(max_examples=15, deadline=None)
def test_a_dropped_tuple_costs_no_filter_behind_the_one_that_drops_it(name, seed):
    """Learning is free: evaluations are those of passing tuples, and of dropped ones up to one failure each."""
    policy, batch = policy_named(name, seed), batch_of(seed, 2_000, 6)
    routed = policy.route(policy.start(6), batch)
    kept, failures = int(routed.kept.sum()), int((~routed.kept).sum())
    passed_by_dropped = int(batch.passes[~routed.kept].sum())
    assert kept * 6 + failures <= routed.evaluations.sum() <= kept * 6 + failures + passed_by_dropped


def test_a_profiled_tuple_costs_all_filters():
    policy = policy_named("a_greedy")
    nothing_passes = Batch(np.zeros((50_000, 4), dtype=bool), np.arange(50_000), np.ones(4))
    routed = policy.route(policy.start(4), nothing_passes)
    profiled = int(routed.state.taken[0])
    assert 400 < profiled < 600
    assert routed.evaluations.sum() == 50_000 + 3 * profiled


@every_policy
def test_a_batch_of_another_shape_is_refused(name):
    policy, batch = policy_named(name), batch_of(1, 10, 5)
    with pytest.raises(ValueError, match="10 positions and 4 filters needs outcomes of that shape"):
        policy.route(policy.start(4), batch)
    with pytest.raises(ValueError, match="costs must be above zero"):
        policy.route(policy.start(5), batch._replace(costs=np.array([1, 2, 0, 1, 1.0])))


@pytest.mark.parametrize("filters", [0, 63])
@every_policy
def test_more_filters_than_a_word_has_bits_are_refused(name, filters):
    with pytest.raises(ValueError, match=f"1 to 62 filters; got {filters}"):
        policy_named(name).start(filters)


def test_an_unknown_policy_is_refused_with_those_known():
    with pytest.raises(ValueError, match="unknown filter policy 'best'; expected one of static, wt, wt_reach, wt_rank"):
        policy_named("best")


def paid(name, batch, seed=0):
    policy = policy_named(name, seed)
    return policy.route(policy.start(len(batch.costs)), batch).paid(batch.costs)


@pytest.mark.parametrize("workload", ["figure 4", *COSTS])
def test_the_default_comes_close_to_the_best_fixed_order_and_before_its_rival(workload):
    batch = COSTS.get(workload, FIGURE_4).batch(seed=1)
    best = best_order(batch.passes, batch.costs).cost
    assert paid(DEFAULT, batch) < (1.02 if workload == "figure 4" else 1.04) * best
    assert paid(DEFAULT, batch) < paid("a_greedy", batch)


def test_the_default_follows_a_reversal():
    batch, policy = REVERSAL.batch(seed=1), policy_named(DEFAULT)
    half = REVERSAL.tuples // 2
    first = policy.route(policy.start(6), part(batch, 0, half))
    second = policy.route(first.state, part(batch, half, None))
    best = best_order(batch.passes[half:], batch.costs)
    assert second.paid(batch.costs) < 1.1 * best.cost
    assert cost_of(first.state.order, batch.passes[half:], batch.costs) > 2 * best.cost


def test_static_pays_what_its_order_costs():
    batch = batch_of(9, 3_000, 6)
    assert paid("static", batch) == pytest.approx(cost_of(np.arange(6), batch.passes, batch.costs))


@every_policy
def test_another_seed_samples_other_tuples(name):
    batch = batch_of(5, 20_000, 6)
    same = paid(name, batch, seed=1) == paid(name, batch, seed=2)
    assert same == (name == "static")
