"""Random worlds through the whole pipeline on Delta: gold against brute force on the tuples that bronze holds.

Slices whose length divides no slide, late tuples, history before the first slice, an older slice after a newer one,
slices run again: gold must always be the function of bronze and queries that the language says. Seeds are fixed.
PANELAKE_PIPELINES asks for more worlds than a test run needs.
"""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake import tables
from panelake.context import Context
from panelake.flow import stage_named
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.planning.pane_set import window_spec
from panelake.runner import run_stage
from panelake.slices import Slice, to_microseconds
from panelake.staging import attempt_folder, staged_answers
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WORLDS = int(os.environ.get("PANELAKE_PIPELINES", "25"))
THREADS = 4
SECOND = 1_000_000
SCHEMA = pa.schema([("a", pa.int32()), ("x", pa.int64()), ("y", pa.float64()), ("ts", pa.timestamp("us", tz="UTC"))])
STREAMS = """\
slice: {length} seconds
streams:
  s:
    schema: {{a: int, x: bigint, y: double, ts: timestamp}}
    event_time: ts
    source: {{format: parquet, path: landing}}
    lateness: 1 day
"""
FEW = 4
SELECTED = "count(*) AS n, sum(x) AS total, min(y) AS least, sum(y) AS heavy"
Tuple = dict[str, Any]
Answers = dict[tuple[Any, ...], Tuple]


def query_text(rng: random.Random) -> str:
    if rng.random() < 0.5:
        clause = f"[RANGE {rng.randint(1, 30)} SLIDE {rng.randint(1, 20)} WATTR ROW]"
    else:
        clause = f"[RANGE {rng.randint(1, 120)} SECONDS SLIDE {rng.randint(4, 60)} SECONDS]"
    key, group = rng.choice([("", ""), ("a, ", "GROUP BY a")])
    where = rng.choice(["", "WHERE x > 0"])
    having = rng.choice(["", f"HAVING count(*) < {FEW}"])
    return f"SELECT {key}{SELECTED} {'FROM'} s {clause} {where} {group} {having}"


def drawn(rng: random.Random, part: Slice, count: int) -> list[Tuple]:
    return [
        {
            "a": rng.choice([None, 1, 2, 3]),
            "x": rng.choice([None, rng.randint(-9, 9)]),
            "y": rng.choice([None, rng.uniform(-1e3, 1e3)]),
            "ts": rng.randrange(part.start, part.end),
        }
        for _ in range(count)
    ]


@dataclass
class Pipeline:
    """One world's workspace; stages are called directly, the audit is taken as passed."""

    root: Path
    context: Context
    files: int = 0

    def land(self, tuples: list[Tuple]) -> None:
        table = pa.Table.from_pylist(tuples, schema=SCHEMA)
        pq.write_table(table, self.root / "landing" / f"{self.files:03}.parquet")
        self.files += 1

    def run(self, part: Slice) -> None:
        queries = list(self.context.workspace.queries.values())
        before = {query.name: self.gold(query) for query in queries}
        self._run(part)
        for query in queries:
            assert_revised(self.gold(query), before[query.name], f"{query.name}, {part}")

    def _run(self, part: Slice) -> None:
        for name in ("ingest", "panes", "windows"):
            run_stage(self.context, part, stage_named(name))
        self.context.ledger.record([self._passed(query, part) for query in self.context.workspace.queries.values()])
        entries = run_stage(self.context, part, stage_named("publish"))
        assert all(entry.status == "done" for entry in entries)

    def _passed(self, query: AggregateQuery, part: Slice) -> Entry:
        windows = self.context.ledger.of_slice(part)[("windows", query.name)]
        folder = attempt_folder(self.context.catalog.staging("s", part), windows.details)
        staged = staged_answers(folder, query, windows.details)
        return Entry(part, "audit", f"gold/{query.name}", "done", 0, details={"staged": staged.digest})

    def bronze(self) -> list[Tuple]:
        rows = DeltaTable(self.context.catalog.bronze("s")).to_pyarrow_table().to_pylist()
        return [{**row, "ts": to_microseconds(row["ts"]), "_slice": to_microseconds(row["_slice"])} for row in rows]

    def gold(self, query: AggregateQuery) -> Answers:
        table = tables.open_table(self.context.catalog.gold(query.name))
        rows = [] if table is None else table.to_pyarrow_table().to_pylist()
        keys = [key.alias for key in query.keys]
        plain = [{**row, "window_end": _position(row["window_end"])} for row in rows]
        found = {(row["window_end"], *(row[key] for key in keys)): row for row in plain}
        assert len(found) == len(rows), f"{query.name}: a group of a window has two rows"
        return found


def _position(value: Any) -> int:
    return value if isinstance(value, int) else to_microseconds(value)


