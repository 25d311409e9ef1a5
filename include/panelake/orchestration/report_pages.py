"""Serves the report's pages to whom Airflow lets read the DAG of the workspace; nobody else sees any of it."""

from __future__ import annotations

import re
from urllib.parse import quote

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.models.dagrun import DagRun
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from panelake.catalog import Catalog
from panelake.orchestration.workspaces import dag_id as dag_id_of
from panelake.orchestration.workspaces import scheduled_workspaces
from panelake.report.assets import ASSETS
from panelake.report.heat_maps import page_of
from panelake.report.site import INDEX
from panelake.report.templating import render
from panelake.slices import Slice, to_microseconds
from panelake.spark.object_store import open_store
from panelake.workspace import Workspace

_PAGE = re.compile(r"(?:index|filters)\.html|(?:slice|query|stream|data_docs|docs)/\w[\w-]*\.html")
_SCRIPT = re.compile(rf"{ASSETS}/charts-[0-9a-f]+\.js")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
# Its name changes with what it holds.
_SCRIPT_HEADERS = _HEADERS | {"Cache-Control": "private, max-age=31536000, immutable"}


def create_app() -> FastAPI:
    """The application that Airflow mounts."""
    app = FastAPI(title="Panelake report", docs_url=None, redoc_url=None, openapi_url=None)
    app.get("/")(reports)
    of_run, of_dag = (Depends(requires_access_dag("GET", entity)) for entity in (DagAccessEntity.RUN, None))
    app.get("/{dag_id}/runs/{run_id:path}", dependencies=[of_run])(run)
    app.get("/{dag_id}/{path:path}", dependencies=[of_dag])(page)
    return app


def reports(user: GetUserDep) -> Response:
    """The reports that the user may read; the one itself where it is the only one."""
    readable = [name for name in sorted(_workspaces()) if _may_read(name, user)]
    if len(readable) == 1:
        return RedirectResponse(f"{quote(readable[0], safe='')}/{INDEX}", headers=_HEADERS)
    links = [(name, f"{quote(name, safe='')}/{INDEX}") for name in readable]
    return _html(str(render("reports.html", links=links)))


def run(dag_id: str, run_id: str, session: SessionDep) -> Response:
    """The page of the run's slice."""
    workspace = _workspace(dag_id)
    found = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    if found is None or found.data_interval_start is None:
        raise HTTPException(404, f"DAG {dag_id} has no run {run_id!r} with a data interval")
    part = Slice(to_microseconds(found.data_interval_start), to_microseconds(found.data_interval_end))
    up = "../" * (1 + run_id.count("/"))
    there = _read(workspace, page_of(part)) is not None
    if there:
        return RedirectResponse(f"{up}{page_of(part)}", headers=_HEADERS)
    return _html(str(render("no_page.html", workspace=workspace, part=part, root=up)), 404)


def page(dag_id: str, path: str) -> Response:
    """One page of the workspace's report, or the script that draws its charts."""
    workspace = _workspace(dag_id)
    is_script = bool(_SCRIPT.fullmatch(path))
    text = _read(workspace, path) if is_script or _PAGE.fullmatch(path) else None
    if text is None:
        raise HTTPException(404, f"the report of {workspace.name} has no page {path!r}; open {INDEX}")
    return Response(text, media_type="text/javascript", headers=_SCRIPT_HEADERS) if is_script else _html(text)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, headers=_HEADERS)


def _workspaces() -> dict[str, Workspace]:
    return {dag_id_of(workspace): workspace for workspace in scheduled_workspaces()}


def _workspace(dag_id: str) -> Workspace:
    found = _workspaces().get(dag_id)
    if found is None:
        raise HTTPException(404, f"DAG {dag_id!r} runs no workspace: there is no report of it")
    return found


def _may_read(dag_id: str, user: object) -> bool:
    return bool(get_auth_manager().is_authorized_dag(method="GET", details=DagDetails(id=dag_id), user=user))


def _read(workspace: Workspace, path: str) -> str | None:
    """The page's text; None where there is none."""
    address = Catalog(workspace.warehouse).report
    store, root = open_store(address)
    try:
        with store.open_input_stream(f"{root}/{path}") as file:
            return str(file.read().decode())
    except FileNotFoundError:
        return None
