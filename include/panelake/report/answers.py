"""The newest answers of a query, read without reading its history: file statistics say where they are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from panelake import tables
from panelake.gold import END, REVISION, SLICE, START
from panelake.language.query import AggregateQuery, JoinQuery

_LEAST, _GREATEST = f"min.{END}", f"max.{END}"
AROUND = (START, END, SLICE, REVISION)


def newest_rows(address: str, query: AggregateQuery | JoinQuery, last: int) -> pa.Table | None:
    """The newest `last` rows, newest window first, groups in order within it; None where nothing is published.

    Columns come in the query's order: the window, its keys, what it selects.
    """
    table = tables.open_table(address)
    rows = None if table is None else _of_newest_files(table, last)
    if rows is None or not rows.num_rows:
        return None
    keys = [key.alias for key in query.keys if key.alias in rows.column_names]
    newest = rows.sort_by([(END, "descending"), *((key, "ascending") for key in keys)]).slice(0, last)
    return newest.select(_in_order(rows.column_names, [START, END, *keys, *(one.alias for one in query.outputs)]))


def _in_order(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The names that are there, those wanted first; a changed query's gold may still lack some."""
    first = [name for name in wanted if name in names]
    return [*first, *(name for name in names if name not in first)]


def _of_newest_files(table: DeltaTable, wanted: int) -> pa.Table:
    """All rows from the window end on that the newest files, taken one by one, need to hold `wanted` rows.

    Those files alone are opened: a dataset over a long history's files would take seconds to make.
    """
    files = pa.table(table.get_add_actions(flatten=True)).select(["path", "num_records", _LEAST, _GREATEST])
    newest_first = files.sort_by([(_LEAST, "descending")])
    held = pc.cumulative_sum(newest_first["num_records"])
    enough = min(pc.sum(pc.less(held, wanted)).as_py() or 0, files.num_rows - 1)
    if enough < 0:
        return pa.schema(table.schema().to_arrow()).empty_table()
    since = newest_first[_LEAST][enough]
    # Statistics cut instants to the millisecond, but `since` is one of them: what lies after it still does when cut.
    paths = files.filter(pc.greater_equal(files[_GREATEST], since))["path"].to_pylist()
    return _rows_of(table, paths).filter(pc.field(END) >= since)


def _rows_of(table: DeltaTable, paths: Sequence[str]) -> pa.Table:
    store = tables.file_system(table)
    files = ds.dataset(list(paths), schema=pa.schema(table.schema().to_arrow()), filesystem=store, format="parquet")
    return files.to_table()


def value_columns(schema: pa.Schema, keys: Sequence[str]) -> list[str]:
    """The query's own columns that hold numbers."""
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    own = [field for field in schema if field.name not in {*AROUND, *keys}]
    return [field.name for field in own if any(test(field.type) for test in numeric)]
