"""How the pipeline is built, as far as size depends on it: as it is, and with what can be changed when that breaks."""

from __future__ import annotations

import math
from dataclasses import dataclass

# What the code has now; a test compares them with it.
BLOCK_BYTES = 128 * 2.0**20  # of a source file, read by one task
SCAN_BYTES = 32 * 2.0**20  # of a table, read by one task
TUPLES_A_RANGE = 1_000_000
MOST_RANGES = 2_000
COMPACTED_BYTES = 128 * 2.0**20  # of a file, once its day is over


@dataclass(frozen=True)
class Design:
    """Choices of ours. `shards` are parts of the stream by group, each with its own driver, numbers and tables.

    `in_flight` is how many slices are under way at once; `recalls_all` whether a slice reads all that was ever
    recorded of files and slices, in place of what concerns it; `answers_by_driver` whether answers pass through the
    one client that audits and publishes them; `in_order` whether sources land in time order, so that nothing is moved.
    """

    name: str
    in_flight: int = 1
    shards: int = 1
    scan_bytes: float = SCAN_BYTES
    block_bytes: float = BLOCK_BYTES
    recalls_all: bool = True
    answers_by_driver: bool = True
    in_order: bool = False


AS_IS = Design("as it is")
# Enough shards that none has more tuples than this; the rest as `CHANGED` says.
TUPLES_A_SHARD = 5_000_000.0


def changed(tuples_per_second: float) -> Design:
    """All changes at once, in as many shards as the rate needs."""
    shards = max(1, math.ceil(tuples_per_second / TUPLES_A_SHARD))
    return Design("changed", 4, shards, BLOCK_BYTES, BLOCK_BYTES, recalls_all=False, answers_by_driver=False)


@dataclass(frozen=True)
class Cluster:
    """What is assumed of machines that nobody measured; every number of the page that needs one says so."""

    utilisation: float = 0.7  # of a slice's length, before bursts make a queue
    memory_per_core: float = 4 * 2.0**30
    sort_share: float = 0.3  # of that memory, what a task may sort in: Spark's 0.6, halved for storage
    network_per_core: float = 1.25e9 / 16  # 10 Gbit/s between machines of 16 cores
    snapshot_seconds: float = 30.0  # spent on reading bronze's log, each slice, before it is called broken
