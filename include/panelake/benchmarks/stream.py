"""The benchmark's stream: one hour of traffic in any number of groups, numbered, as Parquet files made once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HOUR_SECONDS = 3_600
_SECOND = 1_000_000
_PER_FILE = 1_000_000
SCHEMA = pa.schema([
    ("area_id", pa.int32()), ("car_id", pa.int32()), ("speed", pa.float64()),
    ("ts", pa.timestamp("us", tz="UTC")), ("_seq", pa.int64()),
])  # fmt: skip


@dataclass(frozen=True)
class Stream:
    """A folder of files, the number of tuples in them and of groups among these."""

    folder: Path
    tuples: int
    groups: int

    @property
    def files(self) -> str:
        return f"{self.folder}/*.parquet"


def make(root: Path, tuples: int, groups: int, seed: int = 1) -> Stream:
    """The stream, written unless it is there from before."""
    folder = root / f"traffic-{tuples}-{groups}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng(seed)
        for number, first in enumerate(range(0, tuples, _PER_FILE)):
            index = np.arange(first, min(first + _PER_FILE, tuples))
            pq.write_table(_table(generator, index, tuples, groups), folder / f"{number:04}.parquet")
        (folder / "done").touch()
    return Stream(folder, tuples, groups)


def _table(generator: np.random.Generator, index: np.ndarray, tuples: int, groups: int) -> pa.Table:
    gap = HOUR_SECONDS * _SECOND / tuples
    columns = [
        pa.array(generator.integers(0, groups, len(index)), pa.int32()),
        pa.array(generator.integers(0, 20_000, len(index)), pa.int32()),
        pa.array(np.round(generator.normal(60, 15, len(index)), 1)),
        pa.array((index * gap).astype(np.int64), pa.timestamp("us", tz="UTC")),
        pa.array(index),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
