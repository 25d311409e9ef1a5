"""Maintenance of each workspace, once a night: retention, compaction, vacuum; safe while slices are run."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, task

from panelake.orchestration.tasks import SPARK_POOL
from panelake.orchestration.upkeep import maintain_workspace
from panelake.orchestration.workspaces import dag_id, scheduled_workspaces
from panelake.slices import to_datetime
from panelake.workspace import Workspace


def maintenance(workspace: Workspace) -> DAG:
    """The DAG of one workspace; what it keeps is `retention` in streams.yaml."""
    with DAG(
        dag_id=dag_id(workspace, "maintenance"),
        description=f"keeps the tables of {workspace.root} small",
        schedule="30 3 * * *",
        start_date=to_datetime(0),
        catchup=False,
        max_active_runs=1,
        tags=["panelake", workspace.name],
        doc_md=__doc__,
        default_args={"pool": SPARK_POOL, "retries": 3, "retry_delay": timedelta(minutes=5)},
    ) as dag:
        task(task_id="maintain")(maintain_workspace)(str(workspace.root))
    return dag


for each in scheduled_workspaces():
    globals()[dag_id(each, "maintenance")] = maintenance(each)
