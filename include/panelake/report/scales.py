"""Where a value lies on an axis: round ticks, and places as shares of the chart's size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0
_CLOCK = tuple(
    unit * count
    for unit, counts in ((1.0, (10, 15, 20, 30)), (_MINUTE, (1, 2, 5, 10, 15, 20, 30)), (_HOUR, (1, 2, 3, 6, 12)))
    for count in counts
)
Step = Callable[[float], float]


@dataclass(frozen=True)
class Scale:
    """[low, high] of the values, with round ticks between."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """0 at low, 1 at high."""
        return (value - self.low) / (self.high - self.low)


def value_scale(values: Sequence[float], *, from_zero: bool, round_up: Step | None = None, ticks: int = 4) -> Scale:
    """A scale with round ticks that holds all values; a single value gets room around it."""
    low, high = min(values), max(values)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)
    step = (round_up or round_step)((high - low) / ticks)
    first, last = math.floor(low / step), math.ceil(high / step)
    marks = tuple(number * step for number in range(first, last + 1))
    return Scale(marks[0], marks[-1], marks)


def round_step(rough: float) -> float:
    """The least of 1, 2, 2.5, 5 times a power of ten that is no smaller."""
    size: float = 10.0 ** math.floor(math.log10(rough))
    return next(size * step for step in _STEPS if size * step >= rough * (1 - 1e-9))


def clock_step(rough: float) -> float:
    """The same for seconds: the least round number of seconds, minutes, hours or days that is no smaller."""
    if rough <= _CLOCK[0]:
        return round_step(rough)
    return next((step for step in _CLOCK if step >= rough), None) or _DAY * round_step(rough / _DAY)


def place_scale(places: Sequence[int]) -> Scale:
    """A scale from the first to the last place, for time or row numbers; a place alone lies in the middle."""
    low, high = min(places), max(places)
    return Scale(low, high, ()) if high > low else Scale(low - 1, low + 1, ())
