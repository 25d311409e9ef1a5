"""Forgetting by key: tuples go from every table that holds any, and what was made of them is made anew.

They go from bronze, held, replays and quarantine; panes, answers, the states of joins and the audit's samples are then
made again, and published answers leave staging.

Sequence numbers are not given again: a window over rows that held such a tuple holds one less. What came in stays
counted; the ingest entry says how many of the accepted are forgotten, and the audit counts bronze against that.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.errors import BadInputError, PrunedError
from panelake.flow import STAGES
from panelake.forgotten import FORGOTTEN, Request, Requests, digest_of
from panelake.language.parser import Query
from panelake.language.query import AggregateQuery, JoinQuery, JoinStream
from panelake.ledger import Entry
from panelake.maintenance.gold_rows import remove
from panelake.maintenance.traces import remember_anew, remembering, remove_staged
from panelake.maintenance.vacuum import vacuums
from panelake.runner import run_slice
from panelake.slices import Slice, to_microseconds
from panelake.sources.source import BLOCK, FILE, POSITION
from panelake.spark.delta import SLICE, table_name
from panelake.stages.replaying import quarantined_tuples

WHY = "forgotten"
_AFTER_INGEST = tuple(stage for stage in STAGES if stage.name != "ingest")


@dataclass(frozen=True)
class Person:
    """A key of a stream: columns and the values, as text, that they have in the tuples to be forgotten."""

    stream: str
    values: Mapping[str, str]

    def check(self, context: Context) -> None:
        """Refuse what names no tuple: an unknown stream or column, a value that its type cannot have."""
        known = context.workspace.streams
        if self.stream not in known:
            raise BadInputError(f"unknown stream {self.stream!r}; expected one of {', '.join(known)}")
        for name in self.values:
            if name not in known[self.stream].columns:
                columns = ", ".join(known[self.stream].columns)
                raise BadInputError(f"stream {self.stream} has no column {name!r}; expected one of {columns}")

    def literals(self, context: Context) -> dict[str, Column]:
        """The values in their columns' types; one that is none of its type is refused."""
        columns = context.workspace.streams[self.stream].columns
        found = {name: F.lit(text).try_cast(columns[name]) for name, text in self.values.items()}
        empty = context.spark.range(1).select(*[value.isNull().alias(name) for name, value in found.items()]).collect()
        for name, missing in empty[0].asDict().items():
            if missing:
                raise BadInputError(f"{name}={self.values[name]!r} is no value of type {columns[name]}")
        return found


@dataclass(frozen=True)
class Found:
    """How many tuples of the key each slice of each table holds."""

    bronze: Mapping[Slice, int]
    remaining: Mapping[Slice, int]  # how many others stay in the same slices of bronze
    quarantine: Mapping[Slice, int]
    held: int

    @property
    def tuples(self) -> int:
        return sum(self.bronze.values())


def find(context: Context, person: Person) -> Found:
    """Look for the key in every table that holds tuples."""
    person.check(context)
    context.open_spark()
    same = _matches(person.literals(context))
    bronze = _rows(context, context.catalog.bronze(person.stream))
    counts = [] if bronze is None else _per_slice(bronze, same)
    slices = {to_microseconds(row[SLICE]): row for row in counts}
    entries = context.ledger.entries(stage="ingest", subject=person.stream)
    own = [e.slice for e in entries if "slices" not in e.details and e.slice.start in slices]
    bad = quarantined_tuples(context, person.stream)
    places = {} if bad is None else _places(bad, same)
    held = [_rows(context, address) for address in _waiting(context, person.stream)]
    return Found(
        {part: slices[part.start]["found"] for part in own},
        {part: slices[part.start]["others"] for part in own},
        {e.slice: places[e.slice.start] for e in entries if "slices" not in e.details and e.slice.start in places},
        sum(rows.where(same).count() for rows in held if rows is not None),
    )


