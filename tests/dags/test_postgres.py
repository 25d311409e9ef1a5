"""Airflow's own database on PostgreSQL, where one is installed: a slice is scheduled, and `status` finds its run."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from panelake.durations import HOUR
from panelake.home import example_workspace
from panelake.orchestration import standalone
from panelake.orchestration.airflow_home import DATABASE_VARIABLE, LOOPBACK, free_port
from panelake.orchestration.known_runs import KnownRun, known_runs
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.slices import Slice, to_datetime, to_microseconds
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

pytestmark = [pytest.mark.scheduler, pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(1800)]

USER = "postgres"  # PostgreSQL refuses to run as root


def installed() -> Path | None:
    """The folder of PostgreSQL's programs: Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of a PostgreSQL of this test's own, on loopback."""
    programs = installed()
    if programs is None:
        pytest.skip("no PostgreSQL is installed")
    as_root = os.geteuid() == 0
    who = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []} if as_root else {}
    with tempfile.TemporaryDirectory() as folder:
        if as_root:
            shutil.chown(folder, USER)
        port, data = free_port(), f"{folder}/data"
        initdb = [programs / "initdb", "-D", data, "-A", "trust", "-U", "airflow"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **who)
        command = [programs / "postgres", "-D", data, "-p", str(port), "-h", LOOPBACK, "-k", folder]
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, **who)
        try:
            ready = [programs / "pg_isready", "-h", LOOPBACK, "-p", str(port)]
            deadline = time.monotonic() + 60
            while subprocess.run(ready, check=False, capture_output=True).returncode:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            yield f"postgresql://airflow@{LOOPBACK}:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # ends at once, whoever is connected
            server.wait()


def test_a_slice_is_scheduled_and_its_run_is_known(
    database: str, spark_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, airflow_client: Any
) -> None:
    assert spark_server
    town = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), town, ignore=shutil.ignore_patterns("warehouse", "landing"))
    streams = (town / "streams.yaml").read_text()
    (town / "streams.yaml").write_text(streams.replace("slice: 5 minutes", "slice: 1 hour"))
    now = to_microseconds(datetime.now(UTC))
    newest = now - now % HOUR - HOUR
    generate("traffic", 600, 600 / 10_800, 5, newest - HOUR, town / "landing" / "traffic", lambda _: None)
    monkeypatch.setenv(DATABASE_VARIABLE, database)
    monkeypatch.setenv(WORKSPACES_VARIABLE, str(town))
    try:
        airflow = airflow_client(standalone.up(free_port()), "slices_traffic")
        airflow.log_in()
        airflow.unpause(airflow.dag)
        run = airflow.ended(to_datetime(newest))
        assert run["state"] == "success"
        known = KnownRun(Slice(newest, newest + HOUR), run["dag_run_id"], "success")
        assert known in known_runs(load_workspace(town))
    finally:
        standalone.down()
