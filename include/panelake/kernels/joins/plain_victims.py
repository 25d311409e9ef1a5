"""The policies that know nothing of keys: `random` (any tuple of the window, seeded) and `oldest`.

Source: the third rival in the paper of existence_patterns (권태형 외, 2010), and the first thing anyone would do.
Left open there, settled: the newcomer is not among those drawn from; the draw is seeded.
Time: O(1) a victim; random is splitmix64 (Steele, Lea, Flood 2014), one word of state. Order assumed: none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.existence_patterns import PatternTable
from panelake.kernels.joins.slots import oldest
from panelake.kernels.joins.windows import Windows

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


class AtRandom(NamedTuple):
    """The policy `random`."""

    state: Words


class Oldest(NamedTuple):
    """The policy `oldest`; it remembers nothing (a named tuple needs a field)."""

    nothing: Words


@part
def mix(word: np.uint64) -> np.uint64:
    """Every bit of the word spread over all bits."""
    word = (word ^ (word >> _SHIFT_1)) * _MIX_1
    word = (word ^ (word >> _SHIFT_2)) * _MIX_2
    return word ^ (word >> _SHIFT_3)


@part
def random_victim(policy: AtRandom, _table: PatternTable, windows: Windows, stream: int) -> int:
    """Any tuple of a full window: all slots ever used are taken then."""
    policy.state[0] += _STEP
    return int(np.int64(mix(policy.state[0]) % np.uint64(windows.slots.used[stream])))


@part
def oldest_victim(_policy: Oldest, _table: PatternTable, windows: Windows, stream: int) -> int:
    """The front of the ring."""
    return oldest(windows.slots, stream)


@part
def nothing_to_note(_policy: NamedTuple, _windows: Windows, _stream: int, _slot: int) -> None:
    """Who leaves or is kept makes no difference here."""


@part
def nothing_to_file(_policy: NamedTuple, _windows: Windows, _stream: int, _slot: int, _results: float) -> None:
    """Who arrives makes no difference here."""
