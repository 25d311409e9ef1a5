"""WT-Heuristics: neighbouring filters change places when that wastes less time on tuples that are dropped in the end.

Source: J.-K. Min, "WT-Heuristics: An Efficient Filter Operator Ordering Technology in Stream Data Environments", KIPS
Transactions 2007. A tuple that reaches position i goes, with a small probability, to filter i + 1 first: nothing is
evaluated that a tuple which passes would not need anyway, and three selectivities a position are learned.

Slip corrected: formula (4) does not weight the second filter's waste by the share of tuples that reach it. `wt` is as
printed; `wt_reach` wastes (1 - s_f)·t_f + s_f·(1 - s_g|f)·(t_f + t_g). The time spent before both is the same in either
order, and is left out there.
Left open, settled: a pair is judged from `observations` swapped tuples on; after a swap the counters it made
meaningless start anew; a position's counters are halved when it has counted `limit` tuples. A filter that no tuple
reached wastes nothing.

Time: O(1) a filter evaluated. Space: 6 counters a filter. It moves one neighbour at a time, and may stay in a local
optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from panelake.kernels.compiled import kernel
from panelake.kernels.filter_order.batch import Batch, Doubles, Integers, Mask, Routed, run_kernel, written_order
from panelake.kernels.filter_order.draws import first_draw, next_draw, threshold


class SwapState(NamedTuple):
    """For each position i: tuples seen and passed by its filter, by the next filter first, by its own after that."""

    order: Integers
    seen: Integers
    passed: Integers
    next_seen: Integers
    next_passed: Integers
    after_seen: Integers
    after_passed: Integers


class Rule(NamedTuple):
    """`AdjacentSwaps` as the kernel takes it."""

    by_reach: bool
    alpha: float
    sampled: np.uint64
    observations: int
    limit: int
    seed: np.uint64


@dataclass(frozen=True)
class AdjacentSwaps:
    """`wt`, and with `by_reach` `wt_reach`."""

    by_reach: bool = False
    alpha: float = 0.9
    probability: float = 0.01
    observations: int = 20
    limit: int = 5_000
    seed: int = 0

    def start(self, filters: int) -> SwapState:
        return SwapState(written_order(filters), *np.zeros((6, filters), dtype=np.int64))

    def route(self, state: SwapState, batch: Batch) -> Routed[SwapState]:
        sampled, seed = threshold(self.probability), np.uint64(self.seed)
        rule = Rule(self.by_reach, self.alpha, sampled, self.observations, self.limit, seed)
        return run_kernel(_route, state, batch, rule)


@kernel
def _route(state: SwapState, batch: Batch, kept: Mask, evaluations: Integers, rule: Rule) -> None:
    for row in range(len(kept)):
        kept[row] = _pass_through(state, batch, row, evaluations, rule)


@kernel
def _pass_through(state: SwapState, batch: Batch, row: int, evaluations: Integers, rule: Rule) -> bool:
    passes, draw = batch.passes[row], first_draw(batch.positions[row], rule.seed)
    position, last = 0, len(state.order) - 1
    while position <= last:
        draw = next_draw(draw)
        if position < last and draw < rule.sampled:
            passed = _pass_swapped(state, position, passes, evaluations)
            if _swap_pays(state, position, batch.costs, rule):
                _swap(state, position)
            position += 2
        else:
            passed = _pass_one(state, position, passes, evaluations)
            position += 1
        _forget(state, position - 1, rule.limit)
        if not passed:
            return False
    return True


@kernel
def _pass_one(state: SwapState, position: int, passes: Mask, evaluations: Integers) -> bool:
    number = state.order[position]
    evaluations[number] += 1
    state.seen[position] += 1
    state.passed[position] += passes[number]
    return bool(passes[number])


@kernel
def _pass_swapped(state: SwapState, position: int, passes: Mask, evaluations: Integers) -> bool:
    number, following = state.order[position], state.order[position + 1]
    evaluations[following] += 1
    state.next_seen[position] += 1
    if not passes[following]:
        return False
    state.next_passed[position] += 1
    evaluations[number] += 1
    state.after_seen[position] += 1
    state.after_passed[position] += passes[number]
    return bool(passes[number])


@kernel
def _swap_pays(state: SwapState, position: int, costs: Doubles, rule: Rule) -> bool:
    if state.next_seen[position] < rule.observations:
        return False
    cost, next_cost = costs[state.order[position]], costs[state.order[position + 1]]
    before = 0.0
    if not rule.by_reach:
        for earlier in range(position):
            before += costs[state.order[earlier]]
    dropped = _dropped(state.seen[position], state.passed[position])
    dropped_second = _dropped(state.seen[position + 1], state.passed[position + 1])
    next_dropped = _dropped(state.next_seen[position], state.next_passed[position])
    dropped_after = _dropped(state.after_seen[position], state.after_passed[position])
    reach, next_reach = (1.0 - dropped, 1.0 - next_dropped) if rule.by_reach else (1.0, 1.0)
    together = before + cost + next_cost
    present = dropped * (before + cost) + reach * dropped_second * together
    swapped = next_dropped * (before + next_cost) + next_reach * dropped_after * together
    return bool(swapped < rule.alpha * present)


@kernel
def _dropped(seen: int, passed: int) -> float:
    return 1.0 - passed / seen if seen else 0.0


@kernel
def _swap(state: SwapState, position: int) -> None:
    """The filter before now has another neighbour; the two swapped, another input."""
    state.order[position], state.order[position + 1] = state.order[position + 1], state.order[position]
    for touched in (position, position + 1):
        state.seen[touched] = state.passed[touched] = 0
    for touched in range(max(position - 1, 0), position + 2):
        state.next_seen[touched] = state.next_passed[touched] = 0
        state.after_seen[touched] = state.after_passed[touched] = 0


@kernel
def _forget(state: SwapState, position: int, limit: int) -> None:
    if state.seen[position] > limit:
        state.seen[position] >>= 1
        state.passed[position] >>= 1
    if state.next_seen[position] > limit:
        state.next_seen[position] >>= 1
        state.next_passed[position] >>= 1
        state.after_seen[position] >>= 1
        state.after_passed[position] >>= 1
