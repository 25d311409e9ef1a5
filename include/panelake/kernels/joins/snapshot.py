"""A join's state as plain arrays, to be stored and resumed from: one-dimensional, 64-bit integers or doubles, named.

Two states that act alike give equal snapshots, however their input was cut; how large their tables have grown is not
part of it. The clock's arrays are here, since every join has them; the others are named where they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.clock import EMITTING, IDLE, Clock

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Snapshot = dict[str, NDArray[Any]]


def saved_clock(clock: Clock) -> Snapshot:
    """Time, and the odometer if results wait to be written."""
    waiting = clock.now[EMITTING] != IDLE
    empty = np.empty(0, dtype=np.int64)
    return {
        "now": clock.now.copy(),
        "odometer": np.concatenate([clock.at, clock.first]) if waiting else empty,
    }


def restored_clock(snapshot: Snapshot, streams: int) -> Clock:
    """The clock a snapshot was taken of."""
    odometer = snapshot["odometer"]
    at, first = odometer.reshape(2, streams) if len(odometer) else np.full((2, streams), -1, dtype=np.int64)
    return Clock(snapshot["now"].copy(), at.copy(), first.copy())
