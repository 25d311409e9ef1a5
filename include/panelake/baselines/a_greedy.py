"""A-Greedy, the rival: dropped tuples are profiled by running all filters on them, and the order is greedy on these.

Source: S. Babu, R. Motwani, K. Munagala, I. Nishizawa, J. Widom, "Adaptive Ordering of Pipelined Stream Filters",
SIGMOD 2004. Position i holds a filter with d(i | earlier) / t_i within alpha of the best, d being the share dropped
among the profiles that no earlier filter drops. Profiling is what it pays: a profiled tuple costs all filters.
Left open by the filter-ordering paper, which rivals it: how costs are known (here they are given), and when a better
order is looked for (here with each new profile).

Time: O(n) a tuple, and O(n²·window) a profile, since the matrix view is recomputed rather than maintained. Space: one
integer a profile, its bits the filters that drop the tuple. Old profiles leave the window, which is its forgetting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from panelake.kernels.compiled import kernel
from panelake.kernels.filter_order.batch import Batch, Doubles, Integers, Mask, Routed, run_kernel, written_order
from panelake.kernels.filter_order.draws import first_draw, threshold


class GreedyState(NamedTuple):
    """The last profiles in a ring; `taken[0]` counts all profiles ever taken."""

    order: Integers
    profiles: Integers
    taken: Integers


class Rule(NamedTuple):
    """`AGreedy` as the kernel takes it."""

    alpha: float
    sampled: np.uint64
    seed: np.uint64


@dataclass(frozen=True)
class AGreedy:
    """`a_greedy`."""

    alpha: float = 0.9
    probability: float = 0.01
    window: int = 500
    seed: int = 0

    def start(self, filters: int) -> GreedyState:
        profiles = np.zeros(self.window, dtype=np.int64)
        return GreedyState(written_order(filters), profiles, np.zeros(1, dtype=np.int64))

    def route(self, state: GreedyState, batch: Batch) -> Routed[GreedyState]:
        rule = Rule(self.alpha, threshold(self.probability), np.uint64(self.seed))
        return run_kernel(_route, state, batch, rule)


@kernel
def _route(state: GreedyState, batch: Batch, kept: Mask, evaluations: Integers, rule: Rule) -> None:
    for row in range(len(kept)):
        dropped_at = _pass_through(state.order, batch.passes[row], evaluations)
        kept[row] = dropped_at < 0
        if dropped_at >= 0 and first_draw(batch.positions[row], rule.seed) < rule.sampled:
            for position in range(dropped_at + 1, len(state.order)):
                evaluations[state.order[position]] += 1
            _remember(state, batch.passes[row])
            _reorder(state, batch.costs, rule.alpha)


@kernel
def _pass_through(order: Integers, passes: Mask, evaluations: Integers) -> int:
    """The position that drops the tuple, or -1."""
    for position in range(len(order)):
        evaluations[order[position]] += 1
        if not passes[order[position]]:
            return position
    return -1


@kernel
def _remember(state: GreedyState, passes: Mask) -> None:
    profile = 0
    for number in range(len(passes)):
        if not passes[number]:
            profile |= 1 << number
    state.profiles[state.taken[0] % len(state.profiles)] = profile
    state.taken[0] += 1


@kernel
def _reorder(state: GreedyState, costs: Doubles, alpha: float) -> None:
    profiles = state.profiles[: min(state.taken[0], len(state.profiles))]
    earlier = 0
    for position in range(len(state.order)):
        best, best_rank, present_rank = position, -1.0, 0.0
        for place in range(position, len(state.order)):
            rank = _dropped(profiles, state.order[place], earlier) / costs[state.order[place]]
            if place == position:
                present_rank = rank
            if rank > best_rank:
                best, best_rank = place, rank
        if present_rank < alpha * best_rank:
            _move(state.order, best, position)
        earlier |= 1 << state.order[position]


@kernel
def _dropped(profiles: Integers, number: int, earlier: int) -> int:
    """Profiles that the filter drops and no earlier one does."""
    count = 0
    for profile in profiles:
        count += (profile & earlier) == 0 and (profile >> number) & 1 == 1
    return count


@kernel
def _move(order: Integers, place: int, position: int) -> None:
    number = order[place]
    for between in range(place, position, -1):
        order[between] = order[between - 1]
    order[position] = number
