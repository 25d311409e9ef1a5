"""Which panes are needed no longer: those of slices that no window to come, and no late tuple, can reach.

The slowest query's pointer (LP) is the start of the earliest window that some query has yet to answer. Slices whose
tuples all lie before LP, less the lateness allowed and the longest range, are freed; should a restatement need them,
their panes are made anew from bronze. Maintenance asks for this, never the way of a slice.
"""

from __future__ import annotations

from panelake import tables
from panelake.context import Context
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.planning.pane_set import window_spec
from panelake.slices import Slice
from panelake.spark.delta import delete_slices
from panelake.stages.due import answered_slices
from panelake.stages.known_slices import Ingested, ingested_slices


def pointers(context: Context, stream: str) -> dict[str, int | None]:
    """Each query's pointer: where its next window starts, microseconds or sequence number; None before the first."""
    entries = context.ledger.entries()
    known = ingested_slices(entries, stream)
    return {q.name: _pointer(q, entries, known) for q in context.workspace.queries_of(stream)}


def _pointer(query: AggregateQuery, entries: list[Entry], known: list[Ingested]) -> int | None:
    answered = answered_slices(entries, query.name)
    if not answered:
        return None
    window = window_spec(query.window)
    if query.window.kind == "TS":
        return window.start(window.first_with(max(part.end for part in answered)))
    ends = [one.end for one in known if one.slice in answered]
    return window.start(window.first_with(max(ends))) if ends else None


def obsolete(context: Context, stream: str) -> list[Slice]:
    """The slices whose stored panes are needed no longer, oldest first; none while a query has answered nothing."""
    queries = context.workspace.queries_of(stream)
    found = pointers(context, stream)
    lateness = context.workspace.streams[stream].lateness
    entries = context.ledger.entries()
    held = {e.slice for e in entries if e.stage == "panes" and e.subject == stream and e.details.get("sets")}
    return [
        one.slice
        for one in ingested_slices(entries, stream)
        if one.slice in held and all(_is_past(one, query, found[query.name], lateness) for query in queries)
    ]


def _is_past(one: Ingested, query: AggregateQuery, pointer: int | None, lateness: int) -> bool:
    if pointer is None:
        return False
    reach = pointer - query.window.range
    return one.high <= reach - lateness if query.window.kind == "TS" else one.end <= reach


def free(context: Context, stream: str) -> list[Slice]:
    """Delete the panes that are needed no longer; the ledger says first that the slices hold none."""
    gone = obsolete(context, stream)
    address = context.catalog.panes(stream)
    if not gone or not tables.exists(address):
        return []
    freed = {"sets": {}, "freed": True}
    context.ledger.record([Entry(part, "panes", stream, "done", 0, details=freed) for part in gone])
    delete_slices(context.spark, address, gone)
    return gone
