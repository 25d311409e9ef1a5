from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from panelake.errors import WorkspaceError
from panelake.orchestration.airflow_home import environment, private_airflow, settings_file
from panelake.orchestration.settings_loader import read_settings

ASTRO = """\
airflow:
  connections:
    - conn_id: lake
      conn_type: spark_connect
      conn_host: spark.example
      conn_schema:
      conn_login: someone
      conn_password: secret
      conn_port: 15002
      conn_extra: {use_ssl: true}
  pools:
    - pool_name: spark
      pool_slot: 3
      pool_description: the server's share
  variables:
    - variable_name: greeting
      variable_value: hello
    - variable_name: limits
      variable_value: {low: 1, high: 2}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "airflow_settings.yaml"
    path.write_text(text)
    return path


def problems_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(WorkspaceError) as raised:
        read_settings(written(folder, text))
    return [str(problem) for problem in raised.value.problems]


def test_the_projects_own_file_names_the_connection_and_the_pool_of_its_dags() -> None:
    settings = read_settings(settings_file())
    assert [connection.conn_id for connection in settings.connections] == ["panelake_spark"]
    assert [pool.pool_name for pool in settings.pools] == ["spark"]


def test_an_unknown_key_is_named_with_file_and_line(tmp_path: Path) -> None:
    text = "airflow:\n  pools:\n    - pool_name: spark\n      pool_slots: 2\n"
    assert problems_of(tmp_path, text) == [
        "airflow_settings.yaml:3: key 'airflow.pools.0.pool_slot' is missing",
        (
            "airflow_settings.yaml:4: unknown key 'airflow.pools.0.pool_slots';"
            " expected one of pool_name, pool_slot, pool_description"
        ),
    ]


def test_a_value_of_the_wrong_kind_is_shown(tmp_path: Path) -> None:
    text = "airflow:\n  pools:\n    - pool_name: spark\n      pool_slot: two\n"
    assert problems_of(tmp_path, text) == [
        "airflow_settings.yaml:4: airflow.pools.0.pool_slot: Input should be a valid integer, got 'two'"
    ]


@pytest.mark.parametrize("slots", [0, -1])
def test_a_pool_without_slots_is_refused(tmp_path: Path, slots: int) -> None:
    [problem] = problems_of(tmp_path, f"airflow:\n  pools:\n    - pool_name: spark\n      pool_slot: {slots}\n")
    assert "greater than or equal to 1" in problem


def test_a_name_given_twice_is_refused_where_it_comes_again(tmp_path: Path) -> None:
    one = "    - pool_name: spark\n      pool_slot: 1\n"
    assert problems_of(tmp_path, f"airflow:\n  pools:\n{one}{one}") == [
        "airflow_settings.yaml:5: airflow.pools.1.pool_name: 'spark' is given twice; keep one"
    ]


def test_a_variable_of_no_known_kind_is_complained_of_once(tmp_path: Path) -> None:
    text = "airflow:\n  variables:\n    - variable_name: day\n      variable_value: 2026-01-01\n"
    [problem] = problems_of(tmp_path, text)
    assert problem.startswith("airflow_settings.yaml:4: airflow.variables.0.variable_value: ")


def test_an_empty_file_and_one_that_is_missing_are_named(tmp_path: Path) -> None:
    assert "expected the key 'airflow'" in problems_of(tmp_path, "")[0]
    with pytest.raises(WorkspaceError, match=r"cannot be read .* expected at .*none\.yaml"):
        read_settings(tmp_path / "none.yaml")


APPLY_TWICE_AND_READ = """
import json, sys
from panelake.orchestration.settings_loader import main
codes = [main(sys.argv[1:]), main(sys.argv[1:])]
from airflow.models import Connection, Pool, Variable
lake, pool = Connection.get_connection_from_secrets("lake"), Pool.get_pool("spark")
print(json.dumps({
    "codes": codes,
    "lake": [lake.conn_type, lake.host, lake.login, lake.password, lake.port, lake.extra_dejson],
    "spark": [pool.slots, pool.description],
    "limits": Variable.get("limits", deserialize_json=True),
    "greeting": Variable.get("greeting"),
}))
"""


@pytest.mark.airflow
def test_applying_twice_gives_airflow_what_the_file_says(tmp_path: Path) -> None:
    variables = environment(private_airflow(tmp_path / "airflow"), private=True)
    command = [sys.executable, "-W", "ignore", "-c", APPLY_TWICE_AND_READ, str(written(tmp_path, ASTRO))]
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "codes": [0, 0],
        "lake": ["spark_connect", "spark.example", "someone", "secret", 15002, {"use_ssl": True}],
        "spark": [3, "the server's share"],
        "limits": {"low": 1, "high": 2},
        "greeting": "hello",
    }


@pytest.mark.airflow
def test_a_bad_file_exits_with_2_and_says_where(tmp_path: Path) -> None:
    loader = [sys.executable, "-m", "panelake.orchestration.settings_loader", str(written(tmp_path, "airflow: {x: 1}"))]
    done = subprocess.run(loader, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "airflow_settings.yaml:1: unknown key 'airflow.x'" in done.stderr
