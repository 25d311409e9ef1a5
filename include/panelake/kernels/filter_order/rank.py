"""wt_rank, the default: each position takes the filter that drops most per unit of cost among tuples that reach it.

Source: the greedy rule of S. Babu, R. Motwani, K. Munagala, I. Nishizawa, J. Widom, "Adaptive Ordering of Pipelined
Stream Filters", SIGMOD 2004, learned the way of WT-Heuristics (adjacent_swaps.py): a tuple that reaches position i
goes, with a small probability, to *any* later filter first, chosen at random, then on in order, where that filter is
not run again. Nothing is evaluated that a tuple which passes would not need anyway. Local optima of neighbours' swaps
are left at once, since any later filter may come.

Slip avoided: counts are kept per position and filter, given that all earlier positions were passed and nothing else;
a tuple sent ahead is therefore not counted between the two places. So a filter that moves to position i leaves the
counts of i, and of all positions behind its old one, valid: only those between start anew.
Learning fast: until a filter has `observations` at a position, tuples are sent to it with the probability `eager`; the
cost is bounded by n² times the observations. Forgetting: when the present filter has counted `limit` tuples all counts
of its position are halved, none to less than `observations`; and when its selectivity over a block of tuples differs
from the one before by `surprise` standard deviations, the position's counts start anew from that block.

Time: O(1) a filter evaluated, O(n) a sampled one. Space: 2·n² + 2·n counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from panelake.kernels.compiled import kernel
from panelake.kernels.filter_order.batch import Batch, Doubles, Integers, Mask, Routed, run_kernel, written_order
from panelake.kernels.filter_order.draws import choice, first_draw, next_draw, threshold


class RankState(NamedTuple):
    """Tuples that reached position i and were seen, passed by filter f: `seen[i, f]`, `passed[i, f]`.

    `block_seen[i]` and `block_passed[i]` are those of the filter in place in the present block, counted there too.
    """

    order: Integers
    seen: Integers
    passed: Integers
    block_seen: Integers
    block_passed: Integers


class Rule(NamedTuple):
    """`Rank` as the kernel takes it."""

    alpha: float
    sampled: np.uint64
    eager: np.uint64
    observations: int
    limit: int
    block: int
    surprise: float
    seed: np.uint64


@dataclass(frozen=True)
class Rank:
    """`wt_rank`."""

    alpha: float = 0.9
    probability: float = 0.01
    eager: float = 0.25
    observations: int = 20
    limit: int = 5_000
    block: int = 250
    surprise: float = 4.0
    seed: int = 0

    def start(self, filters: int) -> RankState:
        counts = np.zeros((2, filters, filters), dtype=np.int64)
        return RankState(written_order(filters), *counts, *np.zeros((2, filters), dtype=np.int64))

    def route(self, state: RankState, batch: Batch) -> Routed[RankState]:
        return run_kernel(_route, state, batch, self._rule())

    def _rule(self) -> Rule:
        sampled, eager = threshold(self.probability), threshold(max(self.eager, self.probability))
        seed = np.uint64(self.seed)
        return Rule(self.alpha, sampled, eager, self.observations, self.limit, self.block, self.surprise, seed)


@kernel
def _route(state: RankState, batch: Batch, kept: Mask, evaluations: Integers, rule: Rule) -> None:
    for row in range(len(kept)):
        kept[row] = _pass_through(state, batch, row, evaluations, rule)


@kernel
def _pass_through(state: RankState, batch: Batch, row: int, evaluations: Integers, rule: Rule) -> bool:
    """At most once a tuple is sent ahead; until its place is reached again, what it shows is not counted."""
    passes, draw = batch.passes[row], first_draw(batch.positions[row], rule.seed)
    passed, sent_from, ahead = True, 0, -1
    for position in range(len(state.order)):
        draw = next_draw(draw)
        if ahead < 0 and draw < rule.eager:
            sent_from, ahead = position, _sent_to(state, position, rule, draw)
            if ahead >= 0:
                passed = _pass_one(state, position, ahead, passes, evaluations)
        if passed and position > ahead:
            passed = _pass_in_place(state, position, passes, evaluations, rule)
        elif passed and position < ahead:
            evaluations[state.order[position]] += 1
            passed = passes[state.order[position]]
        if not passed:
            break
    if ahead >= 0:
        _improve(state, sent_from, batch.costs, rule)
    return passed


@kernel
def _sent_to(state: RankState, position: int, rule: Rule, draw: np.uint64) -> int:
    """The later place the tuple goes to first, or -1: eagerly only to a filter that is not known yet."""
    later = len(state.order) - 1 - position
    if later == 0:
        return -1
    place = position + 1 + int(choice(next_draw(draw), later))
    if draw < rule.sampled or state.seen[position, state.order[place]] < rule.observations:
        return place
    return -1


@kernel
def _pass_one(state: RankState, position: int, place: int, passes: Mask, evaluations: Integers) -> bool:
    number = state.order[place]
    evaluations[number] += 1
    state.seen[position, number] += 1
    state.passed[position, number] += passes[number]
    return bool(passes[number])


@kernel
def _pass_in_place(state: RankState, position: int, passes: Mask, evaluations: Integers, rule: Rule) -> bool:
    passed = _pass_one(state, position, position, passes, evaluations)
    state.block_seen[position] += 1
    state.block_passed[position] += passed
    if state.block_seen[position] == rule.block:
        _end_block(state, position, rule)
    return passed


@kernel
def _end_block(state: RankState, position: int, rule: Rule) -> None:
    number = state.order[position]
    if _surprises(state, position, rule.surprise):
        state.seen[position], state.passed[position] = 0, 0
        state.seen[position, number] = state.block_seen[position]
        state.passed[position, number] = state.block_passed[position]
    if state.seen[position, number] > rule.limit:
        for other in range(len(state.order)):
            if state.seen[position, other] >= 2 * rule.observations:
                state.seen[position, other] >>= 1
                state.passed[position, other] >>= 1
    state.block_seen[position] = state.block_passed[position] = 0


@kernel
def _surprises(state: RankState, position: int, surprise: float) -> bool:
    """Whether the block's selectivity and the one before it differ by more than chance would make them."""
    number = state.order[position]
    seen, passed = state.seen[position, number], state.passed[position, number]
    block_seen, block_passed = state.block_seen[position], state.block_passed[position]
    if seen == block_seen:
        return False
    share = passed / seen
    gap = block_passed / block_seen - (passed - block_passed) / (seen - block_seen)
    variance = share * (1.0 - share) * (1.0 / block_seen + 1.0 / (seen - block_seen))
    return bool(gap * gap > surprise * surprise * variance)


@kernel
def _improve(state: RankState, position: int, costs: Doubles, rule: Rule) -> None:
    """The best filter known moves to the position if it beats the present one; those between move back by one."""
    present = _rank(state, position, position, costs, rule.observations)
    best, best_rank = position, present
    for place in range(position + 1, len(state.order)):
        rank = _rank(state, position, place, costs, rule.observations)
        if rank > best_rank:
            best, best_rank = place, rank
    if 0.0 <= present < rule.alpha * best_rank:
        _move(state, best, position)


@kernel
def _rank(state: RankState, position: int, place: int, costs: Doubles, observations: int) -> float:
    """The share dropped per unit of cost by the filter now at `place` if it stood at `position`; -1 if not known."""
    number = state.order[place]
    seen = state.seen[position, number]
    if seen < observations:
        return -1.0
    return float((1.0 - state.passed[position, number] / seen) / costs[number])


@kernel
def _move(state: RankState, place: int, position: int) -> None:
    number = state.order[place]
    for between in range(place, position, -1):
        state.order[between] = state.order[between - 1]
        state.seen[between], state.passed[between] = 0, 0
    state.order[position] = number
    state.block_seen[position : place + 1], state.block_passed[position : place + 1] = 0, 0
