"""What the ledger tells of a stream's slices in bronze: which event times and sequence numbers their tuples have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from panelake.errors import PrunedError
from panelake.ledger import Entry
from panelake.slices import Slice, format_instant

PRUNED = "pruned"  # in the details of an ingest entry: the tables that the slice was deleted from since


@dataclass(frozen=True)
class Ingested:
    """One slice in bronze: event times in [low, high), the sequence numbers [first, end).

    `token` differs whenever the slice was ingested with another outcome: panes made of the one before are stale.
    """

    slice: Slice
    low: int
    high: int
    first: int
    end: int
    token: str = ""
    pruned: bool = False  # its tuples were deleted by retention, only its numbers and counts are known

    def in_time(self, low: int, high: int) -> bool:
        """Whether a tuple of the slice may lie in [low, high)."""
        return self.first < self.end and self.low < high and low < self.high

    def in_rows(self, low: int, high: int) -> bool:
        """Whether a number of the slice lies in [low, high)."""
        return max(low, self.first) < min(high, self.end)


def ingested_slices(entries: Iterable[Entry], stream: str) -> list[Ingested]:
    """The slices of a stream that are in bronze, oldest first; a longer slice over them has no tuples of its own."""
    mine = (e for e in entries if e.stage == "ingest" and e.subject == stream and e.status == "done")
    return sorted((_ingested(entry) for entry in mine if "slices" not in entry.details), key=lambda known: known.slice)


def _ingested(entry: Entry) -> Ingested:
    late_from, first = entry.details.get("late_from"), entry.details["first"]
    last = entry.details.get("high")
    low = entry.slice.start if late_from is None else min(late_from, entry.slice.start)
    high = entry.slice.end if last is None else max(last + 1, entry.slice.end)
    pruned = entry.details.get(PRUNED, ())
    of = {key: value for key, value in entry.details.items() if key != PRUNED}
    token = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:16]
    return Ingested(entry.slice, low, high, first, first + entry.details["accepted"], token, "bronze" in pruned)


def require_kept(stream: str, read: Iterable[Ingested]) -> None:
    """Refuse to answer from slices whose tuples retention deleted: they would count as empty."""
    for one in read:
        if one.pruned:
            start, end = format_instant(one.slice.start), format_instant(one.slice.end)
            raise PrunedError(
                f"stream {stream}: windows reach into slice {one.slice}, whose tuples were deleted by retention.bronze."
                f" Bring them back from the source with --again --from {start} --to {end}, and give retention.bronze in"
                " streams.yaml a longer time"
            )


def inside(known: Iterable[Ingested], part: Slice) -> list[Ingested]:
    """The slice itself, or those that a longer one covers."""
    return [one for one in known if part.start <= one.slice.start and one.slice.end <= part.end]


def known_numbers(known: Sequence[Ingested], low: int, high: int) -> tuple[int, int]:
    """The longest run of sequence numbers without a hole that holds [low, high)."""
    ascending = sorted(known, key=lambda one: (one.first, one.end))
    for one in ascending:
        if one.first <= high:
            high = max(high, one.end) if one.end >= low else high
    for one in reversed(ascending):
        if one.end >= low:
            low = min(low, one.first) if one.first <= high else low
    return low, high
