"""`jobs/` on a Spark cluster: a standalone master and a worker on loopback, the driver in the job."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

import pytest
from deltalake import DeltaTable

from panelake.catalog import Catalog
from panelake.flow import STAGES
from panelake.home import checkout, example_workspace
from panelake.ledger import Ledger
from panelake.orchestration.airflow_home import LOOPBACK, free_port
from panelake.slices import Slice, parse_instant
from panelake.spark.java import find_java
from panelake.spark.submit import environment, submit_command
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

pytestmark = [pytest.mark.scheduler, pytest.mark.spark, pytest.mark.timeout(1800)]

START = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master that has one worker with one core."""
    port, page = free_port(), free_port()
    address, work = f"spark://{LOOPBACK}:{port}", tmp_path_factory.mktemp("work")
    log = (work / "cluster.log").open("w")
    started = [
        _started(log, address, "master.Master", "--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)),
        _started(
            log, address, "worker.Worker", "--host", LOOPBACK, "--cores", "1", "--memory", "2g",
            "--work-dir", str(work), "--webui-port", str(free_port()), address,
        ),
    ]  # fmt: skip
    try:
        _await_worker(f"http://{LOOPBACK}:{page}/json/")
        yield address
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _started(log, address: str, part: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = Path(submit_command()[0]).with_name("spark-class")
    variables = environment(find_java().home, address)
    return subprocess.Popen(
        [str(command), f"org.apache.spark.deploy.{part}", *arguments], env=variables, stdout=log, stderr=log
    )


def _await_worker(page: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            with opener.open(page, timeout=10) as answer:
                if b'"state" : "ALIVE"' in answer.read().split(b'"workers"')[1]:
                    return
        except URLError:
            pass
        time.sleep(1)
    raise AssertionError("no worker joined the master")


def test_every_stage_runs_as_a_job_on_the_cluster(master: str, tmp_path: Path) -> None:
    town = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), town, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("traffic", 3_000, 10.0, 1, parse_instant(START), town / "landing" / "traffic", lambda _: None)
    for stage in STAGES:
        command = [sys.executable, "-m", "panelake.spark.job", "--master", master]
        job = [
            str(checkout() / "jobs" / "run_stage.py"),
            "--workspace",
            str(town),
            "--stage",
            stage.name,
            "--slice",
            START,
        ]
        done = subprocess.run([*command, *job], capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert DeltaTable(str(town / "warehouse/bronze/traffic")).to_pyarrow_table().num_rows == 3_000
    part = Slice(parse_instant(START), parse_instant("2026-01-01T00:05:00Z"))
    assert Ledger(Catalog(load_workspace(town).warehouse)).done("publish") == {part}
