"""A Spark cluster on loopback whose workers and executors may be killed, and our Connect server in front of it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from panelake.home import checkout
from panelake.orchestration.airflow_home import LOOPBACK, free_port
from panelake.spark import probe
from panelake.spark.java import find_java

from .breaking import kill

DOCKER = checkout() / "docker"
_WAIT_SECONDS = 240


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


@dataclass
class Cluster:
    """A master and workers by name; what was killed is started again under the same name."""

    folder: Path
    running: ExitStack
    port: int = field(default_factory=free_port)
    page: int = field(default_factory=free_port)
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    executors: set[int] = field(default_factory=set)

    @property
    def master(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    def start(self, *names: str) -> None:
        where = ["--host", LOOPBACK, "--port", str(self.port), "--webui-port", str(self.page)]
        self._node("master", "master", *where)
        self.await_answer('"status" : "ALIVE"')
        for name in names:
            self.start_worker(name)
        self.await_answer(f'"aliveworkers" : {len(names)}')

    def start_worker(self, name: str) -> None:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        own = ["--work-dir", str(folder), "--host", LOOPBACK, "--webui-port", str(free_port())]
        arguments = [self.master, "--cores", "1", "--memory", "1g", *own]
        self.workers[name] = self._node(f"worker-{name}", "worker", *arguments)

    def _node(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        variables = {
            "PATH": os.environ["PATH"],
            "JAVA_HOME": str(find_java().home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [sys.executable, str(DOCKER / "spark_node.py"), *arguments]
        return self.running.enter_context(started(command, variables, self.folder, name))

    def await_answer(self, text: str) -> None:
        command = [sys.executable, str(DOCKER / "answers.py"), f"http://{LOOPBACK}:{self.page}/json/", text]
        deadline = time.monotonic() + _WAIT_SECONDS
        while subprocess.run(command, check=False).returncode:
            assert time.monotonic() < deadline, f"the master does not say {text}"
            time.sleep(0.5)

    def serve(self) -> str:
        """Start our Connect server with its executors on the workers; its URL."""
        port = free_port()
        variables = os.environ | {
            "PANELAKE_SERVER_MASTER": self.master,
            "PANELAKE_EXECUTOR_MEMORY": "900m",
            "PANELAKE_DRIVER_MEMORY": "1g",
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        command = [sys.executable, "-m", "panelake.spark.connect_host", "--port", str(port)]
        host = self.running.enter_context(started(command, variables, self.folder, "connect"))
        deadline = time.monotonic() + _WAIT_SECONDS
        while not probe.port_open(LOOPBACK, port):
            assert host.poll() is None, (self.folder / "connect.log").read_text()[-3000:]
            assert time.monotonic() < deadline, "the cluster's Connect server is not up"
            time.sleep(0.5)
        probe.ask(f"sc://{LOOPBACK}:{port}", seconds=180)
        return f"sc://{LOOPBACK}:{port}"

    def kill_a_part(self, chance: random.Random) -> bool:
        """Kill a worker, whose executor goes with it, or an executor alone, which its worker then starts again."""
        name = chance.choice(sorted(self.workers))
        worker = self.workers[name]
        executors = [one.pid for one in psutil.Process(worker.pid).children(recursive=True)]
        self.executors |= set(executors)
        if chance.random() < 0.5 and executors:
            return kill(chance.choice(sorted(executors)))
        worker.kill()
        worker.wait()
        return True

    def end_executors(self) -> None:
        """End what a killed worker left: usually it ends by itself."""
        for pid in self.executors:
            with suppress(psutil.NoSuchProcess):
                if "CoarseGrainedExecutorBackend" in " ".join(psutil.Process(pid).cmdline()):
                    kill(pid)

    def mend(self) -> None:
        """Start again what was killed."""
        for name, worker in list(self.workers.items()):
            if worker.poll() is not None:
                self.start_worker(name)
        self.await_answer(f'"aliveworkers" : {len(self.workers)}')


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster with two workers, ended with the block."""
    with ExitStack() as running:
        made = Cluster(folder, running)
        running.callback(made.end_executors)
        made.start("one", "two")
        yield made
