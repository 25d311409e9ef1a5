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
from panelake.stages.due import few_ranges
from panelake.stages.known_slices import Ingested
from panelake.stages.pane_reader import Need, Span, read_panes, sources


def spans_of(answers: Sequence[Answers]) -> tuple[Span, ...]:
    """The positions [low, high) that the due windows cover."""
    covered = [range(one.spec.start(ks[0]), one.spec.end(ks[-1])) for one in answers for ks in one.ranges]
    return tuple((span.start, span.stop) for span in few_ranges(covered))


def slices_in_reach(known: Sequence[Ingested], answers: Answers) -> list[Slice]:
    """The ingested slices whose tuples the due windows read; over time an empty slice is read as well."""
    spans = spans_of([answers])
    if answers.query.window.kind == "ROW":
        return [one.slice for one in known if any(one.in_rows(*span) for span in spans)]
    return [
        one.slice for one in known if any(one.low < high and low < max(one.high, one.slice.end) for low, high in spans)
    ]


def panes_in_reach(stream: StreamSlice, plan: Plan, kind: WindowKind, answers: Sequence[Answers]) -> DataFrame:
    """The panes that the due windows of one kind read, as the windows stage reads them."""
    paned = stream.context.ledger.entries(stage="panes", subject=stream.name)
    found = []
    for pane_set in dict.fromkeys(plan.set_of(one.query.name) for one in answers):
        mine = [one for one in answers if plan.set_of(one.query.name) == pane_set]
        found.append(sources(_need(pane_set, kind, spans_of(mine)), stream.known, paned, stream.name, stream.part))
    changed = [one.slice for one in stream.inside] if any(one.restated for one in answers) else []
    return read_panes(stream.context, stream.name, found, changed)


def _need(pane_set: PaneSet, kind: WindowKind, spans: tuple[Span, ...]) -> Need:
    return Need(pane_set, time=spans) if kind == "TS" else Need(pane_set, rows=spans)
