"""What a condition costs a tuple, in seconds, measured inside Spark's generated code, tuple by tuple.

Each sampled tuple is given to each condition once, between two readings of the JVM's clock, and once to none, which
tells what the readings cost themselves. The slowest tenth is left out: there the thread was stopped, or its code not
yet compiled. A machine busy with other work hardly changes the rest, as it would a difference of whole runs.
A condition behind a border (raising.py) is measured on the tuples that reach it.
The readings are columns, so that whoever has a sample in hand asks for them in the same job.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.filters.chain import Placed

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

# The clock does not tell shorter times apart.
LEAST = 5e-9
_FEWEST = 20
_SLOWEST = 0.1
_CLOCK = "_clock"
_TRUE = True


def measure_costs(sample: DataFrame, chain: Sequence[Placed]) -> Doubles:
    """Seconds a tuple of each condition; NaN for one that hardly any sampled tuple reaches. One job."""
    return costs_of(sample.select(*clocked(chain)).toArrow(), len(chain))


def clocked(chain: Sequence[Placed], conditions: Sequence[Column] | None = None, prefix: str = _CLOCK) -> list[Column]:
    """The clock's readings around each condition, and around none, for each tuple of a sample.

    Conditions are what the chain says they are, unless given as columns.
    """
    told = conditions if conditions is not None else [F.expr(placed.condition) for placed in chain]
    timed = [_reached(chain, told, number) for number in range(len(chain))] + [_timed(F.lit(_TRUE))]
    return [_apart(column).alias(f"{prefix}{number}") for number, column in enumerate(timed)]


def costs_of(readings: pa.Table, filters: int, prefix: str = _CLOCK) -> Doubles:
    """Seconds a tuple of each condition, from the readings of a sample."""
    typical = [_typical(_took(readings[f"{prefix}{number}"])) for number in range(filters + 1)]
    return np.maximum(LEAST, np.array(typical[:-1]) - typical[-1])


def _took(readings: pa.ChunkedArray) -> Integers:
    clock = readings.drop_null().combine_chunks()
    took: Integers = clock.field("after").to_numpy() - clock.field("before").to_numpy()
    return took


def _apart(timed: Column) -> Column:
    """Spark evaluates ahead what several columns have in common, but nothing that stands below a condition."""
    return F.when(F.monotonically_increasing_id() >= 0, timed)


def _reached(chain: Sequence[Placed], conditions: Sequence[Column], number: int) -> Column:
    """The condition timed, for tuples that pass all earlier segments."""
    timed = _timed(conditions[number])
    own = chain[number].segment
    guards = [guard for guard, placed in zip(conditions, chain, strict=True) if placed.segment < own]
    return F.when(reduce(and_, guards), timed) if guards else timed


def _timed(value: Column) -> Column:
    """A struct is filled from left to right; the value is kept in it, or it would not be computed."""
    return F.struct(_clock().alias("before"), value.alias("value"), _clock().alias("after"))


def _clock() -> Column:
    return F.java_method(F.lit("java.lang.System"), F.lit("nanoTime")).cast("bigint")


def _typical(nanoseconds: Integers) -> float:
    if len(nanoseconds) < _FEWEST:
        return float("nan")
    fast = np.sort(nanoseconds)[: int(len(nanoseconds) * (1 - _SLOWEST))]
    return float(fast.mean()) * 1e-9
