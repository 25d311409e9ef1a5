"""`panelake bench sharing`: from how many tuples a fragment on time and row windows had better share their panes.

One time query and one of rows over the same stream, with fragments of both against panes apart, for ever smaller
fragments. Sharing saves a pass over the tuples and costs rows that every query reads: its cost against panes apart is
a + b / f for f tuples a fragment, fitted to what is measured; where that is 1, neither wins. The cost model's
SHARED_FROM is that f.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from panelake.benchmarks import ours, peers
from panelake.benchmarks.stream import Stream, make
from panelake.benchmarks.targets import told
from panelake.benchmarks.timing import note, rounded, side_by_side
from panelake.planning.cost import SHARED_FROM
from panelake.planning.pane_set import PaneSet
from panelake.planning.plan import Statistics, build_plan

GROUPS = 6
TIME = (180, 60)
PANES = (5_000, 1_000, 300, 100, 50)  # tuples a pane of rows
_APART = Statistics(1.0, {("`area_id`",): 10**9})  # so many groups that the planner shares nothing
_ROUNDS = 3


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:
    """Seconds of both ways for each size of fragment, and where they cross."""
    stream = make(folder, tuples, GROUPS)
    table = [_compared(spark, stream, size) for size in PANES]
    found = crossover((row["tuples_a_fragment"], row["ratio"]) for row in table)
    where = found["tuples_a_fragment"]
    what = f"sharing pays from so many tuples a fragment (the cost model: {SHARED_FROM:g})"
    targets = [] if where is None else [told(what, where)]
    return {"tuples": tuples, "sizes": table, "crossover": found, "in_the_cost_model": SHARED_FROM, "targets": targets}


def _compared(spark: SparkSession, stream: Stream, size: int) -> dict[str, float]:
    read = peers.read(spark, stream)
    frames = {name: ours.planned_windows(read, stream, sets).frame for name, sets in ways(size).items()}
    found = side_by_side({name: partial(peers.into_nothing, frame) for name, frame in frames.items()}, _ROUNDS)
    row = rounded({"tuples_a_fragment": size / GROUPS, **found, "ratio": found["shared"] / found["apart"]})
    note(str(row))
    return row


def ways(size: int) -> dict[str, list[PaneSet]]:
    """The pane sets of one time query and one over panes of so many rows: as fragments of both, and apart."""
    queries = ours.time_queries([TIME]) + ours.row_queries([(4 * size, size)])
    apart = build_plan("traffic", queries, _APART).sets
    (time,), (rows,) = ([made for made in apart if made.time], [made for made in apart if made.rows])
    return {"shared": [replace(time, rows=rows.rows, queries=time.queries + rows.queries)], "apart": [time, rows]}


def crossover(points: Iterable[tuple[float, float]]) -> dict[str, float | None]:
    """The fit of ratio = a + b / f, and the f at which it is 1; None where the measured ways never cross."""
    sizes, ratios = np.array(list(points)).T
    (a, b), *_ = np.linalg.lstsq(np.column_stack((np.ones_like(sizes), 1 / sizes)), ratios, rcond=None)
    crosses = a < 1 and b > 0
    return {**rounded({"a": float(a), "b": float(b)}), "tuples_a_fragment": _digits(b / (1 - a)) if crosses else None}


def _digits(value: float) -> float:
    return float(f"{value:.3g}")
