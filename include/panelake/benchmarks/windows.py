"""`panelake bench windows`: all windows of ten queries over an hour of traffic, ours beside the peers' best.

One warm session, one run, sinks that write nothing for everyone. Ratios are what counts: seconds are this machine's.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panelake.benchmarks import ours, peers
from panelake.benchmarks.stream import Stream, make
from panelake.benchmarks.targets import Target, at_least, at_most
from panelake.benchmarks.timing import Work, note, rounded, seconds, side_by_side

TIMES = ((180, 60), (300, 60), (600, 60), (900, 60), (1800, 60), (120, 30), (240, 30), (600, 30), (60, 10), (120, 10))
ELEVENTH = (300, 30)
ROWS = ((200, 50), (400, 100))
UNIT = 10
MANY_GROUPS = 1_000
FEW_GROUPS = 6
_SLIDE_MICROSECONDS = 360_000
_ROUNDS = 4


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:
    """Every comparison, with few groups and with many, and whether each target is reached."""
    few, many = make(folder, tuples, FEW_GROUPS), make(folder, tuples, MANY_GROUPS)
    results = {"few_groups": _compared(spark, few), "many_groups": _compared(spark, many)}
    results["few_groups"] |= {"rows_too": _rows_too(spark, few), "wide_windows": _wide(spark, few)}
    return {"tuples": tuples, **results, "targets": _targets(results)}


def _compared(spark: SparkSession, stream: Stream) -> dict[str, Any]:
    """Seconds of everyone for the ten time queries, and the ratios to ours."""
    found = side_by_side(
        {
            "panelake": lambda: _ours(spark, stream, TIMES),
            "panelake_11": lambda: _ours(spark, stream, (*TIMES, ELEVENTH)),
            "spark_group_by": lambda: peers.spark_group_by(spark, stream),
            "duckdb_panes": lambda: peers.duckdb_panes(stream, TIMES, UNIT),
        },
        _ROUNDS,
    ) | {
        "duckdb_queries": seconds(lambda: peers.duckdb_windows(stream, TIMES), repeats=1),
        "polars_queries": seconds(lambda: peers.polars_windows(stream, TIMES), repeats=1),
        "spark_windows": seconds(lambda: peers.spark_windows(spark, stream, TIMES), repeats=1),
    }
    mine = found["panelake"]
    told = {"seconds": rounded(found), "ratios": rounded({name: value / mine for name, value in found.items()})}
    note(f"{stream.groups} groups: {json.dumps(told)}")  # the whole takes many minutes
    return told


def _ours(spark: SparkSession, stream: Stream, shapes: tuple[tuple[int, int], ...]) -> None:
    peers.into_nothing(ours.windows(peers.read(spark, stream), stream, ours.time_queries(shapes)).frame)


def _rows_too(spark: SparkSession, stream: Stream) -> dict[str, float]:
    """The ten time queries with two of rows beside them, and one plain aggregation by group."""
    queries = ours.time_queries(TIMES) + ours.row_queries(ROWS)
    works: dict[str, Work] = {
        "panelake": lambda: peers.into_nothing(ours.windows(peers.read(spark, stream), stream, queries).frame),
        "spark_group_by": lambda: peers.spark_group_by(spark, stream),
    }
    found = side_by_side(works, _ROUNDS)
    return rounded(found | {"times_one_group_by": found["panelake"] / found["spark_group_by"]})


def _wide(spark: SparkSession, stream: Stream) -> dict[str, float]:
    """One query of equally many windows, 10 and 10,000 slides long."""
    works: dict[str, Work] = {}
    for slides in (10, 10_000):
        clause = f"[RANGE {slides * _SLIDE_MICROSECONDS} MICROSECONDS SLIDE {_SLIDE_MICROSECONDS} MICROSECONDS]"
        frame = ours.windows(peers.read(spark, stream), stream, [ours.query("wide", clause)]).frame
        works[f"{slides}_slides"] = partial(peers.into_nothing, frame)
    found = side_by_side(works, _ROUNDS)
    return rounded(found | {"ratio": found["10000_slides"] / found["10_slides"]})


def _targets(results: dict[str, dict[str, Any]]) -> list[Target]:
    """What was to be reached, what was, with few groups and with many."""
    table: list[Target] = []
    for key, found in results.items():
        name, ratios = key.replace("_", " "), found["ratios"]
        table += [
            at_least(f"{name}: plain PySpark, times ours", ratios["spark_windows"], 30),
            at_least(f"{name}: DuckDB per query, times ours", ratios["duckdb_queries"], 1),
            at_most(f"{name}: ours, times one groupBy", 1 / ratios["spark_group_by"], 2.5),
            at_most(f"{name}: an 11th query adds", ratios["panelake_11"] - 1, 0.03),
            at_most(f"{name}: ours, times DuckDB with panes by hand", 1 / ratios["duckdb_panes"], 4),
        ]
    wide = results["few_groups"]["wide_windows"]["ratio"] - 1
    return [*table, at_most("few groups: 1,000 times longer windows add", wide, 0.2)]
