"""Reads the panes that windows need: stored ones where a slice holds every state asked for, else made from bronze.

So a new query, a new state, a changed plan or a slice whose panes were deleted is never answered from panes that lack
something: it is answered from the tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.ledger import Entry
from panelake.planning.pane_set import PaneSet, key_column
from panelake.slices import Slice, to_datetime
from panelake.spark.balanced import any_of, balanced
from panelake.spark.delta import SLICE, read_slices
from panelake.spark.slide import CHANGED, SET
from panelake.stages.known_slices import Ingested, require_kept
from panelake.stages.panes import ROW, UNIT, aggregated, union

Span = tuple[int, int]
_TOUCHED = "_touched"


@dataclass(frozen=True)
class Need:
    """The panes of one set that windows hold: those in any of the spans [low, high) of time, or of rows.

    Panes in `touched` spans of time are needed for the groups that the changed slices brought tuples of, no others.
    """

    pane_set: PaneSet
    time: tuple[Span, ...] = ()
    rows: tuple[Span, ...] = ()
    touched: tuple[Span, ...] = ()

    def concerns(self, known: Ingested) -> bool:
        in_time = any(known.in_time(*span) for span in (*self.time, *self.touched))
        return in_time or any(known.in_rows(*span) for span in self.rows)

    def inside(self, unit: Column, row: Column, in_changed_group: Column | None = None) -> Column:
        """The condition that a pane, or a tuple, is one of them."""
        touched = _in_any(unit, self.touched)
        in_time = _in_any(unit, self.time)
        return in_time | _in_any(row, self.rows) | (touched if in_changed_group is None else touched & in_changed_group)


def _in_any(at: Column, spans: Iterable[Span]) -> Column:
    return any_of([(at >= low) & (at < high) for low, high in spans])


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
            if not usable:
                require_kept(stream, [one])
            (found.stored if usable else found.raw).append(one.slice)
    return found if found.stored or found.raw else Sources(need, raw=[part])


def _states(details: dict[str, Any] | None, known: Ingested, made: PaneSet) -> set[str]:
    """The states of the set that a slice's panes hold; none where they were made of tuples that it no longer has."""
    if details is None or details.get("of") != known.token:
        return set()
    return set(details["sets"].get(made.name, ()))


def read_panes(context: Context, stream: str, found: Sequence[Sources], changed: Sequence[Slice] = ()) -> DataFrame:
    """One frame of all panes: `_set`, `_unit`, `_row`, keys, states, and whether a changed slice brought the pane."""
    stored = [_stored(context, stream, one, changed) for one in found if one.stored]
    panes = union(stored + [_made(context, stream, one, changed) for one in found if one.raw])
    for made in {one.need.pane_set.name: one.need for one in found if one.need.touched}.values():
        panes = _touched_groups(panes, made)
    return panes


def _touched_groups(panes: DataFrame, need: Need) -> DataFrame:
    """Without the set's panes that only untouched groups' windows would read."""
    keys = [key_column(key) for key in need.pane_set.keys]
    mine = F.col(SET) == need.pane_set.name
    if not keys:
        return panes
    brought = mine & F.col(CHANGED) & _in_any(F.col(UNIT), need.touched)
    groups = panes.where(brought).select(*[F.col(key).alias(f"_touched_{key}") for key in keys])
    known = F.broadcast(groups.distinct().withColumn(_TOUCHED, F.lit(True)))  # noqa: FBT003 - Spark's signature
    same = balanced(and_, [mine, *[F.col(key).eqNullSafe(F.col(f"_touched_{key}")) for key in keys]])
    kept = ~mine | need.inside(F.col(UNIT), _row_of(panes), F.col(_TOUCHED).isNotNull())
    return panes.join(known, same, "left").where(kept).select(*panes.columns)


def _row_of(panes: DataFrame) -> Column:
    return F.col(ROW) if ROW in panes.columns else F.lit(None).cast("bigint")


def _is_changed(changed: Sequence[Slice]) -> Column:
    return F.col(SLICE).isin([to_datetime(part.start) for part in changed]).alias(CHANGED)


def _stored(context: Context, stream: str, found: Sources, changed: Sequence[Slice]) -> DataFrame:
    made = found.need.pane_set
    columns = [key_column(key) for key in made.keys] + [state.column for state in made.states]
    axes = [name for name, cuts in ((UNIT, made.time), (ROW, made.rows)) if cuts]
    panes = _of_slices(context, context.catalog.panes(stream), found.stored)
    mine = (F.col(SET) == made.name) & found.need.inside(F.col(UNIT), F.col(ROW))
    return panes.where(mine).select(SET, *axes, *columns, *([_is_changed(changed)] if changed else []))


def _made(context: Context, stream: str, found: Sources, changed: Sequence[Slice]) -> DataFrame:
    event_time = context.workspace.streams[stream].event_time
    tuples = _of_slices(context, context.catalog.bronze(stream), found.raw)
    time = F.unix_micros(F.col(f"`{event_time}`"))
    beside = [_is_changed(changed)] if changed else []
    return aggregated(tuples.where(found.need.inside(time, F.col("_seq"))), found.need.pane_set, event_time, *beside)


def _of_slices(context: Context, address: str, slices: Sequence[Slice]) -> DataFrame:
    """The rows of the slices: a range that skips files, and where it has other slices between, their list."""
    rows = read_slices(context.spark, address, slices[0].start, slices[-1].start + 1)
    return rows.where(F.col(SLICE).isin([to_datetime(part.start) for part in slices]))
