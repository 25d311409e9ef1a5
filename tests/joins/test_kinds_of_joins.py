"""Joins of every kind through Spark, many queries in one run: at every period, in several logical partitions,
with late tuples, with more results than memory would hold, of eight streams, and of the example world `packets`."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.commands.repair import repair
from panelake.context import Context
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.repairs import pending_repairs
from panelake.runner import run_slice
from panelake.slices import Slice, parse_instant, to_microseconds
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

from .join_world import SECOND, JoinWorld, Tuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
START = parse_instant("2026-01-01T00:00:00Z")
PAIR = """SELECT a.k, b.x FROM a [RANGE 15 SECONDS SLIDE 6 SECONDS], b [RANGE 15 SECONDS SLIDE 6 SECONDS]
WHERE a.k = b.k"""
MINUTE = Slice(START, START + 60 * SECOND)


def cut(length: int) -> list[Slice]:
    """A minute in slices of so many seconds."""
    borders = range(MINUTE.start, MINUTE.end, length * SECOND)
    return [Slice(start, start + length * SECOND) for start in borders]


def tuples(seed: int, part: Slice, count: int) -> list[Tuple]:
    rng = random.Random(seed)  # noqa: S311 - a seed, not a secret
    keys = [None, "key 1", "key 2", "key 3"]
    drawn = [(rng.choice(keys), rng.randrange(part.start, part.end)) for _ in range(count)]
    return [{"k": key, "g": 1, "x": at, "ts": ts} for at, (key, ts) in enumerate(drawn)]


def made(root: Path, length: int, spark: SparkSession, queries: dict[str, str]) -> JoinWorld:
    """Two streams of 36 tuples in a minute, the same however they are cut."""
    world = JoinWorld(root, length, {"a": "string", "b": "string"}, spark)
    for name, text in queries.items():
        world.write_query(name, text)
    for seed, stream in enumerate(world.keys):
        world.land(stream, tuples(seed, MINUTE, 36))
    return world


def without_slices(world: JoinWorld, query: str) -> dict[tuple[int, ...], Tuple]:
    return {
        numbers: {name: value for name, value in row.items() if name not in {"_slice", "_revision"}}
        for numbers, row in world.gold(query).items()
    }


def check_periods_and_cuts(root: Path, spark: SparkSession) -> None:
    """Te and the cut into slices change nothing, with a limit and without."""
    found = []
    for length, every in ((30, 1), (60, 6)):
        queries = {
            "all_pairs": f"{PAIR} WITH (EVERY {every} SECONDS)",
            "some": f"{PAIR} WITH (EVERY {every} SECONDS, MEMORY 2 ROWS)",
            "shared": f"{PAIR} WITH (EVERY {every} SECONDS, MEMORY 100001 ROWS)",
        }
        world = made(root / str(length), length, spark, queries)
        for part in cut(length):
            world.run(part)
        assert world.assert_exact("all_pairs") == world.assert_exact("shared") > 20
        partitions = DeltaTable(world.context.catalog.state("shared")).to_pyarrow_table()["partition"]
        assert set(partitions.to_pylist()) == {0, 1}, "100,001 rows are two logical partitions"
        found.append({name: without_slices(world, name) for name in queries})
    assert found[0] == found[1]
    assert 0 < len(found[0]["some"]) < len(found[0]["all_pairs"])


def _taken_as_windowed(world: JoinWorld, slices: Sequence[Slice]) -> None:
    """What the audit of whole slices asks of the windows stage, which these worlds do not run."""
    world.context.ledger.record([Entry(part, "windows", "", "done", 0, details={"others_seen": 0}) for part in slices])


def check_late_tuples_within_memory(root: Path, spark: SparkSession) -> None:
    """Late tuples have their results at once; what they shed or were never held for comes with the repair."""
    world = made(root, 30, spark, {"some": f"{PAIR} WITH (MEMORY 3 ROWS)"})
    first, second = cut(30)
    world.run(first)
    world.land("b", tuples(7, first, 8))
    world.run(second)
    wanted, shed = world.expected(world.context.workspace.joins["some"]), world.gold("some")
    late = {row["_seq"] for row in world.bronze("b") if row["ts"] < first.end and row["_slice"] == second.start}
    assert late
    assert shed.keys() <= wanted.keys()
    old = {row["_seq"] for row in world.bronze("a") if row["ts"] < first.end}
    reached = {numbers for numbers in wanted if numbers[1] in late and numbers[0] in old}
    assert reached
    assert reached <= shed.keys(), "late tuples are joined from bronze"
    _taken_as_windowed(world, [first, second])
    entries = repair(world.context, pending_repairs(world.context))
    assert not [entry.details for entry in entries if entry.status == "refused"]
    world.assert_exact("some")
    assert pending_repairs(world.context) == []


def check_an_explosion(root: Path, spark: SparkSession) -> None:
    """One key with 1,200 tuples a stream: 1.44 million results from 2,400 tuples."""
    world = JoinWorld(root, 60, {"a": "string", "b": "string"}, spark)
    world.write_query("q", PAIR.replace("15 SECONDS", "60 SECONDS"))
    for stream in world.keys:
        rows = [{"k": "one", "g": 1, "x": at, "ts": MINUTE.start + at} for at in range(1200)]
        world.land(stream, rows)
    assert world.run(MINUTE)["q"].rows == 1200 * 1200
    assert DeltaTable(world.context.catalog.gold("q")).to_pyarrow_dataset().count_rows() == 1200 * 1200


def check_eight_streams(root: Path, spark: SparkSession) -> None:
    """The most streams a join may have, one stream under eight names: 2^8 combinations of a key's two tuples."""
    world = JoinWorld(root, 60, {"a": "string"}, spark)
    windows = ", ".join(f"a AS a{n} [RANGE {20 + n} SECONDS SLIDE 5 SECONDS]" for n in range(8))
    keys = " AND ".join(f"a{n}.k = a{n + 1}.k" for n in range(7))
    world.write_query("q", f"SELECT a0.k {'FROM'} {windows} WHERE {keys}")
    told = [("one", 0), ("two", 3), ("one", 4), (None, 5), ("two", 30)]
    world.land("a", [{"k": key, "g": 1, "x": 0, "ts": MINUTE.start + at * SECOND} for key, at in told])
    world.run(MINUTE)
    assert world.assert_exact("q") == 2**8 + 2, "the tuples of `two` share no window"


