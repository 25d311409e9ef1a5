"""Eddy: every tuple finds its own way, by a lottery in which a filter holds a ticket for each tuple it dropped.

Source: R. Avnur, J. M. Hellerstein, "Eddies: Continuously Adaptive Query Processing", SIGMOD 2000. A filter gets a
ticket for each tuple it takes and gives it back with the tuple; the tuple's next filter is drawn among those it has
not seen, by their tickets. Left open here: queues. There, a dear filter's full queue holds tuples off; without them its
tickets are divided by its cost. Tickets are halved when one filter holds `limit` of them, which is the forgetting.

Tickets say nothing of correlation, and a lottery goes on exploring for ever: both cost. The order given is that of
the tickets, for show; tuples do not follow it. Time: O(n) a filter evaluated. Space: O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from panelake.kernels.compiled import kernel
from panelake.kernels.filter_order.batch import Batch, Doubles, Integers, Mask, Routed, run_kernel, written_order
from panelake.kernels.filter_order.draws import first_draw, next_draw

_UNIT = 2.0**-64


class EddyState(NamedTuple):
    """Tickets of each filter."""

    order: Integers
    tickets: Integers


class Rule(NamedTuple):
    """`Eddy` as the kernel takes it."""

    limit: int
    seed: np.uint64


@dataclass(frozen=True)
class Eddy:
    """`eddy`."""

    limit: int = 5_000
    seed: int = 0

    def start(self, filters: int) -> EddyState:
        return EddyState(written_order(filters), np.ones(filters, dtype=np.int64))

    def route(self, state: EddyState, batch: Batch) -> Routed[EddyState]:
        routed = run_kernel(_route, state, batch, Rule(self.limit, np.uint64(self.seed)))
        routed.state.order[:] = np.argsort(-routed.state.tickets / batch.costs, kind="stable")
        return routed


@kernel
def _route(state: EddyState, batch: Batch, kept: Mask, evaluations: Integers, rule: Rule) -> None:
    for row in range(len(kept)):
        draw = first_draw(batch.positions[row], rule.seed)
        kept[row] = _pass_through(state.tickets, batch.passes[row], batch.costs, evaluations, draw)
        if state.tickets.max() > rule.limit:
            for number in range(len(state.tickets)):
                state.tickets[number] = max(state.tickets[number] >> 1, 1)


@kernel
def _pass_through(tickets: Integers, passes: Mask, costs: Doubles, evaluations: Integers, draw: np.uint64) -> bool:
    left = (1 << len(tickets)) - 1
    while left:
        draw = next_draw(draw)
        number = _drawn(tickets, costs, left, draw)
        left &= ~(1 << number)
        evaluations[number] += 1
        if not passes[number]:
            tickets[number] += 1
            return False
    return True


@kernel
def _drawn(tickets: Integers, costs: Doubles, left: int, draw: np.uint64) -> int:
    """One of the filters left, with a probability by its tickets per cost."""
    total = 0.0
    for number in range(len(tickets)):
        if left >> number & 1:
            total += tickets[number] / costs[number]
    rest, drawn = total * (float(draw) * _UNIT), 0
    for number in range(len(tickets)):
        if left >> number & 1:
            drawn = number
            rest -= tickets[number] / costs[number]
            if rest < 0:
                break
    return drawn
