from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from panelake.errors import BadInputError
from panelake.home import example_workspace
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE, dag_id, scheduled_workspaces


def copied(folder: Path) -> Path:
    shutil.copytree(example_workspace("traffic"), folder, ignore=shutil.ignore_patterns("warehouse", "landing"))
    return folder


def test_the_example_worlds_are_scheduled_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKSPACES_VARIABLE, raising=False)
    assert "slices_traffic" in [dag_id(workspace) for workspace in scheduled_workspaces()]


def test_every_folder_given_is_scheduled_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [copied(tmp_path / "north"), copied(tmp_path / "the south")]
    monkeypatch.setenv(WORKSPACES_VARIABLE, os.pathsep.join(str(folder) for folder in folders))
    assert [dag_id(workspace) for workspace in scheduled_workspaces()] == ["slices_north", "slices_the_south"]


def test_two_folders_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [copied(tmp_path / "a" / "traffic"), copied(tmp_path / "b" / "traffic")]
    monkeypatch.setenv(WORKSPACES_VARIABLE, os.pathsep.join(str(folder) for folder in folders))
    with pytest.raises(BadInputError, match="would both be the DAG 'slices_traffic'; rename one"):
        scheduled_workspaces()


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACES_VARIABLE, str(tmp_path))
    with pytest.raises(BadInputError, match=r"holds no streams\.yaml"):
        scheduled_workspaces()
