"""Schedules and backfills under Airflow's own scheduler, on SQLite: gold is what a straight run in process makes.

    slices   0  1 | 2  3 | 4 … 15 | 16 |      16 is the newest complete one now
    run by   e  d | c  c | b    b | a         a: the schedule   b: a backfill, newest first, two at a time
                                              c: a backfill, newest first, after one, oldest first, is refused
                                              d: its task is killed   e: the Spark server is killed
    Slice 10 breaks a rule of its query: the gate refuses it, and nothing else.
    PANELAKE_BACKFILLED says how many slices b has, where twelve take too long.

The tests build on one another, in the order they are written in.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.cli import main
from panelake.durations import HOUR, SECOND
from panelake.flow import dag_tasks
from panelake.home import example_workspace
from panelake.orchestration import standalone
from panelake.orchestration.airflow_home import DATABASE_VARIABLE, free_port
from panelake.orchestration.deadlines import DEADLINE_VARIABLE
from panelake.orchestration.known_runs import disagreements
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.slices import Slice, format_instant, to_datetime, to_microseconds
from panelake.spark import server
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate
from panelake.worlds.traffic import SCHEMA

pytestmark = [pytest.mark.scheduler, pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(7200)]

BACKFILLED = int(os.environ.get("PANELAKE_BACKFILLED", "12"))
NEWEST, BAD = 4 + BACKFILLED, 4 + BACKFILLED // 2
SLICES, TUPLES = NEWEST + 2, 200 * (NEWEST + 2)
QUERY = "speed_by_area"
ALL_DONE = dict.fromkeys([*dag_tasks(), "published"], "success")
TOO_FAST = 5_000.0
RULE = f"""\
query: {QUERY}
expectations:
  - type: expect_column_values_to_be_between
    kwargs: {{column: fastest, max_value: 1000}}
    severity: blocking
