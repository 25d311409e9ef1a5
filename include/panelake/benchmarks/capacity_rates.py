"""Measures what the capacity model is computed from, on this machine, in about three minutes where it is quiet.

Slices of made worlds are run on the warm server: first some to warm it up, then some with next to nothing, which give
the fixed seconds, then large ones. A rate is what a large slice did more than a small one, over the processor seconds
it took more; so it is a core's, however many there are and whatever else they do. Fixed seconds are by the clock, of
the quickest slice; or by the processor, where these are fewer since other work stretched the clock.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from pyspark.sql import SparkSession

from panelake.benchmarks import capacity_parts as parts
from panelake.benchmarks.capacity_slices import ALL, Ran, Took, World, joined, paned
from panelake.benchmarks.timing import note
from panelake.capacity.rates import Measured, Rates
from panelake.errors import BadInputError, TransientError
from panelake.ledger import Entry
from panelake.spark.record import load_record

QUERIES, FEW_QUERIES = 10, 2
TINY, WARM = 1_000, 400_000
LEAST, MOST = 300_000, 3_000_000
GROUPS = 1_000
_PER_MANY_GROUPS = 150  # tuples of a large slice for each group of the slice of many: ten a pane row
_MOST_LARGE = 3
_RANGE_SECONDS = 60 * (1 + QUERIES) / 2  # the mean of the queries' ranges
_REPEAT_WITHIN = 100.0  # seconds from the start: large slices are run again until then


@dataclass(frozen=True)
class Slices:
    """What was run: of the same kind the first ones warm up and are left out."""

    tiny: Sequence[Ran]
    large: Sequence[Ran]
    many: Ran
    few_queries: Sequence[Ran]
    join_tiny: Ran
    join_large: Ran
    in_order_tiny: Ran
    in_order_large: Ran
    entry: Entry


def measure(spark: SparkSession, tuples: int) -> Measured:
    """All rates; `tuples` is how many a large slice has, at most three million."""
    if load_record() is None:
        raise BadInputError(
            "capacity is measured by the processor seconds of the local server; leave out --master and unset"
            " PANELAKE_MASTER"
        )
    if tuples < LEAST:
        raise BadInputError(f"--tuples {tuples} is too few to measure capacity by; give at least {LEAST:,}")
    began = time.perf_counter()
    size = min(tuples, MOST)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        slices = _run(spark, root, size, began)
        quickest = min(slices.large, key=_whole_seconds)
        note(f"capacity: slices done after {time.perf_counter() - began:.0f} s")
        rates = _rates(spark, root, slices)
    machine = {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        "tuples": size,
        "seconds": round(time.perf_counter() - began),
        "load": round(os.getloadavg()[0], 1),
        "slice": {
            "tuples": size,
            "groups": GROUPS,
            "queries": QUERIES,
            "range_seconds": _RANGE_SECONDS,
            "seconds": round(_whole_seconds(quickest), 1),
        },
    }
    return Measured(machine, rates)


def _whole_seconds(one: Ran) -> float:
    """By the clock, of all stages but the join: this world has none."""
    return sum(took.seconds for stage, took in one.took.items() if stage != "join")


def _run(spark: SparkSession, root: Path, size: int, began: float) -> Slices:
    world = paned(spark, root / "many", QUERIES)
    world.run(WARM, GROUPS)
    tiny = [world.run(TINY, 6) for _ in range(3)][1:]
    large = [world.run(size, GROUPS)]
    while time.perf_counter() - began < _REPEAT_WITHIN and len(large) < _MOST_LARGE:
        large.append(world.run(size, GROUPS))
    many = world.run(size // 3, size // _PER_MANY_GROUPS)
    few = paned(spark, root / "few", FEW_QUERIES)
    few_queries = [few.run(TINY, 6) for _ in range(2)][1:]
    join = _small_and_large(joined(spark, root / "joined"), size // 3, ("ingest", "join"))
    in_order = _small_and_large(paned(spark, root / "ordered", 1, in_order=True), size, ("ingest",))
    [entry] = [one for one in world.ledger.entries(stage="ingest", subject="cars") if one.slice.start == 0]
    return Slices(tiny, large, many, few_queries, *join, *in_order, entry)


def _small_and_large(world: World, size: int, stages: Sequence[str]) -> tuple[Ran, Ran]:
    world.run(WARM // 4, WARM, stages)
    return world.run(TINY, TINY, stages), world.run(size, size, stages)


def _rates(spark: SparkSession, root: Path, ran: Slices) -> Rates:
    files, history = parts.file_costs(root), parts.history_costs(root, ran.entry, ran.tiny[-1].ledger_rows)
    fixed, a_query = _fixed(ran)
    tuples, panes = ran.large[0].tuples - TINY, ran.many.pane_rows - ran.tiny[0].pane_rows
    answers = _more(ran, "publish", lambda took: float(took.rows))
    client = sum(_more(ran, stage, lambda took: took.client) for stage in ("audit", "publish"))
    pane_tuple, pane_row = _pane_seconds(ran)
    reads = ran.many.pane_reads - min(one.pane_reads for one in ran.tiny)
    joined_tuples = ran.join_large.tuples - ran.join_tiny.tuples  # the slice before it, in reach, is the tiny one
    ledger_rows, commits = _by_query(ran, lambda one: one.ledger_rows), _by_query(ran, lambda one: one.commits)
    found = Rates(
        ingest_tuples=tuples / _large(ran, "ingest"),
        ingest_in_order=(ran.in_order_large.tuples - TINY)
        / (ran.in_order_large.took["ingest"].processor - ran.in_order_tiny.took["ingest"].processor),
        pane_tuples=1 / pane_tuple,
        pane_rows=1 / pane_row,
        window_reads=reads / _more(ran, "windows", lambda took: took.processor),
        audit_tuples=tuples / _large(ran, "audit"),
        join_tuples=joined_tuples / (ran.join_large.took["join"].processor - ran.join_tiny.took["join"].processor),
        fixed=fixed,
        a_query=a_query,
        answer_row=client / answers,
        task=parts.task_seconds(spark),
        number=history.number,
        past_slice=ran.tiny[-1].full_reads * history.entry + history.number_row,
        known_file=files.known,
        file_pair=files.pair,
        logged_file=parts.log_seconds(spark, root / "logs"),
        source_tuple=ran.large[0].source_bytes / ran.large[0].tuples,
        bronze_tuple=ran.large[0].took["ingest"].written / ran.large[0].tuples,
        pane_row_bytes=_more(ran, "panes", lambda took: took.written) / panes,
        answer_row_bytes=_more(ran, "publish", lambda took: took.written) / answers,
        moved_tuple=ran.large[0].took["ingest"].shuffled / ran.large[0].tuples,
        moved_pane=sum(ran.many.took[stage].shuffled for stage in ("panes", "windows")) / panes,
        moved_join=ran.join_large.took["join"].shuffled / joined_tuples,
        ledger_row_bytes=history.row_bytes,
        ledger_rows=ledger_rows[0],
        ledger_rows_a_query=ledger_rows[1],
        commits=commits[0],
        commits_a_query=commits[1],
    )
    return _sound(found)


def _large(ran: Slices, stage: str) -> float:
    """Processor seconds that the least of the large slices took more than the least of the tiny ones."""
    large, tiny = (min(one.took[stage].processor for one in many) for many in (ran.large, ran.tiny))
    return large - tiny


def _more(ran: Slices, stage: str, what: Callable[[Took], float]) -> float:
    """What the slice of many groups took more than a tiny one."""
    return what(ran.many.took[stage]) - min(what(one.took[stage]) for one in ran.tiny)


def _pane_seconds(ran: Slices) -> tuple[float, float]:
    """Processor seconds a tuple and a pane row: two slices, two unknowns."""
    rows = [[one.tuples - TINY, one.pane_rows - ran.tiny[0].pane_rows] for one in (ran.large[0], ran.many)]
    took = [_large(ran, "panes"), _more(ran, "panes", lambda took: took.processor)]
    a_tuple, a_row = np.linalg.solve(np.array(rows, float), np.array(took))
    return float(a_tuple), float(a_row)


def _fixed(ran: Slices) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each stage without any query, and of each query: from slices with few and with many queries."""
    fixed, a_query = {}, {}
    for stage in ALL:
        few, many = (min(one.took[stage].undisturbed for one in some) for some in (ran.few_queries, ran.tiny))
        a_query[stage] = max(0.0, (many - few) / (QUERIES - FEW_QUERIES))
        fixed[stage] = max(0.0, few - FEW_QUERIES * a_query[stage])
    fixed["join"] = ran.join_tiny.took["join"].undisturbed
    return fixed, a_query


def _by_query(ran: Slices, count: Callable[[Ran], int]) -> tuple[float, float]:
    """How many there are without any query, and how many more for each."""
    few, many = count(ran.few_queries[-1]), count(ran.tiny[-1])
    each = (many - few) / (QUERIES - FEW_QUERIES)
    return few - FEW_QUERIES * each, each


def _sound(rates: Rates) -> Rates:
    """The rates, unless the machine was too busy for the differences that they come from."""
    for name, value in vars(rates).items():
        if not isinstance(value, Mapping) and not value > 0:
            raise TransientError(f"{name} was measured as {value:.3g}: the machine was too busy; measure again")
    return rates
