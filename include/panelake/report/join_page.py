"""The page of a join: what it shed, how accurate it was estimated and measured to be, and its newest results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from panelake.gold import SLICE
from panelake.language.query import JoinQuery
from panelake.report import words
from panelake.report.history import SliceFacts
from panelake.report.pages import MOST_ANSWERS, query_text
from panelake.report.strips import table_strip
from panelake.report.templating import render
from panelake.workspace import Workspace


def join_page(workspace: Workspace, query: JoinQuery, shown: Sequence[SliceFacts], rows: pa.Table | None) -> Markup:
    """One join: its verdicts, its shedding by slice, its newest results."""
    newest = [] if rows is None else rows.slice(0, MOST_ANSWERS).to_pylist()
    return render(
        "join.html",
        workspace=workspace,
        query=query,
        text=query_text(workspace, query),
        strip=table_strip(shown, {facts.slice for facts in shown}, f"gold/{query.name}"),
        sheds=shedding(query, shown),
        share=words.share,
        newest=newest,
        columns=[name for name in newest[0] if name != SLICE] if newest else [],
        root="../",
    )


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
