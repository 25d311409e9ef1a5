"""Older slices, gathered: a line each for an hour, a day, a week of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from panelake.durations import DAY, HOUR, WEEK
from panelake.report.history import SliceFacts
from panelake.slices import Slice

MOST_STRETCHES = 120
_STRETCHES = (HOUR, 6 * HOUR, DAY, WEEK, 4 * WEEK, 52 * WEEK)


@dataclass(frozen=True)
class Stretch:
    """Older slices of one hour, day or week, together."""

    span: Slice
    slices: int
    accepted: int
    quarantined: int
    late: int
    published: int
    seconds: float
    refused: int
    warned: int

    @property
    def kind(self) -> str:
        return "refused" if self.refused else "warned" if self.warned else "passed"


def stretches(older: Sequence[SliceFacts]) -> list[Stretch]:
    """The slices gathered by the shortest stretch of time that gives few enough of them."""
    if not older:
        return []
    length = _stretch_length([facts.slice.start for facts in older])
    gathered: dict[int, list[SliceFacts]] = {}
    for facts in older:
        gathered.setdefault(facts.slice.start // length, []).append(facts)
    return [_stretch(Slice(place * length, (place + 1) * length), members) for place, members in gathered.items()]


def _stretch_length(starts: Iterable[int]) -> int:
    known = sorted(set(starts))
    length = next((size for size in _STRETCHES if _stretch_count(known, size) <= MOST_STRETCHES), _STRETCHES[-1])
    while _stretch_count(known, length) > MOST_STRETCHES:
        length *= 2
    return length


def _stretch_count(starts: Sequence[int], length: int) -> int:
    return 1 + sum(one // length != other // length for one, other in pairwise(starts))


def _stretch(span: Slice, members: Sequence[SliceFacts]) -> Stretch:
    verdicts = [facts.quality for facts in members]
    return Stretch(
        span=span,
        slices=len(members),
        accepted=_total(facts.counted("accepted") for facts in members),
        quarantined=_total(facts.counted("quarantined") for facts in members),
        late=_total(facts.counted("late") for facts in members),
        published=_total(facts.published for facts in members),
        seconds=sum(facts.total_seconds for facts in members),
        refused=verdicts.count("refused"),
        warned=verdicts.count("warned"),
    )


def _total(counts: Iterable[int | None]) -> int:
    return sum(count or 0 for count in counts)
