"""Dense sequence numbers in parallel: no single partition ever sorts a whole slice.

One pass counts the tuples of each partition, with their least and greatest time, and per time bucket. Where the
partitions follow one another in time, as those of files in time order do, each is sorted where it is: its first
number is the count of all before it; where even the rows of each file ascend in time, their places tell the numbers,
and nothing is sorted. Else buckets are gathered into ranges of about equal size, and each range
becomes one partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.spark.file_numbers import at_partition, by_partition, name_of

TUPLES_PER_RANGE = 1_000_000
MAX_RANGES = 2_000
BUCKETS = 4_096
_INDEX_BITS = (1 << 33) - 1  # the lower bits of monotonically_increasing_id: the row's place in its partition


@dataclass(frozen=True)
class Ranges:
    """Partition p holds event times from starts[p] (the first from −∞) to starts[p + 1]; offsets count those before."""

    starts: tuple[int, ...]
    offsets: tuple[int, ...]
    count: int


def bucket_width(start: int, end: int) -> int:
    """Microseconds of one of about BUCKETS equal buckets of [start, end)."""
    return max(1, -(-(end - start) // BUCKETS))


def gather(histogram: Mapping[int, int], per_range: int = TUPLES_PER_RANGE) -> Ranges:
    """Ranges of about `per_range` tuples from counts keyed by each bucket's start."""
    count = sum(histogram.values())
    target = max(per_range, -(-count // MAX_RANGES))
    starts: list[int] = []
    offsets: list[int] = []
    before = 0
    for bucket in sorted(histogram):
        if not starts or before - offsets[-1] >= target:
            starts.append(bucket)
            offsets.append(before)
        before += histogram[bucket]
    return Ranges(tuple(starts), tuple(offsets), count)


def numbered(frame: DataFrame, ranges: Ranges, first: int, time: Column, order: list[str]) -> DataFrame:
    """The frame with `_seq`: first, first + 1, … in the given order, which must start with event time."""
    if not ranges.count:
        return frame.limit(0).withColumn("_seq", F.lit(0).cast("bigint"))
    spread = frame.repartitionById(len(ranges.starts), place_among(time, ranges.starts)).sortWithinPartitions(*order)
    offset = F.element_at(F.array(*[F.lit(first + value) for value in ranges.offsets]), F.spark_partition_id() + 1)
    index = F.monotonically_increasing_id().bitwiseAND(F.lit(_INDEX_BITS))
    return spread.withColumn("_seq", (offset + index).cast("bigint"))


@dataclass(frozen=True)
class Block:
    """The accepted tuples of one partition, all of one file: how many, and their least and greatest time."""

    partition: int
    file: str
    start: int
    count: int
    low: int
    high: int

    def joined(self, other: Block) -> Block:
        """Both as one, of this partition and file."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Block(self.partition, self.file, self.start, self.count + other.count, low, high)


def in_time_order(blocks: Sequence[Block]) -> list[Block] | None:
    """The blocks in the order of their tuples; None where two of them mingle."""
    ordered = sorted(blocks, key=lambda block: (block.low, block.high, block.file, block.start))
    for one, other in pairwise(ordered):
        if one.high > other.low or (one.high == other.low and (one.file, one.start) > (other.file, other.start)):
            return None
    return ordered


def numbered_in_place(frame: DataFrame, ordered: Sequence[Block], first: int, order: list[str], file: str) -> DataFrame:
    """The frame with `_seq`, each partition sorted where it is; it must be partitioned as it was when counted."""
    offsets = {}
    for block in ordered:
        offsets[block.partition] = F.lit(first).cast("bigint")
        first += block.count
    files = {block.partition: block.file for block in ordered}
    names = sorted(set(files.values()))
    spread = frame.withColumn(file, by_partition(F.col(file), files, names)).sortWithinPartitions(*order)
    offset = at_partition(offsets, F.lit(0).cast("bigint"))
    index = F.monotonically_increasing_id().bitwiseAND(F.lit(_INDEX_BITS))
    return spread.withColumn("_seq", offset + index).withColumn(file, name_of(F.col(file), names))


def place_among(value: Column, starts: Sequence[int]) -> Column:
    """The index of the last of the sorted starts that is not above the value (0 below all), by halving."""
    return _halved(value, starts, 0, len(starts))


def _halved(value: Column, starts: Sequence[int], low: int, high: int) -> Column:
    if high - low == 1:
        return F.lit(low)
    middle = (low + high) // 2
    return F.when(value < starts[middle], _halved(value, starts, low, middle)).otherwise(
        _halved(value, starts, middle, high)
    )
