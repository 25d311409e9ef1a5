"""Compaction: many small files of a table become few, in days that are over; no row changes.

A slice run again in such a day may meet it: both are Delta commits, and the one that comes second is tried again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyspark.errors import PySparkException

from panelake.context import Context
from panelake.maintenance.step import Step
from panelake.maintenance.warehouse import large_tables, small_tables
from panelake.slices import to_datetime
from panelake.spark.delta import DATE, SLICE, table_name

FILE_BYTES = 128 << 20
_FILES_KEPT = 8  # a day of so few files is left as it is
_SMALL_FILES = 10
_LIMIT = "spark.databricks.delta.optimize.maxFileSize"


def compactions(context: Context) -> Iterator[Step]:
    """Every table, and of large ones every day that is over, with more files than its bytes need."""
    newest = max((part.start for part in context.ledger.done("ingest")), default=None)
    if newest is None:
        return
    today = to_datetime(newest).date()
    for name, address in large_tables(context):
        for day, files in _crowded_days(address, today):
            do = partial(_optimize, context, address, day)
            yield Step("compact", name, f"{files} files of {day}", do, alone=False, facts={"files": files})
    for name, address in small_tables(context):
        files = len(DeltaTable(address).file_uris())
        if files > _SMALL_FILES:
            yield Step(
                "compact", name, f"{files} files", partial(_gather, address), alone=False, facts={"files": files}
            )


def _crowded_days(address: str, today: date) -> Iterator[tuple[date, int]]:
    table = DeltaTable(address)
    files = pa.table(table.get_add_actions(flatten=True))
    if not files.num_rows or f"partition.{DATE}" not in files.column_names:
        return
    days = files.group_by(f"partition.{DATE}").aggregate([("size_bytes", "sum"), ("size_bytes", "count")]).to_pylist()
    for day in sorted(days, key=lambda one: one[f"partition.{DATE}"]):
        wanted = max(_FILES_KEPT, 2 * -(-day["size_bytes_sum"] // FILE_BYTES))
        if day[f"partition.{DATE}"] < today and day["size_bytes_count"] > wanted:
            yield day[f"partition.{DATE}"], day["size_bytes_count"]


def _optimize(context: Context, address: str, day: date) -> dict[str, Any]:
    """One day in order of slices, so that a slice still lies in few files."""
    spark = context.spark
    spark.conf.set(_LIMIT, str(FILE_BYTES))
    try:
        spark.sql(f"OPTIMIZE {table_name(address)} WHERE {DATE} = DATE '{day:%Y-%m-%d}' ZORDER BY ({SLICE})").collect()
    except PySparkException as error:
        if "DELTA_CONCURRENT" not in str(error):
            raise
        return {"skipped": "a run wrote to that day meanwhile; the next maintenance does it"}
    finally:
        spark.conf.unset(_LIMIT)
    return {}


def _gather(address: str) -> dict[str, Any]:
    try:
        DeltaTable(address).optimize.compact()
    except CommitFailedError:
        return {"skipped": "a run wrote to it meanwhile; the next maintenance does it"}
    return {}
