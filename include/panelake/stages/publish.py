"""Publish: audited answers become gold, each table in one commit; the ledger entry comes last.

A query that the audit refused keeps its staging for inspection and its gold as it was. What is published is what was
audited: files staged since are refused until they are audited too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from panelake import gold
from panelake.context import Context
from panelake.dirty import DirtySet
from panelake.errors import BadInputError, TransientError
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.numbers import NumberRange, Numbers
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.stages.publish_joins import publish_join
from panelake.staging import Staged, attempt_folder, staged_answers

Mine = Mapping[tuple[str, str], Entry]
Taken = Sequence[NumberRange]
_AT_ONCE = 4
_TOLD = 20


@dataclass(frozen=True)
class Near:
    """By query the slices that are in gold, and by stream the numbers of slices where windows over rows need them."""

    slices: Mapping[str, set[Slice]]
    numbers: Mapping[str, Taken]


def run(context: Context, part: Slice) -> list[Entry]:
    """Publish every query of the slice that passed its audit."""
    mine = context.ledger.of_slice(part)
    queries = list(context.workspace.queries.values())
    near = _published_near(context, queries, part, mine)
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # a commit waits for the disk more than it works
        entries = list(pool.map(lambda query: _publish(context, query, part, mine, near), queries))
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


def _published_near(context: Context, queries: Sequence[AggregateQuery], part: Slice, mine: Mine) -> Near:
    """For each query the slices around this one that are in gold, read once for all; of rows all, by their numbers."""
    ends = [part.start, part.end]
    for query in queries:
        windows = mine.get(("windows", query.name))
        if windows is not None and query.window.kind == "TS":
            ends += [end for one in _ranges(windows) for end in one]
    over_rows = {query.stream for query in queries if query.window.kind == "ROW"}
    around = None if over_rows else Slice(min(ends) - 1, max(ends) + 1)
    slices: dict[str, set[Slice]] = {}
    for entry in context.ledger.entries(stage="publish", within=around):
        if entry.status == "done":
            slices.setdefault(entry.subject, set()).add(entry.slice)
    return Near(slices, {stream: Numbers(context.catalog).taken(stream) for stream in over_rows})


def _ranges(windows: Entry) -> list[list[int]]:
    return [one for one in (windows.details["ends"], *windows.details.get("restated", [])) if one]


def _publish(context: Context, query: AggregateQuery, part: Slice, mine: Mine, near: Near) -> Entry:
    verdict, windows = mine.get(("audit", f"gold/{query.name}")), mine.get(("windows", query.name))
    if verdict is None or windows is None:
        message = (
            f"query {query.name}, slice {part}: not answered and audited yet; run the stages windows and audit first"
        )
        raise BadInputError(message)
    if verdict.status == "refused":
        return Entry(part, "publish", query.name, "refused", 0, details={"why": verdict.details["why"]})
    spans = _answered_spans(query, {part, *near.slices.get(query.name, ())}, near.numbers)
    staged = _audited(context, query, part, windows, verdict)
    rows = gold.in_answered_slices(staged.rows, spans)
    ends = _publishable(windows.details["ends"], spans)
    keys = [key.alias for key in query.keys]
    restated = gold.Restated(windows.details.get("restated", []), staged.gone)
    written = gold.replace_windows(context.catalog.gold(query.name), rows, keys, ends, restated)
    if written.rows != rows.num_rows:
        raise TransientError(
            f"query {query.name}, slice {part}: {rows.num_rows} rows were due and {written.rows} are in gold;"
            " run it again"
        )
    details = {"due": rows.num_rows, "written": written.rows, **_told(written, keys)}
    return Entry(part, "publish", query.name, "done", written.rows, details=details)


def _told(written: gold.Written, keys: Sequence[str]) -> dict[str, Any]:
    """Which answers were restated: how many rows, of which windows, and the first of them by window and group."""
    changed = written.changed
    if changed is None or not changed.num_rows:
        return {}
    ends = sorted({_plain(end) for end in changed[gold.END].to_pylist()})
    first = changed.sort_by(gold.END).slice(0, _TOLD).to_pylist()
    places = [[_plain(row[gold.END]), *(_plain(row[key]) for key in keys)] for row in first]
    windows = {"windows": len(ends), "from": ends[0], "to": ends[-1]}
    return {"restated": {"rows": changed.num_rows, **windows, "first": places}}


def _plain(value: Any) -> Any:
    """As JSON has it: instants and all that is no number or text in their text form."""
    if isinstance(value, datetime):
        return format_instant(to_microseconds(value))
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def _audited(context: Context, query: AggregateQuery, part: Slice, windows: Entry, verdict: Entry) -> Staged:
    """The staged answers, which must be those that were audited."""
    folder = attempt_folder(context.catalog.staging(query.stream, part), windows.details)
    staged = staged_answers(folder, query, windows.details)
    if staged.digest != verdict.details["staged"]:
        raise BadInputError(
            f"query {query.name}, slice {part}: what is staged was not audited; run the stage audit, then publish again"
        )
    return staged


def _answered_spans(query: AggregateQuery, slices: set[Slice], numbers: Mapping[str, Taken]) -> list[gold.Span]:
    """Where the windows of the slices end."""
    if query.window.kind == "TS":
        return [gold.Span(one.start, one.end, one.start) for one in slices]
    return [
        gold.Span(known.first, known.end, known.slice.start)
        for known in numbers[query.stream]
        if any(one.start <= known.slice.start and known.slice.end <= one.end for one in slices)
    ]


def _publishable(ends: Sequence[int], spans: Sequence[gold.Span]) -> list[int]:
    """The range of window ends to replace, no further than what is answered."""
    if not ends:
        return []
    last = min(ends[-1], max(span.high for span in spans))
    return [ends[0], last] if ends[0] <= last else []
