"""A-Greedy, random swaps and eddies do what their papers and sources say."""

from __future__ import annotations

import numpy as np
import pytest

from panelake.baselines import a_greedy, random_swap
from panelake.baselines.a_greedy import AGreedy, GreedyState
from panelake.baselines.eddy import Eddy
from panelake.baselines.random_swap import RandomSwap
from panelake.kernels.filter_order.batch import Batch


def profiles_of(rows):
    bits = [sum(bit << number for number, bit in enumerate(row)) for row in rows]
    return np.array(bits, dtype=np.int64)


def test_a_greedy_orders_the_papers_profile_window_as_its_matrix_view_does():
    """Figure 2 of the paper: rows are dropped tuples, 1 where a filter drops it; the view's diagonal is 4 1 0 0."""
    rows = [(1, 0, 0, 0), (0, 0, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (0, 0, 0, 1)]
    state = GreedyState(np.arange(4), profiles_of(rows), np.array([5]))
    a_greedy._reorder(state, np.ones(4), 1.0)
    assert state.order.tolist() == [3, 0, 1, 2]
    diagonal = [(3, 0), (0, 1 << 3), (2, 1 << 3 | 1)]
    assert [a_greedy._dropped(state.profiles, number, earlier) for number, earlier in diagonal] == [4, 1, 0]


def greedy_order(rows, costs):
    """The rule read aloud: at each position the filter that drops most of what is left per cost, ties as before."""
    left, order, free = list(rows), [], list(range(len(costs)))
    while free:
        best = max(free, key=lambda number: (sum(row[number] for row in left) / costs[number], -number))
        order.append(best)
        free.remove(best)
        left = [row for row in left if not row[best]]
    return order


@pytest.mark.parametrize("seed", range(10))
def test_a_greedy_is_greedy(seed):
    random = np.random.default_rng(seed)
    rows = (random.random((300, 5)) < 0.4).astype(int).tolist()
    costs = random.permutation(5) + 1.0
    state = GreedyState(np.arange(5), profiles_of(rows), np.array([300]))
    a_greedy._reorder(state, costs, 1.0)
    assert state.order.tolist() == greedy_order(rows, costs)


def test_a_greedy_forgets_what_left_its_window():
    policy = AGreedy(probability=0.5, window=50)
    only_a_drops = np.tile([False, True], (400, 1))
    batch = Batch(np.concatenate([only_a_drops, ~only_a_drops]), np.arange(800), np.ones(2))
    early = policy.route(policy.start(2), Batch(batch.passes[:400], batch.positions[:400], batch.costs)).state
    assert early.order.tolist() == [0, 1]
    late = policy.route(early, Batch(batch.passes[400:], batch.positions[400:], batch.costs)).state
    assert late.order.tolist() == [1, 0]
    assert set(late.profiles.tolist()) == {0b10}


def swapped_state(mean):
    state = RandomSwap().start(3)
    state.order[:] = [1, 0, 2]
    state.mean[0], state.likeliness[0] = mean, 80
    return state


def test_a_random_swap_stays_if_tuples_cost_less():
    state = swapped_state(mean=2.0)
    random_swap._judge(state, 1.9)
    assert (state.order.tolist(), state.likeliness.tolist()) == ([1, 0, 2], [100, 100])


def test_a_random_swap_that_saved_nothing_is_undone_and_tried_less():
    state = swapped_state(mean=2.0)
    random_swap._judge(state, 2.0)
    assert (state.order.tolist(), state.likeliness.tolist()) == ([0, 1, 2], [40, 100])


def test_random_swaps_happen_once_in_so_many_vectors():
    """5 vectors of warm-up, 20 as it is, then a swap: always, as every pair is certain to be tried at first."""
    policy = RandomSwap(vector=10)
    batch = Batch(np.zeros((260, 3), dtype=bool), np.arange(260), np.ones(3))
    before = policy.route(policy.start(3), Batch(batch.passes[:249], batch.positions[:249], batch.costs)).state
    after = policy.route(before, Batch(batch.passes[249:250], batch.positions[249:250], batch.costs)).state
    assert before.order.tolist() == [0, 1, 2]
    assert after.order.tolist() in ([1, 0, 2], [0, 2, 1])


def test_a_lone_filter_has_nobody_to_change_places_with():
    policy = RandomSwap(vector=1)
    routed = policy.route(policy.start(1), Batch(np.zeros((500, 1), dtype=bool), np.arange(500), np.ones(1)))
    assert routed.evaluations.tolist() == [500]


def test_an_eddy_sends_tuples_to_those_who_drop_them_by_tickets_per_cost():
    policy = Eddy()
    passes = np.tile([True, False, False], (20_000, 1))
    routed = policy.route(policy.start(3), Batch(passes, np.arange(20_000), np.array([1.0, 1.0, 4.0])))
    assert routed.state.tickets[0] == 1
    assert routed.state.order.tolist()[0] == 1
    assert routed.evaluations[1] > 4 * routed.evaluations[2] > 0


def test_an_eddys_tickets_stay_below_the_limit():
    policy = Eddy(limit=100)
    passes = np.zeros((5_000, 2), dtype=bool)
    tickets = policy.route(policy.start(2), Batch(passes, np.arange(5_000), np.ones(2))).state.tickets
    assert 1 <= tickets.min() <= tickets.max() <= 100
