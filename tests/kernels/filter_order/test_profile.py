"""The order decided once a batch, from a sample's outcomes, against plain counting of its rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.kernels.filter_order import profile as profiles
from panelake.kernels.filter_order.best_order import best_order, cost_of
from panelake.kernels.filter_order.workloads import COSTS, FIGURE_4


def outcomes_of(passes):
    bits = passes.astype(np.int64) @ (1 << np.arange(passes.shape[1]))
    return np.unique(bits, return_counts=True)


def profile_of(passes):
    return profiles.absorb(profiles.start(passes.shape[1]), *outcomes_of(passes))


def random_passes(seed, rows=400, filters=5):
    random = np.random.default_rng(seed)
    common = random.random((rows, 1))
    return np.where(random.random((rows, filters)) < 0.5, common, random.random((rows, filters))) < 0.6


def greedy_by_rows(passes, costs, segments):
    """The rule read aloud, row by row; no hysteresis."""
    order, left, free = [], passes, list(range(passes.shape[1]))
    while free:
        allowed = [number for number in free if segments[number] == min(segments[other] for other in free)]
        if len(left) < profiles.OBSERVATIONS:
            return order + free
        best = max(allowed, key=lambda number: (np.sum(~left[:, number]) / costs[number], -number))
        order.append(best)
        free.remove(best)
        left = left[left[:, best]]
    return order


@given(
    seed=st.integers(0, 9_999), segments=st.sampled_from([(0,) * 5, (0, 0, 1, 2, 2), (0, 1, 2, 3, 4), (0, 1, 1, 1, 2)])
)
@settings(max_examples=60, deadline=None)
def test_each_position_takes_the_filter_of_its_segment_that_drops_most_per_cost(seed, segments):
    passes, costs = random_passes(seed), np.random.default_rng(seed).permutation(5) + 1.0
    reordered = profiles.reorder(profile_of(passes), costs, np.array(segments), alpha=1.0)
    assert reordered.order.tolist() == greedy_by_rows(passes, costs, segments)


def test_shares_are_those_of_the_rows():
    passes = random_passes(7)
    profile = profile_of(passes)
    assert profiles.selectivities(profile) == pytest.approx(passes.mean(axis=0))
    assert profiles.pairwise(profile)[1, 3] == pytest.approx(np.mean(passes[:, 1] & passes[:, 3]))
    order, costs = np.array([4, 2, 0, 1, 3]), np.array([1.0, 2, 3, 4, 5])
    assert profiles.expected_cost(profile, order, costs) * 400 == pytest.approx(cost_of(order, passes, costs))


@pytest.mark.parametrize("workload", [FIGURE_4, *COSTS.values()], ids=["figure 4", *COSTS])
def test_a_sample_of_a_hundredth_finds_an_order_close_to_the_best(workload):
    batch = workload.batch(seed=11)
    order = profiles.reorder(profile_of(batch.passes[::100]), batch.costs).order
    assert cost_of(order, batch.passes, batch.costs) < 1.05 * best_order(batch.passes, batch.costs).cost


def test_an_order_nearly_as_good_as_the_best_stays():
    """Filter 1 drops 52 of 100, filter 0 drops 50: not a tenth better."""
    passes = np.ones((100, 2), dtype=bool)
    passes[:50, 0] = False
    passes[:52, 1] = False
    assert profiles.reorder(profile_of(passes), np.ones(2)).order.tolist() == [0, 1]
    assert profiles.reorder(profile_of(passes), np.ones(2), alpha=1.0).order.tolist() == [1, 0]


def test_too_small_a_sample_moves_nothing():
    passes = np.tile([True, False], (19, 1))
    assert profiles.reorder(profile_of(passes), np.ones(2)).order.tolist() == [0, 1]
    assert profiles.reorder(profile_of(np.tile([True, False], (20, 1))), np.ones(2)).order.tolist() == [1, 0]


def test_a_small_sample_refines_what_is_known_and_a_large_one_replaces_it():
    never = float("inf")
    known = profiles.absorb(profiles.start(1), np.array([0]), np.array([4_000]))
    refined = profiles.absorb(known, np.array([1]), np.array([1_000]), surprise=never)
    assert profiles.selectivities(refined).tolist() == [0.2]
    replaced = profiles.absorb(refined, np.array([1]), np.array([95_000]), surprise=never)
    assert profiles.selectivities(replaced).tolist() == [0.96]
    assert profiles.absorb(replaced, np.array([1]), np.array([0])).weight == 3_125


@pytest.mark.parametrize(("passed", "weight"), [(10, 1_100), (20, 1_100), (30, 100)])
def test_a_sample_that_differs_by_more_than_chance_replaces_what_was_known(passed, weight):
    """1,000 tuples of which a tenth passed, then 100: 20 of them may be chance, 30 are not."""
    known = profiles.absorb(profiles.start(1), np.array([0, 1]), np.array([900, 100]))
    assert profiles.absorb(known, np.array([0, 1]), np.array([100 - passed, passed])).weight == weight


def test_a_handful_of_tuples_surprises_nobody():
    known = profiles.absorb(profiles.start(1), np.array([0]), np.array([1_000]))
    assert profiles.absorb(known, np.array([1]), np.array([19])).weight == 1_019
    assert profiles.absorb(known, np.array([1]), np.array([20])).weight == 20


def test_the_order_of_absorbing_does_not_matter_below_the_limit():
    parts = [random_passes(seed) for seed in range(3)]
    forth, back = profiles.start(5), profiles.start(5)
    for one, other in zip(parts, reversed(parts), strict=True):
        forth = profiles.absorb(forth, *outcomes_of(one))
        back = profiles.absorb(back, *outcomes_of(other))
    whole = profile_of(np.concatenate(parts))
    for profile in (forth, back):
        assert profile.outcomes.tolist() == whole.outcomes.tolist()
        assert profile.weights.tolist() == whole.weights.tolist()


def test_nothing_known_is_nan_and_keeps_the_order():
    empty = profiles.start(3)
    assert np.isnan(profiles.selectivities(empty)).all()
    assert np.isnan(profiles.expected_cost(empty, empty.order, np.ones(3)))
    assert profiles.reorder(empty, np.ones(3)).order.tolist() == [0, 1, 2]


def test_values_that_do_not_fit_the_filters_are_refused():
    with pytest.raises(ValueError, match=r"outcomes of 2 filters lie in 0 … 3"):
        profiles.absorb(profiles.start(2), np.array([4]), np.array([1]))
    with pytest.raises(ValueError, match="each outcome needs its count"):
        profiles.absorb(profiles.start(2), np.array([3]), np.array([1, 2]))
    with pytest.raises(ValueError, match="2 filters need as many segments and costs above zero"):
        profiles.reorder(profiles.start(2), np.ones(3))
    with pytest.raises(ValueError, match=r"the order \[0, 1\] does not keep the segments \[1, 0\]"):
        profiles.reorder(profiles.start(2), np.ones(2), np.array([1, 0]))
