"""LWO, Largest Window Only: each newcomer scans the largest window once; matches are routed to every query they fit.

Source: Hammad et al. (VLDB 2003), see nested_loops. Scheduling: newcomers one after another, so that a query with a
small window waits while the largest is scanned. Left open: nothing beside what nested_loops says.
"""

from __future__ import annotations

from collections.abc import Sequence

from panelake.baselines.compiled import kernel
from panelake.baselines.nested_loops import Integers, NestedLoops, Scan
from panelake.kernels.joins.join_spec import JoinSpec


class LargestWindowOnly(NestedLoops):
    """Nested loops over the largest window."""

    def __init__(self, specs: Sequence[JoinSpec]) -> None:
        super().__init__(specs, _scan)


@kernel
def _scan(scan: Scan, found: Integers) -> int:
    """Results as (query, id of the first stream, id of the second); how many there are, written while there is room."""
    count, queries = 0, len(scan.ranges)
    for row in range(len(scan.newcomers)):
        ts, key, number, stream, end, seen = scan.newcomers[row]
        other = scan.second if stream == 0 else scan.first
        for place in range(seen - 1, -1, -1):
            oldest = min(ts, other[place, 0])
            if other[place, 0] < end - scan.ranges[queries - 1]:
                break
            if other[place, 1] != key:
                continue
            for query in range(queries):
                if oldest >= end - scan.ranges[query]:
                    if count < len(found):
                        found[count, 0] = query
                        found[count, 1 + stream] = number
                        found[count, 2 - stream] = other[place, 2]
                    count += 1
    return count
