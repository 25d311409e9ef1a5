"""The flow of each workspace as a DAG: one run a slice; panes, windows and join are one task, `answer`.

The workspaces are the folders of PANELAKE_WORKSPACES, else the example worlds. A run works on its data interval and
on nothing else, so that retries and backfills give what the first run would have given.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, chain, task

from panelake.flow import dag_tasks, told
from panelake.orchestration.assets import outlets
from panelake.orchestration.deadlines import slice_deadline
from panelake.orchestration.refusals import tell_refusal
from panelake.orchestration.tasks import SPARK_POOL, run_flow_task
from panelake.orchestration.timetable import SliceTimetable
from panelake.orchestration.workspaces import dag_id, scheduled_workspaces
from panelake.slices import to_datetime
from panelake.workspace import Workspace


def slices(workspace: Workspace) -> DAG:
    """The DAG of one workspace."""
    with DAG(
        dag_id=dag_id(workspace),
        description=f"the workspace {workspace.root}, slice by slice",
        schedule=SliceTimetable(workspace.slice_length),
        start_date=to_datetime(0),
        catchup=False,  # the first run is the newest slice; the timetable lets none out after it
        max_active_runs=1,
        deadline=slice_deadline(workspace),
        tags=["panelake", workspace.name],
        doc_md=__doc__,
        default_args={
            "pool": SPARK_POOL,
            "retries": 3,  # spent on transient errors alone: any other ends the task at once
            "retry_delay": timedelta(seconds=10),
            "retry_exponential_backoff": True,
            "max_retry_delay": timedelta(minutes=5),
            "on_failure_callback": tell_refusal,
        },
    ) as dag:
        tasks = [
            task(task_id=name, doc_md=told(stages), outlets=outlets(workspace, name))(run_flow_task)(
                str(workspace.root), name
            )
            for name, stages in dag_tasks().items()
        ]
        tasks[-1].as_teardown(on_failure_fail_dagrun=True)  # the report also tells of a slice that was refused
        chain(*tasks)
        # Airflow judges a run by its leaves: were the report the only one, a run that failed before it would be green.
        tasks[-2] >> EmptyOperator(task_id="published")
    return dag


for each in scheduled_workspaces():
    globals()[dag_id(each)] = slices(each)
