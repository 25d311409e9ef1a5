"""Random worlds, answered from panes through real Spark, against brute force on the raw tuples.

A batch of worlds is one Spark job: the world is one more group key. Within a batch worlds share their queries and the
range of their sequence numbers; tuples, groups, lateness and the cut into slices differ. Seeds are fixed.
PANELAKE_WORLDS asks for more worlds than a test run needs.
"""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from panelake.aggregates import presence, states_of
from panelake.kernels.window_spec import WindowSpec
from panelake.language.parser import parse_query
from panelake.language.query import AggregateQuery
from panelake.planning.pane_set import PaneSet, key_column, key_expressions, window_spec
from panelake.planning.plan import build_plan
from panelake.spark.slide import WindowTask
from panelake.stages.chunking import in_chunks
from panelake.stages.panes import ROW, UNIT, aggregated, union
from panelake.stages.windows import answered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WORLDS_PER_BATCH = 25
BATCHES = int(os.environ.get("PANELAKE_WORLDS", "200")) // WORLDS_PER_BATCH
SLICES = 3
SECOND = 1_000_000
SCHEMA = pa.schema([
    ("world", pa.int32()), ("a", pa.int32()), ("b", pa.int32()), ("x", pa.int64()), ("y", pa.float64()),
    ("ts", pa.timestamp("us", tz="UTC")), ("_seq", pa.int64()), ("_slice", pa.int32()),
])  # fmt: skip
COLUMNS = {"world": "int", "a": "int", "b": "int", "x": "bigint", "y": "double", "ts": "timestamp"}
CONDITIONS = {
    "": lambda row: True,  # noqa: ARG005 - one interface
    "WHERE x > 2": lambda row: row["x"] is not None and row["x"] > 2,
    "WHERE b = 1 AND a IS NOT NULL": lambda row: row["b"] == 1 and row["a"] is not None,
}
SELECTED = (
    "count(*) AS n, count(x) AS known, sum(x) AS total, min(x) AS least, "
    "max(y) AS most, sum(y) AS heavy, avg(x) AS mean"
)
Tuple = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A query in SQL and the parts of it that brute force needs."""

    query: AggregateQuery
    keys: tuple[str, ...]
    where: str

    @property
    def window(self) -> WindowSpec:
        return window_spec(self.query.window)


def asked(rng: random.Random, number: int) -> Asked:
    """A random query: overlapping, tumbling or gapped, of time or of rows, over none to two keys."""
    keys = ("world", *rng.choice([(), ("a",), ("b",), ("a", "b"), ("b", "a")]))
    where = rng.choice(list(CONDITIONS))
    text = f"SELECT {', '.join(keys)}, {SELECTED} {'FROM'} s {clause(rng)} {where} GROUP BY {', '.join(keys)}"
    return Asked(parse_query(f"q{number}", "q.sql", text, {"s": COLUMNS}), keys, where)


def clause(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return f"[RANGE {rng.randint(1, 40)} SLIDE {rng.randint(1, 25)} WATTR ROW]"
    range_, slide = rng.randint(1, 90), rng.randint(3, 50)
    return f"[RANGE {range_} SECONDS SLIDE {slide} SECONDS OFFSET {rng.randint(0, 60)} SECONDS]"


def world(rng: random.Random, number: int, count: int, first: int) -> list[Tuple]:
    """Tuples numbered by slice, then time; some of a later slice are late, and slices differ in length."""
    groups = rng.choice([1, 2, 5, 20])
    length = rng.randint(30, 80) * SECOND
    rows = []
    for _ in range(count):
        part = rng.randrange(SLICES)
        time = part * length + rng.randrange(length) - (rng.randrange(2 * length) if rng.random() < 0.1 else 0)
        rows.append({
            "world": number, "a": rng.choice([None, *range(groups)]), "b": rng.randrange(2),
            "x": rng.choice([None, rng.randint(-9, 9), rng.randint(-(2**40), 2**40)]),
            "y": rng.choice([None, rng.uniform(-1e6, 1e6), rng.choice([0.0, -0.0, 1e300, 5e-324])]),
            "ts": time, "_slice": part,
        })  # fmt: skip
    rows.sort(key=lambda row: (row["_slice"], row["ts"]))
    return [{**row, "_seq": first + at} for at, row in enumerate(rows)]


def held_by(rows: list[Tuple], one: Asked, ks: range) -> Iterator[tuple[int, list[Tuple]]]:
    """Each window's tuples."""
    place = "ts" if one.query.window.kind == "TS" else "_seq"
    for k in ks:
        start, end = one.window.start(k), one.window.end(k)
        yield end, [row for row in rows if start <= row[place] < end]


