"""Many columns or frames as one, in a tree that is never deep: a chain of fifty is more than a client may send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import or_
from typing import TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

Item = TypeVar("Item")


def balanced(combine: Callable[[Item, Item], Item], items: Sequence[Item]) -> Item:
    """All items combined in their order, neighbours first; at least one must be given."""
    while len(items) > 1:
        pairs = [combine(*items[at : at + 2]) for at in range(0, len(items) - 1, 2)]
        items = [*pairs, *items[len(pairs) * 2 :]]
    return items[0]


def any_of(conditions: Sequence[Column]) -> Column:
    """Whether one of the conditions holds; none does where there are none."""
    return balanced(or_, conditions) if conditions else F.lit(False)  # noqa: FBT003 - Spark's signature
