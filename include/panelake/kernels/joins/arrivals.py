"""Tuples of all streams on their way into a join, in the one order that every join period shares.

Order assumed: (event time, place of the stream in FROM, sequence number), ascending. A NULL key joins nothing: such
tuples are left out by the caller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panelake.kernels.joins.compiled import kernel, part
from panelake.kernels.joins.join_spec import MOST_STREAMS

Integers = NDArray[np.int64]


class Arrivals(NamedTuple):
    """Event time, stream (0 is the first of FROM), key code and the number by which a result names the tuple."""

    ts: Integers
    stream: Integers
    key: Integers
    id: Integers

    def rows(self, piece: slice) -> Arrivals:
        """Some of the rows, without copying."""
        return Arrivals(*(column[piece] for column in self))


class Matches(NamedTuple):
    """Results, one a column: `ids[i]` are the tuples of stream i, `window_end` the end of the window they share."""

    ids: Integers
    window_end: Integers


def arrivals(ts: ArrayLike, stream: ArrayLike, key: ArrayLike, id: ArrayLike) -> Arrivals:  # noqa: A002 - its name
    """Columns as the kernels take them: 64-bit integers, contiguous, equally long."""
    columns = [np.ascontiguousarray(column, dtype=np.int64) for column in (ts, stream, key, id)]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        raise ValueError(f"columns must be equally long; got shapes {[column.shape for column in columns]}")
    return Arrivals(*columns)


def check_order(batch: Arrivals, streams: int, last_ts: int, last_stream: int) -> None:
    """Refuse rows out of order, within the batch or after what came before, and streams that do not exist."""
    row = _first_wrong(batch, streams, last_ts, last_stream)
    if row >= 0:
        raise ValueError(
            f"arrivals must ascend by (event time, stream) with streams 0 … {streams - 1}; row {row} is "
            f"({batch.ts[row]}, {batch.stream[row]}) after "
            f"{(int(batch.ts[row - 1]), int(batch.stream[row - 1])) if row else (last_ts, last_stream)}"
        )


@part
def stream_of(batch: Arrivals, row: int) -> int:
    """A row's stream, of which the compiler knows that it counts from the first."""
    return int(batch.stream[row] & (MOST_STREAMS - 1))


@kernel
def _first_wrong(batch: Arrivals, streams: int, last_ts: int, last_stream: int) -> int:
    for row in range(len(batch.ts)):
        ts, stream = batch.ts[row], batch.stream[row]
        if stream < 0 or stream >= streams or ts < last_ts or (ts == last_ts and stream < last_stream):
            return row
        last_ts, last_stream = ts, stream
    return -1
