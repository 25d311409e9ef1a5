"""Rules of a stream's slice: every tuple read is accounted for, and bronze holds exactly those accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.ledger import Entry
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, at_most, equal, none
from panelake.slices import Slice, format_instant
from panelake.spark.delta import read_slices
from panelake.stages.known_slices import PRUNED, Ingested, ingested_slices, inside
from panelake.streams import Stream

_WORD_BITS = 64
_COUNTED = ("read", "released", "accepted", "filtered", "quarantined", "held")


@dataclass(frozen=True)
class StreamSlice:
    """One stream's slice, what ingest recorded of it, and of all slices of the stream."""

    context: Context
    name: str
    part: Slice
    ingest: Entry
    history: Sequence[Entry]

    @property
    def declared(self) -> Stream:
        return self.context.workspace.streams[self.name]

    @property
    def table(self) -> str:
        return f"bronze/{self.name}"

    @cached_property
    def known(self) -> list[Ingested]:
        """The stream's slices in bronze."""
        return ingested_slices(self.history, self.name)

    @cached_property
    def inside(self) -> list[Ingested]:
        """The slices of bronze in this one: itself, or shorter ones that it covers."""
        return inside(self.known, self.part)

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """The reserved numbers as ranges [first, end), adjacent ones joined."""
        ranges: list[tuple[int, int]] = []
        for first, end in sorted((one.first, one.end) for one in self.inside if one.first < one.end):
            joined = ranges and ranges[-1][1] == first
            ranges[-1:] = [(ranges[-1][0], end)] if joined else [*ranges[-1:], (first, end)]
        return ranges

    @property
    def reach(self) -> tuple[int, int]:
        """The event times [low, high) that ingest took: the slice, its late tuples and those released to it."""
        low, high = min(one.low for one in self.inside), max(one.high for one in self.inside)
        return min(low, self.part.start), max(high, self.part.end)

    @property
    def accepted(self) -> int:
        return int(self.ingest.details["accepted"])

    @property
    def kept(self) -> int:
        """The accepted tuples that were not forgotten since; their numbers are not given again."""
        return self.accepted - int(self.ingest.details.get("forgotten", 0))

    @property
    def quarantine_kept(self) -> int:
        """The quarantined tuples that retention, or forgetting, left in their table."""
        details = self.ingest.details
        pruned = "quarantine" in details.get(PRUNED, ())
        return 0 if pruned else int(details["quarantined"]) - int(details.get("forgotten_quarantined", 0))

    def tuples(self) -> DataFrame:
        """The slice's rows of bronze."""
        return read_slices(self.context.spark, self.context.catalog.bronze(self.name), self.part.start, self.part.end)

    def quarantined(self) -> DataFrame:
        """The slice's rows of quarantine, which must exist."""
        address = self.context.catalog.quarantine(self.name)
        return read_slices(self.context.spark, address, self.part.start, self.part.end)


def bronze_facts(stream: StreamSlice) -> DataFrame:
    """One row: `rows`, `numbers` (distinct and reserved), `outside` (event times out of reach), `newest` event time.

    Numbers are counted exactly without sorting them: one bit each in words of 64.
    """
    number = F.col("_seq")
    bit = F.shiftleft(F.lit(1).cast("bigint"), number.bitwiseAND(_WORD_BITS - 1).cast("int"))
    words = (
        stream.tuples()
        .groupBy(F.shiftright(number, 6))
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.bit_or(F.when(_reserved(stream), bit)).alias("word"),
            F.count_if(_out_of_reach(stream)).alias("outside"),
            F.max(F.unix_micros(F.col(f"`{stream.declared.event_time}`"))).alias("newest"),
        )
    )
    distinct = F.coalesce(F.sum(F.bit_count("word")), F.lit(0))
    return words.agg(
        _total("rows"), distinct.cast("bigint").alias("numbers"), _total("outside"), F.max("newest").alias("newest")
    )


def quarantine_facts(stream: StreamSlice) -> DataFrame:
    """One row: how many tuples quarantine holds of the slice."""
    return stream.quarantined().agg(F.count(F.lit(1)).alias("rows"))


