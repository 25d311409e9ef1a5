"""`panelake bench queries`: what a further query costs a slice in the whole pipeline, stage by stage.

Two workspaces over the same stream, with 50 and with 60 registered queries, run slice by slice in turns on one warm
session; the first slices warm up. A query's cost is a tenth of the difference between their medians.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from panelake.benchmarks.targets import Target, at_most
from panelake.benchmarks.timing import rounded
from panelake.context import Context
from panelake.durations import MINUTE
from panelake.flow import STAGES
from panelake.runner import run_slice
from panelake.slices import Slice
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

FEW, MANY = 50, 60
SLICES, WARM_UP = 9, 3
MOST_SECONDS = 0.1
UNTIL_PUBLISHED = "ingest to publish"
_TUPLES_A_SECOND = 200
_MINUTES = 5
_STREAMS = """\
slice: 5 minutes
streams:
  traffic:
    schema: {area_id: int, car_id: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: LANDING}
"""
_SELECTED = "area_id, count(*) AS n, sum(speed) AS total, min(speed) AS slowest, max(speed) AS fastest"
# Every shape fits the cuts of ten seconds: nine ranges of each of seven slides.
_SHAPES = [
    (slide * times, slide) for times in (1, 2, 3, 4, 5, 6, 8, 10, 12) for slide in (10, 20, 30, 60, 120, 150, 300)
]


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:  # noqa: ARG001 - one signature for all
    """Seconds of every stage with few and with many queries, and the seconds a query."""
    root = folder / "queries"
    shutil.rmtree(root, ignore_errors=True)
    seconds = SLICES * _MINUTES * 60
    generate("traffic", seconds * _TUPLES_A_SECOND, _TUPLES_A_SECOND, 1, 0, root / "landing", lambda _: None)
    contexts = {count: _context(spark, root / str(count), count) for count in (FEW, MANY)}
    measured: dict[int, dict[str, list[float]]] = {count: defaultdict(list) for count in contexts}
    for number in range(SLICES):
        for count, context in contexts.items():
            for stage, taken in _slice_seconds(context, number).items():
                if number >= WARM_UP:
                    measured[count][stage].append(taken)
    medians = {count: {stage: median(taken) for stage, taken in found.items()} for count, found in measured.items()}
    a_query = {stage: (medians[MANY][stage] - medians[FEW][stage]) / (MANY - FEW) for stage in medians[FEW]}
    return {
        "seconds": {f"{count}_queries": rounded(found) for count, found in medians.items()},
        "seconds_a_query": rounded(a_query),
        "targets": [_target(a_query[UNTIL_PUBLISHED])],
    }


def _context(spark: SparkSession, root: Path, count: int) -> Context:
    (root / "queries").mkdir(parents=True)
    landing = (root.parent / "landing").resolve()
    (root / "streams.yaml").write_text(_STREAMS.replace("LANDING", f'"{landing}"'), encoding="utf-8")
    for range_, slide in _SHAPES[:count]:
        clause = f"[RANGE {range_} SECONDS SLIDE {slide} SECONDS]"
        text = f"SELECT {_SELECTED} FROM traffic {clause} GROUP BY area_id\n"  # noqa: S608 - window SQL of our own
        (root / "queries" / f"t{range_}_{slide}.sql").write_text(text, encoding="utf-8")
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    return context


def _slice_seconds(context: Context, number: int) -> dict[str, float]:
    length = _MINUTES * MINUTE
    entries = run_slice(context, Slice(number * length, (number + 1) * length), lambda *_: None)
    refused = [entry for entry in entries if entry.status == "refused"]
    if refused:
        raise RuntimeError(f"the benchmark's own slice was refused: {refused[0]}")
    whole = {entry.stage: entry.seconds for entry in entries if not entry.subject}
    stages = {stage.name: whole[stage.name] for stage in STAGES}
    return stages | {UNTIL_PUBLISHED: sum(stages.values()) - stages["report"], "all": sum(stages.values())}


def _target(a_query: float) -> Target:
    what = f"a further query with {FEW} registered, seconds a slice, {UNTIL_PUBLISHED}"
    return at_most(what, a_query, MOST_SECONDS)
