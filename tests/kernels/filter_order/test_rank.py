"""wt_rank's counts against those of a plain reader of the same tuples, and how it forgets."""

from __future__ import annotations

import numpy as np
import pytest

from panelake.kernels.filter_order import rank
from panelake.kernels.filter_order.batch import Batch
from panelake.kernels.filter_order.rank import Rank, RankState


def frozen(**changes):
    """Counts for ever and never moves: nothing beats the present filter a thousandfold."""
    return Rank(**{"alpha": 0.001, "limit": 10**9, "surprise": 1e9} | changes)


def correlated(rows, seed=0):
    """B is TRUE where A is for nine tuples of ten; C is independent of both."""
    random = np.random.default_rng(seed)
    first = random.random(rows) < 0.5
    passes = np.stack([first, first ^ (random.random(rows) < 0.1), random.random(rows) < 0.3], axis=1)
    return Batch(passes, np.arange(rows, dtype=np.int64), np.ones(3))


def test_counts_estimate_selectivities_given_the_earlier_filters_and_nothing_else():
    """Tuples sent ahead to C and back to B would show B among tuples that passed C: they are not counted."""
    batch = correlated(400_000)
    policy = frozen(probability=0.2)
    state = policy.route(policy.start(3), batch).state
    shares = state.passed / np.maximum(state.seen, 1)
    passes = batch.passes
    truth = [passes.mean(axis=0), passes[passes[:, 0]].mean(axis=0), passes[passes[:, 0] & passes[:, 1]].mean(axis=0)]
    for position, later in enumerate([(0, 1, 2), (1, 2), (2,)]):
        for number in later:
            assert state.seen[position, number] > 5_000
            assert shares[position, number] == pytest.approx(truth[position][number], abs=0.02)


def test_a_filter_not_known_yet_is_tried_eagerly_and_then_seldom():
    batch = correlated(2_000)
    eager, never = frozen(probability=0.0, eager=0.5), frozen(probability=0.0, eager=0.0)
    seen = eager.route(eager.start(3), batch).state.seen
    assert seen[0, 1] == seen[0, 2] == eager.observations
    assert never.route(never.start(3), batch).state.seen[0].tolist() == [2_000, 0, 0]


def state_of(seen, passed, order=(0, 1, 2, 3)):
    blocks = np.full((2, len(order)), 9)
    return RankState(np.array(order), np.array(seen), np.array(passed), *blocks)


def test_a_filter_that_moves_leaves_the_counts_that_still_hold():
    counts = [[80] * 4] * 4
    state = state_of(counts, [[70, 70, 0, 60]] * 4)
    rank._improve(state, 1, np.ones(4), Rank()._rule())
    assert state.order.tolist() == [0, 2, 1, 3]
    assert state.seen.tolist() == [[80] * 4, [80] * 4, [0] * 4, [80] * 4]
    assert state.block_seen.tolist() == [9, 0, 0, 9]


@pytest.mark.parametrize(
    ("dropped", "costs", "order"),
    [
        ([30, 40, 40, 50], [1, 1, 1, 1], [3, 0, 1, 2]),
        ([30, 40, 40, 50], [1, 1, 1, 2], [1, 0, 2, 3]),
        ([46, 40, 40, 50], [1, 1, 1, 1], [0, 1, 2, 3]),
        ([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 3]),
    ],
    ids=["most dropped", "most dropped per cost", "not by a tenth", "nothing dropped"],
)
def test_a_position_takes_the_filter_that_drops_most_per_cost(dropped, costs, order):
    state = state_of([[80] * 4] * 4, [[80 - drop for drop in dropped]] * 4)
    rank._improve(state, 0, np.array(costs, dtype=float), Rank()._rule())
    assert state.order.tolist() == order


def test_what_was_seen_too_seldom_does_not_move():
    state = state_of([[80, 80, 80, 19]] * 4, [[70, 70, 70, 0]] * 4)
    rank._improve(state, 0, np.ones(4), Rank()._rule())
    assert state.order.tolist() == [0, 1, 2, 3]


def test_a_positions_counts_are_halved_together_but_none_below_what_a_judgement_needs():
    state = state_of([[5_100, 40, 39, 200]] * 4, [[100, 20, 19, 100]] * 4)
    rank._end_block(state, 0, Rank(surprise=1e9)._rule())
    assert state.seen[0].tolist() == [2_550, 20, 39, 100]
    assert state.passed[0].tolist() == [50, 10, 19, 50]
    assert (state.block_seen[0], state.block_passed[0]) == (0, 0)


@pytest.mark.parametrize(("block_passed", "anew"), [(10, False), (20, False), (60, True)])
def test_a_selectivity_that_changed_starts_its_position_anew(block_passed, anew):
    """1,000 tuples, a tenth passed before; then a block of 100."""
    state = state_of([[1_000, 40, 40, 40]] * 4, [[90 + block_passed, 5, 5, 5]] * 4)
    state.block_seen[0], state.block_passed[0] = 100, block_passed
    rank._end_block(state, 0, Rank()._rule())
    assert state.seen[0].tolist() == ([100, 0, 0, 0] if anew else [1_000, 40, 40, 40])
    assert state.passed[0, 0] == (block_passed if anew else 90 + block_passed)


def test_a_filter_that_becomes_the_best_unseen_is_found():
    """Only the last filter changes, which no tuple in place shows until one is sent ahead to it."""
    random = np.random.default_rng(4)
    passes = random.random((200_000, 6)) < [0.5, 0.5, 0.5, 0.5, 0.5, 0.9]
    passes[50_000:, 5] = random.random(150_000) < 0.05
    policy, costs, positions = Rank(), np.ones(6), np.arange(200_000)
    before = policy.route(policy.start(6), Batch(passes[:50_000], positions[:50_000], costs)).state
    after = policy.route(before, Batch(passes[50_000:], positions[50_000:], costs)).state
    assert before.order[-1] == 5
    assert after.order[0] == 5
