"""Filters in the order written, for ever: what the others are measured against.

Source: the plain rival of the filter-ordering paper (민준기, WT-Heuristics, 2007). Left open: nothing.
Time: O(n) a tuple. Space: O(n), the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from panelake.kernels.compiled import kernel
from panelake.kernels.filter_order.batch import Batch, Integers, Mask, Routed, run_kernel, written_order


class StaticState(NamedTuple):
    """The order alone."""

    order: Integers


@dataclass(frozen=True)
class Static:
    """Never reorders."""

    def start(self, filters: int) -> StaticState:
        return StaticState(written_order(filters))

    def route(self, state: StaticState, batch: Batch) -> Routed[StaticState]:
        return run_kernel(_route, state, batch)


@kernel
def _route(state: StaticState, batch: Batch, kept: Mask, evaluations: Integers) -> None:
    for row in range(len(kept)):
        kept[row] = True
        for number in state.order:
            evaluations[number] += 1
            if not batch.passes[row, number]:
                kept[row] = False
                break
