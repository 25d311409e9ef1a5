"""The soak's sender: traffic of one slice after another as Parquet files, made in a process of its own.

Every slice has the same tuples at its own times: what they are costs nothing then, and no slice is dearer than another.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from panelake.worlds import traffic

_SECOND = 1_000_000


def write(folder: Path, start: int, length: int, tuples: int) -> Path:
    """Write the slice's file under a hidden name; give that: it lands when it gets its own."""
    table = _tuples(tuples, length)
    times = pc.add(table["ts"].cast(pa.int64()), start).cast(traffic.SCHEMA.field("ts").type)
    hidden = folder / f".{start}.parquet"
    pq.write_table(table.set_column(table.schema.get_field_index("ts"), "ts", times), hidden)
    return hidden


def land(hidden: Path) -> Path:
    """Give the file its name, by which sources see it."""
    return hidden.rename(hidden.with_name(hidden.name.removeprefix(".")))


@cache
def _tuples(tuples: int, length: int) -> pa.Table:
    """One slice's tuples, counted from its start; none is later than its end."""
    rate = (tuples + 1) * _SECOND / length
    return pa.concat_tables(traffic.batches(tuples, rate, 1, 0)).combine_chunks()
