"""Airflow's runs against the ledger, over a database that Airflow itself migrated."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from panelake.home import example_workspace
from panelake.orchestration.airflow_home import DATABASE_VARIABLE
from panelake.orchestration.known_runs import disagreements, known_runs
from panelake.slices import Slice, parse_instant, to_datetime
from panelake.workspace import Workspace, load_workspace

MIDNIGHT = parse_instant("2026-01-01T00:00:00Z")
FIVE_MINUTES = 300_000_000


def at(number: int) -> Slice:
    return Slice(MIDNIGHT + number * FIVE_MINUTES, MIDNIGHT + (number + 1) * FIVE_MINUTES)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    folder = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), folder, ignore=shutil.ignore_patterns("warehouse", "landing"))
    return load_workspace(folder)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one table that is read, in the form SQLite has it in."""
    path = tmp_path / "airflow.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE dag_run (dag_id TEXT, run_id TEXT, state TEXT, data_interval_start TIMESTAMP,"
            " data_interval_end TIMESTAMP)"
        )
    monkeypatch.setenv(DATABASE_VARIABLE, f"sqlite:///{path}")
    return path


def enter(database: Path, number: int, state: str, dag: str = "slices_traffic") -> None:
    bounds = [f"{to_datetime(instant):%Y-%m-%d %H:%M:%S.%f}" for instant in (at(number).start, at(number).end)]
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO dag_run VALUES (?, ?, ?, ?, ?)", (dag, f"run {number}", state, *bounds))


def test_a_green_run_that_published_nothing_is_told_with_what_to_do(workspace: Workspace, database: Path) -> None:
    for number in range(3):
        enter(database, number, "success")
    assert disagreements(workspace, [at(0), at(2)], since=MIDNIGHT) == [
        {
            "slice": "2026-01-01T00:05:00Z",
            "finding": "run run 1 succeeded and nothing is published for it:"
            " panelake run --from 2026-01-01T00:05:00Z --to 2026-01-01T00:10:00Z",
        }
    ]


def test_data_without_a_run_is_told(workspace: Workspace, database: Path) -> None:
    enter(database, 0, "success")
    [finding] = disagreements(workspace, [at(0), at(1)], since=MIDNIGHT)
    assert finding["slice"] == "2026-01-01T00:05:00Z"
    assert "published without a run in Airflow" in finding["finding"]


def test_failed_and_running_ones_and_other_dags_are_no_disagreement(workspace: Workspace, database: Path) -> None:
    enter(database, 0, "failed")
    enter(database, 1, "running")
    enter(database, 2, "success", "slices_packets")
    assert [run.state for run in known_runs(workspace)] == ["failed", "running"]
    assert disagreements(workspace, [], since=MIDNIGHT) == []


def test_nothing_is_said_where_no_airflow_can_be_asked(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, f"sqlite:///{tmp_path}/nowhere/airflow.db")
    assert disagreements(workspace, [at(0)], since=MIDNIGHT) == []
    monkeypatch.delenv(DATABASE_VARIABLE)
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path))
    assert disagreements(workspace, [at(0)], since=MIDNIGHT) == []
