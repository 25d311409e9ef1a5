"""What every filter-ordering policy takes and gives: a batch of outcomes and a state in, a state and counts out.

A filter's outcome for a tuple is TRUE or not: NULL drops a tuple as FALSE does, so that a conjunction keeps the tuples
for which every filter is TRUE, whatever the order. A state is a NamedTuple of plain arrays: copied by whoever routes,
never written to by two. `order[i]` is the filter at position i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A tuple's outcomes are the bits of one signed 64-bit integer.
MOST_FILTERS = 62


class Batch(NamedTuple):
    """Outcomes of all filters for some tuples, each tuple's source position, and what each filter costs.

    A policy looks only at the outcomes it pays for; positions decide which tuples are sampled.
    """

    passes: Mask
    positions: Integers
    costs: Doubles


class State(Protocol):
    """A NamedTuple of arrays, the first of them the order in force."""

    @property
    def order(self) -> Integers: ...


StateType = TypeVar("StateType", bound=State)


class Routed(NamedTuple, Generic[StateType]):
    """The state after a batch, which tuples were kept, and how often each filter was evaluated."""

    state: StateType
    kept: Mask
    evaluations: Integers

    def paid(self, costs: Doubles) -> float:
        """The cost of all evaluations."""
        return float(self.evaluations @ costs)


class Policy(Protocol[StateType]):
    """Orders filters while tuples flow; it decides tuple by tuple, so cuts into batches change nothing."""

    def start(self, filters: int) -> StateType:
        """The state before the first tuple: filters in the order written."""
        ...

    def route(self, state: StateType, batch: Batch) -> Routed[StateType]:
        """Send the batch's tuples through the filters; the state given stays as it is."""
        ...


def written_order(filters: int) -> Integers:
    """Filters in the order written."""
    if not 1 <= filters <= MOST_FILTERS:
        raise ValueError(f"a conjunction has 1 to {MOST_FILTERS} filters; got {filters}")
    return np.arange(filters, dtype=np.int64)


def run_kernel(
    kernel: Callable[..., None], state: StateType, batch: Batch, *rule: tuple[Any, ...]
) -> Routed[StateType]:
    """Route by a compiled kernel, which writes to a copy of the state; its rule is a NamedTuple."""
    _require_matching(state.order, batch)
    after = copied(state)
    kept = np.zeros(len(batch.positions), dtype=np.bool_)
    evaluations = np.zeros(len(state.order), dtype=np.int64)
    kernel(after, batch, kept, evaluations, *rule)
    return Routed(after, kept, evaluations)


def copied(state: StateType) -> StateType:
    """The same state in arrays of its own."""
    arrays: Any = state
    return type(state)(*(array.copy() for array in arrays))


def _require_matching(order: Integers, batch: Batch) -> None:
    filters = len(order)
    if batch.passes.shape != (len(batch.positions), filters) or batch.costs.shape != (filters,):
        raise ValueError(
            f"a batch of {len(batch.positions)} positions and {filters} filters needs outcomes of that shape and as"
            f" many costs; got {batch.passes.shape} and {batch.costs.shape}"
        )
    if not np.all(batch.costs > 0):
        raise ValueError(f"costs must be above zero; got {batch.costs.tolist()}")