def _matches(values: Mapping[str, Column]) -> Column:
    return F.coalesce(reduce(and_, [F.col(f"`{name}`") == value for name, value in values.items()]), F.lit(False))  # noqa: FBT003


def _rows(context: Context, address: str) -> DataFrame | None:
    return context.spark.read.format("delta").load(address) if tables.exists(address) else None


def _waiting(context: Context, stream: str) -> list[str]:
    return [context.catalog.held(stream), context.catalog.replays(stream)]


def _per_slice(bronze: DataFrame, same: Column) -> list[Any]:
    counted = bronze.groupBy(SLICE).agg(F.count_if(same).alias("found"), F.count_if(~same).alias("others"))
    rows: list[Any] = counted.where(F.col("found") > 0).collect()
    return rows


def _places(bad: DataFrame, same: Column) -> dict[int, int]:
    return {row[BLOCK]: row["count"] for row in bad.where(same).groupBy(BLOCK).count().collect()}


def forget(context: Context, person: Person, *, purge: bool = False) -> tuple[Found, list[Slice], list[Entry]]:
    """Delete and make anew; give what was found, the slices that could not be made anew, and the entries written."""
    with context.locks.maintaining():
        found = find(context, person)
        _delete(context, person, found)
    waiting = sorted({known.slice for known in DirtySet(context.catalog).pending(person.stream) if known.why == WHY})
    entries, left = _made_anew(context, person.stream, _to_make_anew(context, person.stream, waiting))
    with context.locks.maintaining():
        _delete_gold(context, person)
        remove_staged(context, person.stream)
        for step in vacuums(context, versions=0) if purge else ():
            step.do()
    return found, left, entries


def _delete(context: Context, person: Person, found: Found) -> None:
    """The ledger first: a deletion cut short is done by the same command run again."""
    _remember(context, person, found)
    same = _matches(person.literals(context))
    for address in [context.catalog.bronze(person.stream), *_waiting(context, person.stream)]:
        if tables.exists(address):
            _delete_tuples(context, address, person)
    bad = quarantined_tuples(context, person.stream)
    if bad is not None and found.quarantine:
        _delete_quarantined(context, person.stream, bad.where(same))


def _remember(context: Context, person: Person, found: Found) -> None:
    stream, dirty = person.stream, DirtySet(context.catalog)
    if found.bronze or found.quarantine:
        Requests(context.catalog, stream).record(_request(context, person))
    entries = {e.slice: e for e in context.ledger.entries(stage="ingest", subject=stream)}
    for part, tuples in found.bronze.items():
        dirty.mark(stream, part, [DirtyRange(part, part.start, part.end, WHY, tuples)])
    changed = sorted({*found.bronze, *found.quarantine})
    context.ledger.record([_counted(entries[part], part, found) for part in changed])


def _request(context: Context, person: Person) -> Request:
    salt = secrets.token_hex(16)
    literals = person.literals(context)
    digest = context.spark.range(1).select(digest_of(list(literals.values()), salt)).collect()[0][0]
    return Request(tuple(literals), salt, digest)


def _counted(entry: Entry, part: Slice, found: Found) -> Entry:
    """The slice's entry with the tuples it no longer has; the same however often it is written."""
    details = dict(entry.details)
    if part in found.bronze:
        details[FORGOTTEN] = details["accepted"] - found.remaining[part]
    if part in found.quarantine:
        details["forgotten_quarantined"] = details.get("forgotten_quarantined", 0) + found.quarantine[part]
    return replace(entry, details=details)


def _delete_tuples(context: Context, address: str, person: Person) -> None:
    """Delta's DELETE takes no parameters, so the values come as a table of one row: never as part of the text."""
    literals = person.literals(context)
    key = context.spark.range(1).select(*[value.alias(f"k{n}") for n, value in enumerate(literals.values())])
    _delete_matching(context, address, key, " AND ".join(f"t.`{name}` = f.k{n}" for n, name in enumerate(literals)))


