"""The body of a DAG task: some stages of one slice, and which of its errors Airflow may try again.

Only a `TransientError` leaves a task as it is. Every other error becomes an `AirflowFailException`, which ends the
task at once. A task that waits, for another run or for its source, gives its worker back meanwhile.
What is heavy is imported when a task runs: the DAG file that imports this module is parsed all the time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panelake.durations import format_duration
from panelake.errors import BadInputError, GateRefusedError, PanelakeError, TransientError
from panelake.flow import STAGES, Stage, dag_tasks
from panelake.orchestration.assets import announce
from panelake.orchestration.instants import microseconds_of
from panelake.orchestration.workspaces import dag_id
from panelake.slices import Slice, format_instant, parse_instant, to_datetime

if TYPE_CHECKING:
    from panelake.context import Context
    from panelake.ledger import Entry
    from panelake.orchestration.neighbours import IsRunning
    from panelake.workspace import Workspace

SPARK_POOL = "spark"
SPARK_CONNECTION = "panelake_spark"
Interval = tuple[datetime | None, datetime | None]
_INGESTS, _CHECKS, _PUBLISHES, _LAST = "ingest", "audit", "publish", STAGES[-1].name
_OTHERS_RULE = "reads_passed_slices"
_TIMES_OVERTAKEN = 3  # by slices that are ingested between the look at them and the audit
_WAIT = timedelta(seconds=5)
_EXAMPLE_INSTANT = parse_instant("2026-01-01T00:00:00Z")

log = logging.getLogger(__name__)


def run_flow_task(  # noqa: PLR0917 - Airflow's names
    workspace_folder: str,
    task_name: str,
    data_interval_start: datetime | None = None,
    data_interval_end: datetime | None = None,
    ti: Any = None,
    outlet_events: Any = None,
) -> None:
    """Run the task's stages of the slice that is the run's data interval; Airflow fills in all but the first two."""
    with only_transient_is_retried():
        awaited = _run_or_wait(
            Path(workspace_folder), task_name, (data_interval_start, data_interval_end), ti, outlet_events
        )
    if awaited:
        _give_the_worker_back(awaited)


def _run_or_wait(folder: Path, task_name: str, interval: Interval, ti: Any, outlet_events: Any) -> str | None:
    """Run the stages, or give what the task has to wait for."""
    from panelake.spark.session import lost_server_is_transient  # noqa: PLC0415 - the same for all below: see above
    from panelake.workspace import load_workspace  # noqa: PLC0415

    workspace = load_workspace(folder)
    part = slice_of(workspace, *interval)
    is_running = partial(_is_running, ti)
    with stage_context(workspace) as context, lost_server_is_transient():
        for stage in dag_tasks()[task_name]:
            awaited = _run_stage_or_wait(context, part, stage, is_running, outlet_events)
            if awaited:
                return awaited
    return None


def _run_stage_or_wait(
    context: Context, part: Slice, stage: Stage, is_running: IsRunning, outlet_events: Any
) -> str | None:
    from panelake.orchestration.neighbours import waits_for  # noqa: PLC0415
    from panelake.runner import run_stage  # noqa: PLC0415

    for _ in range(_TIMES_OVERTAKEN):
        awaited = waits_for(context, part, stage.name, is_running)
        awaited = awaited or _awaited_source(context, part, stage.name)
        if awaited:
            return awaited
        entries = run_stage(context, part, stage)
        if not _is_refused_for_others(context, part, stage.name):
            break
    log.info("%s of %s: %s rows", stage.name, part, entries[-1].rows)
    _refuse(stage.name, part, list(context.ledger.of_slice(part).values()))
    if outlet_events is not None:
        announce(context.workspace, stage.name, entries, outlet_events)
    return None


def _awaited_source(context: Context, part: Slice, stage_name: str) -> str | None:
    if stage_name != _INGESTS:
        return None
    from panelake.orchestration.awaited_sources import awaited_source  # noqa: PLC0415 - loads Spark

    return awaited_source(context, part)


def _is_refused_for_others(context: Context, part: Slice, stage_name: str) -> bool:
    """Whether publish was refused for another slice's sake alone, whose audit may have passed in the meantime."""
    if stage_name != _PUBLISHES:
        return False
    audits = [entry for entry in context.ledger.of_slice(part).values() if entry.stage == _CHECKS and entry.subject]
    reasons = [entry.details.get("failed", []) for entry in audits if entry.status == "refused"]
    return bool(reasons) and all(failed == [_OTHERS_RULE] for failed in reasons)