"""


class World:
    """A workspace of slices of an hour around now; one tuple in the middle of one slice is faster than may be."""

    def __init__(self, folder: Path) -> None:
        now = to_microseconds(datetime.now(UTC))
        self.start = now - now % HOUR - (NEWEST + 1) * HOUR
        self.root, self.straight = folder / "traffic", folder / "straight"
        shutil.copytree(example_workspace("traffic"), self.root, ignore=shutil.ignore_patterns("warehouse", "landing"))
        streams = (self.root / "streams.yaml").read_text()
        (self.root / "streams.yaml").write_text(streams.replace("slice: 5 minutes", "slice: 1 hour"))
        (self.root / "expectations").mkdir(exist_ok=True)
        (self.root / "expectations" / "speed.yaml").write_text(RULE)
        landing = self.root / "landing" / "traffic"
        generate("traffic", TUPLES, TUPLES / (SLICES * 3600), 5, self.start, landing, lambda _: None)
        fast = {"area_id": 1, "car_id": 1, "speed": TOO_FAST, "ts": self.start + BAD * HOUR + HOUR // 2 + SECOND}
        pq.write_table(pa.Table.from_pylist([fast], SCHEMA), landing / "fast.parquet")
        shutil.copytree(self.root, self.straight)

    def slice(self, number: int) -> Slice:
        return Slice(self.start + number * HOUR, self.start + (number + 1) * HOUR)

    def at(self, number: int) -> datetime:
        return to_datetime(self.slice(number).start)

    def gold(self, root: Path, numbers: range) -> list[dict[str, Any]]:
        """The answers of the slices that reach no further back, in order; how often they were revised aside."""
        table = DeltaTable(str(root / "warehouse" / "gold" / QUERY)).to_pyarrow_table().drop_columns(["_revision"])
        wanted = {self.at(number) for number in numbers}
        first = self.at(numbers.start)
        rows = [row for row in table.to_pylist() if row["_slice"] in wanted and row["window_start"] >= first]
        return sorted(rows, key=lambda row: (row["window_end"], row["area_id"]))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("scheduled"))


@pytest.fixture(scope="module")
def straight(world: World, spark_server: str) -> World:
    """The same files through one command, oldest slice first: the gate refuses the one bad slice."""
    bounds = [format_instant(world.slice(number).start) for number in (0, NEWEST + 1)]
    options = ["--workspace", str(world.straight), "--master", spark_server, "--from", bounds[0], "--to", bounds[1]]
    assert main(["run", *options]) == 1
    return world


@pytest.fixture(scope="module")
def airflow(world: World, spark_server: str, airflow_client: Any) -> Iterator[Any]:  # noqa: ARG001 - the server that the tasks find
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(DATABASE_VARIABLE, raising=False)
        patch.setenv(WORKSPACES_VARIABLE, str(world.root))
        patch.setenv(DEADLINE_VARIABLE, "1")
        try:
            started = airflow_client(standalone.up(free_port()), "slices_traffic")
            started.log_in()
            yield started
        finally:
            standalone.down()


def assert_same_gold(world: World, numbers: range) -> None:
    made = world.gold(world.root, numbers)
    assert made
    assert made == world.gold(world.straight, numbers)


def test_a_scheduled_run_takes_the_newest_complete_slice(airflow: Any, straight: World) -> None:
    airflow.unpause("answers_traffic")
    airflow.unpause(airflow.dag)
    run = airflow.ended(straight.at(NEWEST))
    assert run["run_type"] == "scheduled"
    assert (run["state"], airflow.states(run)) == ("success", ALL_DONE)
    assert_same_gold(straight, range(NEWEST, NEWEST + 1))


def test_history_is_backfilled_newest_first_two_at_a_time_and_one_refusal_stops_no_other(
    airflow: Any, straight: World
) -> None:
    airflow.backfill(straight.at(4), straight.at(NEWEST - 1), "--run-backwards", "--max-active-runs", "2")
    runs = {number: airflow.ended(straight.at(number)) for number in range(NEWEST - 1, 3, -1)}
    assert {run["run_type"] for run in runs.values()} == {"backfill"}
    assert {n: run["state"] for n, run in runs.items()} == {n: "failed" if n == BAD else "success" for n in runs}
    assert airflow.states(runs[BAD]) == ALL_DONE | {"publish": "failed", "published": "upstream_failed"}
    assert airflow.states(runs[BAD - 1])["ingest"] == "success"
    assert straight.gold(straight.root, range(BAD, BAD + 1)) == []
    assert_same_gold(straight, range(4, NEWEST + 1))
    airflow.await_no_backfill()


def test_history_in_ascending_order_is_refused_with_what_to_do(airflow: Any, straight: World) -> None:
    airflow.backfill(straight.at(1), straight.at(2), "--max-active-runs", "1")
    run = airflow.ended(straight.at(1))
    assert (run["state"], airflow.states(run)["ingest"]) == ("failed", "failed")
    assert "by a backfill with --run-backwards" in airflow.log_of(run, "ingest")
    airflow.ended(straight.at(2))
    airflow.await_no_backfill()


def test_an_older_range_after_a_newer_one_newest_first(airflow: Any, straight: World) -> None:
    now = datetime.now(UTC)
    airflow.backfill(straight.at(2), straight.at(3), "--run-backwards", "--reprocess-behavior", "completed")
    assert [airflow.ended_after(straight.at(number), now)["state"] for number in (3, 2)] == ["success"] * 2
    assert_same_gold(straight, range(2, NEWEST + 1))
    airflow.await_no_backfill()


def test_a_killed_task_is_tried_again(airflow: Any, straight: World) -> None:
    now = datetime.now(UTC)
    airflow.clear(straight.at(1))
    os.kill(_holder_of(straight, straight.slice(1)), signal.SIGKILL)
    run = airflow.ended_after(straight.at(1), now)
    assert (run["state"], airflow.states(run)) == ("success", ALL_DONE)
    assert max(airflow.tries(run).values()) > 2, "refused once, killed once"
    assert_same_gold(straight, range(1, NEWEST + 1))


def test_a_killed_server_is_started_anew_and_the_task_tried_again(airflow: Any, straight: World) -> None:
    triggered = airflow.trigger(straight.at(0))
    _holder_of(straight, straight.slice(0))
    os.kill(int(server.status().pid or 0), signal.SIGKILL)
    run = airflow.ended(straight.at(0))
    assert run["dag_run_id"] == triggered["dag_run_id"]
    assert (run["state"], airflow.states(run)) == ("success", ALL_DONE)
    assert_same_gold(straight, range(NEWEST + 1))


def test_airflow_and_the_ledger_agree(airflow: Any, straight: World) -> None:  # noqa: ARG001 - after all its runs
    published = {straight.slice(number) for number in range(NEWEST + 1) if number != BAD}
    assert disagreements(load_workspace(straight.root), published, straight.start) == []


def test_a_run_by_hand_without_an_interval_is_refused_clearly(airflow: Any) -> None:
    triggered = airflow.trigger(None)
    airflow.wait(lambda: airflow.states(triggered).get("ingest") == "failed", "ingest has failed")
    assert "this run has no data interval, so there is no slice to work on" in airflow.log_of(triggered, "ingest")


def test_a_run_that_takes_too_long_is_told_of(airflow: Any) -> None:
    log = Path(airflow.record.log)
    airflow.wait(lambda: "deadline missed: slices_traffic" in log.read_text(errors="replace"), "the alert")


def test_gold_is_announced_and_the_report_rebuilt(airflow: Any) -> None:
    airflow.unpause("report_traffic")
    events = airflow.call("GET", "/api/v2/assets/events?limit=100")["asset_events"]
    told = [event["extra"] for event in events if event["name"] == f"traffic/gold/{QUERY}"]
    assert told
    assert all(one["rows"] > 0 for one in told)


def test_the_example_downstream_of_gold_runs(airflow: Any) -> None:
    airflow.wait(lambda: any(run["state"] == "success" for run in airflow.runs("answers_traffic")), "answers are told")


def test_maintenance_and_recheck_run_beside(airflow: Any) -> None:
    for dag in ("maintenance_traffic", "recheck_traffic"):
        airflow.unpause(dag)
        airflow.command("dags", "trigger", dag)
        airflow.wait(
            lambda dag=dag: any(run["state"] == "success" for run in airflow.runs(dag)), f"{dag} has succeeded"
        )


def _holder_of(world: World, part: Slice) -> int:
    """The process of the task that is at work on the slice, as its lock names it."""
    lock = world.root / "warehouse" / "ledger" / "locks" / f"slice-{part.start // part.length % 256}.lock"
    before = lock.read_text() if lock.exists() else ""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        text = lock.read_text() if lock.exists() else ""
        if text.startswith("process ") and text != before:
            return int(text.removeprefix("process "))
        time.sleep(0.02)
    raise AssertionError(f"no task took up slice {part}")
