"""Counts a slice's tuples in one pass: by what became of them and where they are, and accepted ones by time.

What comes to this process is one row a partition and one a time bucket, however many tuples there are: buckets divide
the slice, the reach of late tuples before it and of early ones after it, each into some thousand parts.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.slices import Slice
from panelake.sources.source import BLOCK, FAULT, FILE, column
from panelake.spark.numbering import Block, bucket_width
from panelake.stages.filtering import OUTCOME, Filtering
from panelake.stages.verdicts import ACCEPTED, ELSEWHERE, FILTERED, HELD, REASON, RELEASED, VERDICT, Counts, Rules

_PARTITION, _BUCKET = "_partition", "_bucket"
_PLACES = (VERDICT, REASON, RELEASED, FILE, BLOCK, _PARTITION)


def count(tuples: DataFrame, rules: Rules, part: Slice, filtering: Filtering) -> Counts:
    """Both tables are made of the same cells, by partition and bucket at once, which Spark makes once.

    Where filters are learned from, sampled tuples are counted by their outcome too.
    """
    time = F.unix_micros(column(rules.event_time))
    usable = F.when(F.col(FAULT).isNull(), time)
    placed = tuples.withColumn(_PARTITION, F.spark_partition_id()).withColumn(
        _BUCKET, F.when(F.col(VERDICT) == ACCEPTED, bucket_of(time, rules, part))
    )
    outcome = filtering.outcome(F.col(VERDICT).isin(ACCEPTED, FILTERED))
    placed = placed if outcome is None else placed.withColumn(OUTCOME, outcome)
    places = _PLACES if outcome is None else (*_PLACES, OUTCOME)
    found = (F.count(F.lit(1)).alias("n"), F.min(usable).alias("low"), F.max(usable).alias("high"))
    cells = placed.groupBy(*places, _BUCKET).agg(*found)
    totals = (F.sum("n").alias("n"), F.min("low").alias("low"), F.max("high").alias("high"))
    by_place, by_time = cells.groupBy(*places).agg(*totals), cells.groupBy(_BUCKET).agg(*totals)
    return tallied(by_place.unionByName(by_time, allowMissingColumns=True).collect(), part)


def bucket_of(time: Column, rules: Rules, part: Slice) -> Column:
    """The start of a time's bucket; buckets before and after the slice are as wide as their reach needs."""
    width = bucket_width(part.start, part.end)
    late, early = (max(width, bucket_width(0, reach)) for reach in (rules.lateness, rules.future))
    return (
        F.when(time < part.start, time - F.pmod(time - part.start, F.lit(late)))
        .when(time < part.end, time - F.pmod(time - part.start, F.lit(width)))
        .otherwise(time - F.pmod(time - part.end, F.lit(early)))
    )


def tallied(rows: Iterable[Row], part: Slice) -> Counts:
    """The counts of the rows: those by place, and, without a verdict, those by time."""
    counts = Counts(part)
    for row in rows:
        if row[VERDICT] is not None:
            _add_place(counts, row)
        elif row[_BUCKET] is not None:
            _add_time(counts, row)
    return counts


def _add_place(counts: Counts, row: Row) -> None:
    _add_span(counts, row)
    if row[VERDICT] == ELSEWHERE:
        return
    if row[RELEASED]:
        counts.released += row["n"]
    else:
        counts.read += row["n"]
    if OUTCOME in row and row[OUTCOME] is not None:
        counts.outcomes[row[OUTCOME]] += row["n"]
    if row[VERDICT] == ACCEPTED:
        _add_block(counts, row)
    elif row[VERDICT] == HELD:
        counts.held += row["n"]
    else:
        (counts.filtered if row[VERDICT] == FILTERED else counts.quarantined)[row[REASON]] += row["n"]


def _add_time(counts: Counts, row: Row) -> None:
    counts.histogram[row[_BUCKET]] += row["n"]
    if row[_BUCKET] < counts.part.start:
        counts.late += row["n"]
        counts.late_high = row["high"] if counts.late_high is None else max(counts.late_high, row["high"])
    counts.low = row["low"] if counts.low is None else min(counts.low, row["low"])
    counts.high = row["high"] if counts.high is None else max(counts.high, row["high"])


def _add_block(counts: Counts, row: Row) -> None:
    block = Block(row[_PARTITION], row[FILE], row[BLOCK], row["n"], row["low"], row["high"])
    known = counts.blocks.get(block.partition)
    counts.is_mixed |= known is not None and (known.file, known.start) != (block.file, block.start)
    counts.blocks[block.partition] = block if known is None else known.joined(block)


def _add_span(counts: Counts, row: Row) -> None:
    """The span of all usable tuples of a file, whichever slice they belong to."""
    if row[RELEASED]:
        return
    known = counts.spans.get(row[FILE])
    own = None if row["low"] is None else (row["low"], row["high"])
    both = [span for span in (known, own) if span is not None]
    counts.spans[row[FILE]] = (min(low for low, _ in both), max(high for _, high in both)) if both else None
