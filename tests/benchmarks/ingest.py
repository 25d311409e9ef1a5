"""Ingest against a plain read and write of the same files by Spark, side by side on one warm server.

    python tests/benchmarks/ingest.py [--tuples 10000000] [--repeats 2] [--data DIR] [--master sc://…]

Prints one JSON document: seconds of both, their ratio and the target, for Parquet in time order, Parquet shuffled and
JSON lines. Ours numbers, checks and counts every tuple; plain Spark is given the schema and writes what it reads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panelake.cli import print_json
from panelake.context import Context
from panelake.flow import stage_named
from panelake.home import home
from panelake.runner import run_stage
from panelake.slices import Slice
from panelake.workspace import load_workspace

SECOND = 1_000_000
START = 1_767_225_600 * SECOND
HOUR = Slice(START, START + 3_600 * SECOND)
PER_FILE = 1_250_000
COLUMNS = {"area_id": "int", "car_id": "int", "speed": "double", "ts": "timestamp"}
TARGETS = {"parquet_in_order": 2.0, "parquet_shuffled": 3.5, "json": 1.5}


def make(folder: Path, tuples: int, kind: str) -> Path:
    """The files of one kind, written unless they are there from before."""
    target = folder / f"ingest-{kind}-{tuples}"
    if (target / ".done").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    generator = np.random.default_rng(1)
    times = START + np.sort(generator.integers(0, 3_600 * SECOND, tuples))
    if kind == "parquet_shuffled":
        generator.shuffle(times)
    for number, first in enumerate(range(0, tuples, PER_FILE)):
        write(table(generator, times[first : first + PER_FILE]), target / f"{number:05d}", kind)
    (target / ".done").touch()
    return target


def table(generator: np.random.Generator, times: np.ndarray) -> pa.Table:
    values = {
        "area_id": pa.array(generator.integers(0, 6, len(times)), pa.int32()),
        "car_id": pa.array(generator.integers(0, 20_000, len(times)), pa.int32()),
        "speed": pa.array(np.round(generator.uniform(0, 90, len(times)), 1)),
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
    }
    return pa.table(values)


def write(rows: pa.Table, path: Path, kind: str) -> None:
    if kind != "json":
        pq.write_table(rows, path.with_suffix(".parquet"))
        return
    stamps = np.datetime_as_string(rows["ts"].to_numpy(), unit="us")
    columns = (rows[name].to_pylist() for name in ("area_id", "car_id", "speed"))
    with path.with_suffix(".json").open("w") as file:
        for area, car, speed, stamp in zip(*columns, stamps, strict=True):
            file.write(f'{{"area_id":{area},"car_id":{car},"speed":{speed},"ts":"{stamp}Z"}}\n')


def workspace(folder: Path, files: Path, kind: str) -> Path:
    form = "json" if kind == "json" else "parquet"
    declared = {
        "slice": "1 hour",
        "streams": {"cars": {"schema": COLUMNS, "event_time": "ts", "source": {"format": form, "path": str(files)}}},
    }
    (folder / "streams.yaml").write_text(json.dumps(declared))
    return folder


def ours(context: Context, tuples: int) -> None:
    """One slice of everything, into a warehouse that is not there yet."""
    shutil.rmtree(context.workspace.warehouse, ignore_errors=True)
    entry = run_stage(context, HOUR, stage_named("ingest"))[0]
    if entry.rows != tuples:
        raise AssertionError(f"{entry.rows} of {tuples} tuples ingested")


def plain(context: Context, files: Path, kind: str, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    schema = ", ".join(f"{name} {kind_}" for name, kind_ in COLUMNS.items())
    reader = context.spark.read.schema(schema)
    frame = reader.json(str(files)) if kind == "json" else reader.parquet(str(files))
    frame.write.format("delta").save(str(target))


def seconds(work: Callable[[], None], repeats: int) -> float:
    """The least of some runs, after one to warm up."""
    work()
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def measure(data: Path, tuples: int, repeats: int, master: str | None, kind: str) -> dict[str, float]:
    files = make(data, tuples, kind)
    with tempfile.TemporaryDirectory(dir=data) as scratch:
        context = Context(load_workspace(workspace(Path(scratch), files, kind)), master)
        try:
            context.open_spark()
            base = seconds(lambda: plain(context, files, kind, Path(scratch) / "plain"), repeats)
            own = seconds(lambda: ours(context, tuples), repeats)
        finally:
            context.close()
    return {"plain": round(base, 3), "ours": round(own, 3), "ratio": round(own / base, 2), "target": TARGETS[kind]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuples", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--data", type=Path, default=home() / "benchmarks")
    parser.add_argument("--master", default=None)
    parser.add_argument("kinds", nargs="*", default=list(TARGETS), metavar="KIND", help=", ".join(TARGETS))
    asked = parser.parse_args()
    found = {kind: measure(asked.data, asked.tuples, asked.repeats, asked.master, kind) for kind in asked.kinds}
    print_json({"tuples": asked.tuples, "ingest": found})


if __name__ == "__main__":
    main()
