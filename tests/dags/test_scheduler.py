"""Schedules and backfills under Airflow's own scheduler, on SQLite.

    slices   2  3  4 | 5      | is now: slice 4 is the newest complete one
    run by   b  b  a          a: the schedule, b: a backfill, newest first, two at a time

The tests build on one another, in the order they are written in.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from panelake.durations import HOUR
from panelake.flow import STAGES
from panelake.home import example_workspace
from panelake.orchestration import standalone
from panelake.orchestration.airflow_home import DATABASE_VARIABLE, free_port
from panelake.orchestration.deadlines import DEADLINE_VARIABLE
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.slices import Slice, to_datetime, to_microseconds
from panelake.worlds.generate import generate

pytestmark = [pytest.mark.scheduler, pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(3600)]

TUPLES, SLICES, NEWEST = 7_000, 7, 4
ALL_DONE = {stage.name: "success" for stage in STAGES}


class World:
    """A workspace of slices of an hour around now."""

    def __init__(self, folder: Path) -> None:
        now = to_microseconds(datetime.now(UTC))
        self.start = now - now % HOUR - (NEWEST + 1) * HOUR
        self.root = folder / "traffic"
        shutil.copytree(example_workspace("traffic"), self.root, ignore=shutil.ignore_patterns("warehouse", "landing"))
        streams = (self.root / "streams.yaml").read_text()
        (self.root / "streams.yaml").write_text(streams.replace("slice: 5 minutes", "slice: 1 hour"))
        rate = TUPLES / (SLICES * 3600)
        generate("traffic", TUPLES, rate, 5, self.start, self.root / "landing" / "traffic", lambda _: None)

    def slice(self, number: int) -> Slice:
        return Slice(self.start + number * HOUR, self.start + (number + 1) * HOUR)

    def at(self, number: int) -> datetime:
        return to_datetime(self.slice(number).start)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("scheduled"))


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


def test_a_scheduled_run_takes_the_newest_complete_slice(airflow: Any, world: World) -> None:
    airflow.unpause("answers_traffic")
    airflow.unpause(airflow.dag)
    run = airflow.ended(world.at(NEWEST))
    assert run["run_type"] == "scheduled"
    assert (run["state"], airflow.states(run)) == ("success", ALL_DONE)


def test_history_is_backfilled_newest_first_two_at_a_time(airflow: Any, world: World) -> None:
    airflow.command(
        *("backfill", "create", "--dag-id", airflow.dag, "--run-backwards", "--max-active-runs", "2"),
        *("--from-date", world.at(2).isoformat(), "--to-date", world.at(3).isoformat()),
    )
    runs = [airflow.ended(world.at(number)) for number in (3, 2)]
    assert [run["run_type"] for run in runs] == ["backfill"] * 2
    assert [run["state"] for run in runs] == ["success"] * 2
    airflow.await_no_backfill()


def test_a_run_by_hand_without_an_interval_is_refused_clearly(airflow: Any) -> None:
    triggered = airflow.trigger(None)
    airflow.wait(lambda: airflow.states(triggered).get("ingest") == "failed", "ingest has failed")
    assert "this run has no data interval, so there is no slice to work on" in airflow.log_of(triggered, "ingest")


def test_a_run_that_takes_too_long_is_told_of(airflow: Any) -> None:
    log = Path(airflow.record.log)
    airflow.wait(lambda: "deadline missed: slices_traffic" in log.read_text(errors="replace"), "the alert")
