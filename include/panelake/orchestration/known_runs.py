"""What Airflow's own database says of a workspace's slices, against the ledger; nothing where none can be asked.

Airflow is not loaded for this: one table is read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from panelake.orchestration.airflow_home import DATABASE_VARIABLE, airflow_home
from panelake.orchestration.workspaces import dag_id
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.workspace import Workspace

_RUNS = (
    "SELECT run_id, state, data_interval_start, data_interval_end FROM dag_run"
    " WHERE dag_id = :dag AND data_interval_start IS NOT NULL"
)


@dataclass(frozen=True)
class KnownRun:
    """A run that Airflow remembers."""

    slice: Slice
    run_id: str
    state: str


def disagreements(workspace: Workspace, published: Collection[Slice], since: int | None = None) -> list[dict[str, str]]:
    """Green runs whose slice is not published, and published slices that no run is known of, by slice.

    `since` leaves out earlier runs: of these it is not told what is published.
    """
    runs = known_runs(workspace)
    if not runs:
        return []
    return [*_green_for_nothing(runs, published, since), *_without_run(runs, published)]


def _green_for_nothing(
    runs: Iterable[KnownRun], published: Collection[Slice], since: int | None
) -> list[dict[str, str]]:
    return [
        _finding(run.slice, f"run {run.run_id} succeeded and nothing is published for it: {_again(run.slice)}")
        for run in runs
        if run.state == "success" and (since is None or run.slice.start >= since) and run.slice not in published
    ]


def _without_run(runs: Collection[KnownRun], published: Collection[Slice]) -> list[dict[str, str]]:
    known = {run.slice for run in runs}
    told = "published without a run in Airflow: by the command line, or the run was deleted"
    return [_finding(part, told) for part in sorted(published) if part not in known]


def _finding(part: Slice, text: str) -> dict[str, str]:
    return {"slice": part.name, "finding": text}


def _again(part: Slice) -> str:
    return f"panelake run --from {part.name} --to {format_instant(part.end)}"


def known_runs(workspace: Workspace) -> list[KnownRun]:
    """The runs of the workspace's slices, oldest slice first; none where there is no database to ask."""
    address = _database()
    if address is None:
        return []
    from sqlalchemy import create_engine, text  # noqa: PLC0415 - Airflow's, and only needed where there is one
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    try:
        engine = create_engine(address)
        with engine.connect() as connection:
            rows = connection.execute(text(_RUNS), {"dag": dag_id(workspace)}).all()
        engine.dispose()
    except (SQLAlchemyError, ImportError):
        return []  # not reachable, or not migrated yet
    return sorted((_run(*row) for row in rows), key=lambda run: run.slice)


def _database() -> str | None:
    given = os.environ.get(DATABASE_VARIABLE)
    own = airflow_home() / "airflow.db"
    return given or (f"sqlite:///{own}" if own.is_file() else None)


def _run(run_id: str, state: str, start: Any, end: Any) -> KnownRun:
    return KnownRun(Slice(_instant(start), _instant(end)), run_id, state)


def _instant(value: Any) -> int:
    """Microseconds; SQLite keeps instants as text, in UTC."""
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    return to_microseconds(found.replace(tzinfo=found.tzinfo or UTC))
