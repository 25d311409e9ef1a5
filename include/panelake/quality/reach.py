"""What due windows reach: the ingested slices that hold their tuples, and the panes they were made of."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from panelake.language.query import WindowKind
from panelake.planning.pane_set import PaneSet
from panelake.planning.plan import Plan
from panelake.quality.answer_rules import Answers
from panelake.quality.bronze_rules import StreamSlice
from panelake.slices import Slice
from panelake.stages.known_slices import Ingested
from panelake.stages.pane_reader import Need, Span, read_panes, sources


def span_of(answers: Sequence[Answers]) -> Span:
    """The positions [low, high) that the due windows cover."""
    low = min(one.spec.start(one.due[0]) for one in answers)
    return low, max(one.spec.end(one.due[-1]) for one in answers)


def slices_in_reach(known: Sequence[Ingested], answers: Answers) -> list[Slice]:
    """The ingested slices whose tuples the due windows read; over time an empty slice is read as well."""
    if not answers.due:
        return []
    low, high = span_of([answers])
    if answers.query.window.kind == "ROW":
        return [one.slice for one in known if one.in_rows(low, high)]
    return [one.slice for one in known if one.low < high and low < max(one.high, one.slice.end)]


def panes_in_reach(stream: StreamSlice, plan: Plan, kind: WindowKind, answers: Sequence[Answers]) -> DataFrame:
    """The panes that the due windows of one kind read, as the windows stage reads them."""
    paned = stream.context.ledger.entries(stage="panes", subject=stream.name)
    found = []
    for pane_set in dict.fromkeys(plan.set_of(one.query.name) for one in answers):
        mine = [one for one in answers if plan.set_of(one.query.name) == pane_set]
        found.append(sources(_need(pane_set, kind, span_of(mine)), stream.known, paned, stream.name, stream.part))
    return read_panes(stream.context, stream.name, found)


def _need(pane_set: PaneSet, kind: WindowKind, span: Span) -> Need:
    return Need(pane_set, time=span) if kind == "TS" else Need(pane_set, rows=span)
