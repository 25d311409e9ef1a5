"""Report: the page a person reads, drawn again from ledger, quality results and gold."""

from __future__ import annotations

from panelake.context import Context
from panelake.ledger import Entry
from panelake.report.build import build_report
from panelake.slices import Slice


def run(context: Context, part: Slice) -> list[Entry]:
    """Build the report over all slices."""
    built = build_report(context)
    return [Entry(part, "report", "report", "done", built.pages, details={"path": built.path})]
