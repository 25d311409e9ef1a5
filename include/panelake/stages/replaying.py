"""Puts quarantined tuples through the checks again, by the rules and the schema of now.

What passes waits for the next slice, which brings it in like any tuple that was queued: numbered, checked for
duplicates, filtered, counted as released. Lateness and future are measured against the slice the tuple came in. The
quarantine keeps its rows, so that the slice they came in still adds up.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.context import Context
from panelake.sources import csv_lines, json_lines
from panelake.sources.files import SourceFile
from panelake.sources.lines import LINE
from panelake.sources.replays import Replays
from panelake.sources.schemas import Schemas
from panelake.sources.source import BLOCK, FAULT, FILE, POSITION, RAW, column
from panelake.spark.delta import SLICE
from panelake.stages.arrivals import REPLAY
from panelake.streams import Stream


def replay(context: Context, name: str) -> tuple[int, int]:
    """Take out of quarantine what passes now; give how many tuples did and how many did not."""
    if not tables.exists(context.catalog.quarantine(name)):
        return 0, 0
    replays = Replays(context.catalog, name)
    number = len(replays.numbers()) + 1
    waiting = _not_yet_in(context, name, number)
    total = waiting.count()
    tuples = _parsed(context, name, waiting)
    declared = context.workspace.streams[name]
    fit = tuples.where(_passes(declared, context.workspace.slice_length))
    passed = _write(context, name, declared, fit, number) if total else 0
    if passed:
        replays.record(number, passed)
    return passed, total - passed


def _not_yet_in(context: Context, name: str, number: int) -> DataFrame:
    """Quarantined tuples that no replay took and bronze does not hold; duplicates stay while `unique` does."""
    spark, catalog = context.spark, context.catalog
    bad = spark.read.format("delta").load(catalog.quarantine(name))
    if context.workspace.streams[name].unique:
        bad = bad.where(~F.startswith(F.col("reason"), F.lit("duplicate by")))
    lines = _lines(bad)
    known = [spark.read.format("delta").load(catalog.bronze(name))] if tables.exists(catalog.bronze(name)) else []
    if tables.exists(catalog.replays(name)):
        known.append(spark.read.format("delta").load(catalog.replays(name)).where(F.col(REPLAY) < number))
    for frame in known:
        places = frame.select(F.col("_source.file").alias(FILE), F.col("_source.position").alias(POSITION))
        lines = lines.join(places, [FILE, POSITION], "left_anti")
    return lines.select(LINE, FILE, POSITION, BLOCK)


def quarantined_tuples(context: Context, name: str) -> DataFrame | None:
    """All of quarantine as far as it can be read: the stream's columns, `_file`, `_position`, the slice as `_block`."""
    if not tables.exists(context.catalog.quarantine(name)):
        return None
    bad = context.spark.read.format("delta").load(context.catalog.quarantine(name))
    return _parsed(context, name, _lines(bad))


def _lines(bad: DataFrame) -> DataFrame:
    return bad.select(
        F.col("raw").alias(LINE),
        F.col("_source.file").alias(FILE),
        F.col("_source.position").alias(POSITION),
        F.unix_micros(SLICE).alias(BLOCK),
    )


def _parsed(context: Context, name: str, lines: DataFrame) -> DataFrame:
    """Raw texts as tuples: a line of CSV by its file's header, everything else as the JSON it was kept as."""
    declared = context.workspace.streams[name]
    first = Schemas(context.catalog, name).versions()[0]
    optional = frozenset(declared.columns) - frozenset(first)
    if declared.source.format != "csv":
        return json_lines.Reader(context.workspace, name, optional).parsed(lines)
    reader = csv_lines.Reader(context.workspace, name, optional)
    files = [row[FILE] for row in lines.select(FILE).distinct().collect()]
    frames = [reader.parsed_by_header(lines.where(F.col(FILE) == file), SourceFile(file, 0, 0)) for file in files]
    return reduce(DataFrame.unionByName, frames) if frames else reader.parsed(lines, list(declared.columns))


def _passes(declared: Stream, length: int) -> Column:
    """No fault, and a time that the slice it came in could have accepted."""
    time, start = F.unix_micros(column(declared.event_time)), F.col(BLOCK)
    in_time = (time <= start + length + declared.future) & (start - time <= declared.lateness)
    return F.col(FAULT).isNull() & time.isNotNull() & in_time


def _write(context: Context, name: str, declared: Stream, tuples: DataFrame, number: int) -> int:
    source = F.struct(column(FILE).alias("file"), column(POSITION).alias("position")).alias("_source")
    columns = [column(name) for name in declared.columns]
    rows = tuples.select(*columns, source, F.lit(number).cast("bigint").alias(REPLAY), F.col(RAW).alias("raw"))
    address = context.catalog.replays(name)
    writer = rows.write.format("delta").mode("overwrite").option("mergeSchema", "true")
    (writer.option("replaceWhere", f"{REPLAY} = {number}") if tables.exists(address) else writer).save(address)
    return int(context.spark.read.format("delta").load(address).where(F.col(REPLAY) == number).count())
