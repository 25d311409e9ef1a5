"""No key, token or password stands in what the project says or writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from panelake.cli import main
from panelake.errors import BadInputError, PartDownError
from panelake.spark.connect_host.__main__ import main as host
from panelake.spark.probe import ask
from panelake.spark.session import open_session
from panelake.spark.settings import classic_settings, server_settings
from panelake.spark.shown import shown
from panelake.workspace import load_workspace

SECRET = "hunter2"  # noqa: S105 - nobody's
KEYS = ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "_SPARK_AUTH_SECRET", "PGPASSWORD")
STREAMS = """\
warehouse: {warehouse}
slice: 5 minutes
streams:
  cars: {{schema: {{ts: timestamp}}, event_time: ts, source: {{format: parquet, path: "{path}"}}}}
"""


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sc://host:15002", "sc://host:15002"),
        (f"sc://host:15002/;token={SECRET};user_id=me", "sc://host:15002/;…"),
        (f"sc://host;token={SECRET}", "sc://host/;…"),
        (f"sc:/host/;token={SECRET}", "sc:/host/;…"),
        (f"sc://me:{SECRET}@host:1", "sc://…@host:1"),
        ("spark://host:7077", "spark://host:7077"),
        (f"http://me:{SECRET}@host", "http://…@host"),
    ],
)
def test_an_address_is_shown_without_what_only_its_owner_may_know(address: str, said: str) -> None:
    assert shown(address) == said


@pytest.mark.parametrize("start", ["sc://127.0.0.1:1/", "sc:/127.0.0.1/", "sc://host:none/"])
def test_a_token_is_in_no_message(start: str) -> None:
    with pytest.raises((BadInputError, PartDownError)) as raised:
        ask(f"{start};token={SECRET}")
    assert SECRET not in str(raised.value)
    with pytest.raises((BadInputError, PartDownError)) as raised:
        open_session(f"{start};token={SECRET}")
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("key", ["warehouse", "path"])
def test_keys_in_an_address_are_refused_and_not_repeated(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"warehouse": "warehouse", "path": "landing"} | {key: f"s3://key:{SECRET}@bucket/lake"}
    (tmp_path / "streams.yaml").write_text(STREAMS.format(**places))
    with pytest.raises(BadInputError, match="give keys by the environment") as raised:
        load_workspace(tmp_path)
    assert SECRET not in str(raised.value)
    assert main(["check", "--workspace", str(tmp_path), "--json"]) == 2
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err


def test_no_key_of_the_environment_is_a_setting_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    told = [classic_settings("local[1]"), classic_settings("spark://host:7077"), server_settings(15002)]
    monkeypatch.setenv("PANELAKE_SERVER_MASTER", "spark://host:7077")
    assert SECRET not in str([*told, server_settings(15002)])


def test_what_a_server_is_started_with_holds_no_key(
    other_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execve", lambda _, command, __: started.append(command))
    monkeypatch.chdir(tmp_path)
    host(["--port", "15002"])
    assert SECRET not in str(started)
    files = [path for path in other_home.rglob("*") if path.is_file() and "jars" not in path.parts]
    assert any(path.name == "server.properties" for path in files)
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
