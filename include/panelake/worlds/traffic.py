"""The traffic world: cars report their speed in six areas, `<area_id, car_id, speed, ts>`.

Each area has its own free speed, a slow wave of congestion and noise; now and then a sensor reports no car.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

AREAS = 6
CARS = 20_000
_CHUNK = 250_000
_SECOND = 1_000_000
_WAVE_SECONDS = 1_800
_UNKNOWN_CAR_SHARE = 0.002
SCHEMA = pa.schema([
    ("area_id", pa.int32()),
    ("car_id", pa.int32()),
    ("speed", pa.float64()),
    ("ts", pa.timestamp("us", tz="UTC")),
])  # fmt: skip


def batches(tuples: int, rate: float, seed: int, start: int) -> Iterator[pa.Table]:
    """The world's tuples in event-time order, in tables of at most 250,000; `start` is microseconds."""
    generator = np.random.default_rng(seed)
    for first in range(0, tuples, _CHUNK):
        index = np.arange(first, min(first + _CHUNK, tuples))
        yield _table(generator, index, rate, start)


def _table(generator: np.random.Generator, index: np.ndarray, rate: float, start: int) -> pa.Table:
    gap = _SECOND / rate
    offset = (index * gap + generator.uniform(0, gap, len(index))).astype(np.int64)
    area = generator.integers(0, AREAS, len(index))
    car = generator.integers(0, CARS, len(index))
    columns = [
        pa.array(area, pa.int32()),
        pa.array(car, pa.int32(), mask=generator.random(len(index)) < _UNKNOWN_CAR_SHARE),
        pa.array(_speeds(generator, area, offset)),
        pa.array(start + offset, pa.timestamp("us", tz="UTC")),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _speeds(generator: np.random.Generator, area: np.ndarray, offset: np.ndarray) -> np.ndarray:
    phase = 2 * np.pi * (offset / _SECOND / _WAVE_SECONDS + area / AREAS)
    free = 60.0 + 8.0 * area
    return np.round(np.maximum(0.0, free + 22.0 * np.sin(phase) + generator.normal(0, 9, len(area))), 1)
