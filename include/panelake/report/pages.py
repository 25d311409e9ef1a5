"""The pages of the report, each from values already read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from markupsafe import Markup

from panelake.report import quarantine, words
from panelake.report.continuity import Continuity
from panelake.report.heat_maps import overview_map, page_of, standing, tables_map
from panelake.report.history import SliceFacts, missing_between
from panelake.report.stretches import stretches
from panelake.report.templating import render
from panelake.report.trends import stream_trends, trends
from panelake.report.verdicts import RuleResult
from panelake.slices import Slice, format_instant
from panelake.workspace import Workspace

MOST_CONCERNS = 20
MOST_RULES = 400
MOST_SAMPLE_ROWS = 10
MOST_LISTED = 30


@dataclass(frozen=True)
class Concern:
    """Something that a reader should know first."""

    kind: str
    part: Slice
    subject: str
    why: str
    link: str | None = None


def overview(
    workspace: Workspace,
    history: Sequence[SliceFacts],
    detailed: int,
    pages: Collection[Slice],
    built_at: int,
    *,
    papers: bool,
) -> Markup:
    """The index: verdicts, what needs attention, trends, the newest slices, older ones gathered."""
    shown = history[-detailed:]
    newest = max((facts.slice.end for facts in history if facts.published is not None), default=None)
    concerns = _concerns(history, pages)
    return render(
        "overview.html",
        workspace=workspace,
        built_at=built_at,
        papers=papers,
        history=history,
        shown=shown,
        listed=shown[-MOST_LISTED:],
        standing=standing(shown),
        newest=newest,
        age=None if newest is None else built_at - newest,
        concerns=concerns[:MOST_CONCERNS],
        concern_count=len(concerns),
        verdicts=overview_map(shown, pages),
        charts=trends(shown),
        older=list(reversed(stretches(history[:-detailed]))),
        sheds=any(facts.shed is not None for facts in shown),
        pages=pages,
        page_of=page_of,
        root="",
    )


def _concerns(history: Sequence[SliceFacts], pages: Collection[Slice]) -> list[Concern]:
    """Refused and missing slices, newest first."""
    refused = [
        Concern("refused", facts.slice, reason.subject, reason.why, _link(facts.slice, pages))
        for facts in history
        for reason in facts.refusals
    ]
    gaps = [
        Concern("missing", gap, "", f"run --from {gap.name} --to {format_instant(gap.end)}")
        for gap in missing_between([facts.slice for facts in history])
    ]
    return sorted([*refused, *gaps], key=lambda concern: concern.part, reverse=True)


def _link(part: Slice, pages: Collection[Slice]) -> str | None:
    return page_of(part) if part in pages else None


def slice_page(
    workspace: Workspace,
    facts: SliceFacts,
    rules: Sequence[RuleResult],
    neighbours: tuple[Slice | None, Slice | None],
    docs: str | None = None,
) -> Markup:
    """One slice: what came in, what was answered, each rule with what was observed, and its Data Docs if written."""
    return render(
        "slice.html",
        workspace=workspace,
        facts=facts,
        quality=facts.quality or "unaudited",
        rules=rules[:MOST_RULES],
        rule_count=len(rules),
        most_rows=MOST_SAMPLE_ROWS,
        sample_columns=sample_columns,
        docs=docs,
        before=neighbours[0],
        after=neighbours[1],
        filtered=_filtered,
        root="../",
    )


def _filtered(details: dict[str, Any]) -> int:
    found = details.get("filtered", 0)
    return sum(found.values()) if isinstance(found, dict) else int(found)


def sample_columns(sample: Sequence[dict[str, Any]]) -> list[str]:
    """The columns that any of the rows has, in the order met."""
    return list(islice(dict.fromkeys(name for row in sample for name in row), 20))


def stream_page(
    workspace: Workspace,
    name: str,
    shown: Sequence[SliceFacts],
    reasons: Sequence[quarantine.Reason],
    numbers: Continuity | None,
) -> Markup:
    """One stream: why tuples were quarantined, with some of them, and whether its numbers are dense."""
    return render(
        "stream.html",
        workspace=workspace,
        name=name,
        stream=workspace.streams[name],
        queries=workspace.queries_of(name),
        shown=shown,
        counts=_stream_counts(name, shown),
        verdicts=tables_map(shown, [f"bronze/{name}", f"panes/{name}", f"quarantine/{name}"]),
        charts=stream_trends(shown, name),
        filters=_filters(name, shown),
        reasons=reasons[: quarantine.MOST_REASONS],
        reason_count=len(reasons),
        numbers=numbers,
        duration=words.duration,
        root="../",
    )


def _filters(name: str, shown: Sequence[SliceFacts]) -> Counter[str]:
    """Tuples that each stream-level filter dropped."""
    dropped: Counter[str] = Counter()
    for facts in shown:
        found = facts.outcome("ingest", name)
        if found is not None and isinstance(found.details.get("filtered"), dict):
            dropped.update(found.details["filtered"])
    return dropped


def _stream_counts(name: str, shown: Sequence[SliceFacts]) -> dict[str, int]:
    details = [o.details for facts in shown for o in facts.of_stage("ingest") if o.subject == name]
    names = ("read", "released", "accepted", "late", "quarantined", "held")
    counts = {count: sum(int(found.get(count) or 0) for found in details) for count in names}
    return {**counts, "filtered": sum(_filtered(found) for found in details)}
