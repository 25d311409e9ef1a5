"""Whether a soak held, from its figures alone: memory flat, latency stable, files bounded.

Memory is judged by its slope over the second half, when all caches are filled; latency by the medians of the run's
thirds; files of each table by their peaks in the last two thirds, since maintenance lets them rise and fall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

GROWTH, GROWTH_MB = 0.1, 50.0
SLOWER, SLOWER_SECONDS = 1.25, 0.5
MORE_FILES, FILES_ROOM = 1.25, 2
LEAST_SLICES = 6


@dataclass(frozen=True)
class Row:
    """One slice: when it was due and published, in seconds of the run, and what was there then."""

    number: int
    due: float
    began: float
    published: float
    maintenance: float  # seconds of the maintenance that followed it
    memory: Mapping[str, float]  # megabytes at most, by process
    files: Mapping[str, int]  # live files, by table
    on_disk: int = 0  # all files of the warehouse, logs and old versions too

    @property
    def run(self) -> float:
        return self.published - self.began

    @property
    def latency(self) -> float:
        return self.published - self.due


@dataclass(frozen=True)
class Check:
    """One thing that must hold, and the figures it was judged by."""

    name: str
    holds: bool
    figures: Mapping[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {"holds": self.holds, **{name: round(value, 3) for name, value in self.figures.items()}}


def judged(rows: Sequence[Row], cadence: float) -> list[Check]:
    """Every check; a run of too few slices holds nothing."""
    if len(rows) < LEAST_SLICES:
        return [Check("slices", holds=False, figures={"slices": len(rows), "least": LEAST_SLICES})]
    memory = [_memory(name, rows) for name in rows[-1].memory]
    return [*memory, _latency(rows), _keeps_up(rows, cadence), *_files(rows)]


def _memory(name: str, rows: Sequence[Row]) -> Check:
    """The growth over the second half, by a straight line through it."""
    half = rows[len(rows) // 2 :]
    times, values = [row.published for row in half], [row.memory[name] for row in half]
    growth, mean = slope(times, values) * (times[-1] - times[0]), fmean(values)
    allowed = max(GROWTH * mean, GROWTH_MB)
    figures = {"mean MB": mean, "growth MB": growth, "allowed MB": allowed}
    return Check(f"memory of the {name} is flat", growth <= allowed, figures)


def _latency(rows: Sequence[Row]) -> Check:
    first, middle, last = (median(row.latency for row in third) for third in thirds(rows))
    allowed = SLOWER * min(first, middle, last) + SLOWER_SECONDS
    figures = {"first": first, "middle": middle, "last": last, "allowed": allowed}
    return Check("latency is stable", max(first, middle, last) <= allowed, figures)


def _keeps_up(rows: Sequence[Row], cadence: float) -> Check:
    """Half of the last slices at least are published before the next is due."""
    last = median(row.latency for row in thirds(rows)[2])
    return Check("slices keep up", last <= cadence, {"last": last, "cadence": cadence})


def _files(rows: Sequence[Row]) -> list[Check]:
    _, middle, last = thirds(rows)
    return [_bounded(name, middle, last) for name in sorted(rows[-1].files)]


def _bounded(name: str, middle: Sequence[Row], last: Sequence[Row]) -> Check:
    before, after = (max(row.files.get(name, 0) for row in part) for part in (middle, last))
    allowed = MORE_FILES * before + FILES_ROOM
    figures = {"middle": before, "last": after, "allowed": allowed}
    return Check(f"files of {name} are bounded", after <= allowed, figures)


def thirds(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """The rows in three parts, the last of which has what does not divide."""
    size = len(rows) // 3
    return [rows[:size], rows[size : 2 * size], rows[2 * size :]]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the straight line with the least squares through the points; 0 where all have one x."""
    x, y = fmean(xs), fmean(ys)
    spread = sum((one - x) ** 2 for one in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread if spread else 0.0
