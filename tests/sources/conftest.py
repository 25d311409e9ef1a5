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


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker of its own, ended with the module."""
    pytest.importorskip("confluent_kafka", reason="Kafka sources need confluent-kafka (panelake[kafka])")
    jars, folder = broker_jars(), tmp_path_factory.mktemp("kafka")
    port, controller = free_port(), free_port()
    (folder / "server.properties").write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder / "logs"}
offsets.topic.replication.factor=1
log.retention.ms=-1
"""
    )
    java = [str(find_java().home / "bin" / "java"), "-Xmx256m", "-cp", f"{jars}/*"]
    config = str(folder / "server.properties")
    form = [*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", config]
    subprocess.run(form, check=True, capture_output=True, timeout=120)
    log = folder / "broker.log"
    with log.open("wb") as output:
        process = subprocess.Popen([*java, "kafka.Kafka", config], stdout=output, stderr=output)
    try:
        await_port(port, process, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
