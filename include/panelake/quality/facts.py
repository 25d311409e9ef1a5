"""Facts: what all default rules need to know of a slice's tables, brought here by one Spark job.

Each part is a small frame of its own columns; parts are laid one under another, each column belonging to one part,
so that any number of them is still one job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.spark.balanced import balanced

Name = TypeVar("Name")
_PART = "_part"
_BETWEEN = "/"


def collected(parts: Mapping[Name, DataFrame]) -> dict[Name, pa.Table]:
    """The rows of each part, all from one job."""
    if not parts:
        return {}
    frames = [_labelled(frame, number) for number, frame in enumerate(parts.values())]
    rows = balanced(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames).toArrow()
    return {name: _unlabelled(rows, number) for number, name in enumerate(parts)}


def _labelled(frame: DataFrame, part: int) -> DataFrame:
    columns = [F.col(f"`{name}`").alias(f"{part}{_BETWEEN}{name}") for name in frame.columns]
    return frame.select(F.lit(part).alias(_PART), *columns)


def _unlabelled(rows: pa.Table, part: int) -> pa.Table:
    prefix = f"{part}{_BETWEEN}"
    names = [name for name in rows.column_names if name.startswith(prefix)]
    mine = rows.filter(pc.equal(rows[_PART], part)).select(names)
    return mine.rename_columns([name.removeprefix(prefix) for name in names])
