"""Runs of neighbouring slices that are under way at once: which one waits for which.

Tuples are numbered in the order of slices, so a slice is ingested next to one that is. Answers reach into other slices,
which must have passed their audit before anything made of them is published. A run waits for these, and only for runs
that are under way: what no run is about to bring is refused by the stage itself, with what to do. Waits cannot be
circular: publish waits for audits, which wait for nobody; and of slices that wait to be numbered, one is next to what
is numbered or none is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from panelake.context import Context
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.slices import Slice, slices_between

IsRunning = Callable[[list[Slice]], bool]
_NEAREST = 32  # more runs of one workspace than these are never under way at once


def waits_for(context: Context, part: Slice, stage: str, is_running: IsRunning) -> str | None:
    """What the stage of this slice has to wait for, in words; None where it can begin."""
    if stage == "ingest":
        gap = [missing for name in context.workspace.streams for missing in _gap(context, name, part)]
        return "a slice between it and what is ingested, whose run is under way" if gap and is_running(gap) else None
    if stage == "publish":
        others = _ingested_not_audited(context, part)
        return (
            "the audit of a slice that answers may reach into, whose run is under way"
            if others and is_running(others)
            else None
        )
    return None


def _gap(context: Context, stream: str, part: Slice) -> list[Slice]:
    """The slices, nearest to this one, that lie between it and what is ingested."""
    taken = [known.slice for known in Numbers(context.catalog).taken(stream)]
    if not taken:
        return []
    first, last = min(taken).start, max(known.end for known in taken)
    if part.end < first:
        return list(islice(slices_between(part.end, first, part.length), _NEAREST))
    if part.start > last:
        return list(slices_between(max(last, part.start - _NEAREST * part.length), part.start, part.length))
    return []


def _ingested_not_audited(context: Context, part: Slice) -> list[Slice]:
    """The other slices, at most so many on either side, whose tuples are there and not audited yet."""
    near = Slice(part.start - _NEAREST * part.length, part.end + _NEAREST * part.length)
    whole = [entry for entry in context.ledger.entries() if not entry.subject and entry.slice != part]
    found = _slices(whole, "ingest") - _slices(whole, "audit")
    return sorted(other for other in found if near.start <= other.start < near.end)


def _slices(entries: Iterable[Entry], stage: str) -> set[Slice]:
    return {entry.slice for entry in entries if entry.stage == stage}
