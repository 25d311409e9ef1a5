"""Which workspaces Airflow runs: the folders of PANELAKE_WORKSPACES, else the example worlds."""

from __future__ import annotations

import os
import re
from pathlib import Path

from panelake.errors import BadInputError
from panelake.home import example_workspace
from panelake.workspace import STREAMS_FILE, Workspace, load_workspace

WORKSPACES_VARIABLE = "PANELAKE_WORKSPACES"
_NOT_IN_A_DAG_ID = re.compile(r"[^\w.-]")


def scheduled_workspaces() -> list[Workspace]:
    """Every workspace, read and checked; two whose DAGs would have one id are refused."""
    workspaces = [load_workspace(folder) for folder in _folders()]
    seen: dict[str, Workspace] = {}
    for workspace in workspaces:
        other = seen.setdefault(dag_id(workspace), workspace)
        if other is not workspace:
            raise BadInputError(
                f"{WORKSPACES_VARIABLE}: {other.root} and {workspace.root} would both be the DAG"
                f" {dag_id(workspace)!r}; rename one of the folders"
            )
    return workspaces


def dag_id(workspace: Workspace, kind: str = "slices") -> str:
    """The name of one of the workspace's DAGs."""
    return f"{kind}_{_NOT_IN_A_DAG_ID.sub('_', workspace.name)}"


def _folders() -> list[Path]:
    given = os.environ.get(WORKSPACES_VARIABLE, "")
    folders = [Path(part) for part in given.split(os.pathsep) if part]
    return folders or sorted(path.parent for path in example_workspace("").glob(f"*/{STREAMS_FILE}"))
