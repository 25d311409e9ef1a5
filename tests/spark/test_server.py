from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from panelake.errors import PartDownError, TransientError
from panelake.processes import ProcessId, spawn_detached
from panelake.spark import probe, server, session
from panelake.spark.owner_guard import guarded
from panelake.spark.record import ServerRecord, current_versions, load_record, record_path
from panelake.spark.session import spark_session

STARTER = "from panelake.spark import server; print(server.ensure())"


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def bystander(tmp_path) -> ProcessId:
    """A process that could be taken for a server by its pid alone."""
    return spawn_detached(["/bin/sleep", "300"], env=os.environ, cwd=tmp_path, log=tmp_path / "log")


def recorded(process: ProcessId, *, started: float | None = None) -> ServerRecord:
    record = ServerRecord(process.pid, started or process.started, 1, current_versions(), "none", "none")
    record.save()
    return record


@pytest.mark.spark
def test_a_running_server_is_found_again_not_started_twice(spark_server):
    state = server.status()
    assert (state.state, state.url, state.current) == ("running", spark_server, True)
    assert server.ensure() == spark_server
    assert server.start().pid == state.pid


@pytest.mark.spark
def test_a_server_on_another_port_than_asked_for_is_refused_by_name(spark_server):
    _, port = probe.address(spark_server)
    with pytest.raises(PartDownError, match=rf"runs on port {port} already, port {port + 1} was asked for"):
        server.start(port=port + 1)


@pytest.mark.spark
def test_other_settings_are_told_not_forced_on_a_running_server(spark_server, monkeypatch, caplog):
    monkeypatch.setenv("PANELAKE_DRIVER_MEMORY", "3g")
    assert not server.status().current
    assert server.ensure() == spark_server
    assert "runs with other settings" in caplog.text


@pytest.mark.spark
def test_the_record_is_json_that_names_pid_port_and_log(spark_server):
    record = json.loads(record_path().read_text())
    assert psutil.Process(record["pid"]).name() == "java"
    assert spark_server.endswith(f":{record['port']}")
    assert record["log"].endswith("server.log")


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")  # pyspark tells so before it raises
def test_a_life_of_a_server(other_home, monkeypatch):
    """Two starters get one server; killed, it is noticed and replaced; it ends with its owner.

    One test, since each start takes many seconds.
    """
    first = one_server_for_two_starters()
    killed_under_a_client(first, monkeypatch)
    assert server.status().state == "stopped"
    assert record_path().exists()

    owner = bystander(other_home)
    monkeypatch.setenv(server.OWNER_VARIABLE, str(owner.pid))
    second_url = server.ensure()
    second = load_record()
    assert second.process != first.process
    assert second.url == second_url

    os.kill(owner.pid, signal.SIGKILL)
    assert eventually(lambda: not second.process.is_alive())
    assert eventually(lambda: not probe.port_open("127.0.0.1", second.port))


def one_server_for_two_starters() -> ServerRecord:
    starters = [subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    urls = {starter.communicate(timeout=200)[0].strip() for starter in starters}
    record = load_record()
    assert urls == {record.url}
    return record


def killed_under_a_client(record: ServerRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_RETRIES", 1)
    with pytest.raises(TransientError, match="went away") as raised, spark_session() as spark:  # noqa: PT012
        assert spark.range(3).count() == 3
        os.kill(record.pid, signal.SIGKILL)
        assert eventually(lambda: not record.process.is_alive())
        spark.range(3).count()
    assert isinstance(raised.value.__cause__, SparkConnectGrpcException)


@pytest.mark.usefixtures("other_home")
def test_a_taken_port_is_named_and_nothing_is_started():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PartDownError, match=f"port {port} of 127.0.0.1") as raised:
            server.start(port=port)
    assert raised.value.exit_code == 3
    assert server.status().state == "stopped"


@pytest.mark.usefixtures("other_home")
def test_a_server_that_cannot_start_shows_its_log(monkeypatch):
    monkeypatch.setenv("PANELAKE_DRIVER_MEMORY", "1m")
    with pytest.raises(PartDownError, match=r"ended while starting[\s\S]*server\.log[\s\S]*heap"):
        server.start()
    assert not record_path().exists()


def test_stop_ends_the_recorded_process_and_forgets_it(other_home):
    process = bystander(other_home)
    recorded(process)
    assert server.stop()
    assert not process.is_alive()
    assert not record_path().exists()
    assert not server.stop()


def test_stop_spares_a_process_that_only_has_the_recorded_pid(other_home):
    process = bystander(other_home)
    recorded(process, started=process.started - 3600)
    assert server.status().state == "stopped"
    assert not server.stop()
    assert process.is_alive()
    os.kill(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures("other_home")
def test_a_broken_record_is_no_server():
    record_path().write_text('{"pid": ')
    assert server.status().state == "stopped"
    assert not server.stop()


def test_a_guarded_command_ends_when_its_owner_is_killed(tmp_path):
    owner = bystander(tmp_path)
    log = tmp_path / "ward.log"
    ward = spawn_detached(guarded(["/bin/sleep", "300"], owner.pid), env=os.environ, cwd=tmp_path, log=log)
    assert eventually(lambda: psutil.Process(ward.pid).name() == "sleep")
    time.sleep(1.5)
    assert ward.is_alive(), "guarded, not ended, while the owner lives"
    os.kill(owner.pid, signal.SIGKILL)
    assert eventually(lambda: not ward.is_alive(), seconds=10)


def test_a_guarded_command_is_not_started_for_an_owner_that_is_gone():
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    done = subprocess.run(guarded(["/bin/echo", "started"], gone.pid), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "is gone" in done.stderr
    assert "started" not in done.stdout
