"""A task, then the scheduler, is killed under Airflow: the run ends in success, with the tables of an undisturbed one.

    slices   3 ← 2 ← 1 ← 0      0 is the newest complete one now, by the schedule; the others are triggered, backwards

What Airflow waits before it believes that a part of it is dead takes minutes; here it takes seconds.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from panelake.orchestration import standalone
from panelake.orchestration.airflow_home import DATABASE_VARIABLE, free_port
from panelake.orchestration.airflow_processes import load_record
from panelake.orchestration.health import unhealthy_parts
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.slices import Slice, to_datetime, to_microseconds

from .breaking import kill
from .tally import Tally, Trial, trials
from .world import SECOND, World, rows_of

spec = importlib.util.spec_from_file_location("airflow_client", Path(__file__).parents[1] / "dags" / "conftest.py")
airflow_client = importlib.util.module_from_spec(spec)
sys.modules["airflow_client"] = airflow_client
spec.loader.exec_module(airflow_client)

pytestmark = [pytest.mark.faults, pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(900)]

DAY = 24 * 3600
IMPATIENT = {
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "10",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
}
TASKS = 4


def newest(length: int) -> int:
    """Where the newest complete slice of so many seconds starts."""
    now = to_microseconds(datetime.now(UTC))
    return now - now % (length * SECOND) - length * SECOND


def length_now() -> int:
    """A length whose grid has no border within the next hour: a slice more would be scheduled there."""
    now = to_microseconds(datetime.now(UTC)) // SECOND
    return next(days * DAY for days in (7, 5) if now % (days * DAY) < days * DAY - 3600)


@pytest.fixture(scope="module")
def past(faults_home: Path, tmp_path_factory: pytest.TempPathFactory) -> World:  # noqa: ARG001 - both run on the server of that home
    length = length_now()
    return World(tmp_path_factory.mktemp("scheduled"), newest(length), length=length, step=-1)


@pytest.fixture(scope="module")
def airflow(past: World) -> Iterator[Any]:
    """An Airflow that has run the newest slice."""
    part = past.next_slice()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(DATABASE_VARIABLE, raising=False)
        patch.setenv(WORKSPACES_VARIABLE, str(past.disturbed))
        for name, value in IMPATIENT.items():
            patch.setenv(name, value)
        try:
            started = airflow_client.Airflow(standalone.up(free_port()), f"slices_{past.disturbed.name}")
            started.log_in()
            started.unpause(started.dag)
            assert started.ended(to_datetime(part.start))["state"] == "success"
            assert not past.differences()
            yield started
        finally:
            standalone.down()


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_task_is_killed(airflow: Any, past: World, faults_home: Path, tally: Tally, _: int) -> None:
    with tally.trial("Airflow task killed") as trial:
        part = past.next_slice()
        airflow.trigger(to_datetime(part.start))
        pid = holder(past, part, trial.chance, faults_home)
        trial.hit = pid is not None and kill(pid)
        assert_success(airflow, past, part, trial)


@pytest.mark.parametrize("_", range(trials(1)))
def test_the_scheduler_is_killed(airflow: Any, past: World, faults_home: Path, tally: Tally, _: int) -> None:
    """`make up` starts it again; it finds the task that was under way, and has it run once more."""
    with tally.trial("Airflow scheduler killed") as trial:
        before, part = rows_of(past.warehouse), past.next_slice()
        airflow.trigger(to_datetime(part.start))
        holder(past, part, trial.chance, faults_home)
        record = load_record()
        assert record is not None
        [scheduler] = [one for one in record.parts if one.name == "scheduler"]
        trial.hit = kill(scheduler.pid)
        airflow.wait(lambda: "scheduler" in unhealthy_parts(record.url), "the scheduler is missed")
        airflow.record = standalone.up(free_port())
        airflow.log_in()
        past.assert_consistent(trial, before)
        assert_success(airflow, past, part, trial)


def assert_success(airflow: Any, past: World, part: Slice, trial: Trial) -> None:
    """The slice's run ends in success; the tables are the undisturbed ones."""
    run = airflow.ended(to_datetime(part.start))
    assert run["state"] == "success", airflow.states(run)
    past.assert_healed(trial)


def holder(world: World, part: Slice, chance: random.Random, home: Path) -> int | None:
    """The process of a task at work on the slice, as its lock names it: which of the tasks, and when, is drawn.

    None where it has ended meanwhile.
    """
    lock = world.warehouse / "ledger" / "locks" / f"slice-{part.start // part.length % 256}.lock"
    text = lock.read_text() if lock.exists() else ""
    for _ in range(1 + chance.randrange(TASKS)):
        text = changed(lock, text)
    time.sleep(chance.uniform(0, 1.5))
    pid = int(text.removeprefix("process "))
    try:
        is_ours = psutil.Process(pid).environ().get("PANELAKE_HOME") == str(home)
    except psutil.Error:
        return None
    return pid if is_ours else None


def changed(lock: Path, before: str) -> str:
    """What the lock says when it names another process."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        text = lock.read_text() if lock.exists() else ""
        if text.startswith("process ") and text != before:
            return text
        time.sleep(0.02)
    raise AssertionError(f"no other task took up the slice of {lock.name}")
