"""The example downstream of gold, told of its events as Airflow does: by asset, and by the alias they came under."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from panelake.home import example_workspace
from panelake.orchestration.answers import tell_new_answers
from panelake.orchestration.assets import gold_asset, outlets
from panelake.workspace import load_workspace

pytestmark = pytest.mark.airflow


def test_what_was_announced_is_told_once(tmp_path: Path) -> None:
    town = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), town, ignore=shutil.ignore_patterns("warehouse", "landing"))
    workspace = load_workspace(town)
    events = [SimpleNamespace(extra={"slice": "2026-01-01T00:00:00Z", "rows": rows}) for rows in (6, 5)]
    [alias] = outlets(workspace, "publish")
    assert tell_new_answers(str(town), {gold_asset(workspace, "speed_by_area"): events, alias: events}) == 11
    assert tell_new_answers(str(town)) == 0