def brute_force(rows: list[Tuple], one: Asked, ks: range) -> dict[tuple[Any, ...], Tuple]:
    """The answers by the definition of the language, window by window."""
    answers = {}
    for end, held in held_by(rows, one, ks):
        groups: dict[tuple[Any, ...], list[Tuple]] = defaultdict(list)
        for row in held:
            if CONDITIONS[one.where](row):
                groups[tuple(row[key] for key in one.keys)].append(row)
        for key, members in groups.items():
            answers[(end, *key)] = aggregates(members)
    return answers


def aggregates(rows: list[Tuple]) -> Tuple:
    whole = [row["x"] for row in rows if row["x"] is not None]
    doubles = [row["y"] for row in rows if row["y"] is not None]
    return {
        "n": len(rows),
        "known": len(whole),
        "total": sum(whole) if whole else None,
        "least": min(whole, default=None),
        "most": max(doubles, default=None),
        "heavy": math.fsum(doubles) if doubles else None,
        "weight": math.fsum(map(abs, doubles)),
        "mean": sum(whole) / len(whole) if whole else None,
    }


def assert_same(got: Tuple, expected: Tuple, place: Any) -> None:
    for name in ("n", "known", "total", "least", "most"):
        assert got[name] == expected[name], (place, name)
    assert (got["heavy"] is None) == (expected["heavy"] is None), place
    if got["heavy"] is not None:
        assert abs(got["heavy"] - expected["heavy"]) <= 1e-12 * expected["weight"], place
    assert (got["mean"] is None) == (expected["mean"] is None), place
    if got["mean"] is not None:
        assert got["mean"] == pytest.approx(expected["mean"], rel=1e-12), place


def task(one: Asked, made: PaneSet, ks: range) -> WindowTask:
    position = UNIT if one.query.window.kind == "TS" else ROW
    keys = tuple(key_column(expression) for expression in key_expressions(one.query))
    return WindowTask(
        one.query.name, made.name, position, keys, states_of(one.query), presence(one.query), one.window,
        ks.start, ks.stop,
    )  # fmt: skip


def complete(one: Asked, rows: list[Tuple]) -> range:
    """The windows of rows whose every number is there; of time those that hold any tuple."""
    place = "ts" if one.query.window.kind == "TS" else "_seq"
    low, high = min(row[place] for row in rows), max(row[place] for row in rows) + 1
    if one.query.window.kind == "TS":
        return range(one.window.first_with(low), one.window.first_with(high - 1 + one.window.range))
    first = -(-low // one.window.slide)
    return range(first, max(first, (high - one.window.range) // one.window.slide + 1))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_panes_of_random_worlds_answer_as_brute_force_does(
    batch: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if batch % 2:
        monkeypatch.setattr("panelake.planning.plan.SHARED_FROM", 0.0)  # fragments of time and rows, however small
    rng = random.Random(1000 + batch)  # noqa: S311 - a seed, not a secret
    questions = [asked(rng, number) for number in range(rng.randint(3, 6))]
    count, first = rng.randint(30, 90), rng.choice([0, -37, -500, 10**6])
    worlds = [world(rng, number, count, first) for number in range(WORLDS_PER_BATCH)]
    everything = [row for rows in worlds for row in rows]
    sets = build_plan("s", [one.query for one in questions]).sets
    windows = {one.query.name: complete(one, everything) for one in questions}
    tasks = [
        task(one, made, windows[one.query.name]) for made in sets for one in questions if one.query in made.queries
    ]
    if batch % 3 == 0:
        tasks = in_chunks(tasks, sets, lambda _: 3)
    tuples = spark.createDataFrame(pa.Table.from_pylist(everything, schema=SCHEMA))
    panes = union([aggregated(tuples, made, "ts", tuples["_slice"]) for made in sets])  # keyed per slice, as on disk
    answers = answered(panes, tasks, [one.query for one in questions])
    rows = answers.frame.toArrow().to_pylist()
    for one in questions:
        name = one.query.name
        columns = {"_window_end": "_window_end", **answers.columns[name]}
        mine = [{c: row[held] for c, held in columns.items()} for row in rows if row["_query"] == name]
        got = {(row["_window_end"], *(row[key] for key in one.keys)): row for row in mine}
        assert len(got) == len(mine), f"batch {batch}, {name}: a group of a window has two rows"
        expected: dict[tuple[Any, ...], Tuple] = {}
        for tuples_of_world in worlds:
            expected |= brute_force(tuples_of_world, one, windows[name])
        assert got.keys() == expected.keys(), f"batch {batch}, {name}"
        for place, answer in expected.items():
            assert_same(got[place], answer, (batch, name, place))
