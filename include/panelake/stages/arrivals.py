"""Arrivals: the tuples that come into a slice, read from its source or released from those held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.slices import Slice, to_datetime
from panelake.sources.files import SourceFile
from panelake.sources.inputs import SliceInput
from panelake.sources.source import BLOCK, DETAIL, FAULT, FILE, POSITION, RAW, Reader, column, nothing
from panelake.spark.delta import DATE, SLICE
from panelake.stages.verdicts import DUPLICATE, MINE, RELEASED, Rules, in_spans, is_sound
from panelake.streams import Stream

QUEUED = "_queued"
REPLAY = "_replay"
_Group = tuple[bool, tuple[Slice, ...]]


def read(
    spark: SparkSession, reader: Reader, declared: Stream, chosen: SliceInput, part: Slice, *, whole: bool
) -> DataFrame:
    """The tuples of the chosen files; those of other slices are left out, or stay as not `_mine` where `whole`."""
    if declared.source.rule != "event_time":
        return _stamped(reader.read(spark, [taken.file for taken in chosen.files]), F.lit(True))  # noqa: FBT003
    groups: dict[_Group, list[SourceFile]] = {(False, ()): []}
    for taken in chosen.files:
        groups.setdefault((taken.fresh, taken.late), []).append(taken.file)
    frames = []
    for (fresh, late), files in groups.items():
        frame = _stamped(reader.read(spark, files), _is_mine(declared.event_time, part, late, fresh=fresh))
        if files or len(groups) == 1:
            frames.append(frame if whole else frame.where(MINE))
    return reduce(DataFrame.unionByName, frames)


def _stamped(frame: DataFrame, mine: Column) -> DataFrame:
    return frame.withColumn(MINE, mine).withColumn(RELEASED, F.lit(False))  # noqa: FBT003 - Spark's signature


def _is_mine(event_time: str, part: Slice, late: Iterable[Slice], *, fresh: bool) -> Column:
    """The slice's own tuples, and from fresh files the late and the unusable ones."""
    time = column(event_time)
    usable = F.col(FAULT).isNull() & time.isNotNull()
    mine = usable & reduce(lambda one, other: one | _between(time, other), late, _between(time, part))
    return mine | ~usable if fresh else mine


def _between(time: Column, part: Slice) -> Column:
    return (time >= F.lit(to_datetime(part.start))) & (time < F.lit(to_datetime(part.end)))


def released(held: DataFrame, declared: Stream, chosen: SliceInput, part: Slice) -> DataFrame:
    """Tuples that came before their time and whose slice this is, and late ones that were queued for it."""
    arrived = F.unix_micros(column(SLICE))
    own = ~F.col(QUEUED) & _between(column(declared.event_time), part) & in_spans(arrived, chosen.before)
    queued = F.col(QUEUED) & in_spans(arrived, chosen.queues)
    return _as_released(held.where(own | queued), declared)


def replayed(replays: DataFrame, declared: Stream, numbers: Sequence[int]) -> DataFrame:
    """Tuples that were in quarantine and passed their checks since."""
    return _as_released(replays.where(F.col(REPLAY).isin(list(numbers))), declared)


def _as_released(frame: DataFrame, declared: Stream) -> DataFrame:
    known = set(frame.columns)
    columns = [
        column(name) if name in known else F.lit(None).cast(kind).alias(name) for name, kind in declared.columns.items()
    ]
    place = [F.col("_source.file").alias(FILE), F.col("_source.position").alias(POSITION), F.lit(-1).alias(BLOCK)]
    empty = [nothing().alias(name) for name in (FAULT, DETAIL, RAW)]
    flags = [F.lit(True).alias(MINE), F.lit(True).alias(RELEASED)]  # noqa: FBT003 - Spark's signature
    return frame.select(*columns, *empty, *place, *flags)


def with_duplicates(
    tuples: DataFrame, bronze: DataFrame | None, rules: Rules, part: Slice, before: Sequence[Slice], *, releases: bool
) -> DataFrame:
    """Each tuple with `_duplicate`: whether a sound one before it in the slice, or in bronze, has the same values.

    Where the event time is one of these, bronze is asked for the times alone that the slice's tuples may have, but for
    tuples released, whose time may be any. NULL equals nothing.
    """
    keys = [column(name) for name in rules.unique]
    sound = is_sound(rules, part, before)
    known = reduce(lambda one, other: one & other, (key.isNotNull() for key in keys))
    order = Window.partitionBy(sound, *keys).orderBy(column(rules.event_time), FILE, POSITION)
    ranked = tuples.withColumn("_rank", F.row_number().over(order))
    repeated = F.col("_rank") > 1
    if bronze is None:
        return ranked.withColumn(DUPLICATE, sound & known & repeated).drop("_rank")
    earlier = bronze.where(in_spans(F.unix_micros(column(SLICE)), before))
    if rules.event_time in rules.unique and not releases:
        time = F.unix_micros(column(rules.event_time))
        earlier = earlier.where((time >= part.start - rules.lateness) & (time <= part.end + rules.future))
    earlier = earlier.select(*keys).distinct()
    earlier = earlier.select(*[column(name).alias(f"_known_{name}") for name in rules.unique])
    same = reduce(lambda one, other: one & other, (column(n) == column(f"_known_{n}") for n in rules.unique))
    joined = ranked.join(earlier, same, "left")
    ingested = column(f"_known_{rules.unique[0]}").isNotNull()
    flagged = joined.withColumn(DUPLICATE, sound & known & (repeated | ingested))
    return flagged.drop("_rank", *[f"_known_{name}" for name in rules.unique])


def written_before(spark: SparkSession, address: str, before: Sequence[Slice]) -> DataFrame | None:
    """A table as far as slices ingested earlier may have written it; None where they wrote nothing."""
    if not before or not tables.exists(address):
        return None
    first = to_datetime(before[0].start).date()
    return spark.read.format("delta").load(address).where(column(DATE) >= F.lit(first))
