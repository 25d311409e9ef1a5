"""Which windows a slice answers: those that it completes, and of those answered before, the ones its tuples change.

A window that ends in the slice is answered for all groups. One that ends elsewhere and is in gold already is answered
again for the groups whose tuples the slice brought into it, and for no others: late tuples and history restate what
they touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from panelake.kernels.window_spec import WindowSpec
from panelake.ledger import Entry
from panelake.slices import Slice
from panelake.stages.known_slices import Ingested, inside, known_numbers

Span = tuple[int, int]
MOST_RANGES = 8


@dataclass(frozen=True)
class Due:
    """Windows k to be answered: `whole` for every group, `touched` for the groups that the slice's tuples are in."""

    whole: range
    touched: tuple[range, ...] = ()


def changed_span(known: Iterable[Ingested], part: Slice) -> Slice:
    """Event times that the slice's tuples lie in: the slice, back to its earliest late tuple, on to its latest."""
    mine = inside(known, part)
    low, high = min((one.low for one in mine), default=part.start), max((one.high for one in mine), default=part.end)
    return Slice(min(low, part.start), max(high, part.end))


def answered_slices(entries: Iterable[Entry], query: str) -> list[Slice]:
    """The slices whose windows of the query are in gold."""
    return sorted(e.slice for e in entries if e.stage == "publish" and e.subject == query and e.status == "done")


def due_in_time(window: WindowSpec, part: Slice, spans: Sequence[Span], answered: Sequence[Slice]) -> Due:
    """Windows that end in the slice; of the others in gold those that hold an event time of the spans."""
    own = window.ending_in(part.start, part.end)
    if not answered:
        return Due(own)
    in_gold = window.ending_in(answered[0].start, max(one.end for one in answered))
    holding = [_common(range(window.first_with(low), window.holding(high - 1).stop), in_gold) for low, high in spans]
    merged = few_ranges([ks for ks in holding if ks])
    return Due(own, tuple(rest for ks in merged for rest in _without(ks, own)))


def remade_in_time(window: WindowSpec, changed: Slice, answered: Sequence[Slice]) -> Due:
    """The same where tuples may have gone: every group of every window that reaches into the changed span."""
    horizon = max((part.end for part in answered), default=changed.end)
    return Due(window.ending_in(changed.start, max(changed.end, min(horizon, changed.end + window.range))))


def few_ranges(ranges: Sequence[range], most: int = MOST_RANGES) -> list[range]:
    """The ranges in order, those that overlap or touch as one; where there are too many, the nearest as one too."""
    merged: list[range] = []
    for one in sorted(ranges, key=lambda one: one.start):
        if merged and one.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, one.stop))
        else:
            merged.append(one)
    while len(merged) > most:
        gaps = [later.start - earlier.stop for earlier, later in pairwise(merged)]
        at = gaps.index(min(gaps))
        merged[at : at + 2] = [range(merged[at].start, merged[at + 1].stop)]
    return merged


def _common(one: range, other: range) -> range:
    start = max(one.start, other.start)
    return range(start, max(start, min(one.stop, other.stop)))


def _without(ks: range, taken: range) -> list[range]:
    """What of the windows is not taken: at most two ranges."""
    if not _common(ks, taken):
        return [ks]
    return [rest for rest in (range(ks.start, taken.start), range(taken.stop, ks.stop)) if rest]


def due_in_rows(window: WindowSpec, known: Sequence[Ingested], part: Slice) -> Due:
    """Windows that hold one of the slice's numbers and whose every number is known."""
    mine = [one for one in inside(known, part) if one.first < one.end]
    if not mine:
        return Due(range(0))
    first, end = min(one.first for one in mine), max(one.end for one in mine)
    low, high = known_numbers(known, first, end)
    touching = range(window.first_with(first), window.holding(end - 1).stop)
    complete = range(-(-low // window.slide), (high - window.range) // window.slide + 1)
    return Due(_common(touching, complete))
