"""A running Airflow, asked through its REST API and its command line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError

import pytest

from panelake.orchestration.airflow_home import environment
from panelake.orchestration.airflow_processes import AirflowRecord
from panelake.orchestration.standalone import password

WAIT_SECONDS = 1200.0
DONE = {"success", "failed"}


@dataclass
class Airflow:
    """One started Airflow, and the DAG that a test is about."""

    record: AirflowRecord
    dag: str
    token: str = ""

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Give the answer's document; HTTPError where Airflow refuses."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.record.url}{path}", data, headers, method=method)  # noqa: S310 - loopback
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    @staticmethod
    def wait(condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"not so after {WAIT_SECONDS:.0f} s: {what}"
            time.sleep(1)

    def log_in(self) -> None:
        credentials = {"username": "admin", "password": password()}
        self.token = self.call("POST", "/auth/token", credentials)["access_token"]

    def command(self, *arguments: str) -> str:
        """Run one of Airflow's own commands against the same database."""
        variables = environment(port=self.record.port)
        command = [sys.executable, "-W", "ignore", "-m", "airflow", *arguments]
        done = subprocess.run(command, env=variables, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def unpause(self, dag: str) -> None:
        self.wait(lambda: self._patched(dag), f"{dag} is parsed")

    def _patched(self, dag: str) -> bool:
        try:
            self.call("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})
        except HTTPError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    def runs(self, dag: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("GET", f"/api/v2/dags/{dag or self.dag}/dagRuns?limit=100&order_by=id")[
            "dag_runs"
        ]
        return found

    def run_of(self, start: datetime) -> dict[str, Any] | None:
        """The run whose data interval starts there."""
        found = [run for run in self.runs() if _instant(run["data_interval_start"]) == start]
        return found[-1] if found else None

    def ended(self, start: datetime) -> dict[str, Any]:
        """The run of the slice, once it has ended."""
        self.wait(lambda: (self.run_of(start) or {"state": None})["state"] in DONE, f"the run of {start} has ended")
        run = self.run_of(start)
        assert run is not None
        return run

    def states(self, run: dict[str, Any]) -> dict[str, str]:
        path = f"/api/v2/dags/{self.dag}/dagRuns/{run['dag_run_id']}/taskInstances"
        return {task["task_id"]: task["state"] for task in self.call("GET", path)["task_instances"]}

    def log_of(self, run: dict[str, Any], task: str) -> str:
        path = f"/api/v2/dags/{self.dag}/dagRuns/{run['dag_run_id']}/taskInstances/{task}/logs/1?full_content=true"
        return json.dumps(self.call("GET", path))

    def trigger(self, logical_date: datetime | None) -> dict[str, Any]:
        body = {"logical_date": logical_date and logical_date.isoformat()}
        run: dict[str, Any] = self.call("POST", f"/api/v2/dags/{self.dag}/dagRuns", body)
        return run

    def backfill(self, first: datetime, last: datetime, *more: str) -> None:
        bounds = ("--from-date", first.isoformat(), "--to-date", last.isoformat())
        self.command("backfill", "create", "--dag-id", self.dag, *bounds, *more)

    def clear(self, start: datetime) -> None:
        """Run all tasks of the slice's run once more."""
        run = self.run_of(start)
        assert run is not None
        self.call("POST", f"/api/v2/dags/{self.dag}/dagRuns/{run['dag_run_id']}/clear", {"dry_run": False})

    def ended_after(self, start: datetime, moment: datetime) -> dict[str, Any]:
        """The slice's run, once it was run again after the moment and has ended."""

        def has_ended() -> bool:
            run = self.run_of(start) or {"state": None}
            return run["state"] in DONE and (_instant(run["end_date"]) or moment) > moment

        self.wait(has_ended, f"the run of {start} has ended again")
        return self.ended(start)

    def tries(self, run: dict[str, Any]) -> dict[str, int]:
        path = f"/api/v2/dags/{self.dag}/dagRuns/{run['dag_run_id']}/taskInstances"
        return {task["task_id"]: task["try_number"] for task in self.call("GET", path)["task_instances"]}

    def await_no_backfill(self) -> None:
        """One backfill of a DAG at a time: wait until Airflow calls the last one complete."""
        self.wait(self._no_backfill, "no backfill is active")

    def _no_backfill(self) -> bool:
        found = self.call("GET", f"/api/v2/backfills?dag_id={self.dag}")["backfills"]
        return all(backfill["completed_at"] for backfill in found)


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


@pytest.fixture(scope="session")
def airflow_client() -> type[Airflow]:
    """The class above, since tests cannot import it from here."""
    return Airflow
