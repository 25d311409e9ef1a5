"""Quality of each workspace, beside the slices: the report after every change of gold, and a daily recheck of history.

The recheck answers a random window of a random slice again from bronze, by Spark's own aggregates, and compares it
with gold, every group of every query.
"""

from __future__ import annotations

from airflow.sdk import DAG, AssetAny, task

from panelake.orchestration.assets import gold_asset
from panelake.orchestration.tasks import SPARK_POOL
from panelake.orchestration.upkeep import rebuild_report, recheck_history
from panelake.orchestration.workspaces import dag_id, scheduled_workspaces
from panelake.slices import to_datetime
from panelake.workspace import Workspace


def report(workspace: Workspace) -> DAG:
    """Rebuilds the report when a query has new answers, whichever DAG made them."""
    with DAG(
        dag_id=dag_id(workspace, "report"),
        description=f"the quality report of {workspace.root}",
        schedule=AssetAny(*(gold_asset(workspace, query) for query in workspace.all_queries)),
        max_active_runs=1,
        tags=["panelake", workspace.name],
        doc_md=__doc__,
    ) as dag:
        task(task_id="report")(rebuild_report)(str(workspace.root))
    return dag


def recheck(workspace: Workspace) -> DAG:
    """Fails where gold differs from what bronze gives."""
    with DAG(
        dag_id=dag_id(workspace, "recheck"),
        description=f"answers of {workspace.root} against a recompute from bronze",
        schedule="0 4 * * *",
        start_date=to_datetime(0),
        catchup=False,
        tags=["panelake", workspace.name],
        doc_md=__doc__,
        default_args={"pool": SPARK_POOL, "retries": 3},
    ) as dag:
        task(task_id="recheck")(recheck_history)(str(workspace.root))
    return dag


for each in scheduled_workspaces():
    if each.all_queries:
        globals()[dag_id(each, "report")] = report(each)
        globals()[dag_id(each, "recheck")] = recheck(each)
