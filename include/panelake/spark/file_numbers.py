"""File names as small numbers while tuples are moved and sorted: a name is longer than most tuples.

A number is the name's place among all names in order, so that tuples sort by either alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention


def checked(file: Column, name: str, number: int) -> Column:
    """The number of the one name that all tuples of a frame have; another is an error."""
    return F.when(file == name, F.lit(number)).otherwise(_moved())


def by_partition(file: Column, files: Mapping[int, str], names: Sequence[str]) -> Column:
    """The number of the name that all tuples of a partition have; another name than expected is an error."""
    numbers = {name: index for index, name in enumerate(names)}
    expected = at_partition({partition: F.lit(name) for partition, name in files.items()}, F.lit(""))
    number = at_partition({partition: F.lit(numbers[name]) for partition, name in files.items()}, F.lit(-1))
    return F.when(file == expected, number).otherwise(_moved())


def name_of(number: Column, names: Sequence[str]) -> Column:
    """The name of a number."""
    return F.element_at(F.array(*[F.lit(name) for name in names]), number + 1)


def at_partition(values: Mapping[int, Column], otherwise: Column) -> Column:
    """The value of the partition a tuple is in."""
    table = [values.get(index, otherwise) for index in range(1 + max(values))]
    return F.element_at(F.array(*table), F.spark_partition_id() + 1)


def _moved() -> Column:
    return F.raise_error(F.lit("the files were cut into other parts than before; run the slice again")).cast("int")
