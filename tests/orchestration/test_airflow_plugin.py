"""The report behind Airflow's own authentication: asked of Airflow's own application, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from panelake.context import Context
from panelake.ledger import Entry
from panelake.orchestration.airflow_home import environment, private_airflow
from panelake.orchestration.workspaces import WORKSPACES_VARIABLE
from panelake.report.assets import chart_script, chart_script_path
from panelake.report.build import build_report
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace

pytestmark = pytest.mark.airflow

STREAMS = """
slice: 5 minutes
streams:
  traffic:
    schema: {area: string, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    where: [speed >= 0, area <> '']
"""
QUERY = "SELECT area, avg(speed) AS mean FROM traffic [RANGE 180 SECONDS SLIDE 60 SECONDS] GROUP BY area"
RUN, LATER = "scheduled__2026-01-01T00:05:00+00:00", "scheduled__2026-01-01T00:10:00+00:00"
PAGE = "slice/20260101T000000Z-20260101T000500Z.html"
ASK = """
import json, sys
from datetime import datetime, timezone, timedelta
from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow import plugins_manager
from airflow.models import DagModel, DagRun
from airflow.models.dagbundle import DagBundleModel
from airflow.utils.session import create_session
from fastapi.testclient import TestClient

dag, other, asked = json.loads(sys.argv[1])
with create_session() as session:
    session.add(DagBundleModel(name="tests"))
    session.flush()
    for name in (dag, other):
        session.add(DagModel(dag_id=name, bundle_name="tests", fileloc="x"))
    session.flush()
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    for number in (0, 1):
        low = start + number * timedelta(minutes=5)
        high = low + timedelta(minutes=5)
        run_id = f"scheduled__{high.isoformat()}"
        when = {"logical_date": high, "data_interval": (low, high), "run_after": high}
        session.add(DagRun(dag_id=dag, run_id=run_id, run_type="scheduled", **when))
client = TestClient(create_app(), follow_redirects=False, raise_server_exceptions=False)
people = {"nobody": None, "forged": "e30.e30.e30"}
for name, role in (("viewer", "viewer"), ("stranger", None)):
    people[name] = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role=role))
answers = {}
for person, token in people.items():
    for path in asked:
        client.cookies.clear()
        if token:
            client.cookies.set("_token", token)
        answer = client.get(path)
        answers[f"{person} {path}"] = {"code": answer.status_code, "text": answer.text, "headers": dict(answer.headers)}
views = [view for view in plugins_manager._get_ui_plugins()[0] if view["url_route"].startswith("panelake")]
heavy = [name for name in ("pyspark", "numba", "great_expectations") if name in sys.modules]
print(json.dumps({"answers": answers, "views": views, "heavy": heavy}))
"""
ASKED = {
    "reports": "/panelake/",
    "overview": "/panelake/slices_town/index.html",
    "script": f"/panelake/slices_town/{chart_script_path()}",
    "other script": "/panelake/slices_town/assets/charts-0.js",
    "slice": f"/panelake/slices_town/{PAGE}",
    "filters": "/panelake/slices_town/filters.html",
    "papers": "/panelake/slices_town/docs/papers.html",
    "run": f"/panelake/slices_town/runs/{RUN.replace('+', '%2B')}",
    "later run": f"/panelake/slices_town/runs/{LATER.replace('+', '%2B')}",
    "no run": "/panelake/slices_town/runs/manual",
    "no page": "/panelake/slices_town/slice/nothing.html",
    "outside": "/panelake/slices_town/..%2F..%2Fstreams.yaml",
    "beside": "/panelake/slices_town/../ledger/stages/_delta_log/00000000000000000000.json",
    "other dag": "/panelake/other/index.html",
}
REFUSING = {"nobody": 401, "forged": 403, "stranger": 403}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Airflow's application answers to each person and path."""
    folder = tmp_path_factory.mktemp("plugin")
    root = folder / "town"
    (root / "queries").mkdir(parents=True)
    (root / "streams.yaml").write_text(STREAMS)
    (root / "queries" / "speeds.sql").write_text(QUERY)
    context = Context(load_workspace(root))
    part = Slice(parse_instant("2026-01-01T00:00:00Z"), parse_instant("2026-01-01T00:05:00Z"))
    context.ledger.record([Entry(part, "ingest", "traffic", "done", 5, details={"read": 5, "accepted": 5})])
    build_report(context)
    home = private_airflow(folder / "airflow")
    variables = {
        **environment(home, private=True),
        WORKSPACES_VARIABLE: str(root),
        "AIRFLOW__CORE__LAZY_LOAD_PLUGINS": "True",
    }
    arguments = json.dumps(["slices_town", "other", list(ASKED.values())])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK, arguments],
        env=variables,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def answer(told: dict[str, Any], person: str, what: str) -> Any:
    return told["answers"][f"{person} {ASKED[what]}"]


