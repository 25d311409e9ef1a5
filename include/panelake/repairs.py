"""What a join with a memory limit may lack: ranges of newest event times, kept in the dirty set until repaired.

A slice that shed a tuple may lack combinations up to the longest W later, in itself and in slices after it; so does
one whose input changed after later slices were joined. A range is taken out slice by slice, as these are repaired;
what lies beyond the newest slice stays, since later slices go on from a state that lacks the tuple.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from panelake import tables
from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.slices import Slice


def mark_for_repair(context: Context, query: JoinQuery, joined: Entry) -> None:
    """Put what the slice may lack in place of what it was known to lack; a repaired slice changes no mark."""
    if query.memory is None or joined.details.get("repaired"):
        return
    dirty, subject = DirtySet(context.catalog), _subject(query.name)
    spans = joined.details.get("repair", [])
    ranges = [DirtyRange(joined.slice, one["low"], one["high"], one["why"], one["tuples"]) for one in spans]
    known = [one for one in dirty.pending(subject) if one.slice == joined.slice]
    # Run again from the same input, a slice sheds the same; a change it once made to later slices stays to be repaired.
    ranges += [one for one in known if one.why != "shed" and all(one.why != new.why for new in ranges)]
    dirty.mark(subject, joined.slice, ranges)


def _subject(query: str) -> str:
    """The name under which a join's ranges stand among those of streams."""
    return f"gold/{query}"


@dataclass(frozen=True)
class Repair:
    """The slices of one join that are to be joined again, oldest first, and why."""

    query: str
    slices: tuple[Slice, ...]
    ranges: tuple[DirtyRange, ...]

    @property
    def tuples(self) -> int:
        """Tuples shed in the ranges concerned."""
        return sum(one.tuples for one in self.ranges if one.why == "shed")


def pending_repairs(context: Context, within: Slice | None = None) -> list[Repair]:
    """What is to be repaired of each join, of the slices inside a stretch or of all."""
    repairs = []
    for query in context.workspace.joins.values():
        if query.memory is None:
            continue
        ranges = DirtySet(context.catalog).pending(_subject(query.name))
        published = [e for e in context.ledger.entries(stage="publish", subject=query.name) if e.status == "done"]
        inside = [e.slice for e in published if within is None or _covers(within, e.slice)]
        slices = [part for part in inside if any(one.low < part.end and part.start < one.high for one in ranges)]
        mine = [one for one in ranges if any(one.low < part.end and part.start < one.high for part in slices)]
        if slices:
            repairs.append(Repair(query.name, tuple(sorted(slices)), tuple(mine)))
    return repairs


def _covers(longer: Slice, part: Slice) -> bool:
    return longer.start <= part.start and part.end <= longer.end


def settle(context: Context, query: str, repaired: Iterable[Slice]) -> None:
    """Take the repaired slices out of the join's ranges."""
    dirty, subject = DirtySet(context.catalog), _subject(query)
    parts = sorted(repaired)
    by_slice: dict[Slice, list[DirtyRange]] = {}
    for one in dirty.pending(subject):
        by_slice.setdefault(one.slice, []).extend(without(one, parts))
    for part, left in by_slice.items():
        dirty.mark(subject, part, left)


def without(known: DirtyRange, parts: Iterable[Slice]) -> list[DirtyRange]:
    """What remains of a range when some slices are taken out of it."""
    left, low = [], known.low
    for part in sorted(parts):
        if part.end <= low or part.start >= known.high:
            continue
        if part.start > low:
            left.append(replace(known, low=low, high=part.start))
        low = part.end
    return [*left, replace(known, low=low)] if low < known.high else left


def begin_anew(context: Context, query: JoinQuery) -> None:
    """Forget what a join remembered and lacked: it is made anew in another meaning."""
    table = tables.open_table(context.catalog.state(query.name))
    if table is not None:
        table.delete()
    dirty = DirtySet(context.catalog)
    for part in {one.slice for one in dirty.pending(_subject(query.name))}:
        dirty.clear(_subject(query.name), part)


def shed_reasons(context: Context, part: Slice) -> list[str]:
    """Why a slice is to be repaired, in words."""
    return [
        f"shed: {found.query} may lack results; panelake repair joins them again"
        for found in pending_repairs(context, part)
    ]
