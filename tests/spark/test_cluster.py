"""A Spark cluster on loopback, started by the containers' scripts, answers exactly what one machine answers.

    python of the nodes: has the packages, and no panelake
    master ── worker ── executor          Connect server (ours) ── this process, a thin client
          └── worker ── executor    ←──   sends the package to both

A second server is Spark's own, of which we set nothing: there the client brings the package itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from panelake.cli import main
from panelake.durations import MINUTE
from panelake.home import checkout, example_workspace
from panelake.orchestration.airflow_home import LOOPBACK, free_port
from panelake.slices import format_instant, parse_instant
from panelake.spark import probe
from panelake.spark.jars import ensure_jars
from panelake.spark.java import find_java
from panelake.spark.session import spark_session
from panelake.spark.submit import submit_command
from panelake.worlds.generate import generate

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.timeout(1500)]

DOCKER = checkout() / "docker"
START = parse_instant("2026-01-01T00:00:00Z")
SLICES = 2
WORLDS = {"traffic": 4_000, "news": 560, "packets": 1_200}
SECRET = "a secret of this test"  # noqa: S105 - nobody else's


@contextmanager
def started(
    command: list[str], variables: Mapping[str, str], folder: Path, name: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours with its log, asked to end with the block."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=dict(variables), stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_answer(process: subprocess.Popen[bytes], address: str, *texts: str, log: Path) -> None:
    deadline = time.monotonic() + 240
    while subprocess.run([sys.executable, DOCKER / "answers.py", address, *texts], check=False).returncode:
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.5)


@pytest.fixture(scope="module")
def node_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has every package but ours: a path file of another environment is not followed further."""
    place = tmp_path_factory.mktemp("node") / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    [packages] = place.glob("lib/python3*/site-packages")
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = place / "bin" / "python"
    assert subprocess.run([python, "-c", "import numba, pyspark"], cwd=place, check=False).returncode == 0
    assert subprocess.run([python, "-c", "import panelake"], cwd=place, stderr=-3, check=False).returncode == 1
    return python


