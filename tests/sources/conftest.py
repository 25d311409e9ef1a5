"""A real Kafka broker for the tests of this folder, fetched once into the home's caches."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from panelake.home import home
from panelake.spark.java import find_java

VERSION = "3.9.1"
SHARED = Path(__file__).parents[2] / "docker" / "kafka.properties"
POM = f"""<project>
<modelVersion>4.0.0</modelVersion><groupId>panelake</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
</dependency></dependencies></project>
"""


def broker_jars() -> Path:
    """The broker's jars, next to Spark's: fetched by Maven where they are not there yet."""
    folder = (home() / "jars").resolve().parent / f"kafka-{VERSION}"
    if (folder / ".complete").exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("the Kafka broker is fetched by Maven, and no mvn is there")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(POM)
    command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
    if done.returncode:
        pytest.skip(f"the Kafka broker cannot be fetched: {done.stdout[-300:]}")
    (folder / ".complete").touch()
    return folder


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text()[-2000:]
        time.sleep(0.2)
    raise AssertionError(f"the broker is not up: {log.read_text()[-2000:]}")


def properties(port: int, controller: int, logs: Path) -> str:
    """The container's own, with other addresses and another folder."""
    own = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(logs),
        "log.retention.hours": "-1",
    }
    pairs = (line.partition("=") for line in SHARED.read_text().splitlines() if not line.startswith("#"))
    told = {name: value for name, _, value in pairs}
    assert own.keys() <= told.keys()
    return "".join(f"{name}={value}\n" for name, value in (told | own).items())


class Broker:
    """A broker with its own folder: it may be killed, and started again on what it wrote."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._log = folder / "broker.log"
        self._config = folder / "server.properties"
        self._config.write_text(properties(self.port, free_port(), folder / "logs"))
        self._java = [str(find_java().home / "bin" / "java"), "-Xmx256m", "-cp", f"{jars}/*"]
        form = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(self._config)]
        subprocess.run([*self._java, *form], check=True, capture_output=True, timeout=120)
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as output:
            command = [*self._java, "kafka.Kafka", str(self._config)]
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        await_port(self.port, self._process, self._log)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture(scope="module")
def broker_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of its own, ended with the module."""
    pytest.importorskip("confluent_kafka", reason="Kafka sources need confluent-kafka (panelake[kafka])")
    started = Broker(broker_jars(), tmp_path_factory.mktemp("kafka"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def broker(broker_process: Broker) -> str:
    """The broker's address."""
    return broker_process.address