def _delete_quarantined(context: Context, stream: str, bad: DataFrame) -> None:
    places = bad.select(FILE, POSITION, BLOCK).distinct()
    same = f"t._source.file = f.{FILE} AND t._source.position = f.{POSITION} AND unix_micros(t.{SLICE}) = f.{BLOCK}"
    _delete_matching(context, context.catalog.quarantine(stream), places, same)


def _delete_matching(context: Context, address: str, found: DataFrame, same: str) -> None:
    """Delete the rows `t` that a row `f` of the frame matches, in one commit."""
    view = f"forgotten_{secrets.token_hex(8)}"
    found.createOrReplaceTempView(view)
    try:
        merge = f"MERGE INTO {table_name(address)} t USING {view} f ON {same} WHEN MATCHED THEN DELETE"
        context.spark.sql(merge).collect()
    finally:
        context.spark.catalog.dropTempView(view)


def _to_make_anew(context: Context, stream: str, parts: list[Slice]) -> list[Slice]:
    """The slices, and others whose join, state or staged answers hold their tuples, in the order of time."""
    if not parts:
        return []
    staged = {entry.slice for entry in context.ledger.entries(stage="windows", subject="")}
    unpublished = {part for part in staged - context.ledger.done("publish") if part.start >= parts[0].start}
    return sorted({*_with_later(context, stream, parts), *remembering(context, stream, parts), *unpublished})


def _with_later(context: Context, stream: str, parts: list[Slice]) -> list[Slice]:
    """The slices, and those after them that a join of the stream reads or remembers their tuples in."""
    reach = max((join.longest_range for join in context.workspace.joins.values() if stream in join.reads), default=0)
    if not reach:
        return parts
    known = {entry.slice for entry in context.ledger.entries(stage="ingest", subject=stream)}
    return sorted(one for one in known if any(part.start <= one.start < part.end + reach for part in parts))


def _made_anew(context: Context, stream: str, parts: list[Slice]) -> tuple[list[Entry], list[Slice]]:
    """Every later stage of the slices; those whose windows reach into pruned slices stay as they are, and are told."""
    entries: list[Entry] = []
    left: list[Slice] = []
    for part in parts:
        try:
            remember_anew(context, stream, part)
            entries += run_slice(context, part, lambda _part, _stage: None, _AFTER_INGEST)
        except PrunedError:
            left.append(part)
            DirtySet(context.catalog).clear(stream, part)
    return entries, left


def _delete_gold(context: Context, person: Person) -> None:
    """Answers of the key itself that could not be made anew, their tuples being pruned: where they tell all of it."""
    values = context.spark.range(1).select(*person.literals(context).values()).toArrow()
    for query in context.workspace.all_queries.values():
        for told in _told_in(query, person.stream):
            if set(person.values) <= set(told) and tables.exists(context.catalog.gold(query.name)):
                same = [pc.field(told[name]) == values.column(n)[0] for n, name in enumerate(person.values)]
                remove(context.catalog.gold(query.name), reduce(and_, same))


def _told_in(query: Query, stream: str) -> list[dict[str, str]]:
    """For each place of the stream, its columns that stand in the answers as they are: what they are called there."""
    if isinstance(query, AggregateQuery):
        return [{key.expression.strip("`"): key.alias for key in query.keys}] if query.stream == stream else []
    shown = {output.expression.strip("`"): output.alias for output in query.outputs}
    return [_told_of(one, query, shown) for one in query.streams if one.stream == stream]


def _told_of(one: JoinStream, join: JoinQuery, shown: Mapping[str, str]) -> dict[str, str]:
    told = {name: shown[one.column(name)] for name in one.columns if one.column(name) in shown}
    for other in join.streams:  # the keys are equal: any of them tells
        pairs = zip(one.keys, other.keys, strict=True)
        told |= {mine: shown[other.column(key)] for mine, key in pairs if other.column(key) in shown}
    return told
