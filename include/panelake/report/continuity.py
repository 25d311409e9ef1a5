"""Whether a stream's sequence numbers are dense: every number given once, none left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panelake.numbers import NumberRange


@dataclass(frozen=True)
class Continuity:
    """[first, end) of the numbers given, and the places where they break off or overlap."""

    first: int
    end: int
    count: int
    breaks: tuple[str, ...]

    @property
    def dense(self) -> bool:
        return not self.breaks


def continuity(taken: Sequence[NumberRange]) -> Continuity | None:
    """The numbers of a stream as one stretch; None where none were given."""
    ranges = sorted((known for known in taken if known.count), key=lambda known: known.first)
    if not ranges:
        return None
    breaks = []
    end = ranges[0].first
    for known in ranges:
        if known.first > end:
            breaks.append(f"{end:,} to {known.first - 1:,} were never given")
        if known.first < end:
            breaks.append(f"{known.first:,} to {min(end, known.end) - 1:,} were given twice")
        end = max(end, known.end)
    return Continuity(ranges[0].first, end, sum(known.count for known in ranges), tuple(breaks))
