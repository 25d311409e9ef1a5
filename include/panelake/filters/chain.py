"""A chain of filters: which may change places. Light to import, since Spark's workers do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# An outcome has a bit for each filter.
MOST = 62


@dataclass(frozen=True)
class Placed:
    """A condition and its segment: conditions change places within a segment only; `fixed` says why one cannot."""

    condition: str
    segment: int
    fixed: str | None = None


def bordered(conditions: Iterable[tuple[str, str | None]]) -> tuple[Placed, ...]:
    """Conditions in the order written with the reason why each can raise, None if it cannot, as a chain."""
    found: list[Placed] = []
    segment = 0
    for condition, reason in conditions:
        if reason is not None and found and found[-1].segment == segment:
            segment += 1
        found.append(Placed(condition, segment, reason))
        segment += reason is not None
    return tuple(found)


def can_move(chain: Sequence[Placed]) -> bool:
    """Whether any two conditions may change places; more than an outcome has bits are left as they are written."""
    return len({known.segment for known in chain}) < len(chain) <= MOST
