"""Rules that hold a slice against those before it: how fresh it is, how many tuples it holds, which slices are missing.

They warn and never block: a quiet night is no fault of the data. Nothing asks the clock, only the slice's own end.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from panelake.durations import SECOND, format_duration
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row
from panelake.slices import Slice, format_instant

RECENT_SLICES = 30
FEWEST_SLICES = 5
MOST_DEVIATIONS = 3.5
_NORMAL = 1.4826  # the median absolute deviation of a normal distribution, as a standard deviation
_LEAST_SPREAD = 0.05  # of the median: a stream that never varied may vary by this much


def history_metrics(stream: StreamSlice, newest: int | None) -> list[Metric]:
    """The warnings of one stream's slice; `newest` is its greatest event time."""
    own = (entry for entry in stream.history if "slices" not in entry.details and entry.slice.end <= stream.part.start)
    before = sorted(own, key=lambda entry: entry.slice)
    metrics = [_freshness(stream, newest), _missing_slices(stream, [entry.slice for entry in before])]
    length = stream.part.length
    recent = [entry.details["accepted"] * length / entry.slice.length for entry in before[-RECENT_SLICES:]]
    return metrics + ([_volume(stream, recent)] if len(recent) >= FEWEST_SLICES else [])


def _freshness(stream: StreamSlice, newest: int | None) -> Metric:
    """Seconds from the newest tuple to the slice's end: none of its own makes it older than the slice is long."""
    age = math.inf if newest is None else (stream.part.end - newest) / SECOND
    expected = f"a tuple in the slice's last {format_duration(stream.part.length)}"

    def sample() -> list[Row]:
        return [] if newest is None else [{"newest": format_instant(newest)}]

    return Metric(stream.table, "freshness", age, 0, stream.part.length / SECOND, expected, sample, "warning")


def _volume(stream: StreamSlice, recent: Sequence[float]) -> Metric:
    """Accepted tuples as a robust z-score: distance from the recent median in median absolute deviations.

    Slices of another length count as what they would hold at this one's.
    """
    median = statistics.median(recent)
    spread = _NORMAL * statistics.median(abs(count - median) for count in recent)
    score = (stream.accepted - median) / max(spread, _LEAST_SPREAD * median, math.sqrt(median), 1.0)
    expected = f"within {MOST_DEVIATIONS} deviations of {median:g}, the median of {len(recent)} slices before"

    def sample() -> list[Row]:
        return [{"accepted": stream.accepted, "median": median}]

    low, high = -MOST_DEVIATIONS, MOST_DEVIATIONS
    return Metric(stream.table, "volume", round(score, 3), low, high, expected, sample, "warning")


def _missing_slices(stream: StreamSlice, before: Sequence[Slice]) -> Metric:
    """Gaps between the stream's slices up to this one."""
    gaps = []
    reached = before[0].end if before else stream.part.start
    for part in (*before, stream.part):
        if part.start > reached:
            gaps.append(Slice(reached, part.start))
        reached = max(reached, part.end)

    def sample() -> list[Row]:
        return [{"from": format_instant(gap.start), "to": format_instant(gap.end)} for gap in gaps[:SAMPLE_ROWS]]

    expected = "0 (slices follow one another without a gap)"
    return Metric(stream.table, "missing_slices", len(gaps), 0, 0, expected, sample, "warning")
