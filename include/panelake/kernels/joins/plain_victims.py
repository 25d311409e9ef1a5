"""The policies that know nothing of keys: `random` (any tuple of the window, seeded) and `oldest`.

Source: the third rival in the paper of existence_patterns (권태형 외, 2010), and the first thing anyone would do,
which is the front of the ring (see slots).
Left open there, settled: the newcomer is not among those drawn from; the draw is seeded.
Time: O(1) a victim; random is splitmix64 (Steele, Lea, Flood 2014), one word of state. Order assumed: none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.hashing import mix
from panelake.kernels.joins.slots import Slots

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)


@part
def random_victim(state: Words, slots: Slots, stream: int) -> int:
    """Any tuple of a full window: all slots ever used are taken then."""
    state[0] += _STEP
    place = mix(state[0]) % np.uint64(slots.used[stream])
    return int(stream * slots.free.shape[1] + np.int64(place))
