"""Vacuum: files that no version younger than `retention.versions` names are deleted, orphans of broken writes too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable
from pyarrow import fs

from panelake.context import Context
from panelake.durations import HOUR
from panelake.maintenance.step import Step
from panelake.maintenance.warehouse import LARGE, large_tables, small_tables
from panelake.spark.delta import table_name
from panelake.spark.object_store import open_store

_SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # A table's folders are listed in so many tasks: the default of 10,000 costs a minute, whatever is there.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}


def vacuums(context: Context, versions: int | None = None) -> Iterator[Step]:
    """Every table that has files older than its versions are kept; `versions` instead of what streams.yaml says."""
    kept = context.workspace.retention.versions if versions is None else versions
    hours = -(-kept // HOUR)
    for name, address in [*large_tables(context), *small_tables(context)]:
        files = _there(address, _unreferenced(address, hours, dry_run=True))
        if files:
            do = partial(_vacuum, context, name, address, hours)
            told = f"{files} files of versions older than {hours} h"
            yield Step("vacuum", name, told, do, facts={"files": files})


def _vacuum(context: Context, name: str, address: str, hours: int) -> dict[str, Any]:
    if name.split("/", maxsplit=1)[0] in LARGE:
        _by_spark(context, address, hours)
    else:
        _unreferenced(address, hours, dry_run=False)
    return {}


def _unreferenced(address: str, hours: int, *, dry_run: bool) -> list[str]:
    """What can go; a file younger than the versions kept stays, since a write may be under way."""
    return list(DeltaTable(address).vacuum(hours, dry_run=dry_run, enforce_retention_duration=False, full=True))


def _there(address: str, files: list[str]) -> int:
    """How many are not deleted yet: the log names deleted files for long; checksums, which are hidden, are no data."""
    store, root = open_store(address)
    paths = [f"{root}/{unquote(file)}" for file in files if not PurePosixPath(file).name.startswith(".")]
    return sum(info.type == fs.FileType.File for info in store.get_file_info(paths))


def _by_spark(context: Context, address: str, hours: int) -> None:
    """Spark's tables are Spark's to commit to."""
    for name, value in _SETTINGS.items():
        context.spark.conf.set(name, value)
    try:
        context.spark.sql(f"VACUUM {table_name(address)} RETAIN {int(hours)} HOURS").collect()
    finally:
        for name in _SETTINGS:
            context.spark.conf.unset(name)
