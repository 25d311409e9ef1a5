"""The ingest benchmark's files: one hour of traffic as Parquet in time order, Parquet shuffled, and JSON lines."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panelake.slices import Slice

_SECOND = 1_000_000
_START = 1_767_225_600 * _SECOND
_PER_FILE = 1_250_000
HOUR = Slice(_START, _START + 3_600 * _SECOND)
COLUMNS = {"area_id": "int", "car_id": "int", "speed": "double", "ts": "timestamp"}
IN_ORDER, SHUFFLED, JSON = "parquet_in_order", "parquet_shuffled", "json"


def make(root: Path, tuples: int, kind: str) -> Path:
    """The files of one kind, written unless they are there from before; never more than one file in memory."""
    target = root / f"ingest-{kind}-{tuples}"
    if (target / ".done").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    generator = np.random.default_rng(1)
    for number, first in enumerate(range(0, tuples, _PER_FILE)):
        count = min(_PER_FILE, tuples - first)
        low, high = (0, tuples) if kind == SHUFFLED else (first, first + count)
        moments = generator.integers(low * 3_600 * _SECOND // tuples, high * 3_600 * _SECOND // tuples, count)
        times = _START + (moments if kind == SHUFFLED else np.sort(moments))
        _write(_table(generator, times), target / f"{number:05d}", kind)
    (target / ".done").touch()
    return target


def _table(generator: np.random.Generator, times: np.ndarray) -> pa.Table:
    values = {
        "area_id": pa.array(generator.integers(0, 6, len(times)), pa.int32()),
        "car_id": pa.array(generator.integers(0, 20_000, len(times)), pa.int32()),
        "speed": pa.array(np.round(generator.uniform(0, 90, len(times)), 1)),
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
    }
    return pa.table(values)


def _write(rows: pa.Table, path: Path, kind: str) -> None:
    if kind != JSON:
        pq.write_table(rows, path.with_suffix(".parquet"))
        return
    stamps = np.datetime_as_string(rows["ts"].to_numpy(), unit="us")
    columns = (rows[name].to_pylist() for name in ("area_id", "car_id", "speed"))
    with path.with_suffix(".json").open("w") as file:
        for area, car, speed, stamp in zip(*columns, stamps, strict=True):
            file.write(f'{{"area_id":{area},"car_id":{car},"speed":{speed},"ts":"{stamp}Z"}}\n')
