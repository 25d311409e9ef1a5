"""The packets world: routers R1, R2, R3 report `<pid, bytes, ts>`; a packet's id is its own for ever.

Most packets cross all three, R1→R2→R3 or R3→R2→R1, a hop taking some tenths of a second; the others are seen by R2
alone, or by R1 and R3 but never by R2. So where a packet is seen first tells whether it will be seen by all: that is
the arrival order which shedding learns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers = NDArray[np.int64]

ROUTERS = ("r1", "r2", "r3")
_PATHS = ((0, 1, 2), (2, 1, 0), (1,), (0, 2))
_SHARES = (0.4, 0.3, 0.2, 0.1)
_PACKETS_AT_ONCE = 100_000
_SECOND = 1_000_000
_HOP_SECONDS = 0.3
_BYTES = (40, 1_500)
SCHEMA = pa.schema([("pid", pa.int64()), ("bytes", pa.int32()), ("ts", pa.timestamp("us", tz="UTC"))])


class _Sightings(NamedTuple):
    """One row for each router that sees a packet."""

    ts: Integers
    router: Integers
    pid: Integers
    size: Integers


def batches(tuples: int, rate: float, seed: int, start: int) -> Iterator[tuple[str, pa.Table]]:
    """The routers' tuples, each router's in event-time order; `start` is microseconds."""
    generator = np.random.default_rng(seed)
    gap = _SECOND / rate * sum(share * len(path) for share, path in zip(_SHARES, _PATHS, strict=True))
    waiting = _Sightings(*np.empty((4, 0), dtype=np.int64))
    left, first = tuples, 0
    while left:
        sent = np.arange(first, first + min(left, _PACKETS_AT_ONCE))
        first += len(sent)
        seen = _sorted(waiting, _crossing(generator, sent, start + (sent * gap).astype(np.int64)))
        due = min(left, int(np.searchsorted(seen.ts, start + int(first * gap))))
        yield from _by_router(_rows(seen, slice(due)))
        waiting = _rows(seen, slice(due, None))
        left -= due


def _crossing(generator: np.random.Generator, pid: Integers, sent: Integers) -> _Sightings:
    size = generator.integers(*_BYTES, len(pid), endpoint=True)
    kind = generator.choice(len(_PATHS), len(pid), p=_SHARES)
    hops = generator.exponential(_HOP_SECONDS * _SECOND, (len(pid), len(ROUTERS))).astype(np.int64)
    times = sent[:, None] + np.cumsum(hops, axis=1)
    parts = [
        _Sightings(times[kind == number, hop], np.full(count, router), pid[kind == number], size[kind == number])
        for number, path in enumerate(_PATHS)
        for count in [int((kind == number).sum())]
        for hop, router in enumerate(path)
    ]
    return _joined(parts)


def _joined(parts: list[_Sightings]) -> _Sightings:
    return _Sightings(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _sorted(*parts: _Sightings) -> _Sightings:
    seen = _joined(list(parts))
    return _rows(seen, np.lexsort((seen.router, seen.ts)))


def _rows(seen: _Sightings, which: slice | Integers) -> _Sightings:
    return _Sightings(*(column[which] for column in seen))


def _by_router(seen: _Sightings) -> Iterator[tuple[str, pa.Table]]:
    for number, router in enumerate(ROUTERS):
        mine = _rows(seen, np.flatnonzero(seen.router == number))
        if len(mine.ts):
            columns = [pa.array(mine.pid), pa.array(mine.size, pa.int32()), pa.array(mine.ts, SCHEMA.field("ts").type)]
            yield router, pa.Table.from_arrays(columns, schema=SCHEMA)
