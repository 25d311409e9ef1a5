"""How a join's memory is divided: logical partitions by key, their number a function of the memory alone.

Never of cores or of a cluster, so that what is shed is the same wherever the join runs.
"""

from __future__ import annotations

ROWS_A_PARTITION = 100_000


def logical_partitions(memory: int) -> int:
    """1 below 100,000 rows a stream, then one for every 100,000 begun."""
    return max(1, -(-memory // ROWS_A_PARTITION))


def memory_of(partition: int, memory: int) -> int:
    """A partition's share of the rows; shares add up to the whole."""
    partitions = logical_partitions(memory)
    return memory // partitions + (partition < memory % partitions)
