"""What a user gets wrong, as the installed command answers it: message on stderr, exit code, nothing written."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from panelake.home import example_workspace

pytestmark = pytest.mark.end_to_end

PANELAKE = str(Path(sys.executable).with_name("panelake"))
RANGE = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:05:00Z")


@pytest.fixture
def workspace(tmp_path) -> Path:
    """A copy of the traffic example, without data."""
    source = example_workspace("traffic")
    folder = tmp_path / "town"
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text((source / "streams.yaml").read_text())
    for query in (source / "queries").glob("*.sql"):
        (folder / "queries" / query.name).write_text(query.read_text())
    return folder


def panelake(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PANELAKE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env=os.environ | variables,
    )


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_unknown_key_is_named_with_its_line_and_the_known_ones(workspace, command):
    change(workspace / "streams.yaml", "event_time:", "event_tiem:")
    before = files_of(workspace)
    done = panelake(command, *(RANGE if command == "run" else ()), "--workspace", str(workspace))
    assert done.returncode == 2
    assert "streams.yaml:" in done.stderr
    assert "unknown key 'streams.traffic.event_tiem'; expected one of schema, event_time" in done.stderr
    assert files_of(workspace) == before


def test_broken_sql_is_named_with_line_and_column(workspace):
    (workspace / "queries" / "broken.sql").write_text("SELECT max(sped) AS m\nFROM traffic [RANGE 1 SLIDE]\n")
    done = panelake("check", "--workspace", str(workspace))
    assert done.returncode == 2
    assert "queries/broken.sql:2:" in done.stderr


def test_problems_come_as_json_for_machines(workspace):
    change(workspace / "streams.yaml", "slice: 5 minutes", "slice: soon")
    done = panelake("check", "--json", "--workspace", str(workspace))
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"] == 2
    assert document["problems"][0]["file"] == "streams.yaml"
    assert document["problems"][0]["line"] == 2


def test_a_missing_source_path_is_a_part_that_is_down(workspace):
    done = panelake("check", "--workspace", str(workspace))
    assert done.returncode == 3
    assert "stream traffic: source path" in done.stderr
    assert "does not exist" in done.stderr
    assert "panelake generate" in done.stderr


def test_a_range_off_the_grid_is_refused_before_anything_is_written(workspace):
    before = files_of(workspace)
    off_grid = ("--from", "2026-01-01T00:01:00Z", "--to", "2026-01-01T00:05:00Z")
    done = panelake("run", *off_grid, "--workspace", str(workspace))
    assert done.returncode == 2
    assert "nearest: 2026-01-01T00:00:00Z or 2026-01-01T00:05:00Z" in done.stderr
    assert files_of(workspace) == before


def test_a_run_without_a_range_says_what_is_needed(workspace):
    done = panelake("run", "--workspace", str(workspace))
    assert done.returncode == 2
    assert "--from T and --to T are needed" in done.stderr


def test_a_taken_port_is_named(tmp_path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        home = tmp_path / "home"
        (home).mkdir()
        (home / "jars").symlink_to((Path(os.environ["PANELAKE_HOME"]) / "jars").resolve())
        done = panelake("server", "start", "--port", str(port), PANELAKE_HOME=str(home))
    assert done.returncode == 3
    assert f"port {port} of 127.0.0.1 cannot be used" in done.stderr
    assert "give another port, or none for a free one" in done.stderr
    assert not (home / "server.json").exists()


def test_a_warehouse_that_cannot_be_written_is_named(workspace):
    (workspace / "blocked").write_text("a file where a folder should be")
    change(workspace / "streams.yaml", "warehouse: warehouse", "warehouse: blocked/warehouse")
    done = panelake("run", *RANGE, "--workspace", str(workspace))
    assert done.returncode == 3
    assert f"warehouse {workspace / 'blocked' / 'warehouse'} cannot be written" in done.stderr
    assert "change 'warehouse'" in done.stderr


def test_without_java_and_network_it_is_said_what_to_install(tmp_path):
    """An environment in which no java is found, and an installer that cannot reach anything."""
    home, tools = tmp_path / "home", tmp_path / "tools"
    home.mkdir()
    tools.mkdir()
    code = (
        "import sys; from panelake.spark import java, toolchain\n"
        "java._bundled_binary = lambda: None\n"
        "toolchain._installer = lambda: [sys.executable, '-m', 'pip', 'install', '--no-index']\n"
        "sys.exit(toolchain.main())\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment | {"PATH": str(tools), "PANELAKE_HOME": str(home)},
    )
    assert done.returncode == 3
    assert "Java 17 or newer was not found" in done.stderr
    assert "set JAVA_HOME" in done.stderr
    assert "Installing it failed" in done.stderr


def test_a_server_that_does_not_answer_is_a_part_that_is_down(workspace):
    (workspace / "landing" / "traffic").mkdir(parents=True)
    done = panelake("run", *RANGE, "--workspace", str(workspace), "--master", "sc://127.0.0.1:1")
    assert done.returncode == 3
    assert "does not answer" in done.stderr


def test_a_master_of_no_known_kind_is_bad_input(workspace):
    (workspace / "landing" / "traffic").mkdir(parents=True)
    before = files_of(workspace)
    for master, told in (("mars", "the Spark master is 'mars'"), ("sc://host:x", "the Spark Connect URL is 'sc://")):
        done = panelake("run", *RANGE, "--workspace", str(workspace), "--master", master)
        assert done.returncode == 2
        assert told in done.stderr
        assert "expected sc://host:port" in done.stderr
    assert files_of(workspace) == before


@pytest.mark.parametrize("arguments", [("fly",), ("run", "--sideways"), ()])
def test_unknown_commands_and_options_exit_with_2(arguments):
    done = panelake(*arguments)
    assert done.returncode == 2
    assert "--help" in done.stderr


def test_the_help_lists_commands_that_exist_and_no_others():
    done = panelake("--help")
    assert done.returncode == 0
    for command in ("check", "run", "generate", "server"):
        assert f"    {command} " in done.stdout
