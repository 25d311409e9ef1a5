"""Conditions joined by AND, as Spark evaluates them: first to last, up to the first that is not TRUE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention


def conjunction(conditions: Sequence[str]) -> Column:
    """Checked Spark SQL conditions as one, TRUE where there are none."""
    return reduce(and_, (F.expr(condition) for condition in conditions)) if conditions else F.lit(True)  # noqa: FBT003
