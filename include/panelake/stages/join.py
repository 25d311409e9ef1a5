"""Join: every combination of tuples that the slice brings, into staging.

All streams' tuples are brought together by key, put in time order, and joined by the kernel over Arrow batches.
Without MEMORY nothing is remembered between slices: bronze is read back to the longest W before the slice, so that
retries, late data and history are one code path. A combination belongs to every slice that one of its tuples came
with, and is made, once, when the last of these is run.

With MEMORY a slice starts from the state before it and may shed; what it has may lack is marked for repair. A slice
once repaired is joined exactly ever after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from panelake.context import Context
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.slices import Slice
from panelake.stages.due import answered_slices
from panelake.stages.join_limited import join_within_memory, repair_spans
from panelake.stages.join_results import joined, selected, selected_types
from panelake.stages.join_tuples import JoinReach, reach_of, read_tuples
from panelake.stages.registry import register_new
from panelake.staging import attempt_folder, fresh_attempt, join_results, parquet_rows

# What the shed run of a slice told, and a repaired slice goes on telling.
_TOLD = ("shed", "shed_by", "emitted", "estimated_lost", "estimated_accuracy")


def run(context: Context, part: Slice) -> list[Entry]:
    """Join the slice for every join of the workspace."""
    queries = tuple(context.workspace.joins.values())
    if not queries:
        return []
    changed = register_new(context, queries)
    entries = context.ledger.entries()
    return [_refused(part, q) if q.name in changed else _joined(context, q, part, entries) for q in queries]


def _refused(part: Slice, query: JoinQuery) -> Entry:
    why = f"{query.file} changed its meaning since its gold was made; run panelake restate --query {query.name}"
    return Entry(part, "join", query.name, "refused", 0, details={"why": why})


def _joined(context: Context, query: JoinQuery, part: Slice, entries: Sequence[Entry]) -> Entry:
    reach = reach_of(query, part, entries, later=query.memory is None)
    details: dict[str, Any] = {"own": own_numbers(reach), "of": _tokens(reach), "fingerprint": query.fingerprint}
    before, folder = _entry_before(entries, query, part), context.catalog.staged_join(query.name, part)
    details |= fresh_attempt(folder)
    exact = query.memory is None or query.name in context.repairing or _is_repaired(before)
    if exact:
        results = selected(joined(read_tuples(context, reach), reach), query)
        results.write.mode("overwrite").parquet(join_results(folder, details))
    else:
        results, more = _within_memory(context, reach, entries, before, attempt_folder(folder, details))
        details |= more
    rows = parquet_rows(join_results(folder, details))
    if query.memory is not None:
        details |= {"own_slices": sorted(one.slice.start for known in reach.own.values() for one in known)}
        details |= _repaired(before, rows) if exact else {}
    details |= {"types": selected_types(results, query)}
    return Entry(part, "join", query.name, "done", rows, details=details)


def _within_memory(
    context: Context, reach: JoinReach, entries: Sequence[Entry], before: Entry | None, folder: str
) -> tuple[DataFrame, dict[str, Any]]:
    results, outcome = join_within_memory(context, reach, folder)
    is_new = before is None or before.details.get("of") != _tokens(reach)
    answered = answered_slices(entries, reach.query.name)
    has_later = any(one.start >= reach.part.end for one in answered)
    spans = repair_spans(reach, outcome, is_new=is_new, has_later=has_later)
    return results, {"sheds": True, **outcome.details(reach.query), "repair": spans}


def _entry_before(entries: Sequence[Entry], query: JoinQuery, part: Slice) -> Entry | None:
    """What was recorded when the slice was last joined in the query's present meaning."""
    mine = [one for one in entries if (one.slice, one.stage, one.subject) == (part, "join", query.name)]
    return mine[-1] if mine and mine[-1].details.get("fingerprint") == query.fingerprint else None


def _is_repaired(before: Entry | None) -> bool:
    return before is not None and bool(before.details.get("repaired"))


def _repaired(before: Entry | None, rows: int) -> dict[str, Any]:
    """What the slice shed before, and how accurate it was, now that all results are known."""
    if before is None:
        return {"repaired": True}
    told = {name: before.details[name] for name in _TOLD if name in before.details}
    limited = before.details.get("limited_rows", before.rows)
    measured = min(1.0, limited / rows) if rows else 1.0
    return {**told, "repaired": True, "limited_rows": limited, "measured_accuracy": round(measured, 6)}


def own_numbers(reach: JoinReach) -> dict[str, list[list[int]]]:
    """By alias, the ranges of sequence numbers that the slice's tuples have."""
    return {
        stream.alias: [[one.first, one.end] for one in reach.own[stream.stream] if one.first < one.end]
        for stream in reach.query.streams
    }


def _tokens(reach: JoinReach) -> dict[str, list[str]]:
    """What tells whether a slice was ingested with another outcome since."""
    return {stream: [one.token for one in known] for stream, known in reach.own.items()}