def _is_running(ti: Any, parts: list[Slice]) -> bool:
    """Whether a run of one of the slices is under way in this DAG."""
    starts = [to_datetime(part.start) for part in parts]
    return ti is not None and ti.get_dr_count(dag_id=ti.dag_id, logical_dates=starts, states=["running"]) > 0


def _give_the_worker_back(awaited: str) -> None:
    from airflow.sdk.exceptions import AirflowRescheduleException  # noqa: PLC0415

    log.info("waiting for %s", awaited)
    raise AirflowRescheduleException(datetime.now(UTC) + _WAIT)


@contextmanager
def only_transient_is_retried() -> Iterator[None]:
    """Let transient errors through; make any other one Airflow's error that is never retried."""
    from airflow.sdk.exceptions import AirflowFailException  # noqa: PLC0415

    try:
        yield
    except TransientError:
        raise
    except PanelakeError as error:
        raise AirflowFailException(str(error)) from error
    except Exception as error:
        raise AirflowFailException(f"{type(error).__name__}: {error}") from error


def slice_of(workspace: Workspace, start: datetime | None, end: datetime | None) -> Slice:
    """The slice that is the run's data interval; any other interval is refused with what to do instead."""
    length = workspace.slice_length
    if start is None or end is None:
        raise BadInputError(f"this run has no data interval, so there is no slice to work on; {_advice(workspace)}")
    low, high = microseconds_of(start), microseconds_of(end)
    if low % length or high - low != length:
        got = f"[{format_instant(low)}, {format_instant(high)})"
        raise BadInputError(
            f"the run's data interval {got} is no slice of {format_duration(length)} on the grid counted from the"
            f" epoch; {_advice(workspace, low)}"
        )
    return Slice(low, high)


def _advice(workspace: Workspace, near: int = _EXAMPLE_INSTANT) -> str:
    """How to run a slice by hand, shown for the one that `near` lies in."""
    start = near - near % workspace.slice_length
    return (
        f"trigger it with the start of a slice as its logical date: 'airflow dags trigger {dag_id(workspace)}"
        f" --logical-date {format_instant(start)}' runs {Slice(start, start + workspace.slice_length)};"
        " or use 'airflow backfill create' or 'panelake run --from … --to …'"
    )


@contextmanager
def stage_context(workspace: Workspace) -> Iterator[Context]:
    """A context on the connection's server; its session, if one was opened, ends with the stage."""
    from panelake.context import Context  # noqa: PLC0415

    context = Context(workspace, spark_master())
    try:
        yield context
    finally:
        context.close()


def spark_master() -> str | None:
    """The server that the Airflow connection names; None, for the local one, where its host is empty."""
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook  # noqa: PLC0415
    from airflow.sdk import BaseHook  # noqa: PLC0415
    from airflow.sdk.exceptions import AirflowNotFoundException  # noqa: PLC0415

    try:
        connection = BaseHook.get_connection(SPARK_CONNECTION)
    except AirflowNotFoundException:
        raise BadInputError(
            f"Airflow has no connection {SPARK_CONNECTION!r}; apply airflow_settings.yaml:"
            " python -m panelake.orchestration.settings_loader"
        ) from None
    return str(SparkConnectHook(SPARK_CONNECTION).get_connection_url()) if connection.host else None


def _refuse(stage_name: str, part: Slice, entries: Sequence[Entry]) -> None:
    """Fail where the gate refused: publish, when it could publish nothing, else the last stage, when all is told."""
    published = [entry for entry in entries if entry.stage == _PUBLISHES and entry.subject]
    refused = [entry for entry in published if entry.status == "refused"]
    failing = _PUBLISHES if len(refused) == len(published) else _LAST
    if refused and stage_name == failing:
        reasons = "; ".join(f"{entry.subject}: {entry.details.get('why', 'see the report')}" for entry in refused)
        raise GateRefusedError(f"the quality gate refused slice {part} of {reasons}; only what passed is published")
