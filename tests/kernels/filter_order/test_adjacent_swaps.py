"""The paper's rule, as printed and corrected, against the formulas in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from panelake.kernels.filter_order import adjacent_swaps
from panelake.kernels.filter_order.adjacent_swaps import AdjacentSwaps, Rule, SwapState
from panelake.kernels.filter_order.batch import Batch


def rule(by_reach, alpha=0.9, observations=20):
    return Rule(by_reach, alpha, np.uint64(0), observations, 5_000, np.uint64(0))


def random_state(random):
    """Five filters; every position with plausible counters."""
    seen, next_seen = random.integers(50, 900, (2, 5))
    next_passed = random.integers(1, next_seen)
    after_passed = random.integers(0, next_passed + 1)
    order = random.permutation(5).astype(np.int64)
    return SwapState(order, seen, random.integers(0, seen), next_seen, next_passed, next_passed, after_passed)


def wastes(state, i, costs, by_reach):
    """WT of the pair as it stands and swapped: formula (4), or with the share that reaches the second filter."""
    t = [Fraction(costs[number]) for number in state.order]
    s, s_second = (Fraction(int(state.passed[k]), int(state.seen[k])) for k in (i, i + 1))
    s_next = Fraction(int(state.next_passed[i]), int(state.next_seen[i]))
    s_after = Fraction(int(state.after_passed[i]), int(state.after_seen[i]))
    if by_reach:
        both = t[i] + t[i + 1]
        return (
            (1 - s) * t[i] + s * (1 - s_second) * both,
            (1 - s_next) * t[i + 1] + s_next * (1 - s_after) * both,
        )
    return (
        (1 - s) * sum(t[: i + 1]) + (1 - s_second) * sum(t[: i + 2]),
        (1 - s_next) * (sum(t[:i]) + t[i + 1]) + (1 - s_after) * sum(t[: i + 2]),
    )


@pytest.mark.parametrize("by_reach", [False, True], ids=["as printed", "by reach"])
def test_a_pair_is_swapped_when_the_formula_says_so(by_reach):
    random = np.random.default_rng(8)
    verdicts = []
    for _ in range(400):
        state, costs = random_state(random), random.integers(1, 9, 5).astype(float)
        for position in range(4):
            present, swapped = wastes(state, position, costs, by_reach)
            verdicts.append(swapped < Fraction(9, 10) * present)
            assert adjacent_swaps._swap_pays(state, position, costs, rule(by_reach)) == verdicts[-1]
    assert 100 < sum(verdicts) < len(verdicts) - 100


def pair(dropped, dropped_second, next_dropped, dropped_after):
    """Two filters with these shares dropped, in per mille."""
    thousand = np.array([1_000, 1_000])
    swaps = [np.array([1_000 - dropped, 1_000 - dropped_second]), thousand, np.array([1_000 - next_dropped, 0])]
    return SwapState(np.array([0, 1]), thousand, *swaps, thousand, np.array([1_000 - dropped_after, 0]))


def test_the_slip_swaps_a_pair_that_is_best_as_it_stands():
    """A drops 90 % and costs 1; of what it leaves, B drops 90 % too. B first drops 10 %, and A then 90 %.

    As printed, A B wastes 0.9·1 + 0.9·2 = 2.7 and B A 0.1·1 + 0.9·2 = 1.9: swapped. But only a tenth of the tuples
    reach B behind A: A B wastes 0.9·1 + 0.1·0.9·2 = 1.08, B A 0.1·1 + 0.9·0.9·2 = 1.72.
    """
    state, costs = pair(900, 900, 100, 900), np.ones(2)
    assert adjacent_swaps._swap_pays(state, 0, costs, rule(by_reach=False))
    assert not adjacent_swaps._swap_pays(state, 0, costs, rule(by_reach=True))


def test_a_pair_is_not_judged_before_it_was_seen_swapped_often_enough():
    state = pair(0, 900, 900, 0)
    assert adjacent_swaps._swap_pays(state, 0, np.ones(2), rule(by_reach=True, observations=1_000))
    assert not adjacent_swaps._swap_pays(state, 0, np.ones(2), rule(by_reach=True, observations=1_001))


def test_a_swap_starts_anew_what_it_made_meaningless():
    ones = np.ones(5, dtype=np.int64)
    state = SwapState(np.arange(5), *(ones.copy() for _ in range(6)))
    adjacent_swaps._swap(state, 2)
    assert state.order.tolist() == [0, 1, 3, 2, 4]
    assert state.seen.tolist() == state.passed.tolist() == [1, 1, 0, 0, 1]
    assert state.next_seen.tolist() == state.after_passed.tolist() == [1, 0, 0, 0, 1]


def test_counters_are_halved_when_they_pass_the_limit():
    policy = AdjacentSwaps(limit=100)
    batch = Batch(np.ones((10_000, 2), dtype=bool), np.arange(10_000), np.ones(2))
    state = policy.route(policy.start(2), batch).state
    assert 50 <= state.seen.min() <= state.seen.max() <= 100
    assert state.passed.tolist() == state.seen.tolist()


def test_neighbours_that_drop_less_give_way():
    random = np.random.default_rng(1)
    passes = random.random((300_000, 4)) < [0.95, 0.7, 0.4, 0.1]
    policy = AdjacentSwaps(by_reach=True)
    routed = policy.route(policy.start(4), Batch(passes, np.arange(300_000), np.ones(4)))
    assert routed.state.order.tolist() == [3, 2, 1, 0]