def stream_metrics(stream: StreamSlice, facts: pa.Table, quarantine: pa.Table | None) -> list[Metric]:
    """The metrics of one stream's slice."""
    found = facts.to_pylist()[0]
    kept = 0 if quarantine is None else quarantine.to_pylist()[0]["rows"]
    return [
        _conservation(stream),
        equal(stream.table, "bronze_rows", found["rows"], stream.kept, lambda: _number_sample(stream)),
        equal(stream.table, "sequence_dense", found["numbers"], stream.kept, lambda: _number_sample(stream)),
        none(stream.table, "event_times", found["outside"], _reach_text(stream), lambda: _outside_sample(stream)),
        _quarantine_rows(stream, kept),
        _quarantine_share(stream),
    ]


def _total(column: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).cast("bigint").alias(column)


def _reserved(stream: StreamSlice) -> Column:
    inside = [F.col("_seq").between(first, end - 1) for first, end in stream.numbers]
    return reduce(or_, inside, F.lit(False))  # noqa: FBT003 - Spark's signature


def _out_of_reach(stream: StreamSlice) -> Column:
    """Event times that ingest did not take, or NULL."""
    time = F.unix_micros(F.col(f"`{stream.declared.event_time}`"))
    low, high = stream.reach
    return time.isNull() | (time < low) | (time >= high)


def _reach_text(stream: StreamSlice) -> str:
    low, high = (format_instant(at) for at in stream.reach)
    return f"{low} <= {stream.declared.event_time} < {high}"


def _conservation(stream: StreamSlice) -> Metric:
    """What came in is what went out: read + released = accepted + filtered + quarantined + held."""
    found = stream.ingest.details
    filtered = sum(found["filtered"].values())
    out = stream.accepted + filtered + found["quarantined"] + found.get("held", 0)
    came = found["read"] + found.get("released", 0)
    names: list[str] = [name for name in _COUNTED if name in found]
    return equal(stream.table, "conservation", out, came, lambda: [{name: found[name] for name in names}])


def _quarantine_rows(stream: StreamSlice, kept: int) -> Metric:
    """As many as ingest counted; of the sample the table must exist."""
    table = f"quarantine/{stream.name}"
    return equal(
        table, "quarantine_rows", kept, stream.quarantine_kept, lambda: _quarantine_sample(stream) if kept else []
    )


def _quarantine_share(stream: StreamSlice) -> Metric:
    found = stream.ingest.details
    came = found["read"] + found.get("released", 0)
    share = found["quarantined"] / came if came else 0.0
    ceiling = stream.declared.max_quarantined
    return at_most(stream.table, "quarantine_share", share, ceiling, lambda: _quarantine_sample(stream))


def _quarantine_sample(stream: StreamSlice) -> list[Row]:
    return _rows(stream.quarantined().select("reason", "raw"))


def _outside_sample(stream: StreamSlice) -> list[Row]:
    return _rows(stream.tuples().where(_out_of_reach(stream)).select("_seq", f"`{stream.declared.event_time}`"))


def _number_sample(stream: StreamSlice) -> list[Row]:
    """Numbers that are missing, given twice or not the slice's own."""
    ranges = [stream.context.spark.range(first, end) for first, end in stream.numbers or [(0, 0)]]
    own = reduce(lambda one, other: one.union(other), ranges).toDF("_seq")
    times = stream.tuples().groupBy("_seq").agg(F.count(F.lit(1)).alias("times"))
    every = own.withColumn("own", F.lit(1)).join(times, "_seq", "full")
    wrong = every.where(F.coalesce("own", F.lit(0)) != F.coalesce("times", F.lit(0)))
    return _rows(wrong.select("_seq", F.coalesce("times", F.lit(0)).alias("times")).orderBy("_seq"))


def _rows(frame: DataFrame) -> list[Row]:
    rows: list[Row] = frame.limit(SAMPLE_ROWS).toArrow().to_pylist()
    return rows
