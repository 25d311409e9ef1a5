"""Retention: rows of slices that are older than their table keeps them, by `retention` in streams.yaml.

Never sooner than the lateness allowed and one slice, and bronze never before nothing will read it again. The ledger
says first what is gone, so that nothing is ever answered from a slice that is half there; it is never pruned itself:
its memory of files, offsets and numbers is what keeps a tuple from coming twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from panelake import tables
from panelake.context import Context
from panelake.dirty import DirtySet
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.maintenance import staged
from panelake.maintenance.reach import needed
from panelake.maintenance.step import Step
from panelake.slices import Slice, format_instant
from panelake.spark.delta import SLICE, delete_slices
from panelake.stages.known_slices import PRUNED, Ingested, ingested_slices

_DAWN = -(1 << 61)  # before every slice


def prunings(context: Context) -> Iterator[Step]:
    """Every deletion that retention asks for now."""
    entries = context.ledger.entries(stage="ingest")
    every = {stream: ingested_slices(entries, stream) for stream in context.workspace.streams}
    every = {stream: known for stream, known in every.items() if known}
    for stream, known in every.items():
        yield from _of_stream(context, stream, known)
    for join in context.workspace.joins.values():
        yield from _of_join(context, join, {stream: known for stream, known in every.items() if stream in join.reads})
    joined = {stream for join in context.workspace.joins.values() for stream in join.reads} & set(every)
    kept = context.workspace.retention.staging
    answers = [_cutoff(context, stream, every[stream], kept) for stream in joined]
    yield from _staging(context, staged.JOINS, min(answers, default=_DAWN))
    results = [_cutoff(context, stream, known, context.workspace.retention.results) for stream, known in every.items()]
    yield from _small("quality/results", context.catalog.quality, "slice_start", min(results, default=_DAWN))


def _of_stream(context: Context, stream: str, known: list[Ingested]) -> Iterator[Step]:
    kept, catalog = context.workspace.retention, context.catalog
    yield from _bronze(context, stream, known, _cutoff(context, stream, known, kept.bronze))
    yield from _quarantine(context, stream, known, _cutoff(context, stream, known, kept.quarantine))
    yield from _staging(context, stream, _cutoff(context, stream, known, kept.staging))
    gold = _cutoff(context, stream, known, kept.gold)
    for query in context.workspace.queries_of(stream):
        yield from _small(f"gold/{query.name}", catalog.gold(query.name), SLICE, gold)


def _of_join(context: Context, join: JoinQuery, every: dict[str, list[Ingested]]) -> Iterator[Step]:
    """Results and states; of its streams the one that is furthest behind says what is old."""
    if not every:
        return
    kept, catalog = context.workspace.retention, context.catalog
    gold, state = (
        min(_cutoff(context, stream, known, age) for stream, known in every.items()) for age in (kept.gold, kept.state)
    )
    yield from _small(f"gold/{join.name}", catalog.gold(join.name), SLICE, gold)
    newest = _newest_state(catalog.state(join.name))  # the next slice goes on from it, however old it is
    yield from _small(f"state/{join.name}", catalog.state(join.name), "slice_start", min(state, newest))


def _newest_state(address: str) -> int:
    table = tables.open_table(address)
    starts = None if table is None else tables.dataset(table).to_table(columns=["slice_start"])["slice_start"]
    newest = None if starts is None else pa.compute.max(starts)
    return _DAWN if newest is None or not newest.is_valid else int(newest.value)


def _cutoff(context: Context, stream: str, known: list[Ingested], age: int | None) -> int:
    """Slices that end by then are older than the age; what late tuples may change is never that old."""
    least = context.workspace.streams[stream].lateness + context.workspace.slice_length
    return _DAWN if age is None else max(one.slice.end for one in known) - max(age, least)


def _bronze(context: Context, stream: str, known: list[Ingested], cutoff: int) -> Iterator[Step]:
    """The oldest slices up to the first that is young enough or may still be read; none while any must be restated."""
    old = [one for one in known if one.slice.end <= cutoff]
    if not old or DirtySet(context.catalog).pending(stream):
        return
    least = needed(context, stream, known)
    gone = [one.slice for one in old if least.is_past(one)]
    yield from _spark_rows(context, stream, "bronze", gone, context.catalog.bronze(stream))


def _quarantine(context: Context, stream: str, known: list[Ingested], cutoff: int) -> Iterator[Step]:
    gone = [one.slice for one in known if one.slice.end <= cutoff]
    yield from _spark_rows(context, stream, "quarantine", gone, context.catalog.quarantine(stream))


def _spark_rows(context: Context, stream: str, kind: str, gone: list[Slice], address: str) -> Iterator[Step]:
    """Slices that the table still holds files of, or that the ledger does not call pruned yet."""
    marked = {
        entry.slice
        for entry in context.ledger.entries(stage="ingest", subject=stream)
        if kind in entry.details.get(PRUNED, ())
    }
    left = [part for part in gone if part not in marked]
    if left or _reaches_back(address, gone):
        told = f"{len(gone)} slices before {format_instant(gone[-1].end)}"
        do = partial(_delete_slices, context, stream, kind, gone, address)
        yield Step("prune", f"{kind}/{stream}", told, do, facts={"slices": len(gone)})


def _reaches_back(address: str, gone: list[Slice]) -> bool:
    """Whether a deletion was cut short after the ledger told of it."""
    table = tables.open_table(address)
    if table is None or not gone:
        return False
    column = f"min.{SLICE}"
    files = pa.table(table.get_add_actions(flatten=True))
    oldest = files[column].to_pylist() if column in files.column_names and files.num_rows else []
    starts = {format_instant(part.start) for part in gone}
    return any(at is not None and _named(at) in starts for at in oldest)


def _named(instant: Any) -> str:
    return format_instant(int(pa.scalar(instant, tables.timestamp_type()).value))


def _delete_slices(context: Context, stream: str, kind: str, gone: list[Slice], address: str) -> dict[str, Any]:
    entries = [e for e in context.ledger.entries(stage="ingest", subject=stream) if e.slice in set(gone)]
    context.ledger.record([_marked(entry, kind) for entry in entries if kind not in entry.details.get(PRUNED, ())])
    delete_slices(context.spark, address, gone)
    return {}


def _marked(entry: Entry, kind: str) -> Entry:
    return replace(entry, details=entry.details | {PRUNED: sorted({*entry.details.get(PRUNED, ()), kind})})


def _small(name: str, address: str, column: str, cutoff: int) -> Iterator[Step]:
    """Rows of slices that end by the cutoff; of a table that is written from this process."""
    table = tables.open_table(address)
    if cutoff == _DAWN or table is None or column not in table.schema().to_arrow().names:
        return
    predicate = f"{column} < '{format_instant(cutoff)}'"
    old = tables.dataset(table).filter(pa.compute.field(column) < pa.scalar(cutoff, tables.timestamp_type()))
    rows = int(old.count_rows())
    if rows:
        told = f"{rows:,} rows of slices before {format_instant(cutoff)}"
        yield Step("prune", name, told, partial(_delete, address, predicate), facts={"rows": rows})


def _delete(address: str, predicate: str) -> dict[str, Any]:
    tables.retry_conflicts(lambda: DeltaTable(address).delete(predicate), address)
    return {}


def _staging(context: Context, name: str, cutoff: int) -> Iterator[Step]:
    """Staged answers that were published."""
    old = [part for part in staged.published(context, name) if part.end <= cutoff]
    if old:
        told = f"{len(old)} published slices' answers, before {format_instant(old[-1].end)}"
        do = partial(_remove, context, name, old)
        yield Step("prune", f"staging/{name}", told, do, facts={"slices": len(old)})


def _remove(context: Context, name: str, parts: list[Slice]) -> dict[str, Any]:
    staged.remove(context, name, parts)
    return {}
