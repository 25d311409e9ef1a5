"""What the default audit costs of a slice's total time: `share` is the audit's seconds over those of all stages.

A traffic world with one query of its own, and the same with ten more, is run slice by slice of a million tuples on
the warm server; the first slice warms what is left and does not count.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panelake.benchmarks.targets import at_most
from panelake.context import Context
from panelake.errors import GateRefusedError
from panelake.flow import STAGES
from panelake.home import example_workspace
from panelake.runner import run_slice
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = 0.25
A_SLICE, MOST_SLICES = 1_000_000, 4
START = parse_instant("2026-01-01T00:00:00Z")
TEN_QUERIES = {
    f"speeds_{seconds}": f"""SELECT area_id, count(*) AS cars, min(speed) AS slowest, avg(speed) AS mean,
        max(speed) AS fastest FROM traffic [RANGE {seconds} SECONDS SLIDE 60 SECONDS] GROUP BY area_id"""  # noqa: S608 - the benchmark's own numbers
    for seconds in (60, 120, 180, 240, 300, 360, 420, 480, 540, 600)
}


def run(spark: SparkSession, _folder: Path, tuples: int) -> dict[str, Any]:
    """Slices of a million tuples, at most four of them; of half the tuples each where there are fewer than two."""
    a_slice = min(A_SLICE, tuples // 2)
    slices = max(2, min(MOST_SLICES, tuples // a_slice))
    with tempfile.TemporaryDirectory() as folder:
        shares = {
            "one query": _measured(spark, Path(folder) / "one", {}, a_slice, slices),
            "ten queries": _measured(spark, Path(folder) / "ten", TEN_QUERIES, a_slice, slices),
        }
    targets = [at_most(f"{name}: the audit's share", share["share"], TARGET) for name, share in shares.items()]
    return {"tuples a slice": a_slice, **shares, "targets": targets}


def _measured(spark: SparkSession, root: Path, queries: dict[str, str], tuples: int, slices: int) -> dict[str, float]:
    """Seconds of each stage, summed over the slices after the first, and the audit's share of them."""
    context = _world(root, queries, tuples, slices)
    vars(context)["spark"] = spark
    seconds = dict.fromkeys((stage.name for stage in STAGES), 0.0)
    length = context.workspace.slice_length
    for number in range(slices):
        part = Slice(START + number * length, START + (number + 1) * length)
        for entry in run_slice(context, part, lambda *_: None):
            if number and not entry.subject:
                seconds[entry.stage] += entry.seconds
            if entry.status == "refused":
                raise GateRefusedError(f"{entry.slice} {entry.subject}: {entry.details.get('why')}")
    shown = {stage: round(value, 2) for stage, value in seconds.items()}
    return {**shown, "share": round(seconds["audit"] / sum(seconds.values()), 3)}


def _world(root: Path, queries: dict[str, str], tuples: int, slices: int) -> Context:
    shutil.copytree(example_workspace("traffic"), root, ignore=shutil.ignore_patterns("warehouse", "landing"))
    for name, text in queries.items():
        (root / "queries" / f"{name}.sql").write_text(text)
    workspace = load_workspace(root)
    rate = tuples * 1_000_000 / workspace.slice_length
    generate("traffic", tuples * slices, rate, 1, START, root / "landing" / "traffic", lambda _: None)
    return Context(workspace)