@pytest.fixture(scope="module")
def master(node_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers that let in only who knows the secret."""
    folder = tmp_path_factory.mktemp("cluster")
    variables = {
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "_SPARK_AUTH_SECRET": SECRET,
    }
    port, page = free_port(), free_port()
    address, node = f"spark://{LOOPBACK}:{port}", [str(node_python), str(DOCKER / "spark_node.py")]
    with ExitStack() as running:
        where = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        master = running.enter_context(started([*node, "master", *where], variables, folder, "master"))
        await_answer(master, f"http://{LOOPBACK}:{page}/json/", '"status" : "ALIVE"', log=folder / "master.log")
        for name in ("one", "two"):
            (folder / name).mkdir()
            own = ["--work-dir", str(folder / name), "--host", LOOPBACK, "--webui-port", str(free_port())]
            command = [*node, "worker", address, "--cores", "1", "--memory", "1g", *own]
            running.enter_context(started(command, variables, folder, f"worker-{name}"))
        await_answer(master, f"http://{LOOPBACK}:{page}/json/", '"aliveworkers" : 2', log=folder / "worker-two.log")
        yield address


@pytest.fixture(scope="module")
def cluster_server(master: str, node_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Our Connect server in the foreground, its executors on the two workers."""
    port, folder = free_port(), tmp_path_factory.mktemp("connect")
    variables = os.environ | {
        "PANELAKE_SERVER_MASTER": master,
        "PANELAKE_WORKER_PYTHON": str(node_python),
        "PANELAKE_EXECUTOR_MEMORY": "900m",
        "PANELAKE_DRIVER_MEMORY": "1g",
        "SPARK_LOCAL_IP": LOOPBACK,
        "_SPARK_AUTH_SECRET": SECRET,
    }
    command = [sys.executable, "-m", "panelake.spark.connect_host", "--port", str(port)]
    with started(command, variables, folder, "connect") as host:
        await_answer(host, f"tcp://{LOOPBACK}:{port}", log=folder / "connect.log")
        probe.ask(f"sc://{LOOPBACK}:{port}", seconds=180)
        yield f"sc://{LOOPBACK}:{port}"


def run_worlds(folder: Path, url: str) -> dict[str, pa.Table]:
    """Gold of every query of the three worlds, in an order that both runs share."""
    gold = {}
    for world, tuples in WORLDS.items():
        root = folder / world
        shutil.copytree(example_workspace(world), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
        generate(world, tuples, tuples / 600, 1, START, root / "landing" / ("traffic" * (world == "traffic")), skip)
        bounds = ["--from", format_instant(START), "--to", format_instant(START + SLICES * 5 * MINUTE)]
        assert main(["run", "--workspace", str(root), "--master", url, *bounds]) == 0
        for table in sorted((root / "warehouse" / "gold").iterdir()):
            rows = DeltaTable(str(table)).to_pyarrow_table()
            gold[f"{world}/{table.name}"] = rows.sort_by([(name, "ascending") for name in rows.column_names])
    return gold


def skip(_: int) -> None:
    """No bar is drawn."""


def test_gold_is_what_one_machine_makes(cluster_server: str, spark_server: str, tmp_path: Path) -> None:
    there = run_worlds(tmp_path / "there", cluster_server)
    here = run_worlds(tmp_path / "here", spark_server)
    assert there.keys() == here.keys()
    for name, table in there.items():
        assert table.equals(here[name]), name
    # The news' windows of an hour are not over.
    assert {name for name, table in there.items() if table.num_rows} >= {
        "traffic/speed_by_area",
        "packets/packet_paths",
        "packets/load_of_r2",
    }


def test_both_workers_run_the_package_that_was_sent(cluster_server: str, node_python: Path) -> None:
    def told(_batches):
        import panelake  # noqa: PLC0415 - on the executor

        yield pa.RecordBatch.from_pydict({"package": [panelake.__file__], "python": [sys.executable]})

    with spark_session(cluster_server) as spark:
        frame = spark.range(0, 8, 1, 8).mapInArrow(told, "package string, python string")
        rows = frame.distinct().collect()
    assert {row.python for row in rows} == {str(node_python)}
    folders = {Path(row.package).parents[3].name for row in rows}  # DIR/app-…/N/panelake/__init__.py
    assert folders == {"one", "two"}
    assert not any(row.package.startswith(str(checkout())) for row in rows)


def test_who_does_not_know_the_secret_is_not_let_in(master: str, tmp_path: Path) -> None:
    code = "from panelake.spark.session import spark_session\nwith spark_session() as s: print(s.range(3).count())"
    variables = os.environ | {"PANELAKE_MASTER": master, "SPARK_LOCAL_IP": LOOPBACK, "_SPARK_AUTH_SECRET": "a guess"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert SECRET not in done.stdout + done.stderr


@pytest.fixture
def foreign_server(node_python: Path, tmp_path: Path) -> Iterator[str]:
    """Spark's own Connect server with Delta, in an environment that has no panelake."""
    port = free_port()
    variables = {
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": str(node_python),
        "TZ": "UTC",
    }
    settings = {
        "spark.jars": ",".join(map(str, ensure_jars())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
    }
    told = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = submit_command("--master", "local[2]", *told, "--class", name, "spark-internal")
    with started(command, variables, tmp_path, "foreign") as host:
        await_answer(host, f"tcp://{LOOPBACK}:{port}", log=tmp_path / "foreign.log")
        yield f"sc://{LOOPBACK}:{port}"


def test_a_server_that_knows_nothing_of_us_is_brought_the_package(foreign_server: str, tmp_path: Path) -> None:
    root = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("traffic", 1_000, 1_000 / 300, 1, START, root / "landing" / "traffic", skip)
    bounds = ["--from", format_instant(START), "--to", format_instant(START + 5 * MINUTE)]
    assert main(["run", "--workspace", str(root), "--master", foreign_server, *bounds]) == 0
    assert DeltaTable(str(root / "warehouse/gold/speed_by_area")).to_pyarrow_table().num_rows > 0
