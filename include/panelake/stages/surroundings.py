"""What a slice's windows need of the ledger: the slices around it, never a history that no window of it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.dirty import DirtySet
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.slices import Slice
from panelake.spark.delta import read_slices
from panelake.stages.due import Span, changed_span, few_ranges
from panelake.stages.known_slices import Ingested, ingested_slices, inside

_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_000_000  # the years 1 and 9999
_MOST_PLACES = 10_000
_SECOND = 1_000_000


@dataclass(frozen=True)
class Surroundings:
    """The stream's slices in reach, the entries of their panes, and those published of the windows that may change.

    `remade` are the event times from which tuples of the slice may have gone.
    """

    known: list[Ingested]
    panes: list[Entry]
    published: list[Entry]
    remade: Slice | None


def surroundings(context: Context, stream: str, part: Slice, queries: Sequence[AggregateQuery]) -> Surroundings:
    """Read what concerns the slice; late tuples of its windows may lie in any later slice."""
    ledger = context.ledger
    near = ingested_slices(ledger.entries(stage="ingest", subject=stream, within=part), stream)
    remade = remade_span(context, stream, part, near)
    changed = remade or changed_span(near, part)
    longest = max((query.window.range for query in queries if query.window.kind == "TS"), default=0)
    future = context.workspace.streams[stream].future
    starts = [changed.start - longest - future - part.length, *_row_starts(context, stream, part, near, queries)]
    reach = Slice(max(min(starts), _FIRST), _LAST)
    return Surroundings(
        ingested_slices(ledger.entries(stage="ingest", subject=stream, within=reach), stream),
        ledger.entries(stage="panes", subject=stream, within=reach),
        ledger.entries(stage="publish", within=Slice(changed.start, changed.end + longest)),
        remade,
    )


def _row_starts(
    context: Context, stream: str, part: Slice, near: Sequence[Ingested], queries: Sequence[AggregateQuery]
) -> list[int]:
    """Where the slices start whose numbers windows over rows share with the slice's own; all where that is unknown."""
    longest = max((query.window.range for query in queries if query.window.kind == "ROW"), default=0)
    mine = [one for one in inside(near, part) if one.first < one.end]
    if not longest or not mine:
        return []
    low, high = min(one.first for one in mine) - longest, max(one.end for one in mine) + longest
    taken = Numbers(context.catalog).taken(stream)
    found = [known.slice.start for known in taken if known.first < high and low < known.end]
    return found or [_FIRST]


def remade_span(context: Context, stream: str, part: Slice, known: Sequence[Ingested]) -> Slice | None:
    """Event times from which tuples of the slice may have gone since its windows were published; None where none did.

    A slice that was ingested anew, or of which tuples were forgotten, has none of them left to tell their groups.
    """
    mine = [one for one in DirtySet(context.catalog).pending(stream) if _covers(part, one.slice)]
    if all(one.only_adds for one in mine):
        return None
    changed = changed_span(known, part)
    low, high = min(one.low for one in mine), max(one.high for one in mine)
    return Slice(min(changed.start, low), max(changed.end, high))


def _covers(part: Slice, one: Slice) -> bool:
    return part.start <= one.start and one.end <= part.end


def changed_spans(
    context: Context, stream: str, part: Slice, known: Sequence[Ingested], queries: Sequence[AggregateQuery]
) -> list[Span]:
    """Event times [low, high) in which the slice's tuples lie: the slice, and around each tuple outside it."""
    own, changed = (part.start, part.end), changed_span(known, part)
    if changed == part:
        return [own]
    width = max(_SECOND, min((query.window.slide for query in queries if query.window.kind == "TS"), default=_SECOND))
    time = F.unix_micros(F.col(f"`{context.workspace.streams[stream].event_time}`"))
    tuples = read_slices(context.spark, context.catalog.bronze(stream), part.start, part.end)
    places = tuples.where((time < part.start) | (time >= part.end)).select(
        (time - F.pmod(time, F.lit(width))).alias("at")
    )
    found = [row["at"] for row in places.distinct().limit(_MOST_PLACES + 1).collect()]
    if len(found) > _MOST_PLACES:
        return [(changed.start, changed.end)]
    return [own, *((ks.start, ks.stop) for ks in few_ranges([range(at, at + width) for at in found], most=len(found)))]
