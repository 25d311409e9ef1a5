from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from panelake.flow import dag_tasks
from panelake.orchestration.airflow_home import dags_folder, environment, private_airflow
from panelake.orchestration.tasks import SPARK_POOL
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE

pytestmark = pytest.mark.airflow

PARSE = """
import json, sys, time
from airflow.dag_processing.dagbag import DagBag
from airflow.models.dagrun import DagRun
from airflow.serialization.serialized_objects import DagSerialization
def leaves(dag):  # the tasks that Airflow judges a run by, as its scheduler finds them
    class Run: pass
    class Instance:
        state = None
        def __init__(self, task_id): self.task_id = task_id
    found = DagRun._tis_for_dagrun_state(Run(), dag=dag, tis=[Instance(task.task_id) for task in dag.tasks])
    return sorted(instance.task_id for instance in found)
began = time.process_time()
bag = DagBag(sys.argv[1])
seconds = time.process_time() - began
print(json.dumps({
    "errors": bag.import_errors,
    "seconds": seconds,
    "files": [stat.file for stat in bag.dagbag_stats],
    "heavy": [name for name in ("pyspark", "numba", "great_expectations", "deltalake") if name in sys.modules],
    "dags": {dag_id: {
        "judged_by": leaves(dag),
        "serialized": bool(DagSerialization.serialize_dag(dag)),
        "assets": [asset.name for asset in getattr(dag.timetable.asset_condition, "objects", [])],
        "tasks": {task.task_id: {
            "downstream": sorted(task.downstream_task_ids),
            "pool": task.pool,
            "retries": task.retries,
            "teardown": task.is_teardown,
        } for task in dag.tasks},
    } for dag_id, dag in bag.dags.items()},
}))
"""


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a fresh process makes of the project's DAG files."""
    home = private_airflow(tmp_path_factory.mktemp("parse") / "airflow")
    variables = {**environment(home, private=True), WORKSPACES_VARIABLE: ""}
    command = [sys.executable, "-W", "ignore", "-c", PARSE, str(dags_folder())]
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_dag_file_is_imported_without_errors(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    assert {Path(file).name for file in parsed["files"]} == {path.name for path in dags_folder().glob("*.py")}


def test_all_dag_files_are_parsed_in_under_two_seconds_of_work(parsed: dict[str, Any]) -> None:
    assert 0 < parsed["seconds"] < 2


def test_parsing_loads_neither_spark_nor_kernels(parsed: dict[str, Any]) -> None:
    assert parsed["heavy"] == []


def test_a_workspaces_dag_is_the_flow_in_its_order(parsed: dict[str, Any]) -> None:
    names = list(dag_tasks())
    tasks = parsed["dags"]["slices_traffic"]["tasks"]
    followers = {name: [follower] for name, follower in pairwise(names)}
    assert {name: task["downstream"] for name, task in tasks.items()} == {
        **followers,
        "publish": ["published", "report"],
        "published": [],
        "report": [],
    }
    assert [name for name, task in tasks.items() if task["teardown"]] == [names[-1]]


def test_a_run_is_judged_by_publishing_as_well_as_by_its_report(parsed: dict[str, Any]) -> None:
    assert parsed["dags"]["slices_traffic"]["judged_by"] == ["published", "report"]


def test_tasks_share_the_spark_pool_and_are_tried_again(parsed: dict[str, Any]) -> None:
    tasks = parsed["dags"]["slices_traffic"]["tasks"].values()
    assert {task["pool"] for task in tasks} == {SPARK_POOL}
    assert all(task["retries"] > 0 for task in tasks)


def test_the_dag_can_be_stored_by_airflow(parsed: dict[str, Any]) -> None:
    assert all(dag["serialized"] for dag in parsed["dags"].values())


def test_every_workspace_has_its_maintenance_its_report_and_its_recheck(parsed: dict[str, Any]) -> None:
    assert {"maintenance_traffic", "report_traffic", "recheck_traffic"} <= set(parsed["dags"])
    assert parsed["dags"]["report_traffic"]["assets"] == ["traffic/gold/speed_by_area"]
    assert set(parsed["dags"]["maintenance_traffic"]["tasks"]) == {"maintain"}


def test_the_example_downstream_is_scheduled_on_the_workspaces_gold(parsed: dict[str, Any]) -> None:
    assert parsed["dags"]["answers_traffic"]["assets"] == ["traffic/gold/speed_by_area"]
    assert parsed["dags"]["slices_traffic"]["assets"] == []
