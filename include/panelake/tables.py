"""Small Delta tables, written from this process: a commit costs milliseconds, not a Spark job.

Ledger, quality results and gold are written this way alone: on a local file system Spark's commit is safe only
within one JVM, while this one is atomic between processes. Large tables (bronze, panes) are Spark's alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from pyarrow import fs

from panelake.errors import PartDownError, TransientError
from panelake.spark.object_store import open_store

Result = TypeVar("Result")
MOST_FILES = 100
_LARGE_FILE = 8 * 1024 * 1024
_ATTEMPTS = 40
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_ONCE = CommitProperties(max_commit_retries=0)


def timestamp_type() -> pa.DataType:
    """Instants are microseconds in UTC in every table."""
    return _TIMESTAMP


def create(
    address: str, schema: pa.Schema, partition_by: list[str] | None = None, statistics: Sequence[str] = ()
) -> None:
    """Create the table if it is not there; two creators at once end with one table.

    Files keep the least and greatest value of the columns in `statistics`; where none is named, of the first 32.
    """
    if DeltaTable.is_deltatable(address):
        return
    kept = {"delta.dataSkippingStatsColumns": ",".join(statistics)} if statistics else None
    try:
        DeltaTable.create(address, schema=schema, mode="ignore", partition_by=partition_by, configuration=kept)
    except CommitFailedError:
        if not DeltaTable.is_deltatable(address):
            raise
    except (DeltaError, OSError) as error:
        raise PartDownError(
            f"{address} cannot be written: {error}; check that the folder exists and is yours"
        ) from None


def exists(address: str) -> bool:
    """Whether a Delta table is there."""
    return bool(DeltaTable.is_deltatable(address))


def open_table(address: str) -> DeltaTable | None:
    """The newest version, or None where no table is."""
    try:
        return DeltaTable(address)
    except TableNotFoundError:
        return None


def dataset(table: DeltaTable) -> ds.FileSystemDataset:
    """The table's rows, to be filtered and read."""
    return table.to_pyarrow_dataset(filesystem=file_system(table))


def file_system(table: DeltaTable) -> fs.FileSystem:
    """The table's folder as Arrow itself reads it.

    Through delta-rs Arrow's threads would call back into Python, and a process that ends just then aborts.
    """
    store, folder = open_store(unquote(table.table_uri))
    return fs.SubTreeFileSystem(folder, store)


def read(
    address: str,
    schema: pa.Schema,
    columns: list[str] | None = None,
    where: Mapping[str, Any] | None = None,
    also: pc.Expression | None = None,
) -> pa.Table:
    """Rows of the newest version whose columns equal the values given, and that meet a condition besides.

    A table that is not there yet has none. Files whose statistics rule their rows out are not read.
    """
    table = open_table(address)
    if table is None:
        return schema.empty_table().select(columns or schema.names)
    return dataset(table).to_table(columns=columns, filter=_all(where or {}, also))


def count(address: str, condition: pc.Expression) -> int:
    """How many rows of the newest version meet the condition."""
    table = open_table(address)
    return 0 if table is None else int(dataset(table).count_rows(filter=condition))


def next_moment(address: str, column: str = "recorded_at") -> datetime:
    """Now, or just after the newest moment recorded there: a clock that was set back must not make the newest old."""
    table, now = open_table(address), datetime.now(UTC)
    files = None if table is None else pa.table(table.get_add_actions(flatten=True))
    if files is None or f"max.{column}" not in files.column_names:
        return now
    newest: datetime | None = pc.max(files[f"max.{column}"]).as_py()
    # Statistics hold whole milliseconds.
    return now if newest is None else max(now, newest.replace(tzinfo=UTC) + timedelta(milliseconds=1))


def _all(values: Mapping[str, Any], also: pc.Expression | None) -> pc.Expression | None:
    conditions = [pc.field(column) == value for column, value in values.items()]
    conditions += [] if also is None else [also]
    return reduce(and_, conditions) if conditions else None


def append(address: str, rows: pa.Table) -> None:
    """Add rows; appends conflict with nothing but the making of the table, by another writer at the same moment."""
    create(address, rows.schema)
    retry_conflicts(lambda: write_deltalake(address, rows, mode="append"), address)
    keep_few_files(address)


def overwrite(table: DeltaTable, rows: pa.Table, predicate: str) -> None:
    """Replace the predicate's rows in one commit, which fails if anybody committed since the table was opened."""
    write_deltalake(table, rows, mode="overwrite", predicate=predicate, commit_properties=_ONCE)


def compare_and_append(address: str, schema: pa.Schema, decide: Callable[[pa.Table], pa.Table | None]) -> None:
    """Append what `decide` makes of the present rows, only if nobody committed in between; else decide again."""
    create(address, schema)

    def commit() -> None:
        table = DeltaTable(address)
        rows = decide(dataset(table).to_table())
        if rows is not None:
            write_deltalake(table, rows, mode="append", commit_properties=_ONCE)

    retry_conflicts(commit, address)
    keep_few_files(address)


def append_while(address: str, rows: pa.Table, condition: pc.Expression, expected: int) -> bool:
    """Append only while as many rows as expected meet the condition, in one commit with that; give whether it did."""
    create(address, rows.schema)

    def commit() -> bool:
        table = DeltaTable(address)
        if dataset(table).count_rows(filter=condition) != expected:
            return False
        write_deltalake(table, rows, mode="append", commit_properties=_ONCE)
        return True

    appended = retry_conflicts(commit, address)
    keep_few_files(address)
    return appended


def keep_few_files(address: str) -> None:
    """Make one file of many small ones: a file costs every reader a millisecond, and each commit adds one.

    Files that have grown large stay as they are, so that a long history is not written again and again.
    """
    table = DeltaTable(address)
    if len(table.file_uris()) >= MOST_FILES:
        with suppress(CommitFailedError):  # another writer was first: the next one will do it
            table.optimize.compact(target_size=_LARGE_FILE)


def retry_conflicts(commit: Callable[[], Result], address: str) -> Result:
    """Try again, with growing pauses, while another writer was first."""
    for attempt in range(_ATTEMPTS):
        try:
            return commit()
        except CommitFailedError:
            time.sleep(random.uniform(0.005, 0.02) * (attempt + 1))  # noqa: S311 - jitter, not a secret
    raise TransientError(f"{address}: {_ATTEMPTS} commits lost against other writers; run again when they are done")


def is_local(address: str) -> bool:
    """Whether an address is a folder of this machine."""
    return "://" not in address or address.startswith("file://")


def require_writable(folder: str) -> None:
    """Refuse early, by name, a warehouse that cannot be written."""
    if not is_local(folder):
        return
    path = Path(folder.removeprefix("file://"))
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        message = (
            f"warehouse {folder} cannot be written ({error.strerror}); make the folder writable or change 'warehouse'"
        )
        raise PartDownError(message) from None
