"""`panelake bench overhead`: what a slice with next to no data costs, in process and under Airflow's own scheduler.

Seconds from the start of the run until its answers are published, of the quickest of some slices after one that warms
everything up, and where they go. The machine's other work counts in: its load is told beside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from panelake.benchmarks.targets import at_most
from panelake.context import Context
from panelake.durations import DAY
from panelake.errors import PartDownError
from panelake.home import example_workspace, home
from panelake.orchestration import standalone
from panelake.orchestration.airflow_home import DATABASE_VARIABLE, airflow_home, environment, free_port
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.runner import run_slice
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.spark import server
from panelake.spark.session import MASTER_VARIABLE
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

TARGETS = {"in_process": 5.0, "scheduled": 20.0}
SLICES = 4  # the first warms up
TUPLES = 10 * SLICES
_WAIT_SECONDS = 900.0
_PUBLISHES = "publish"
_TASKS = (
    "SELECT t.task_id, t.start_date, t.end_date, r.start_date FROM task_instance t"
    " JOIN dag_run r ON r.dag_id = t.dag_id AND r.run_id = t.run_id"
    " WHERE t.dag_id = 'slices_traffic' AND r.data_interval_start = :start AND r.state IN ('success', 'failed')"
)


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:  # noqa: ARG001 - as every benchmark
    """Both ways, and whether each target is reached; the stream's size asked for plays no part."""
    with tempfile.TemporaryDirectory() as place:
        found = {"in_process": _in_process(_world(Path(place) / "alone")), "scheduled": _scheduled(Path(place))}
    targets = [at_most(f"{name}, seconds", found[name]["seconds"], limit) for name, limit in TARGETS.items()]
    return {
        **found,
        "targets": targets,
        "load": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }


def _days() -> list[Slice]:
    """The newest complete days, newest first: the order that history comes in."""
    now = to_microseconds(datetime.now(UTC))
    newest = now - now % DAY - DAY
    return [Slice(start, start + DAY) for start in range(newest, newest - SLICES * DAY, -DAY)]


def _world(folder: Path) -> Path:
    root = folder / "traffic"
    shutil.copytree(example_workspace("traffic"), root, ignore=shutil.ignore_patterns("warehouse", "landing"))
    declared = (root / "streams.yaml").read_text()
    (root / "streams.yaml").write_text(declared.replace("slice: 5 minutes", "slice: 1 day"))
    rate = TUPLES / (SLICES * DAY / 1_000_000)
    generate("traffic", TUPLES, rate, 1, _days()[-1].start, root / "landing" / "traffic", lambda _: None)
    return root


def _in_process(root: Path) -> dict[str, Any]:
    """All slices in one process, on a session of its own."""
    context = Context(load_workspace(root))
    found = []
    try:
        for part in _days():
            entries = run_slice(context, part, lambda _part, _stage: None)
            found.append({entry.stage: round(entry.seconds, 2) for entry in entries if not entry.subject})
    finally:
        context.close()
    until = [{stage: taken for stage, taken in one.items() if stage != "report"} for one in found]
    best = min(until[1:], key=lambda one: sum(one.values()))
    return {"seconds": round(sum(best.values()), 2), "stages": best, "first_slice": round(sum(until[0].values()), 2)}


def _scheduled(place: Path) -> dict[str, Any]:
    """The same slices under a scheduler of their own, one run after another."""
    root = _world(place / "scheduled")
    with _own_airflow(place / "home", root) as variables:
        found = []
        for number, part in enumerate(_days()):
            if number:
                _trigger(part, variables)
            found.append(_times(_ended(part)))
    best = min(found[1:], key=lambda one: float(one["seconds"]))
    return {**best, "first_slice": found[0]["seconds"]}


@contextmanager
def _own_airflow(place: Path, root: Path) -> Iterator[Mapping[str, str]]:
    """An Airflow that shares nothing with the user's but the Spark server and the caches."""
    own = {
        MASTER_VARIABLE: os.environ.get(MASTER_VARIABLE) or server.ensure(),
        "PANELAKE_HOME": str(place),
        WORKSPACES_VARIABLE: str(root),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    }
    place.mkdir()
    for cache in ("jars", "numba"):
        (home() / cache).mkdir(exist_ok=True)
        (place / cache).symlink_to(home() / cache)
    before = {name: os.environ.get(name) for name in (*own, DATABASE_VARIABLE)}
    os.environ.pop(DATABASE_VARIABLE, None)
    os.environ.update(own)
    try:
        record = standalone.up(free_port())
        yield environment(port=record.port)
    finally:
        standalone.down()
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})


def _trigger(part: Slice, variables: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "airflow", "dags", "trigger", "slices_traffic", "--logical-date", part.name]
    subprocess.run(command, env=dict(variables), check=True, capture_output=True)  # noqa: S603 - Airflow's own


def _ended(part: Slice) -> list[Any]:
    """The tasks of the slice's run, once it has ended."""
    from sqlalchemy import create_engine, text  # noqa: PLC0415 - Airflow's

    engine = create_engine(f"sqlite:///{airflow_home() / 'airflow.db'}")
    start = format_instant(part.start).replace("T", " ").replace("Z", ".000000")
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        with engine.connect() as connection:
            rows = list(connection.execute(text(_TASKS), {"start": start}).all())
        if rows:
            engine.dispose()
            return rows
        time.sleep(0.5)
    raise PartDownError(f"the run of {part} has not ended after {_WAIT_SECONDS:.0f} s")


def _times(rows: list[Any]) -> dict[str, Any]:
    """Seconds from the run's start to published; of each task how long it waited and how long it worked."""
    # A task that was skipped has no times.
    tasks = {name: (_instant(start), _instant(end)) for name, start, end, _ in rows if start and end}
    began = _instant(rows[0][3])
    _, until = tasks[_PUBLISHES]
    stages = {}
    previous = began
    for name, (start, end) in sorted(tasks.items(), key=lambda item: item[1]):
        if start < until:
            stages[name] = {"waited": _seconds(previous, start), "worked": _seconds(start, end)}
            previous = end
    return {"seconds": _seconds(began, until), "stages": stages}


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 2)
