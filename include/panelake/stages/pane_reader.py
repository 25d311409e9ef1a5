"""Reads the panes that windows need: stored ones where a slice holds every state asked for, else made from bronze.

So a new query, a new state, a changed plan or a slice whose panes were deleted is never answered from panes that lack
something: it is answered from the tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.errors import PrunedError
from panelake.ledger import Entry
from panelake.planning.pane_set import PaneSet, key_column
from panelake.slices import Slice, format_instant, to_datetime
from panelake.spark.delta import SLICE, read_slices
from panelake.stages.known_slices import Ingested
from panelake.stages.panes import ROW, SET, UNIT, aggregated, union

Span = tuple[int, int]


@dataclass(frozen=True)
class Need:
    """The panes of one set that windows hold: those in [low, high) of time, or of rows, or of both."""

    pane_set: PaneSet
    time: Span | None = None
    rows: Span | None = None

    def concerns(self, known: Ingested) -> bool:
        in_time = self.time is not None and known.in_time(*self.time)
        return in_time or (self.rows is not None and known.in_rows(*self.rows))

    def inside(self, unit: Column, row: Column) -> Column:
        """The condition that a pane, or a tuple, is one of them."""
        places = [(unit, self.time), (row, self.rows)]
        spans = [(at >= span[0]) & (at < span[1]) for at, span in places if span is not None]
        return reduce(or_, spans, F.lit(False))  # noqa: FBT003 - Spark's signature


@dataclass
class Sources:
    """Where a need's panes come from, slice by slice."""

    need: Need
    stored: list[Slice] = field(default_factory=list)
    raw: list[Slice] = field(default_factory=list)


def sources(need: Need, known: Iterable[Ingested], entries: Iterable[Entry], stream: str, part: Slice) -> Sources:
    """Split the slices the need concerns into those whose panes hold all its states and those to be made anew.

    Where it concerns none, the slice in hand is named, so that the frame has its columns all the same.
    """
    wanted = {state.column for state in need.pane_set.states}
    found = Sources(need)
    held = {e.slice: e.details for e in entries if e.stage == "panes" and e.subject == stream and e.status == "done"}
    for one in known:
        if need.concerns(one):
            usable = need.pane_set.stored and wanted <= _states(held.get(one.slice), one, need.pane_set)
            if one.pruned and not usable:
                raise PrunedError(_gone(stream, one.slice))
            (found.stored if usable else found.raw).append(one.slice)
    return found if found.stored or found.raw else Sources(need, raw=[part])


def _gone(stream: str, part: Slice) -> str:
    return (
        f"stream {stream}: windows reach into slice {part}, whose tuples were deleted by retention.bronze. Bring them"
        f" back from the source with --again --from {format_instant(part.start)} --to {format_instant(part.end)}, and"
        " give retention.bronze in streams.yaml a longer time"
    )


def _states(details: dict[str, Any] | None, known: Ingested, made: PaneSet) -> set[str]:
    """The states of the set that a slice's panes hold; none where they were made of tuples that it no longer has."""
    if details is None or details.get("of") != known.token:
        return set()
    return set(details["sets"].get(made.name, ()))


def read_panes(context: Context, stream: str, found: Sequence[Sources]) -> DataFrame:
    """One frame of all panes: `_set`, `_unit`, `_row`, keys and states."""
    stored = [_stored(context, stream, one) for one in found if one.stored]
    return union(stored + [_made(context, stream, one) for one in found if one.raw])


def _stored(context: Context, stream: str, found: Sources) -> DataFrame:
    made = found.need.pane_set
    columns = [key_column(key) for key in made.keys] + [state.column for state in made.states]
    axes = [name for name, cuts in ((UNIT, made.time), (ROW, made.rows)) if cuts]
    panes = _of_slices(context, context.catalog.panes(stream), found.stored)
    mine = (F.col(SET) == made.name) & found.need.inside(F.col(UNIT), F.col(ROW))
    return panes.where(mine).select(SET, *axes, *columns)


def _made(context: Context, stream: str, found: Sources) -> DataFrame:
    event_time = context.workspace.streams[stream].event_time
    tuples = _of_slices(context, context.catalog.bronze(stream), found.raw)
    time = F.unix_micros(F.col(f"`{event_time}`"))
    return aggregated(tuples.where(found.need.inside(time, F.col("_seq"))), found.need.pane_set, event_time)


def _of_slices(context: Context, address: str, slices: Sequence[Slice]) -> DataFrame:
    """The rows of the slices: a range that skips files, and where it has other slices between, their list."""
    rows = read_slices(context.spark, address, slices[0].start, slices[-1].start + 1)
    return rows.where(F.col(SLICE).isin([to_datetime(part.start) for part in slices]))
