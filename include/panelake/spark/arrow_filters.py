"""Python predicates over Arrow batches, in an order that is learned between batches.

A predicate is a function of a batch that gives one boolean a row; NULL drops the row as FALSE does. Each is called with
the rows that passed those before it. A batch's sampled rows, chosen by their source position, are first given to all
predicates; from what these drop, and from how long they take, the order for the batch is learned. What a function may
raise is not known: unless declared commutative it is a border that none crosses, as in raising.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from panelake.errors import BadInputError
from panelake.kernels.filter_order.draws import are_sampled, threshold
from panelake.language.raising import Placed
from panelake.spark.filter_chain import SAMPLED_EVERY, FilterStatistics, learn

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Predicate:
    """A named function; a commutative one may be moved, as it never raises or has no guard among the others."""

    name: str
    function: Callable[[pa.RecordBatch], pa.Array]
    commutative: bool = False


class Answer(NamedTuple):
    """The rows kept, and the statistics for the next batch."""

    kept: pa.RecordBatch
    statistics: FilterStatistics


def placed_predicates(predicates: Sequence[Predicate]) -> tuple[Placed, ...]:
    """The predicates as a chain with its borders."""
    chain: list[Placed] = []
    segment = 0
    for predicate in predicates:
        border = not predicate.commutative
        if border and chain and chain[-1].segment == segment:
            segment += 1
        reason = f"{predicate.name}() may raise and is not declared commutative" if border else None
        chain.append(Placed(predicate.name, segment, reason))
        segment += border
    return tuple(chain)


def filter_batch(
    batch: pa.RecordBatch,
    positions: Integers,
    predicates: Sequence[Predicate],
    statistics: FilterStatistics,
    every: int = SAMPLED_EVERY,
) -> Answer:
    """The batch's rows for which every predicate is TRUE; `positions` say where each row came from."""
    chain = placed_predicates(predicates)
    sampled = are_sampled(positions, threshold(1 / every), np.uint64(0)) if every > 1 else np.ones(len(positions), bool)
    learned = learn(statistics, chain, _observe(batch.filter(pa.array(sampled)), predicates, chain))
    seconds = np.full(len(predicates), np.nan)
    for number in learned.order:
        if batch.num_rows:
            began, rows = time.perf_counter(), batch.num_rows
            batch = batch.filter(pa.array(_asked(predicates[number], batch)))
            seconds[number] = (time.perf_counter() - began) / rows
    return Answer(batch, learned.with_costs(seconds))


def _observe(
    sample: pa.RecordBatch, predicates: Sequence[Predicate], chain: Sequence[Placed]
) -> tuple[Integers, Integers]:
    """Outcomes of the sample and their rows; a row that does not pass a segment goes no further."""
    outcomes = np.zeros(sample.num_rows, dtype=np.int64)
    reaching = np.arange(sample.num_rows)
    for segment in range(chain[-1].segment + 1 if chain else 0):
        passed = np.ones(len(reaching), dtype=np.bool_)
        rows = sample.take(pa.array(reaching))
        for number in (number for number, placed in enumerate(chain) if placed.segment == segment):
            answers = _asked(predicates[number], rows) if len(reaching) else passed
            outcomes[reaching] |= answers.astype(np.int64) << number
            passed &= answers
        reaching = reaching[passed]
    found, rows_of = np.unique(outcomes, return_counts=True)
    return found, rows_of.astype(np.int64)


def _asked(predicate: Predicate, rows: pa.RecordBatch) -> Mask:
    """Which rows the predicate is TRUE for."""
    try:
        answer = predicate.function(rows)
    except Exception as error:
        raise BadInputError(
            f"filters.py: {predicate.name}() raised {type(error).__name__}: {error}. Let it give NULL or FALSE for rows"
            " it cannot judge, or write what guards it before it and do not declare it commutative"
        ) from error
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    if not isinstance(answer, pa.Array) or not pa.types.is_boolean(answer.type) or len(answer) != rows.num_rows:
        got = f"{answer.type} of {len(answer)}" if isinstance(answer, pa.Array) else type(answer).__name__
        raise BadInputError(
            f"filters.py: {predicate.name}() gave {got}; expected an Arrow array of {rows.num_rows} booleans"
        )
    mask: Mask = answer.fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - pyarrow's signature
    return mask
