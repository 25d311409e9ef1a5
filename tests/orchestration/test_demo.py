"""`panelake demo` as a user runs it, with few tuples."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from panelake.cli import main
from panelake.flow import STAGES

AREAS = 6


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "panelake.cli", "demo", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.spark
@pytest.mark.airflow
@pytest.mark.end_to_end
@pytest.mark.usefixtures("spark_server")
@pytest.mark.timeout(600)
def test_the_demo_answers_reports_and_can_be_run_again() -> None:
    first = demo("--tuples", "3000", "--slices", "2", "--json")
    assert first.returncode == 0, first.stdout + first.stderr
    document = json.loads(first.stdout)
    assert len(document["slices"]) == 2
    assert all(set(part["seconds"]) == {stage.name for stage in STAGES} for part in document["slices"])
    assert [row["area_id"] for row in document["answers"]["speed_by_area"]] == list(range(AREAS))
    assert document["answers"]["speed_by_area"][0]["window_end"].startswith("2026-01-01 00:10:00")
    assert Path(document["report"]).is_file()
    assert "[DAG TEST]" in Path(document["log"]).read_text()

    again = demo("--tuples", "1500", "--slices", "1")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "speed_by_area: the newest answers" in again.stdout
    assert document["report"] in again.stdout
    assert again.stderr == ""


def test_a_folder_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("keep me")
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "holds files already" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "keep me"


def test_no_slices_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path / "new"), "--slices", "0"]) == 2
    assert "--slices 0" in capsys.readouterr().err


@pytest.mark.parametrize("options", [("--tuples", "0"), ("--seed", "-1")])
def test_what_cannot_be_generated_is_refused_and_the_demo_before_is_left_alone(
    options: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path))
    (tmp_path / "demo").mkdir()
    assert main(["demo", *options]) == 2
    assert " ".join(options) in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_a_workspace_of_ones_own_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--workspace", str(tmp_path)]) == 2
    assert "--out says where" in capsys.readouterr().err


@pytest.mark.airflow
def test_a_server_that_is_down_ends_the_demo_with_3_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANELAKE_MASTER", "sc://127.0.0.1:1")
    done = demo("--tuples", "600", "--out", str(tmp_path / "new"), "--json")
    assert done.returncode == 3
    assert "127.0.0.1:1" in json.loads(done.stdout)["error"]
