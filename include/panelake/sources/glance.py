"""What a file's event times alone tell, before Spark reads a tuple: how many a slice takes, and whether in order.

One column of a Parquet file is read here, a batch at a time: ten million times take a tenth of a second and never more
memory than one row group's column. Where no rule can ask for more than the time, that is all that counting needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from panelake.slices import Slice
from panelake.sources.files import SourceFile
from panelake.spark.numbering import bucket_width

Times = NDArray[np.int64]
_BATCH = 1 << 18


@dataclass(frozen=True)
class Glance:
    """The slice's tuples in one file: their number by time bucket, and rows [row, …) where they `ascend`."""

    file: SourceFile
    row: int
    low: int
    high: int
    ascends: bool
    histogram: Counter[int]

    @property
    def count(self) -> int:
        return self.histogram.total()


def glance(
    file: SourceFile,
    parquet: pq.ParquetFile,
    name: str,
    part: Slice,
    *,
    late: Sequence[Slice] = (),
    elsewhere: Container[int] = (),
    takes_all: bool = False,
) -> Glance | None:
    """The slice's tuples of a file; None where one has no time, is late, or lies outside of a slice that takes all.

    Row groups `elsewhere` are known to hold other slices' tuples alone.
    """
    width = bucket_width(part.start, part.end)
    counts = np.zeros(-(-(part.end - part.start) // width), np.int64)
    row, low, high, before, ascends = -1, part.end, part.start, part.start, True
    for first, times in _batches(parquet, name, elsewhere):
        if times is None or any(_between(times, span).any() for span in late):
            return None
        inside = _between(times, part)
        own = times[inside]
        if takes_all and len(own) < len(times):
            return None
        if not len(own):
            continue
        places = np.flatnonzero(inside)
        is_run = places[-1] - places[0] + 1 == len(own) and (row < 0 or row + counts.sum() == first + places[0])
        ascends &= bool(is_run and own[0] >= before and (own[1:] >= own[:-1]).all())
        row, before = (int(first + places[0]) if row < 0 else row), int(own[-1])
        low, high = min(low, int(own.min())), max(high, int(own.max()))
        counts += np.bincount((own - part.start) // width, minlength=len(counts))
    filled = Counter({part.start + int(index) * width: int(counts[index]) for index in np.flatnonzero(counts)})
    return Glance(file, max(row, 0), low, high, ascends, filled)


def _between(times: Times, part: Slice) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (times >= part.start) & (times < part.end)
    return inside


def _batches(parquet: pq.ParquetFile, name: str, elsewhere: Container[int]) -> Iterator[tuple[int, Times | None]]:
    """The place of a batch's first row, and its times in microseconds: None where one is missing."""
    first = 0
    for group in range(parquet.metadata.num_row_groups):
        place = first
        first += parquet.metadata.row_group(group).num_rows
        if group in elsewhere:
            continue
        for batch in parquet.iter_batches(batch_size=_BATCH, row_groups=[group], columns=[name]):
            yield place, _microseconds(batch.column(0))
            place += batch.num_rows


def _microseconds(column: pa.Array) -> Times | None:
    if column.null_count:
        return None
    times: Times = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_numpy()
    return times
