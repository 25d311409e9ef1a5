"""Which workspaces Airflow runs: the folders of PANELAKE_WORKSPACES, else the example worlds.

One that is broken stops no other: its DAGs are left out, and `dags/broken_workspaces.py` fails to import with all that
is wrong, so that Airflow's UI shows it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from panelake.errors import BadInputError, PanelakeError
from panelake.home import example_workspace
from panelake.streams_file import STREAMS_FILE
from panelake.workspace import Workspace, load_workspace

WORKSPACES_VARIABLE = "PANELAKE_WORKSPACES"
_NOT_IN_A_DAG_ID = re.compile(r"[^\w.-]")


def scheduled_workspaces() -> list[Workspace]:
    """Every workspace that is sound."""
    return _read()[0]


def require_sound_workspaces() -> None:
    """Refuse those that are broken, all at once; two whose DAGs would have one id are."""
    problems = _read()[1]
    if problems:
        raise BadInputError("\n".join(problems))


def _read() -> tuple[list[Workspace], list[str]]:
    sound: dict[str, Workspace] = {}
    problems = []
    for folder in _folders():
        try:
            _add(sound, load_workspace(folder))
        except PanelakeError as error:
            problems.append(f"workspace {folder} is not scheduled:\n{error}")
    return list(sound.values()), problems


def _add(sound: dict[str, Workspace], workspace: Workspace) -> None:
    other = sound.setdefault(dag_id(workspace), workspace)
    if other is not workspace:
        raise BadInputError(
            f"{WORKSPACES_VARIABLE}: {other.root} and {workspace.root} would both be the DAG"
            f" {dag_id(workspace)!r}; rename one of the folders"
        )


def dag_id(workspace: Workspace, kind: str = "slices") -> str:
    """The name of one of the workspace's DAGs."""
    return f"{kind}_{_NOT_IN_A_DAG_ID.sub('_', workspace.name)}"


def _folders() -> list[Path]:
    given = os.environ.get(WORKSPACES_VARIABLE, "")
    folders = [Path(part) for part in given.split(os.pathsep) if part]
    return folders or sorted(path.parent for path in example_workspace("").glob(f"*/{STREAMS_FILE}"))
