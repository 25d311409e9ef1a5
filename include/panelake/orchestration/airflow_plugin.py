"""What the project adds to Airflow: the timetable of slices, and the report in its UI.

The report stands under navigation, and beside each DAG and each of its runs.
Every process of Airflow loads plugins, also those that parse DAGs: what serves pages is imported when the first one is
asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from panelake.orchestration.timetable import SliceTimetable

PREFIX = "/panelake"
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@cache
def _pages() -> Any:
    from panelake.orchestration.report_pages import create_app  # noqa: PLC0415 - see above

    return create_app()


async def report_app(scope: Message, receive: Receive, send: Send) -> None:
    """The pages as an ASGI application."""
    await _pages()(scope, receive, send)


def _view(route: str, destination: str, href: str) -> dict[str, str]:
    # Relative addresses, so that it works behind a proxy that serves Airflow below a path.
    return {"name": "Report", "url_route": route, "destination": destination, "href": f"{PREFIX[1:]}/{href}"}


class PanelakePlugin(AirflowPlugin):  # type: ignore[misc]  # Airflow is untyped here
    """Found by Airflow through the package's entry point."""

    name = "panelake"
    timetables: ClassVar[list[type]] = [SliceTimetable]
    fastapi_apps: ClassVar[list[dict[str, Any]]] = [
        {"name": "Panelake report", "url_prefix": PREFIX, "app": report_app},
    ]
    external_views: ClassVar[list[dict[str, str]]] = [
        _view("panelake", "nav", ""),
        _view("panelake_dag", "dag", "{DAG_ID}/index.html"),
        _view("panelake_run", "dag_run", "{DAG_ID}/runs/{RUN_ID}"),
    ]
