"""Retention, compaction and vacuum: what is old goes, and not one answer changes.

slices   0  1  2  3  4  5 | 6      ten tuples each; slice 5 is the newest when maintenance comes
bronze   .  .  .  .  x  x          2 minutes kept; windows of 2 minutes and of 20 tuples reach no further
gold     .  .  .  x  x  x          3 minutes kept
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.cli import main
from panelake.context import Context
from panelake.maintenance.maintain import maintain
from panelake.runner import run_slice
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_767_225_600 * SECOND
SCHEMA = pa.schema([("car", pa.int32()), ("ts", pa.timestamp("us", tz="UTC"))])
CARS = 3
STREAMS = """\
slice: 1 minute
retention: {bronze: 2 minutes, gold: 3 minutes, quarantine: 2 minutes, results: 2 minutes, staging: 2 minutes, \
versions: 0}
streams:
  cars:
    schema: {car: int, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    max_quarantined: 0.5
"""
QUERIES = {
    "by_car": "SELECT car, count(*) AS n FROM cars [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY car",
    "in_rows": "SELECT count(*) AS n, sum(car) AS total FROM cars [RANGE 20 ROWS SLIDE 10 ROWS]",
}


class World:
    """Tuple n is car n mod 3 at second 6·n: ten a slice; each slice also gets one without an event time."""

    def __init__(self, root: Path, master: str, capsys: pytest.CaptureFixture[str], streams: str = STREAMS) -> None:
        self.root, self.master, self.capsys = root, master, capsys
        (root / "landing").mkdir(parents=True)
        (root / "queries").mkdir()
        (root / "streams.yaml").write_text(streams)
        for name, text in QUERIES.items():
            (root / "queries" / f"{name}.sql").write_text(text)

    def land(self, minutes: range) -> None:
        for minute in minutes:
            own = range(10 * minute, 10 * minute + 10)
            rows = [{"car": n % CARS, "ts": START + 6 * n * SECOND} for n in own] + [{"car": minute % CARS, "ts": None}]
            table = pa.table(
                {name: pa.array([row[name] for row in rows], SCHEMA.field(name).type) for name in SCHEMA.names}
            )
            pq.write_table(table, self.root / "landing" / f"{minute:02}.parquet")

    def panelake(self, command: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        self.capsys.readouterr()
        where = [] if command == "status" else ["--master", self.master]  # it asks no server
        code = main([command, *arguments, "--workspace", str(self.root), *where, "--json"])
        return code, json.loads(self.capsys.readouterr().out)

    def run(self, minutes: range, *more: str, command: str = "run") -> tuple[int, dict[str, Any]]:
        bounds = [format_instant(START + at * MINUTE) for at in (minutes.start, minutes.stop)]
        return self.panelake(command, "--from", bounds[0], "--to", bounds[1], *more)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return DeltaTable(str(self.root / "warehouse" / table)).to_pyarrow_table().to_pylist()

    def minutes(self, table: str, column: str = "_slice") -> list[int]:
        return sorted({(to_microseconds(row[column]) - START) // MINUTE for row in self.rows(table)})

    def versions(self) -> dict[str, int]:
        folders = sorted(path.parent for path in (self.root / "warehouse").rglob("_delta_log"))
        return {str(folder): DeltaTable(str(folder)).version() for folder in folders}

    def answers(self) -> tuple[dict[tuple[int, int], int], dict[int, tuple[int, int]]]:
        """(minute of the window's end, car) → n, and number of the window's start → (n, total)."""
        timed = {
            ((to_microseconds(r["window_end"]) - START) // MINUTE, r["car"]): r["n"] for r in self.rows("gold/by_car")
        }
        return timed, {r["window_start"]: (r["n"], r["total"]) for r in self.rows("gold/in_rows")}

    @staticmethod
    def expected(slices: range, until: int, without: int | None = None) -> tuple[Any, Any]:
        """By brute force: the windows that end in the slices, over all tuples of the first `until` minutes."""
        tuples = [(n, n % CARS) for n in range(10 * until) if n % CARS != without]
        timed = Counter(
            (minute, car)
            for minute in range(slices.start + 1, slices.stop + 1)
            for n, car in tuples
            if minute - 2 <= n // 10 < minute
        )
        rows = {}
        for first in range(0, 10 * until - 19, 10):
            if slices.start <= (first + 19) // 10 < slices.stop:
                held = [car for n, car in tuples if first <= n < first + 20]
                rows[first] = (len(held), sum(held))
        return dict(timed), rows


@pytest.fixture
def world(tmp_path: Path, spark_server: str, capsys: pytest.CaptureFixture[str]) -> World:
    made = World(tmp_path / "town", spark_server, capsys)
    made.land(range(6))
    assert made.run(range(6))[0] == 0
    return made


@pytest.mark.slow
def test_maintenance_prunes_what_is_old_and_changes_no_answer(world: World) -> None:
    before = world.versions()
    code, told = world.panelake("maintain", "--dry-run")
    assert (code, world.versions()) == (0, before)
    wanted = {(step["action"], step["table"]) for step in told["steps"]}
    kinds = ("bronze/cars", "quarantine/cars", "gold/by_car", "gold/in_rows", "quality/results", "staging/cars")
    assert {("prune", table) for table in kinds} | {("free", "panes/cars")} <= wanted

    assert world.panelake("maintain")[0] == 0
    assert world.minutes("bronze/cars") == [4, 5]
    assert world.minutes("quarantine/cars") == []  # the first slice took them all
    assert world.minutes("quality/results", "slice_start") == [4, 5]
    assert len(list((world.root / "warehouse/staging/cars").iterdir())) == 2
    assert world.answers() == world.expected(range(3, 6), 6)
    assert world.panelake("maintain") == (0, {"dry_run": False, "steps": []})
    _, status = world.panelake("status")
    assert [row["accepted"] for row in status["slices"]] == [10] * 6
    assert {row["quality"] for row in status["slices"]} == {"passed"}

    # The memory of files stays: nothing comes twice, and the next slice is answered from what is left.
    world.land(range(6, 7))
    assert world.run(range(7))[0] == 0
    assert world.answers() == world.expected(range(3, 7), 7)
    assert sorted(row["_seq"] for row in world.rows("bronze/cars")) == list(range(40, 70))

    # A slice whose windows reach into a pruned one is refused with what to do, which works.
    code, refused = world.run(range(4, 5), command="restate")
    assert code == 2
    assert (
        "slice [2026-01-01T00:03:00Z, 2026-01-01T00:04:00Z), whose tuples were deleted by retention.bronze"
        in refused["error"]
    )
    assert world.run(range(3, 4), "--stage", "ingest", "--slice", "2026-01-01T00:03:00Z")[0] == 0
    assert world.run(range(4, 5), command="restate")[0] == 0
    assert world.answers() == world.expected(range(3, 7), 7)


@pytest.mark.slow
def test_a_person_is_forgotten_everywhere(world: World) -> None:
    assert world.panelake("forget", "cars", "car=1", "--dry-run")[1]["bronze"] == 20
    assert world.panelake("forget", "cars", "car=one")[0] == 2
    code, told = world.panelake("forget", "cars", "car=1", "--purge")
    assert (code, told["bronze"], told["quarantine"], len(told["slices"])) == (0, 20, 2, 6)
    assert world.answers() == world.expected(range(6), 6, without=1)
    assert [row["_seq"] for row in world.rows("bronze/cars") if row["car"] == 1] == []
    assert sorted(row["_seq"] for row in world.rows("bronze/cars")) == [n for n in range(60) if n % CARS != 1]
    files = [path for path in (world.root / "warehouse").rglob("*.parquet") if "bronze" in path.parts]
    assert files
    assert all(1 not in pq.read_table(path, columns=["car"])["car"].to_pylist() for path in files)

    # Run again, the slices find the tuples in the source, and leave them out.
    assert world.run(range(2), "--again")[0] == 0
    assert world.answers() == world.expected(range(6), 6, without=1)
    assert world.panelake("forget", "cars", "car=1")[1]["bronze"] == 0
    # Numbers go on where they were.
    world.land(range(6, 7))
    assert world.run(range(7))[0] == 0
    assert [row["_seq"] for row in world.rows("bronze/cars") if row["_seq"] >= 60] == list(range(60, 70))


@pytest.mark.slow
def test_maintenance_again_and_again_beside_active_runs_changes_no_answer(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path / "town", "", capsys)
    world.land(range(5))
    contexts = [Context(load_workspace(world.root)) for _ in range(2)]
    for context in contexts:
        vars(context)["spark"] = spark
    parts = [Slice(START + n * MINUTE, START + (n + 1) * MINUTE) for n in range(5)]
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(
            lambda: [entry for part in parts for entry in run_slice(contexts[0], part, lambda *_: None)]
        )
        steps = []
        while not running.done():
            steps += list(maintain(contexts[1]))
    assert not [entry for entry in running.result() if entry.status == "refused"]
    steps += list(maintain(contexts[1]))
    assert {("prune", "bronze/cars"), ("prune", "gold/by_car")} <= {(step["action"], step["table"]) for step in steps}
    assert world.answers() == world.expected(range(2, 5), 5)
    assert world.minutes("bronze/cars") == [3, 4]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["cabs", "car=1"], "unknown stream 'cabs'; expected one of cars"),
        (["cars", "colour=1"], "stream cars has no column 'colour'; expected one of car, ts"),
        (["cars", "car"], "'car' names no key; expected COLUMN=VALUE"),
    ],
)
def test_what_names_nobody_is_refused(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = World(tmp_path / "town", "sc://127.0.0.1:1", capsys).panelake("forget", *given)
    assert code == 2
    assert said in document["error"]


def test_an_unknown_retention_key_is_an_error_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path / "town", "", capsys, STREAMS.replace("gold:", "golden:"))
    code, document = world.panelake("maintain", "--dry-run")
    assert code == 2
    assert (
        "streams.yaml:2: unknown key 'retention.golden'; expected one of bronze, quarantine, gold" in document["error"]
    )
