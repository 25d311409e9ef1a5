"""Python predicates over Arrow batches, in an order that is learned between batches.

A predicate is a function of a batch that gives one boolean a row; NULL drops the row as FALSE does. Each is called with
the rows that passed those before it. A batch's sampled rows are first given to all predicates; from what these drop,
and from how long they take, the order for the batch is learned. What a function may raise is not known: unless declared
commutative it is a border that none crosses, as in raising.py.
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
from panelake.filters.chain import Placed, bordered
from panelake.filters.statistics import FilterStatistics, learn

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
ASKED, SAMPLED = 1, 2


@dataclass(frozen=True)
class Predicate:
    """A named function; a commutative one may be moved, as it never raises or has no guard among the others."""

    name: str
    function: Callable[[pa.RecordBatch], pa.Array]
    commutative: bool = False


class Answer(NamedTuple):
    """Bit i of a row's outcome says that predicate i is TRUE; the statistics are for the next batch."""

    outcomes: Integers
    statistics: FilterStatistics


def placed_predicates(predicates: Sequence[Predicate]) -> tuple[Placed, ...]:
    """The predicates as a chain with its borders."""
    return bordered((predicate.name, _may_raise(predicate)) for predicate in predicates)


def _may_raise(predicate: Predicate) -> str | None:
    return None if predicate.commutative else f"{predicate.name}() may raise and is not declared commutative"


def judge_batch(
    batch: pa.RecordBatch, wanted: Integers, predicates: Sequence[Predicate], statistics: FilterStatistics
) -> Answer:
    """What the predicates say of each row: nothing where 0 is `wanted`, all of them where 2 is (the sample).

    Where 1 is wanted, all bits are set if the row passes, none if it is dropped: predicates after that are not asked.
    """
    chain = placed_predicates(predicates)
    outcomes = np.zeros(batch.num_rows, dtype=np.int64)
    sampled = np.flatnonzero(wanted == SAMPLED)
    outcomes[sampled] = _observe(batch.take(pa.array(sampled)), predicates, chain)
    learned = learn(statistics, chain, _histogram(outcomes[sampled]))
    rows, seconds = np.flatnonzero(wanted == ASKED), np.full(len(predicates), np.nan)
    for number in learned.order:
        if len(rows):
            began, asked = time.perf_counter(), len(rows)
            rows = rows[_asked(predicates[number], batch.take(pa.array(rows)))]
            seconds[number] = (time.perf_counter() - began) / asked
    outcomes[rows] = (1 << len(predicates)) - 1
    return Answer(outcomes, learned.with_costs(seconds))


def time_batch(batch: pa.RecordBatch, predicates: Sequence[Predicate]) -> list[float]:
    """Seconds a row of each predicate, on the rows that pass those of earlier segments; NaN if none does."""
    chain, costs = placed_predicates(predicates), []
    for number, predicate in enumerate(predicates):
        guards = [other for other, at in zip(predicates, chain, strict=True) if at.segment < chain[number].segment]
        rows = batch
        for guard in guards:
            rows = rows.filter(pa.array(_asked(guard, rows)))
        began = time.perf_counter()
        if rows.num_rows:
            _asked(predicate, rows)
        costs.append((time.perf_counter() - began) / rows.num_rows if rows.num_rows else float("nan"))
    return costs


def _observe(sample: pa.RecordBatch, predicates: Sequence[Predicate], chain: Sequence[Placed]) -> Integers:
    """Outcomes of the sample's rows; a row that does not pass a segment goes no further."""
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
    return outcomes


def _histogram(outcomes: Integers) -> tuple[Integers, Integers]:
    found, rows = np.unique(outcomes, return_counts=True)
    return found, rows.astype(np.int64)


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