def expected(query: AggregateQuery, bronze: list[Tuple], slices: list[Slice]) -> Answers:
    """Every window that is due, by the definition, with the slice that answers it."""
    spec, place = window_spec(query.window), "ts" if query.window.kind == "TS" else "_seq"
    answers: Answers = {}
    for k, part in _due(query, bronze, slices):
        groups: dict[tuple[Any, ...], list[Tuple]] = defaultdict(list)
        for row in bronze:
            if spec.start(k) <= row[place] < spec.end(k) and (not query.conditions or (row["x"] or 0) > 0):
                groups[tuple(row[key.alias] for key in query.keys)].append(row)
        for key, rows in groups.items():
            if not query.having or len(rows) < FEW:
                answers[(spec.end(k), *key)] = {**_aggregates(rows), "_slice": part}
    return answers


def assert_revised(after: Answers, before: Answers, what: str) -> None:
    """A row that changed has the next revision, one that did not has kept all it had."""
    for place in after.keys() & before.keys():
        same = [after[place][name] == before[place][name] for name in ("n", "total", "least", "heavy")]
        assert after[place]["_revision"] == before[place]["_revision"] + (not all(same)), (what, place)


def _due(query: AggregateQuery, bronze: list[Tuple], slices: list[Slice]) -> list[tuple[int, int]]:
    spec = window_spec(query.window)
    if query.window.kind == "TS":
        return [(k, part.start) for part in slices for k in spec.ending_in(part.start, part.end)]
    slice_of = {row["_seq"]: row["_slice"] for row in bronze}
    low, high = min(slice_of), max(slice_of) + 1
    assert len(slice_of) == high - low == len(bronze), "numbers are dense"
    ks = range(-(-low // spec.slide), (high - spec.range) // spec.slide + 1)
    return [(k, slice_of[spec.end(k) - 1]) for k in ks]


def _aggregates(rows: list[Tuple]) -> Tuple:
    whole = [row["x"] for row in rows if row["x"] is not None]
    doubles = [row["y"] for row in rows if row["y"] is not None]
    return {
        "n": len(rows),
        "total": sum(whole) if whole else None,
        "least": min(doubles, default=None),
        "heavy": math.fsum(doubles) if doubles else None,
        "weight": math.fsum(map(abs, doubles)),
    }


def assert_same(got: Answers, wanted: Answers, what: str) -> None:
    assert got.keys() == wanted.keys(), what
    for place, answer in wanted.items():
        row = got[place]
        assert (row["n"], row["total"], row["least"]) == (answer["n"], answer["total"], answer["least"]), (what, place)
        assert to_microseconds(row["_slice"]) == answer["_slice"], (what, place)
        assert (row["heavy"] is None) == (answer["heavy"] is None), (what, place)
        if answer["heavy"] is not None:
            assert abs(row["heavy"] - answer["heavy"]) <= 1e-12 * answer["weight"], (what, place)


def live(pipeline: Pipeline, rng: random.Random, slices: list[Slice]) -> int:
    """Two slices forwards, late tuples with the second; then history, a third, and one of them again."""
    older, first, second, third = slices
    landed = 0
    for part in slices:
        tuples = drawn(rng, part, rng.choice([0, rng.randint(1, 40)]) if part is not first else rng.randint(5, 40))
        landed += len(tuples)
        if tuples:
            pipeline.land(tuples)
    pipeline.run(first)
    late = drawn(rng, first, rng.randint(1, 10))
    pipeline.land(late)
    pipeline.run(second)
    for part in rng.sample([older, third], 2):
        pipeline.run(part)
    if rng.random() < 0.5:
        pipeline.run(rng.choice(slices))
    return landed + len(late)


def check_world(seed: int, root: Path, spark: SparkSession) -> None:
    rng = random.Random(seed)  # noqa: S311 - a seed, not a secret
    length = rng.randint(20, 70)
    (root / "landing").mkdir(parents=True)
    (root / "queries").mkdir()
    (root / "streams.yaml").write_text(STREAMS.format(length=length))
    for number in range(rng.randint(1, 3)):
        (root / "queries" / f"q{number}.sql").write_text(query_text(rng))
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    pipeline = Pipeline(root, context)
    start = rng.randint(10, 1000) * length * SECOND
    slices = [Slice(start + at * length * SECOND, start + (at + 1) * length * SECOND) for at in range(4)]
    landed = live(pipeline, rng, slices)
    bronze = pipeline.bronze()
    assert len(bronze) == landed, f"seed {seed}: every tuple that landed is in bronze once"
    for query in context.workspace.queries.values():
        assert_same(pipeline.gold(query), expected(query, bronze, slices), f"seed {seed}, {query.name}")


@pytest.mark.timeout(max(900, 60 * WORLDS))
def test_gold_of_random_worlds_is_what_the_language_says(tmp_path: Path, spark: SparkSession) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        checks = [pool.submit(check_world, seed, tmp_path / str(seed), spark) for seed in range(WORLDS)]
    failures = [(seed, check.exception()) for seed, check in enumerate(checks) if check.exception() is not None]
    assert not failures, "\n".join(f"seed {seed}: {error!r}" for seed, error in failures)
