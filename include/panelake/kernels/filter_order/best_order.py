"""The best fixed order on true statistics, by exhaustive search: what adaptive policies are measured against.

`best_order` tries every set of filters instead of every order: the cost of the filters behind a set depends on the set
alone, by the share of tuples that pass it (Held and Karp's dynamic programming). Time O(2^n·n), space O(2^n);
`every_order`, its naive twin, takes O(n!·n).
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from panelake.kernels.filter_order.batch import Doubles, Integers, Mask

_MOST_SEARCHED = 16


class FixedOrder(NamedTuple):
    """An order, and what all tuples pay in it."""

    order: Integers
    cost: float


def cost_of(order: Integers, passes: Mask, costs: Doubles) -> float:
    """What all tuples pay for the filters in this order."""
    reaching = np.ones(len(passes), dtype=np.bool_)
    total = 0.0
    for number in order:
        total += float(costs[number]) * int(reaching.sum())
        reaching &= passes[:, number]
    return total


def best_order(passes: Mask, costs: Doubles) -> FixedOrder:
    """The cheapest order; among equals the one whose last filters are written last."""
    filters = passes.shape[1]
    if filters > _MOST_SEARCHED:
        raise ValueError(f"all orders of at most {_MOST_SEARCHED} filters can be searched; got {filters}")
    passing = _passing_every_set(passes)
    cheapest, last = np.zeros(2**filters), np.zeros(2**filters, dtype=np.int64)
    for members in range(1, 2**filters):
        inside = [number for number in range(filters) if members >> number & 1]
        paid = [cheapest[members ^ 1 << number] + passing[members ^ 1 << number] * costs[number] for number in inside]
        cheapest[members], last[members] = min(paid), inside[int(np.argmin(paid[::-1]) * -1) - 1]
    return FixedOrder(_unwound(last, filters), float(cheapest[-1]))


def every_order(passes: Mask, costs: Doubles) -> FixedOrder:
    """The cheapest order, by trying all."""
    orders = (np.array(order, dtype=np.int64) for order in permutations(range(passes.shape[1])))
    return min((FixedOrder(order, cost_of(order, passes, costs)) for order in orders), key=lambda found: found.cost)


def _passing_every_set(passes: Mask) -> Integers:
    """For each set of filters, as bits, the tuples that pass all its members."""
    filters = passes.shape[1]
    outcomes = passes.astype(np.int64) @ (1 << np.arange(filters))
    passing = np.bincount(outcomes, minlength=2**filters)
    for number in range(filters):
        halves = passing.reshape(-1, 2, 2**number)
        halves[:, 0] += halves[:, 1]
    return passing.astype(np.int64)


def _unwound(last: Integers, filters: int) -> Integers:
    members, order = 2**filters - 1, []
    while members:
        order.append(int(last[members]))
        members ^= 1 << order[-1]
    return np.array(order[::-1], dtype=np.int64)
