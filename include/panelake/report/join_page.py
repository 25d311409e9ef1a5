"""The page of a join: what it shed, how accurate it was estimated and measured to be, and its newest results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from panelake.language.query import JoinQuery
from panelake.report.history import SliceFacts
from panelake.report.query_page import answers_page
from panelake.report.trends import shedding_trends
from panelake.workspace import Workspace


def join_page(workspace: Workspace, query: JoinQuery, shown: Sequence[SliceFacts], rows: pa.Table | None) -> Markup:
    """One join: its verdicts, its shedding by slice, its newest results."""
    own = {"kind": "Join", "rows_called": "results", "reads": query.reads}
    sheds, charts = shedding(query, shown), shedding_trends(shown, query.name)
    return answers_page("join.html", workspace, query, shown, rows, sheds=sheds, charts=charts, **own)


def shedding(query: JoinQuery, shown: Sequence[SliceFacts]) -> list[dict[str, Any]]:
    """Each slice that shed: tuples by stream, estimated and measured accuracy, and how far the estimate was off."""
    found = []
    for facts in shown:
        outcome = facts.outcome("join", query.name)
        if outcome is None or not outcome.details.get("shed"):
            continue
        details = outcome.details
        estimated, measured = details.get("estimated_accuracy"), details.get("measured_accuracy")
        found.append({
            "slice": facts.slice.name,
            "shed": details["shed"],
            "by": "; ".join(_by_pattern(*one) for one in details.get("shed_by", {}).items() if one[1]),
            "estimated": estimated,
            "measured": measured,
            "error": None if estimated is None or measured is None else estimated - measured,
        })  # fmt: skip
    return found


def _by_pattern(alias: str, counts: dict[str, int]) -> str:
    return f"{alias} " + ", ".join(f"{pattern} {count:,}" for pattern, count in counts.items())
