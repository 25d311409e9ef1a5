"""Drives a workspace's DAG over slices with no scheduler, and hands on what happens; Airflow's words go to a log.

The runs happen in one child process: Airflow takes over logging, signals and warnings of the process it lives in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from panelake.errors import PartDownError
from panelake.orchestration.airflow_home import environment, log_tail
from panelake.orchestration.run_events import TaskEvent, from_line
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.processes import ProcessId, end
from panelake.slices import Slice
from panelake.spark.owner_guard import guarded

_GRACE_SECONDS = 5.0


def drive(workspace: Path, parts: Sequence[Slice], airflow_home: Path, log: Path) -> Iterator[TaskEvent]:
    """Run the slices one after another, event by event; a child that dies of itself is a PartDownError."""
    command = [sys.executable, "-m", "panelake.orchestration.in_process"]
    variables = {**environment(airflow_home, private=True), WORKSPACES_VARIABLE: str(workspace)}
    read_end, write_end = os.pipe()
    command = guarded([*command, str(write_end), str(workspace), *(str(part.start) for part in parts)], os.getpid())
    with os.fdopen(read_end, encoding="utf-8") as events, _child(command, variables, log, write_end) as child:
        yield from map(from_line, events)
        code = child.wait()
    if code:
        raise PartDownError(f"Airflow's process ended with {code}. {log_tail(log)}")


@contextmanager
def _child(command: list[str], variables: dict[str, str], log: Path, events: int) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which holds the only end that events are written to; it never outlives the block."""
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - the project's own module
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[events],
            start_new_session=True,
        )
    os.close(events)
    identity = ProcessId.of(child.pid)
    try:
        yield child
    finally:
        end(identity, _GRACE_SECONDS)
        child.wait()
