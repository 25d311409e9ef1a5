"""The order of bronze: each accepted tuple with its number, moved and sorted only where its source is not in order."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.sources.files import plain_path
from panelake.sources.source import FILE, POSITION, column
from panelake.spark import file_numbers, numbering
from panelake.spark.numbering import Block
from panelake.stages.verdicts import Counts

MOST_FILES = 64  # beyond, finding a file by its name in an expression costs more than counting its tuples
_PLACES = 4  # partitions beyond those that ranges would have: many small files are better gathered


def numbered(accepted: DataFrame, event_time: str, counts: Counts, first: int) -> DataFrame:
    """The accepted tuples with `_seq`, by event time, then file, then position."""
    if not counts.accepted:
        return accepted.limit(0).withColumn("_seq", F.lit(0).cast("bigint"))
    if counts.glances:
        return _by_glance(accepted, event_time, counts, first)
    blocks = in_place(counts)
    if blocks:
        return numbering.numbered_in_place(accepted, blocks, first, [event_time, POSITION], FILE)
    if counts.is_mixed:
        return _gathered(accepted, event_time, counts, first)
    files = {block.partition: block.file for block in counts.blocks.values()}
    names = sorted(set(files.values()))
    small = accepted.withColumn(FILE, file_numbers.by_partition(column(FILE), files, names))
    return _named(_gathered(small, event_time, counts, first), names)


def in_place(counts: Counts) -> list[Block]:
    """The blocks in time order where tuples can be numbered where they are; none where they must be moved."""
    ranges = len(numbering.gather(counts.histogram).starts)
    if counts.is_mixed or len(counts.blocks) > 2 * ranges + _PLACES:
        return []
    return numbering.in_time_order(list(counts.blocks.values())) or []


def is_in_order(counts: Counts) -> bool:
    """Whether tuples came in the order of their numbers, so that none had to be moved."""
    if not counts.glances:
        return bool(in_place(counts))
    blocks = [Block(0, seen.file.path, seen.row, seen.count, seen.low, seen.high) for seen in counts.glances]
    ascend = all(seen.ascends for seen in counts.glances)
    return ascend and numbering.in_time_order([block for block in blocks if block.count]) is not None


def _by_glance(accepted: DataFrame, event_time: str, counts: Counts, first: int) -> DataFrame:
    """By the place in the file where files ascend and follow one another; names as Spark has them decide ties."""
    # Spark lists local files with three slashes and names them in their tuples with one.
    listed = [re.sub("^file:/+", "file:/", name) for name in accepted.inputFiles()]
    addresses = {plain_path(name): name for name in listed}
    names = sorted(addresses.values())
    small = accepted.withColumn(FILE, file_numbers.by_name(column(FILE), names))
    blocks = [
        Block(names.index(name), name, seen.row, seen.count, seen.low, seen.high)
        for seen in counts.glances
        if (name := addresses[plain_path(seen.file.path)]) and seen.count
    ]
    ordered = numbering.in_time_order(blocks) if all(seen.ascends for seen in counts.glances) else None
    if ordered is None:
        return _named(_gathered(small, event_time, counts, first), names)
    return _named(numbering.numbered_by_place(small, ordered, first, column(FILE), column(POSITION)), names)


def _gathered(frame: DataFrame, event_time: str, counts: Counts, first: int) -> DataFrame:
    ranges = numbering.gather(counts.histogram)
    time = F.unix_micros(column(event_time))
    return numbering.numbered(frame, ranges, first, time, [event_time, FILE, POSITION])


def _named(frame: DataFrame, names: list[str]) -> DataFrame:
    return frame.withColumn(FILE, file_numbers.name_of(column(FILE), names))
