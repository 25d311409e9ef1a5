"""The alert for a slice that takes too long: one that takes longer than slices last cannot keep up."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from panelake.errors import BadInputError
from panelake.workspace import Workspace

if TYPE_CHECKING:
    from airflow.sdk.definitions.deadline import DeadlineAlert

DEADLINE_VARIABLE = "PANELAKE_DEADLINE_SECONDS"
_SLICES = 2

log = logging.getLogger(__name__)


def slice_deadline(workspace: Workspace) -> DeadlineAlert:
    """Alert when a run has not ended after PANELAKE_DEADLINE_SECONDS, else two slices' time, since it was queued."""
    from airflow.sdk.definitions.callback import AsyncCallback  # noqa: PLC0415 - takes seconds
    from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference  # noqa: PLC0415

    allowed = _allowed(workspace)
    callback = AsyncCallback(slice_is_late, kwargs={"allowed_seconds": allowed.total_seconds()})
    return DeadlineAlert(reference=DeadlineReference.DAGRUN_QUEUED_AT, interval=allowed, callback=callback)


def _allowed(workspace: Workspace) -> timedelta:
    given = os.environ.get(DEADLINE_VARIABLE)
    if not given:
        return timedelta(microseconds=_SLICES * workspace.slice_length)
    if not given.isdigit() or not int(given):
        raise BadInputError(f"{DEADLINE_VARIABLE} is {given!r}; expected a whole number of seconds, such as 600")
    return timedelta(seconds=int(given))


async def slice_is_late(allowed_seconds: float, context: dict[str, Any]) -> None:
    """Say so in the triggerer's log; Airflow keeps the missed deadline with the run."""
    run = context["dag_run"]
    log.error(
        "deadline missed: %s, run %s of the slice from %s, has not ended %g s after it was queued",
        run["dag_id"],
        run["dag_run_id"],
        run.get("data_interval_start"),
        allowed_seconds,
    )
