"""Runs a workspace's DAG slice by slice in this process, through Airflow's own `dag.test()`.

`python -m panelake.orchestration.in_process EVENTS_FD WORKSPACE START…` tells each step on the file descriptor; what
Airflow says goes to stdout and stderr. The environment, the database's place in it, is the caller's (see `driver`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.listener import get_listener_manager
from pluggy import HookimplMarker

from panelake.errors import BadInputError, GateRefusedError, PanelakeError, PartDownError
from panelake.orchestration.airflow_home import dags_folder, settings_file
from panelake.orchestration.instants import microseconds_of
from panelake.orchestration.run_events import State, TaskEvent
from panelake.orchestration.settings_loader import apply_settings, read_settings
from panelake.orchestration.workspaces import dag_id
from panelake.slices import to_datetime
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from airflow.sdk import DAG

hookimpl = HookimplMarker("airflow")
_NOT_STAGES = {"published"}  # it is there for Airflow's own verdict on the run


class Teller:
    """Listens to Airflow's tasks and writes their events; remembers the failures of the slice in hand."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self.failures: list[TaskEvent] = []

    def tell(self, event: TaskEvent) -> None:
        if event.stage in _NOT_STAGES:
            return
        self._output.write(event.to_line())
        self._output.flush()
        if event.state == "failed":
            self.failures.append(event)

    @hookimpl
    def on_task_instance_running(self, task_instance: Any) -> None:
        self.tell(TaskEvent(_start(task_instance), task_instance.task_id, "running"))

    @hookimpl
    def on_task_instance_success(self, task_instance: Any) -> None:
        self.tell(TaskEvent(_start(task_instance), task_instance.task_id, "success"))

    @hookimpl
    def on_task_instance_failed(self, task_instance: Any, error: BaseException | str | None) -> None:
        state: State = "retry" if task_instance.state == "up_for_retry" else "failed"
        cause = (error.__cause__ or error) if isinstance(error, BaseException) else error
        code = cause.exit_code if isinstance(cause, PanelakeError) else PartDownError.exit_code
        self.tell(TaskEvent(_start(task_instance), task_instance.task_id, state, str(cause), code))


def _start(task_instance: Any) -> int:
    """The start of the run's slice; 0 for a run that has none."""
    start = task_instance.get_template_context().get("data_interval_start")
    return microseconds_of(start) if start else 0


def run_slices(folder: Path, starts: Sequence[int], teller: Teller) -> None:
    """Run the slices that start there, in order; one that a gate refused does not stop the next, any other does."""
    apply_settings(read_settings(settings_file()))
    get_listener_manager().add_listener(teller)
    dag = _dag(folder)
    dag.deadline = None  # without a scheduler nobody watches it, and dag.test() stumbles over it
    for start in starts:
        teller.failures.clear()
        run = dag.test(logical_date=to_datetime(start))
        if run.state != "success" and not teller.failures:
            teller.tell(TaskEvent(start, "", "failed", f"the run ended as {run.state}", PartDownError.exit_code))
        if run.state == "success" and teller.failures:
            why = "the run is green, although a task of it failed"
            teller.tell(TaskEvent(start, "", "failed", why, PartDownError.exit_code))
        if any(failure.exit_code != GateRefusedError.exit_code for failure in teller.failures):
            return


def _dag(folder: Path) -> DAG:
    name = dag_id(load_workspace(folder))
    bag = DagBag(dags_folder())
    if name not in bag.dags and bag.import_errors:
        raise BadInputError("\n".join(f"{file}: {error}" for file, error in bag.import_errors.items()))
    if name not in bag.dags:
        raise BadInputError(f"{dags_folder()} has no DAG {name!r}; it has {', '.join(bag.dags) or 'none'}")
    return bag.dags[name]


def main(arguments: Sequence[str]) -> None:
    """Run, and tell of a failure outside of all tasks like of any other."""
    events, folder, *starts = arguments
    with os.fdopen(int(events), "w", encoding="utf-8") as output:
        teller = Teller(output)
        try:
            run_slices(Path(folder), [int(start) for start in starts], teller)
        except PanelakeError as error:
            teller.tell(TaskEvent(0, "", "failed", str(error), error.exit_code))


if __name__ == "__main__":
    main(sys.argv[1:])
