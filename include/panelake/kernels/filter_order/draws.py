"""Random draws that belong to a tuple: functions of its source position and a seed, so that a re-run repeats them.

Source: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014: SplitMix64.
Compiled into kernels of other files, which numba would not renew if these functions changed: they never do, since
remembered statistics rest on them. Time and space O(1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.compiled import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_WORDS = 2**64


def threshold(probability: float) -> np.uint64:
    """A draw is below this with that probability."""
    if not 0 <= probability < 1:
        raise ValueError(f"a sampling probability lies in [0, 1); got {probability}")
    return np.uint64(int(probability * _WORDS))


@kernel
def first_draw(position: np.int64, seed: np.uint64) -> np.uint64:
    """The first draw of a tuple."""
    return next_draw(next_draw(np.uint64(position)) ^ seed)


@kernel
def next_draw(draw: np.uint64) -> np.uint64:
    """The draw after this one."""
    word = draw + _STEP
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@kernel
def are_sampled(positions: NDArray[np.int64], below: np.uint64, seed: np.uint64) -> NDArray[np.bool_]:
    """Which tuples' first draws are below a threshold."""
    sampled = np.empty(len(positions), dtype=np.bool_)
    for row in range(len(positions)):
        sampled[row] = first_draw(positions[row], seed) < below
    return sampled


@kernel
def choice(draw: np.uint64, count: int) -> np.int64:
    """One of 0 … count - 1, by a draw not used to compare with a threshold."""
    return np.int64(((draw >> _32) * np.uint64(count)) >> _32)
