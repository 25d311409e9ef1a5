"""The order of bronze: each accepted tuple with its number, moved and sorted only where its source is not in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.sources.source import FILE, POSITION, column
from panelake.spark import file_numbers, numbering
from panelake.spark.numbering import Block
from panelake.stages.verdicts import Counts

MOST_FILES = 64  # each is read by a plan of its own; beyond, planning costs more than counting
_PLACES = 4  # partitions beyond those that ranges would have: many small files are better gathered


def numbered(accepted: DataFrame, event_time: str, counts: Counts, first: int) -> DataFrame:
    """The accepted tuples with `_seq`, by event time, then file, then position."""
    if not counts.accepted:
        return accepted.limit(0).withColumn("_seq", F.lit(0).cast("bigint"))
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
    if counts.is_mixed or _are_many(len(counts.blocks), counts):
        return []
    return numbering.in_time_order(list(counts.blocks.values())) or []


def _are_many(places: int, counts: Counts) -> bool:
    return places > 2 * len(numbering.gather(counts.histogram).starts) + _PLACES


def is_in_order(counts: Counts) -> bool:
    """Whether tuples came in the order of their numbers, so that none had to be moved."""
    return _ordered(counts) is not None if counts.glances else bool(in_place(counts))


def numbered_files(frames: Sequence[DataFrame], event_time: str, counts: Counts, first: int) -> DataFrame:
    """The tuples of each glance's file with `_seq`: by their place in it, where files ascend and follow one another."""
    numbers = {seen.file.path: index for index, seen in enumerate(counts.glances)}
    ordered = _ordered(counts)
    if ordered is None:
        return _moved(frames, event_time, counts, first)
    numbered = []
    for block in ordered:
        offset = F.lit(first - block.start).cast("bigint")
        numbered.append(frames[numbers[block.file]].withColumn("_seq", offset + column(POSITION)))
        first += block.count
    return reduce(DataFrame.unionByName, numbered)


def _moved(frames: Sequence[DataFrame], event_time: str, counts: Counts, first: int) -> DataFrame:
    """Tuples gathered by time, the names of their files moved as numbers."""
    # Spark lists local files with three slashes and names them in their tuples with one.
    listed = {re.sub("^file:/+", "file:/", name): frame for frame in frames for name in frame.inputFiles()}
    names = sorted(listed)
    small = [
        frame.withColumn(FILE, file_numbers.checked(column(FILE), name, names.index(name)))
        for name, frame in listed.items()
    ]
    return _named(_gathered(reduce(DataFrame.unionByName, small), event_time, counts, first), names)


def _ordered(counts: Counts) -> list[Block] | None:
    """The files in the order of their tuples; None where rows do not ascend, two files mingle, or many are small."""
    filled = [seen for seen in counts.glances if seen.count]
    if _are_many(len(filled), counts) or not all(seen.ascends for seen in filled):
        return None
    return numbering.in_time_order(
        [Block(0, seen.file.path, seen.row, seen.count, seen.low, seen.high) for seen in filled]
    )


def _gathered(frame: DataFrame, event_time: str, counts: Counts, first: int) -> DataFrame:
    ranges = numbering.gather(counts.histogram)
    time = F.unix_micros(column(event_time))
    return numbering.numbered(frame, ranges, first, time, [event_time, FILE, POSITION])


def _named(frame: DataFrame, names: list[str]) -> DataFrame:
    return frame.withColumn(FILE, file_numbers.name_of(column(FILE), names))
