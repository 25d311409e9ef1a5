"""Random swaps, a running engine's way: swap a random pair of neighbours, keep the swap if the next tuples cost less.

Source: DuckDB's `AdaptiveFilter` (src/execution/adaptive_filter.cpp). Warm-up of 5 vectors; then 20 vectors are
observed, a pair is swapped with its likeliness, 10 vectors are observed, and the swap is undone, its likeliness
halved, unless their mean cost fell. No statistics of filters at all: whole vectors are compared.

Left open here: the vector. DuckDB's own holds 2,048 tuples, with which 100,000 tuples would see at most two swaps; here
it is `vector` tuples, counted in the state, so that cuts into batches change nothing. Time: O(1) a vector. Space: O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from panelake.kernels.compiled import kernel
from panelake.kernels.filter_order.batch import Batch, Doubles, Integers, Mask, Routed, run_kernel, written_order
from panelake.kernels.filter_order.draws import choice, first_draw

_WARM_UP, _OBSERVE, _EXECUTE = 5, 10, 20
_CERTAIN = 100
_WARMING, _EXECUTING, _OBSERVING = 0, 1, 2


class RandomSwapState(NamedTuple):
    """Each pair's likeliness in %; `phase`: what is done now; `tuples` since then; `swapped`: the pair on trial.

    `paid`: since the phase began; `mean`: of a tuple in the phase before. One element each.
    """

    order: Integers
    likeliness: Integers
    phase: Integers
    tuples: Integers
    swapped: Integers
    paid: Doubles
    mean: Doubles


class Rule(NamedTuple):
    """`RandomSwap` as the kernel takes it."""

    vector: int
    seed: np.uint64


@dataclass(frozen=True)
class RandomSwap:
    """`random_swap`."""

    vector: int = 64
    seed: int = 0

    def start(self, filters: int) -> RandomSwapState:
        likeliness = np.full(max(filters - 1, 0), _CERTAIN, dtype=np.int64)
        phase, tuples, swapped = np.zeros((3, 1), dtype=np.int64)
        paid, mean = np.zeros((2, 1), dtype=np.float64)
        return RandomSwapState(written_order(filters), likeliness, phase, tuples, swapped, paid, mean)

    def route(self, state: RandomSwapState, batch: Batch) -> Routed[RandomSwapState]:
        return run_kernel(_route, state, batch, Rule(self.vector, np.uint64(self.seed)))


@kernel
def _route(state: RandomSwapState, batch: Batch, kept: Mask, evaluations: Integers, rule: Rule) -> None:
    for row in range(len(kept)):
        kept[row] = _pass_through(state, batch.passes[row], batch.costs, evaluations)
        state.tuples[0] += 1
        if state.tuples[0] == rule.vector * _length(state.phase[0]) and len(state.order) > 1:
            _end_phase(state, first_draw(batch.positions[row], rule.seed))


@kernel
def _pass_through(state: RandomSwapState, passes: Mask, costs: Doubles, evaluations: Integers) -> bool:
    for number in state.order:
        evaluations[number] += 1
        state.paid[0] += costs[number]
        if not passes[number]:
            return False
    return True


@kernel
def _length(phase: int) -> int:
    """Vectors of a phase."""
    if phase == _WARMING:
        return _WARM_UP
    return _EXECUTE if phase == _EXECUTING else _OBSERVE


@kernel
def _end_phase(state: RandomSwapState, draw: np.uint64) -> None:
    mean = state.paid[0] / state.tuples[0]
    if state.phase[0] == _OBSERVING:
        _judge(state, mean)
    trial = state.phase[0] == _EXECUTING and _try_swap(state, draw)
    state.phase[0] = _OBSERVING if trial else _EXECUTING
    state.mean[0], state.tuples[0], state.paid[0] = mean, 0, 0.0


@kernel
def _judge(state: RandomSwapState, mean: float) -> None:
    pair = state.swapped[0]
    if mean < state.mean[0]:
        state.likeliness[pair] = _CERTAIN
        return
    state.order[pair], state.order[pair + 1] = state.order[pair + 1], state.order[pair]
    state.likeliness[pair] = max(state.likeliness[pair] // 2, 1)


@kernel
def _try_swap(state: RandomSwapState, draw: np.uint64) -> bool:
    number = choice(draw, _CERTAIN * len(state.likeliness))
    pair = number // _CERTAIN
    if state.likeliness[pair] <= number % _CERTAIN:
        return False
    state.order[pair], state.order[pair + 1] = state.order[pair + 1], state.order[pair]
    state.swapped[0] = pair
    return True
