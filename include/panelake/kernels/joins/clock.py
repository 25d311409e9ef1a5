"""What a join remembers between two calls beside its tuples: time, and where it stopped in the middle of an output.

A tuple is processed in two steps. First it changes the state, once: expiry, shedding, insertion, statistics. Then its
results are written, as far as the output has room: an odometer over the chains of the other streams, whose reading is
kept here, so that a key with 10,000 tuples a stream never needs more than one output batch of memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.join_spec import JoinSpec

Integers = NDArray[np.int64]

PERIOD_END, LAST_TS, LAST_STREAM, ARRIVED, EMITTING = range(5)
_FIELDS = 5
IDLE = -1
LONG_AGO = np.iinfo(np.int64).min

CONSUMED, OUTPUT_FULL, NEEDS_ROOM = range(3)  # why a kernel came back


class Clock(NamedTuple):
    """`now` holds the fields above; `at` and `first` the odometer: where it stands, and where each wheel begins."""

    now: Integers
    at: Integers
    first: Integers


class Grid(NamedTuple):
    """A join spec as the kernels take it; results whose newest tuple is older than `emit_from` are not written."""

    ranges: Integers
    slide: int
    shift: int
    emit_from: int


def make_clock(streams: int) -> Clock:
    """Before the first tuple."""
    now = np.full(_FIELDS, LONG_AGO, dtype=np.int64)
    now[ARRIVED], now[EMITTING] = 0, IDLE
    at, first = np.full((2, streams), -1, dtype=np.int64)
    return Clock(now, at, first)


def make_grid(spec: JoinSpec, emit_from: int | None) -> Grid:
    """The spec's windows; everything is written where `emit_from` is None."""
    ranges = np.array(spec.ranges, dtype=np.int64)
    return Grid(ranges, spec.slide, spec.shift, int(LONG_AGO) if emit_from is None else emit_from)


@part
def enter_period(clock: Clock, grid: Grid, ts: int) -> None:
    """A tuple begins a new period: set the period's end."""
    clock.now[PERIOD_END] = ((ts - grid.shift) // grid.slide + 1) * grid.slide + grid.shift


@part
def notice(clock: Clock, ts: int, stream: int) -> None:
    """A tuple has been taken in: one after another, each has a number."""
    clock.now[LAST_TS] = ts
    clock.now[LAST_STREAM] = stream
    clock.now[ARRIVED] += 1
