"""More columns and frames than a chain may have."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.spark.balanced import any_of, balanced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@given(st.lists(st.text(max_size=3), min_size=1))
def test_items_are_combined_in_their_order(items: list[str]) -> None:
    assert balanced(lambda one, other: one + other, items) == "".join(items)


@given(st.integers(1, 1000))
def test_the_tree_is_never_deep(count: int) -> None:
    depth = balanced(lambda one, other: max(one, other) + 1, [0] * count)
    assert depth == (count - 1).bit_length()
    assert depth <= reduce(lambda one, other: max(one, other) + 1, [0] * count)


@pytest.mark.spark
def test_spark_takes_two_hundred_conditions_and_a_hundred_frames(spark: SparkSession) -> None:
    numbers = spark.range(1000)
    even = any_of([numbers["id"] == at for at in range(0, 400, 2)])
    frames = balanced(lambda one, other: one.union(other), [numbers.where(even)] * 100)
    assert frames.count() == 200 * 100
    assert numbers.where(any_of([])).count() == 0
