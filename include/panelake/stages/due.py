"""Which windows a slice answers: those that it completes, and of those answered before, the ones its tuples change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from panelake.kernels.window_spec import WindowSpec
from panelake.ledger import Entry
from panelake.slices import Slice
from panelake.stages.known_slices import Ingested, inside, known_numbers


def changed_span(known: Iterable[Ingested], part: Slice) -> Slice:
    """Event times that the slice's tuples lie in: the slice, back to its earliest late tuple, on to its latest."""
    mine = inside(known, part)
    low, high = min((one.low for one in mine), default=part.start), max((one.high for one in mine), default=part.end)
    return Slice(min(low, part.start), max(high, part.end))


def answered_slices(entries: Iterable[Entry], query: str) -> list[Slice]:
    """The slices whose windows of the query are in gold."""
    return sorted(e.slice for e in entries if e.stage == "publish" and e.subject == query and e.status == "done")


def due_in_time(window: WindowSpec, changed: Slice, answered: Sequence[Slice]) -> range:
    """Windows that end in the changed span and, of those answered already, the later ones that reach back into it."""
    horizon = max((part.end for part in answered), default=changed.end)
    return window.ending_in(changed.start, max(changed.end, min(horizon, changed.end + window.range)))


def due_in_rows(window: WindowSpec, known: Sequence[Ingested], part: Slice) -> range:
    """Windows that hold one of the slice's numbers and whose every number is known."""
    mine = [one for one in inside(known, part) if one.first < one.end]
    if not mine:
        return range(0)
    first, end = min(one.first for one in mine), max(one.end for one in mine)
    low, high = known_numbers(known, first, end)
    touching = range(window.first_with(first), window.holding(end - 1).stop)
    complete = range(-(-low // window.slide), (high - window.range) // window.slide + 1)
    first, stop = max(touching.start, complete.start), min(touching.stop, complete.stop)
    return range(first, max(first, stop))
