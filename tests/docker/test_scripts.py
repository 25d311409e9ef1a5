"""The scripts that containers run, natively; what starts Spark's nodes is in tests/spark/test_cluster.py."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from panelake.errors import BadInputError
from panelake.orchestration import airflow_part, health

DOCKER = Path(__file__).parents[2] / "docker"


class Page(BaseHTTPRequestHandler):
    parts: ClassVar[dict[str, dict[str, str]]] = {}

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(self.parts).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def page() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def answers(*arguments):
    return subprocess.run([sys.executable, DOCKER / "answers.py", *arguments], check=False).returncode


def test_a_part_is_healthy_when_it_listens_and_says_what_is_expected(page):
    Page.parts = {"scheduler": {"status": "healthy"}}
    assert answers(f"tcp://{page}") == 0
    assert answers(f"http://{page}/", '"status": "healthy"') == 0
    assert answers(f"http://{page}/", "ALIVE") == 1
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert answers(f"tcp://127.0.0.1:{closed.getsockname()[1]}") == 1
        assert answers(f"http://127.0.0.1:{closed.getsockname()[1]}/") == 1


def test_each_part_of_airflow_is_asked_after_alone(page):
    Page.parts = {name: {"status": "healthy"} for name in ("metadatabase", "scheduler", "dag_processor")}
    assert health.main([f"http://{page}", "scheduler"]) == 0
    assert health.main([f"http://{page}", "triggerer"]) == 1
    assert health.main([f"http://{page}"]) == 1
    assert health.main(["http://127.0.0.1:1", "scheduler"]) == 1


def test_a_part_that_airflow_has_not_is_named(capsys):
    assert airflow_part.main(["webserver"]) == 2
    assert "'webserver' is no part of Airflow; expected one of prepare, api-server" in capsys.readouterr().err


def test_what_the_environment_says_of_airflow_stands_first(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__HOST", "0.0.0.0")  # noqa: S104 - as a container has it
    monkeypatch.setenv("AIRFLOW__CORE__PARALLELISM", "32")
    monkeypatch.setenv("PANELAKE_AIRFLOW_PASSWORD", "a password of this test")
    told = airflow_part.variables()
    assert (told["AIRFLOW__API__HOST"], told["AIRFLOW__CORE__PARALLELISM"]) == ("0.0.0.0", "32")  # noqa: S104 - the same
    assert told["AIRFLOW__CORE__LOAD_EXAMPLES"] == "False"
    assert "a password of this test" not in told.values()


def test_a_part_becomes_airflows_own_command_in_its_home(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setattr("os.execve", lambda *arguments: begun.append(arguments))
    monkeypatch.setattr("os.chdir", begun.append)
    airflow_part.main(["scheduler"])
    assert begun[0] == str(tmp_path)
    program, command, told = begun[1]
    assert (program, command) == (sys.executable, [sys.executable, "-m", "airflow", "scheduler", "--skip-serve-logs"])
    assert told["PANELAKE_PRELOAD"] == "1"


def test_a_password_is_kept_for_airflow_alone_and_a_short_one_refused(tmp_path, monkeypatch):
    file = airflow_part.password_file(tmp_path)
    airflow_part._set_password(file)
    assert not file.exists()
    monkeypatch.setenv("PANELAKE_AIRFLOW_PASSWORD", "long enough")
    airflow_part._set_password(file)
    assert json.loads(file.read_text()) == {"admin": "long enough"}
    assert file.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("PANELAKE_AIRFLOW_PASSWORD", "short")
    with pytest.raises(BadInputError, match="fewer than 8 characters"):
        airflow_part._set_password(file)
