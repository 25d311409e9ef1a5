from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from panelake.errors import BadInputError
from panelake.home import example_workspace
from panelake.orchestration.workspaces import (
    WORKSPACES_VARIABLE,
    dag_id,
    require_sound_workspaces,
    scheduled_workspaces,
)


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
        require_sound_workspaces()
    assert [workspace.root for workspace in scheduled_workspaces()] == folders[:1]


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACES_VARIABLE, str(tmp_path))
    with pytest.raises(BadInputError, match=r"holds no streams\.yaml"):
        require_sound_workspaces()


def test_a_broken_workspace_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [copied(tmp_path / "broken"), copied(tmp_path / "sound")]
    (folders[0] / "streams.yaml").write_text("slice: a while\nstreams: {}\n")
    monkeypatch.setenv(WORKSPACES_VARIABLE, os.pathsep.join(str(folder) for folder in folders))
    assert [dag_id(workspace) for workspace in scheduled_workspaces()] == ["slices_sound"]
    with pytest.raises(BadInputError, match=r"(?s)broken is not scheduled:.*streams\.yaml:1: slice: 'a while'"):
        require_sound_workspaces()
