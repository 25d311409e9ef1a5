"""Writes what became of a slice's tuples: bronze, quarantine and held, each slice whole in one commit."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.catalog import Catalog
from panelake.numbers import NumberRange
from panelake.slices import Slice
from panelake.sources.source import DETAIL, FILE, POSITION, RAW, as_json, column
from panelake.spark.delta import SLICE, replace_counted
from panelake.stages.arrivals import QUEUED
from panelake.stages.verdicts import ACCEPTED, HELD, QUARANTINED, REASON, VERDICT, Counts
from panelake.streams import Stream

_DRIFT_NAMES = 20


def write_bronze(
    address: str, declared: Stream, numbered: DataFrame, given: NumberRange, gone: Column | None = None
) -> int:
    """Accepted tuples with their numbers, without those forgotten since; give how many were written."""
    numbered = numbered if gone is None else numbered.where(~gone)
    columns = [column(name) for name in declared.columns]
    statistics = [declared.event_time, "_seq", SLICE]
    return replace_counted(numbered.select(*columns, "_seq", _source()), address, given.slice, statistics)


def write_quarantine(catalog: Catalog, name: str, declared: Stream, tuples: DataFrame, counts: Counts) -> int:
    """Bad tuples whole, as they came; a slice without any, never written before, needs no table."""
    address = catalog.quarantine(name)
    if not counts.quarantined and not tables.exists(address):
        return 0
    bad = tuples.where(column(VERDICT) == QUARANTINED)
    columns = [
        F.lit(name).alias("stream"),
        F.coalesce(column(RAW), as_json(declared.columns)).alias("raw"),
        column(REASON).alias("reason"),
        column(DETAIL).alias("detail"),
        _source(),
    ]
    return replace_counted(bad.select(*columns), address, counts.part)


def drift_names(tuples: DataFrame, reasons: Iterable[str]) -> list[str]:
    """The names of columns that came or were missing against the schema, the first twenty."""
    names = tuples.where((column(VERDICT) == QUARANTINED) & column(REASON).isin(list(reasons)))
    found = names.select(REASON, DETAIL).distinct().limit(_DRIFT_NAMES).collect()
    return sorted(f"{row[REASON]}: {row[DETAIL]}" for row in found)


def write_held(catalog: Catalog, name: str, declared: Stream, tuples: DataFrame, counts: Counts) -> int:
    """Tuples for slices to come, and late ones beyond the cap, for the next slice."""
    address = catalog.held(name)
    if not counts.held and not tables.exists(address):
        return 0
    time = F.unix_micros(column(declared.event_time))
    columns = [column(name) for name in declared.columns]
    held = tuples.where(column(VERDICT) == HELD)
    return replace_counted(
        held.select(*columns, (time < counts.part.end).alias(QUEUED), _source()), address, counts.part
    )


def _source() -> Column:
    """Where the tuple came from: a struct, since a text per tuple would be most of bronze."""
    return F.struct(column(FILE).alias("file"), column(POSITION).alias("position")).alias("_source")


def cut_late(tuples: DataFrame, declared: Stream, part: Slice, cut: int) -> DataFrame:
    """Late tuples from the cut on are held: queued for the next slice."""
    time = F.unix_micros(column(declared.event_time))
    queued = (column(VERDICT) == ACCEPTED) & (time >= cut) & (time < part.start)
    return tuples.withColumn(VERDICT, F.when(queued, HELD).otherwise(column(VERDICT)))
