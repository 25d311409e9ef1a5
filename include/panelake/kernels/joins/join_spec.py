"""A window join as values: how far back each stream is held, when windows move, how much may be kept.

Source: 윈도우 조인의 조인 주기 (join period): windows of range W move every T, the join may run every Te <= T. The slip
corrected: the paper prints R2(t) = R1(t - 1) + R1(t); its own example says R1(t) = R2(t - 1) + R2(t).
Times are microseconds since the epoch, UTC; a window is [k·slide + shift - range, k·slide + shift).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LEAST_STREAMS, MOST_STREAMS = 2, 8
POLICIES = ("arrival_order", "existence_growth", "frequency", "result", "random", "oldest")
DEFAULT_POLICY = "existence_growth"


@dataclass(frozen=True)
class JoinSpec:
    """Streams in the order of FROM, each with its range; `memory` rows a stream at most, or no limit where None.

    `every` (Te, the slide unless told) must divide the slide; it says when the join runs and never changes what comes
    out. `policy` decides what goes when a full window gets one more tuple; `seed` is for the policy `random`.
    """

    ranges: tuple[int, ...]
    slide: int
    every: int | None = None
    shift: int = 0
    memory: int | None = None
    policy: str = DEFAULT_POLICY
    seed: int = 0

    def __post_init__(self) -> None:
        _check_windows(self.ranges, self.slide)
        _check_period(self.slide, self.slide if self.every is None else self.every)
        if self.memory is not None and self.memory <= 0:
            raise ValueError(f"a stream's memory must be at least 1 row; got {self.memory}")
        if self.policy not in POLICIES:
            raise ValueError(f"unknown policy {self.policy!r}; expected one of {', '.join(POLICIES)}")

    @property
    def streams(self) -> int:
        return len(self.ranges)

    def period_rows(self, ts: Integers) -> list[slice]:
        """Rows in time order cut at every multiple of Te: one piece for each time the join has something to do."""
        every = self.slide if self.every is None else self.every
        period = (ts - self.shift) // every
        cuts = [0, *(np.flatnonzero(np.diff(period)) + 1).tolist(), len(ts)]
        return [slice(first, last) for first, last in pairwise(cuts) if first < last]


def _check_windows(ranges: tuple[int, ...], slide: int) -> None:
    if not LEAST_STREAMS <= len(ranges) <= MOST_STREAMS:
        raise ValueError(f"a join has {LEAST_STREAMS} to {MOST_STREAMS} streams; got {len(ranges)}")
    if slide <= 0 or min(ranges) <= 0:
        raise ValueError(f"a window's range and slide must be positive; got ranges {ranges}, slide {slide}")


def _check_period(slide: int, every: int) -> None:
    if every <= 0 or every > slide or slide % every:
        raise ValueError(f"the join period EVERY must divide SLIDE; got EVERY {every}, SLIDE {slide} microseconds")
