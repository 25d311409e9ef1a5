"""Slices: the unit of scheduling, retry and backfill.

A slice is [start, end): microseconds since the Unix epoch, UTC, start included, end not.
Slices of one length lie on the grid counted from the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from panelake.durations import format_duration
from panelake.errors import BadInputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(microseconds: int) -> datetime:
    """An aware UTC datetime, exact to the microsecond."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_microseconds(instant: datetime) -> int:
    """Microseconds since the epoch; a naive datetime is taken as UTC."""
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def format_instant(microseconds: int) -> str:
    """ISO 8601 in UTC with the fraction only where there is one: 2026-01-01T00:05:00Z."""
    return to_datetime(microseconds).isoformat().replace("+00:00", "Z")


def parse_instant(text: str) -> int:
    """Microseconds of an ISO 8601 instant; without a zone it is UTC."""
    try:
        return to_microseconds(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise BadInputError(
            f"{text!r} is not an instant; expected ISO 8601 in UTC such as 2026-01-01T00:05:00Z"
        ) from None


@dataclass(frozen=True, order=True)
class Slice:
    """[start, end) in microseconds since the epoch, UTC."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise BadInputError(
                f"slice [{format_instant(self.start)}, {format_instant(self.end)}) is empty; its end must come later"
            )

    def __str__(self) -> str:
        return f"[{format_instant(self.start)}, {format_instant(self.end)})"

    @property
    def length(self) -> int:
        return self.end - self.start

    @property
    def name(self) -> str:
        """The start, as a reader of the ledger sees it."""
        return format_instant(self.start)

    @property
    def folder(self) -> str:
        """A name safe in any file system: 20260101T000500Z-20260101T001000Z."""
        return f"{_compact(self.start)}-{_compact(self.end)}"


def _compact(microseconds: int) -> str:
    return format_instant(microseconds).replace("-", "").replace(":", "").replace(".", "_")


def require_on_grid(instant: int, length: int, what: str) -> None:
    """Refuse an instant that no slice of this length starts or ends at."""
    if instant % length:
        below = instant - instant % length
        raise BadInputError(
            f"{what} {format_instant(instant)} is not on the grid of {format_duration(length)} slices"
            f" counted from the epoch; nearest: {format_instant(below)} or {format_instant(below + length)}"
        )


def slices_between(start: int, end: int, length: int) -> Iterator[Slice]:
    """The slices of [start, end) in ascending order; both ends must lie on the grid."""
    require_on_grid(start, length, "--from")
    require_on_grid(end, length, "--to")
    if end <= start:
        raise BadInputError(f"--to {format_instant(end)} must lie after --from {format_instant(start)}")
    return (Slice(at, at + length) for at in range(start, end, length))


def merged(parts: Iterable[Slice]) -> tuple[Slice, ...]:
    """Adjacent slices as one, so that a condition over years of slices stays one comparison."""
    spans: list[Slice] = []
    for part in sorted(parts):
        if spans and spans[-1].end == part.start:
            spans[-1] = Slice(spans[-1].start, part.end)
        else:
            spans.append(part)
    return tuple(spans)
