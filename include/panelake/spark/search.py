"""Search in sorted values inside a Spark expression."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention


def place_among(value: Column, starts: Sequence[int] | Sequence[str]) -> Column:
    """The index of the last of the sorted starts that is not above the value (0 below all), by halving."""
    return _halved(value, starts, 0, len(starts))


def _halved(value: Column, starts: Sequence[int] | Sequence[str], low: int, high: int) -> Column:
    if high - low == 1:
        return F.lit(low)
    middle = (low + high) // 2
    return F.when(value < starts[middle], _halved(value, starts, low, middle)).otherwise(
        _halved(value, starts, middle, high)
    )
