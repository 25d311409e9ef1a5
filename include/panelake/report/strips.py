"""Heat maps: a strip of cells a table, one cell a slice, older slices gathered into longer stretches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from panelake.durations import DAY, HOUR, WEEK
from panelake.report import words
from panelake.report.history import SliceFacts
from panelake.report.verdicts import Verdict, worst
from panelake.slices import Slice

MARKS = {"passed": "✓", "warned": "!", "refused": "✗", "unaudited": "·", "missing": " "}
MOST_STRETCHES = 120
MOST_TABLES = 60
_STRETCHES = (HOUR, 6 * HOUR, DAY, WEEK, 4 * WEEK, 52 * WEEK)


@dataclass(frozen=True)
class Cell:
    """One square: what it says, and the page it leads to."""

    kind: str
    label: str
    link: str | None = None

    @property
    def mark(self) -> str:
        return MARKS[self.kind]


@dataclass(frozen=True)
class Strip:
    """A row of squares; `main` strips are on the keyboard's way, the others can only be clicked."""

    name: str
    cells: tuple[Cell, ...]
    main: bool = False


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


def page_of(part: Slice) -> str:
    """The path of a slice's page."""
    return f"slice/{part.folder}.html"


def strips(shown: Sequence[SliceFacts], pages: Collection[Slice]) -> list[Strip]:
    """The slice as a whole first, then each of its tables."""
    names = sorted({name for facts in shown for name in facts.tables})[:MOST_TABLES]
    whole = Strip("whole slice", _cells(shown, pages, lambda facts: facts.quality), main=True)
    return [whole, *(Strip(name, _cells(shown, pages, _verdict_of(name))) for name in names)]


def table_strip(shown: Sequence[SliceFacts], pages: Collection[Slice], table: str) -> Strip:
    """One table's squares, on the keyboard's way."""
    return Strip(table, _cells(shown, pages, _verdict_of(table)), main=True)


def _verdict_of(table: str) -> Callable[[SliceFacts], Verdict | None]:
    return lambda facts: facts.tables.get(table)


def _cells(
    shown: Sequence[SliceFacts], pages: Collection[Slice], verdict: Callable[[SliceFacts], Verdict | None]
) -> tuple[Cell, ...]:
    cells = []
    before: Slice | None = None
    for facts in shown:
        if before is not None and facts.slice.start > before.end:
            cells.append(Cell("missing", f"{words.instant(before.end)} to {words.instant(facts.slice.start)}: missing"))
        kind = verdict(facts) or "unaudited"
        link = page_of(facts.slice) if facts.slice in pages else None
        cells.append(Cell(kind, f"{words.instant(facts.slice.start)}: {_said(kind)}", link))
        before = facts.slice
    return tuple(cells)


def _said(kind: str) -> str:
    return "not audited" if kind == "unaudited" else kind


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


def standing(shown: Iterable[SliceFacts]) -> Verdict:
    """The worst verdict of the slices shown."""
    return worst((facts.quality for facts in shown if facts.quality is not None), "passed")
