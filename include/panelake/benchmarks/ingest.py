"""`panelake bench ingest`: ingest beside a plain read and write of the same files by Spark, on one warm session.

Ours numbers, checks and counts every tuple; plain Spark is given the schema and writes what it reads. Both are run
once to warm up, then in turns; the least of each counts. Where the server is the local one, its processor seconds are
compared too: other work on the machine hardly changes these.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panelake.benchmarks.landed import COLUMNS, HOUR, IN_ORDER, JSON, SHUFFLED, make
from panelake.benchmarks.targets import at_most
from panelake.benchmarks.timing import Spent, least, note, rounded, spent
from panelake.context import Context
from panelake.flow import stage_named
from panelake.runner import run_stage
from panelake.workspace import load_workspace

TARGETS = {IN_ORDER: 2.0, SHUFFLED: 3.5, JSON: 1.5}
REPEATS = 2


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:
    """Every kind of files, and whether its target is reached."""
    found = {kind: _compared(spark, folder, tuples, kind) for kind in TARGETS}
    targets = [at_most(f"{kind}, times plain Spark", found[kind]["ratio"], limit) for kind, limit in TARGETS.items()]
    return {"tuples": tuples, **found, "targets": targets}


def _compared(spark: SparkSession, folder: Path, tuples: int, kind: str) -> dict[str, float]:
    files = make(folder, tuples, kind)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        context = Context(load_workspace(_workspace(Path(scratch), files, kind)))
        context.spark = spark
        target = Path(scratch) / "plain"
        plain, ours = _in_turns(lambda: _plain(spark, files, kind, target), lambda: _ours(context, tuples))
    found = _ratios(plain, ours)
    note(f"{kind}: {json.dumps(found)}")
    return found


def _in_turns(one: Callable[[], None], other: Callable[[], None]) -> tuple[Spent, Spent]:
    """What each takes at its best, after one run of each to warm up."""
    one()
    other()
    turns = [(spent(one), spent(other)) for _ in range(REPEATS)]
    return least(first for first, _ in turns), least(second for _, second in turns)


def _ratios(plain: Spent, ours: Spent) -> dict[str, float]:
    found = {"plain": plain.seconds, "panelake": ours.seconds, "ratio": ours.seconds / plain.seconds}
    if plain.processor and ours.processor:
        found["processor_ratio"] = ours.processor / plain.processor
    return rounded(found)


def _workspace(folder: Path, files: Path, kind: str) -> Path:
    form = "json" if kind == JSON else "parquet"
    stream = {"schema": COLUMNS, "event_time": "ts", "source": {"format": form, "path": str(files)}}
    (folder / "streams.yaml").write_text(json.dumps({"slice": "1 hour", "streams": {"cars": stream}}))
    return folder


def _ours(context: Context, tuples: int) -> None:
    """One slice of everything, into a warehouse that is not there yet."""
    shutil.rmtree(context.workspace.warehouse, ignore_errors=True)
    entry = run_stage(context, HOUR, stage_named("ingest"))[0]
    if entry.rows != tuples:
        raise AssertionError(f"{entry.rows} of {tuples} tuples ingested")


def _plain(spark: SparkSession, files: Path, kind: str, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    reader = spark.read.schema(", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items()))
    frame = reader.json(str(files)) if kind == JSON else reader.parquet(str(files))
    frame.write.format("delta").save(str(target))
