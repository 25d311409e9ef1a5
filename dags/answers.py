"""An example of a DAG downstream of gold: runs when any query of a workspace has new answers, and tells them.

A DAG of one's own is scheduled in the same way, on the assets of the queries it reads.
"""

from __future__ import annotations

from airflow.sdk import DAG, AssetAny, task

from panelake.orchestration.answers import tell_new_answers
from panelake.orchestration.assets import gold_asset
from panelake.orchestration.workspaces import dag_id, scheduled_workspaces
from panelake.workspace import Workspace


def answers(workspace: Workspace) -> DAG:
    """The DAG over the answers of one workspace."""
    with DAG(
        dag_id=dag_id(workspace, "answers"),
        description=f"tells the new answers of {workspace.root}",
        schedule=AssetAny(*(gold_asset(workspace, query) for query in workspace.all_queries)),
        tags=["panelake", workspace.name],
        doc_md=__doc__,
    ) as dag:
        task(tell_new_answers)(str(workspace.root))
    return dag


for each in scheduled_workspaces():
    if each.queries:
        globals()[dag_id(each, "answers")] = answers(each)
