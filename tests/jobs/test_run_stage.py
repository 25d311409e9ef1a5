"""The job as spark-submit runs it: a driver of its own, no Connect server, the same tables and exit codes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from panelake.home import checkout, example_workspace
from panelake.slices import parse_instant
from panelake.worlds.generate import generate

pytestmark = [pytest.mark.end_to_end, pytest.mark.timeout(400)]

JOB = str(checkout() / "jobs" / "run_stage.py")
START = "2026-01-01T00:00:00Z"


def submit(workspace: Path, stage: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "panelake.spark.job", "--master", "local[1]", JOB]
    options = ["--workspace", str(workspace), "--stage", stage, "--slice", START]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=300)


def test_a_stage_under_spark_submit_writes_its_table(tmp_path):
    town = tmp_path / "town"
    shutil.copytree(example_workspace("traffic"), town, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("traffic", 3_000, 10.0, 1, parse_instant(START), town / "landing" / "traffic", lambda _: None)
    done = submit(town, "ingest")
    assert done.returncode == 0, done.stderr[-3000:]
    assert DeltaTable(str(town / "warehouse" / "bronze" / "traffic")).to_pyarrow_table().num_rows == 3_000


def test_bad_input_has_its_exit_code_through_spark_submit(tmp_path):
    done = submit(tmp_path, "ingest")
    assert done.returncode == 2
    assert "holds no streams.yaml" in done.stdout + done.stderr  # spark-submit passes both on as one
