"""The bodies of the tasks beside slices: maintenance, the report, the recheck of history.

Like a slice's stages, only a `TransientError` may be tried again. What is heavy is imported when a task runs.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from panelake.orchestration.tasks import only_transient_is_retried, stage_context

log = logging.getLogger(__name__)


def maintain_workspace(workspace_folder: str) -> int:
    """Do all that maintenance has to do; give how many steps it was."""
    from panelake.maintenance.maintain import maintain  # noqa: PLC0415 - the same for all below: see above
    from panelake.spark.session import lost_server_is_transient  # noqa: PLC0415
    from panelake.workspace import load_workspace  # noqa: PLC0415

    steps = 0
    with only_transient_is_retried():
        workspace = load_workspace(Path(workspace_folder))
        with stage_context(workspace) as context, lost_server_is_transient():
            for step in maintain(context):
                log.info("%s %s: %s", step["action"], step["table"], step.get("skipped", step["what"]))
                steps += 1
    return steps


def rebuild_report(workspace_folder: str) -> str:
    """Build all pages; give the path of the first."""
    from panelake.context import Context  # noqa: PLC0415
    from panelake.report.build import build_report  # noqa: PLC0415
    from panelake.workspace import load_workspace  # noqa: PLC0415

    with only_transient_is_retried():
        return build_report(Context(load_workspace(Path(workspace_folder)))).path


def recheck_history(
    workspace_folder: str, run_id: str | None = None, logical_date: datetime | None = None
) -> dict[str, Any]:
    """Check a random window of every query; which one is a function of the run, so that a retry checks the same."""
    from panelake.quality.recheck import recheck  # noqa: PLC0415
    from panelake.spark.session import lost_server_is_transient  # noqa: PLC0415
    from panelake.workspace import load_workspace  # noqa: PLC0415

    with only_transient_is_retried():
        workspace = load_workspace(Path(workspace_folder))
        with stage_context(workspace) as context, lost_server_is_transient():
            checked = recheck(context, seed=f"{run_id} {logical_date}")
    log.info("rechecked %s", checked or "nothing: no slice is published whose tuples are still there")
    return checked
