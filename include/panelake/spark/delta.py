"""Slice-wise writes of large Delta tables by Spark.

A slice is replaced whole by `replaceWhere`: written twice, in any order, it gives the same table. A transaction
version per slice would be cheaper and silently drops backfills (a version below the last one is skipped).
Tables are partitioned by the date of the slice's start; `_slice` is a data column with statistics, so that there is
no folder a slice, and range reads skip files.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import to_arrow_schema

from panelake import tables
from panelake.errors import TransientError
from panelake.slices import Slice, merged, to_datetime

DATE = "_date"
SLICE = "_slice"
_ATTEMPTS = 12
_CONFLICTS = ("DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "ConcurrentAppendException")


def with_slice_columns(frame: DataFrame, part: Slice) -> DataFrame:
    """Stamp a frame with the slice it belongs to."""
    start = to_datetime(part.start)
    return frame.withColumn(SLICE, F.lit(start)).withColumn(DATE, F.lit(start.date()))


def replace_slice(frame: DataFrame, address: str, part: Slice, statistics: Sequence[str] = ()) -> None:
    """Replace one slice of the table by the frame, in one commit; conflicts with other slices are tried again.

    A table that is not there yet keeps `statistics` of these columns alone, if any are named.
    """
    stamped = with_slice_columns(frame, part)
    tables.create(address, arrow_schema(stamped), partition_by=[DATE], statistics=statistics)
    writer = stamped.write.format("delta").mode("overwrite").option("replaceWhere", slice_predicate(part))
    writer = writer.option("mergeSchema", "true")
    _retry(lambda: writer.save(address), address)


def replace_counted(frame: DataFrame, address: str, part: Slice, statistics: Sequence[str] = ()) -> int:
    """Replace the slice, and give the number of rows Spark wrote, as it counted them while writing."""
    seen = Observation()
    replace_slice(frame.observe(seen, F.count(F.lit(1)).alias("rows")), address, part, statistics)
    return int(seen.get["rows"])


def slice_predicate(part: Slice) -> str:
    """The slice's rows as a condition: instants formatted from integers, nothing of a user's."""
    start = to_datetime(part.start)
    return f"{DATE} = DATE '{start:%Y-%m-%d}' AND {SLICE} = TIMESTAMP '{start:%Y-%m-%d %H:%M:%S.%f}+00:00'"


def delete_slices(spark: SparkSession, address: str, parts: Sequence[Slice]) -> None:
    """Delete the rows of the slices in one commit; a table that is not there has none."""
    if parts and tables.exists(address):
        spans = " OR ".join(_span_predicate(span) for span in merged(parts))
        deletion = f"DELETE FROM {table_name(address)} WHERE {spans}"  # noqa: S608 - formatted from integers
        _retry(lambda: spark.sql(deletion).collect(), address)


def _span_predicate(span: Slice) -> str:
    """Rows of slices that start in the span; its date bounds let files be skipped."""
    low, high = to_datetime(span.start), to_datetime(span.end - 1)
    days = f"{DATE} >= DATE '{low:%Y-%m-%d}' AND {DATE} <= DATE '{high:%Y-%m-%d}'"
    bounds = (f"TIMESTAMP '{to_datetime(at):%Y-%m-%d %H:%M:%S.%f}+00:00'" for at in (span.start, span.end))
    return f"({days} AND {SLICE} >= {next(bounds)} AND {SLICE} < {next(bounds)})"


def table_name(address: str) -> str:
    """A table as SQL names it by its place."""
    return f"delta.`{address.replace('`', '``')}`"


def read_slices(spark: SparkSession, address: str, start: int, end: int) -> DataFrame:
    """The rows of all slices that start in [start, end)."""
    low, high = to_datetime(start), to_datetime(end)
    in_range = (F.col(SLICE) >= F.lit(low)) & (F.col(SLICE) < F.lit(high))
    in_days = (F.col(DATE) >= F.lit(low.date())) & (F.col(DATE) <= F.lit(high.date()))
    return spark.read.format("delta").load(address).where(in_days & in_range)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The frame's schema with instants as UTC, all columns nullable as Delta's readers expect."""
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    return pa.schema([field.with_nullable(True) for field in schema])  # noqa: FBT003 - pyarrow's signature


def _retry(write: Callable[[], object], address: str) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            write()
        except PySparkException as error:
            if not any(name in str(error) for name in _CONFLICTS):
                raise
            time.sleep(random.uniform(0.1, 0.4) * (attempt + 1))  # noqa: S311 - jitter, not a secret
        else:
            return
    raise TransientError(f"{address}: {_ATTEMPTS} writes lost against other writers; run again when they are done")
