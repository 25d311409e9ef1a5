"""SWF, Smallest Window First: all waiting newcomers are held against the smallest window before any larger one.

Source: Hammad et al. (VLDB 2003), see nested_loops. Scheduling: newcomers that wait are served by window, smallest
first, and go on in a larger window where they stopped in the smaller; what is found there belongs to every query at
least that large. Left open: how long newcomers gather; here for one call of `feed`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from panelake.baselines.compiled import kernel
from panelake.baselines.nested_loops import Integers, NestedLoops, Scan
from panelake.kernels.joins.join_spec import JoinSpec


class SmallestWindowFirst(NestedLoops):
    """Nested loops window by window."""

    def __init__(self, specs: Sequence[JoinSpec]) -> None:
        super().__init__(specs, _scan)


@kernel
def _scan(scan: Scan, found: Integers) -> int:
    """As in lwo, results of smaller windows first."""
    count, queries = 0, len(scan.ranges)
    stopped = np.empty(len(scan.newcomers), dtype=np.int64)
    stopped[:] = scan.newcomers[:, 5] - 1
    for window in range(queries):
        for row in range(len(scan.newcomers)):
            ts, key, number, stream, end, _ = scan.newcomers[row]
            other = scan.second if stream == 0 else scan.first
            place = stopped[row]
            while place >= 0 and other[place, 0] >= end - scan.ranges[window]:
                if other[place, 1] == key:
                    for query in range(window, queries):
                        if ts >= end - scan.ranges[query]:
                            if count < len(found):
                                found[count, 0] = query
                                found[count, 1 + stream] = number
                                found[count, 2 - stream] = other[place, 2]
                            count += 1
                place -= 1
            stopped[row] = place
    return count