CHECKS = (
    check_periods_and_cuts,
    check_late_tuples_within_memory,
    check_an_explosion,
    check_eight_streams,
)


@pytest.mark.timeout(900)
def test_joins_of_every_kind_are_what_the_language_says(tmp_path: Path, spark: SparkSession) -> None:
    with ThreadPoolExecutor(3) as pool:
        checks = {check.__name__: pool.submit(check, tmp_path / check.__name__, spark) for check in CHECKS}
    failures = {name: repr(done.exception()) for name, done in checks.items() if done.exception() is not None}
    assert not failures, "\n".join(f"{name}: {error}" for name, error in failures.items())


@pytest.mark.timeout(900)
def test_the_example_joins_the_packets_that_crossed_all_routers(tmp_path: Path, spark: SparkSession) -> None:
    """All stages of `packets` over two slices; a packet goes either way."""
    root = tmp_path / "packets"
    shutil.copytree(example_workspace("packets"), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("packets", 600, 1.0, 1, START, root / "landing", lambda *_: None)
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    for n in range(2):
        entries = run_slice(context, Slice(START + n * 300 * SECOND, START + (n + 1) * 300 * SECOND), lambda *_: None)
        assert not [entry.details for entry in entries if entry.status == "refused"]
    routers = [pq.read_table(root / "landing" / name).to_pylist() for name in ("r1", "r2", "r3")]
    seen = [{row["pid"]: to_microseconds(row["ts"]) for row in rows} for rows in routers]
    wanted = {}
    for pid in set(seen[0]) & set(seen[1]) & set(seen[2]):
        times = [router[pid] for router in seen]
        end = (max(times) // (60 * SECOND) + 1) * 60 * SECOND
        if min(times) >= end - 300 * SECOND:
            wanted[pid] = tuple(times)
    rows = DeltaTable(context.catalog.gold("packet_paths")).to_pyarrow_table().to_pylist()
    got = {row["pid"]: tuple(to_microseconds(row[f"at_r{n}"]) for n in (1, 2, 3)) for row in rows}
    assert len(rows) == len(got)
    assert got == wanted
    assert {times[0] < times[2] for times in got.values()} == {True, False}, "both ways"