@pytest.mark.parametrize("person", REFUSING)
@pytest.mark.parametrize("what", [name for name in ASKED if name not in {"reports", "outside", "beside"}])
def test_who_may_not_read_the_dag_sees_nothing(told: dict[str, Any], person: str, what: str) -> None:
    refused = answer(told, person, what)
    assert refused["code"] == REFUSING[person]
    assert "town" not in refused["text"]


def test_the_list_of_reports_is_for_known_users_alone(told: dict[str, Any]) -> None:
    assert answer(told, "nobody", "reports")["code"] == 401
    assert answer(told, "forged", "reports")["code"] == 403
    stranger = answer(told, "stranger", "reports")
    assert stranger["code"] == 200
    assert "no DAG of a workspace that you may read" in stranger["text"]
    viewer = answer(told, "viewer", "reports")
    assert (viewer["code"], viewer["headers"]["location"]) == (307, "slices_town/index.html")


def test_a_viewer_reads_the_pages_and_the_browser_is_told_to_run_no_script_of_theirs(told: dict[str, Any]) -> None:
    shown = {
        "overview": "Quality report",
        "slice": "Slice 2026-01-01 00:00",
        "filters": "speed &gt;= 0",
        "papers": "<h3 id=",
    }
    for what, text in shown.items():
        read = answer(told, "viewer", what)
        assert read["code"] == 200
        assert text in read["text"]
        assert read["headers"]["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
        assert read["headers"]["cache-control"] == "private, no-store"


def test_the_script_is_served_as_what_it_is_and_may_be_kept(told: dict[str, Any]) -> None:
    read = answer(told, "viewer", "script")
    assert (read["code"], read["text"]) == (200, chart_script())
    assert read["headers"]["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in read["headers"]["cache-control"]


def test_a_run_leads_to_the_page_of_its_slice(told: dict[str, Any]) -> None:
    read = answer(told, "viewer", "run")
    assert (read["code"], read["headers"]["location"]) == (307, f"../{PAGE}")


def test_a_run_whose_slice_has_no_page_says_so(told: dict[str, Any]) -> None:
    read = answer(told, "viewer", "later run")
    assert read["code"] == 404
    assert "Slice 2026-01-01 00:05 to 2026-01-01 00:10" in read["text"]
    assert 'href="../index.html"' in read["text"]


@pytest.mark.parametrize("what", ["no run", "no page", "other script", "outside", "beside", "other dag"])
def test_what_is_not_a_page_of_the_report_is_not_found(told: dict[str, Any], what: str) -> None:
    read = answer(told, "viewer", what)
    assert read["code"] == 404
    assert "streams:" not in read["text"]
    assert "commitInfo" not in read["text"]


def test_the_ui_shows_the_report_in_navigation_and_beside_dags_and_runs(told: dict[str, Any]) -> None:
    assert {view["destination"]: view["href"] for view in told["views"]} == {
        "nav": "panelake/",
        "dag": "panelake/{DAG_ID}/index.html",
        "dag_run": "panelake/{DAG_ID}/runs/{RUN_ID}",
    }


def test_serving_the_report_loads_nothing_heavy(told: dict[str, Any]) -> None:
    assert told["heavy"] == []
