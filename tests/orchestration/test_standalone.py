"""`make up` and `make down`, for real: Airflow's four parts on a free port, and nothing left of them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import psutil
import pytest

from panelake.errors import PartDownError
from panelake.orchestration import standalone
from panelake.orchestration.airflow_home import DATABASE_VARIABLE, free_port
from panelake.orchestration.airflow_processes import family_of, load_record
from panelake.orchestration.health import unhealthy_parts
from panelake.spark import server


def test_down_where_nothing_runs_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path / "never used"))
    assert standalone.main(["down"]) == 0
    assert capsys.readouterr().out == "stopped: nothing, nothing was running\n"
    assert not (tmp_path / "never used").exists()


def test_a_port_that_is_taken_is_refused_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert standalone.main(["up", "--port", str(port)]) == PartDownError.exit_code
    assert f"port {port} of 127.0.0.1 cannot be used" in capsys.readouterr().err


@pytest.mark.airflow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_up_starts_all_parts_on_loopback_and_down_leaves_no_process(
    spark_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(DATABASE_VARIABLE, raising=False)
    port = free_port()
    try:
        assert standalone.main(["up", "--port", str(port)]) == 0
        told = capsys.readouterr().out
        assert f"http://127.0.0.1:{port}" in told
        assert f"password {standalone.password()}" in told
        record = load_record()
        assert record is not None
        assert unhealthy_parts(record.url) == []
        family = family_of(record)
        assert {part.pid for part in record.parts} <= {process.pid for process in family}
        addresses = {connection.laddr.ip for process in family for connection in _listening(process)}
        assert addresses == {"127.0.0.1"}

        assert standalone.main(["up"]) == 0, "a second up finds the first"
        assert load_record() == record
        with pytest.raises(PartDownError, match="'make down' first"):
            standalone.up(free_port())
    finally:
        assert standalone.main(["down"]) == 0
    assert f"stopped: Airflow at http://127.0.0.1:{port}" in capsys.readouterr().out
    assert [process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE] == []
    assert load_record() is None
    assert family_of(record) == []
    assert server.status().url == spark_server, "the Spark server was there before, and stays"


def _listening(process: psutil.Process) -> list[Any]:
    return [one for one in process.net_connections(kind="inet") if one.status == psutil.CONN_LISTEN]
