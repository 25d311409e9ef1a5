"""The page of a query: its text, its panes, its verdicts and its newest answers, drawn and as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from panelake.gold import REVISION, SLICE
from panelake.language.query import AggregateQuery, JoinQuery
from panelake.report.answer_charts import answer_charts
from panelake.report.heat_maps import tables_map
from panelake.report.history import SliceFacts
from panelake.report.templating import render
from panelake.workspace import Workspace

MOST_ANSWERS = 30


def query_page(
    workspace: Workspace, query: AggregateQuery, shown: Sequence[SliceFacts], panes: Markup, rows: pa.Table | None
) -> Markup:
    """One aggregate query."""
    keys = [key.alias for key in query.keys if rows is not None and key.alias in rows.column_names]
    charts = None if rows is None else answer_charts(rows, keys)
    own = {"kind": "Query", "rows_called": "rows", "reads": [query.stream], "keys": keys}
    return answers_page("query.html", workspace, query, shown, rows, panes=panes, charts=charts, **own)


def answers_page(
    template: str,
    workspace: Workspace,
    query: AggregateQuery | JoinQuery,
    shown: Sequence[SliceFacts],
    rows: pa.Table | None,
    **own: Any,
) -> Markup:
    """What the pages of all queries have, and what one kind of query has of its own."""
    newest = [] if rows is None else rows.slice(0, MOST_ANSWERS).to_pylist()
    return render(
        template,
        workspace=workspace,
        query=query,
        text=_text(workspace, query),
        verdicts=tables_map(shown, [f"gold/{query.name}"]),
        newest=newest,
        columns=_columns(newest),
        root="../",
        **own,
    )


def _columns(newest: Sequence[dict[str, Any]]) -> list[str]:
    """The columns worth a reader's time: revisions where a row was ever restated."""
    hidden = {SLICE} if any(row[REVISION] for row in newest) else {SLICE, REVISION}
    return [name for name in newest[0] if name not in hidden] if newest else []


def _text(workspace: Workspace, query: AggregateQuery | JoinQuery) -> str:
    """The query as its author wrote it."""
    path = workspace.root / query.file
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
