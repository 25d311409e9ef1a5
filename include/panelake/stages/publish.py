"""Publish: audited answers become gold, each table in one commit; the ledger entry comes last.

A query that the audit refused keeps its staging for inspection and its gold as it was. What is published is what was
audited: files staged since are refused until they are audited too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from panelake import gold
from panelake.context import Context
from panelake.dirty import DirtySet
from panelake.errors import BadInputError, TransientError
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.slices import Slice
from panelake.stages.publish_joins import publish_join
from panelake.staging import Staged, staged_answers

Mine = Mapping[tuple[str, str], Entry]


def run(context: Context, part: Slice) -> list[Entry]:
    """Publish every query of the slice that passed its audit."""
    mine = context.ledger.of_slice(part)
    entries = [_publish(context, query, part, mine) for query in context.workspace.queries.values()]
    refused = {context.workspace.queries[entry.subject].stream for entry in entries if entry.status == "refused"}
    for join in context.workspace.joins.values():
        entries.append(publish_join(context, join, part, mine))
        if entries[-1].status == "refused":
            refused |= set(join.reads)
    for stream in set(context.workspace.streams) - refused:
        _restated(context, stream, part)
    return entries


def _restated(context: Context, stream: str, part: Slice) -> None:
    """Take what the slice changed out of the dirty set: all queries of the stream are published."""
    dirty = DirtySet(context.catalog)
    changed = {known.slice for known in dirty.pending(stream)}
    for one in sorted(one for one in changed if part.start <= one.start and one.end <= part.end):
        dirty.clear(stream, one)


def _publish(context: Context, query: AggregateQuery, part: Slice, mine: Mine) -> Entry:
    verdict, windows = mine.get(("audit", f"gold/{query.name}")), mine.get(("windows", query.name))
    if verdict is None or windows is None:
        message = (
            f"query {query.name}, slice {part}: not answered and audited yet; run the stages windows and audit first"
        )
        raise BadInputError(message)
    if verdict.status == "refused":
        return Entry(part, "publish", query.name, "refused", 0, details={"why": verdict.details["why"]})
    spans = answered_spans(context, query, part)
    rows = gold.in_answered_slices(_audited(context, query, part, windows, verdict).rows, spans)
    ends = _publishable(windows.details["ends"], spans)
    keys = [key.alias for key in query.keys]
    written = gold.replace_windows(context.catalog.gold(query.name), rows, keys, ends)
    if written != rows.num_rows:
        raise TransientError(
            f"query {query.name}, slice {part}: {rows.num_rows} rows were due and {written} are in gold; run it again"
        )
    return Entry(part, "publish", query.name, "done", written, details={"due": rows.num_rows, "written": written})


def _audited(context: Context, query: AggregateQuery, part: Slice, windows: Entry, verdict: Entry) -> Staged:
    """The staged answers, which must be those that were audited."""
    staged = staged_answers(context.catalog.staging(query.stream, part), query, windows.details["types"])
    if staged.digest != verdict.details["staged"]:
        raise BadInputError(
            f"query {query.name}, slice {part}: what is staged was not audited; run the stage audit, then publish again"
        )
    return staged


def answered_spans(context: Context, query: AggregateQuery, part: Slice) -> list[gold.Span]:
    """Where the windows of this slice, and of those in gold already, end."""
    published = context.ledger.entries(stage="publish", subject=query.name)
    slices = {part, *(entry.slice for entry in published if entry.status == "done")}
    if query.window.kind == "TS":
        return [gold.Span(one.start, one.end, one.start) for one in slices]
    taken = Numbers(context.catalog).taken(query.stream)
    return [
        gold.Span(known.first, known.end, known.slice.start)
        for known in taken
        if any(one.start <= known.slice.start and known.slice.end <= one.end for one in slices)
    ]


def _publishable(ends: Sequence[int], spans: Sequence[gold.Span]) -> list[int]:
    """The range of window ends to replace, no further than what is answered."""
    if not ends:
        return []
    last = min(ends[-1], max(span.high for span in spans))
    return [ends[0], last] if ends[0] <= last else []
