"""The tuples a join reads: each stream's from bronze, selected, under one key code, as one frame of all streams.

A key's code is the key itself where that is one whole number or date, else a hash; equal keys have equal codes, and
where codes may be equal for different keys the results are compared by the keys themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.language.query import JoinQuery, JoinStream
from panelake.ledger import Entry
from panelake.slices import Slice, to_datetime
from panelake.spark.delta import DATE, read_slices
from panelake.spark.delta import SLICE as BRONZE_SLICE
from panelake.spark.join_worker import KEY, OWN, SEQ, SLICE, STREAM, TS
from panelake.stages.due import answered_slices
from panelake.stages.known_slices import Ingested, ingested_slices, inside, require_kept

_EXACT_CODES = {"bigint": "CAST({} AS BIGINT)", "date": "CAST(unix_date({}) AS BIGINT)"}


@dataclass(frozen=True)
class JoinReach:
    """Which slices of bronze a slice's join reads, and for which event times.

    `known` has each stream's slices that may be read. A join with a memory limit reads no later slice: what such a
    slice adds is the later one's to tell.
    """

    query: JoinQuery
    part: Slice
    known: dict[str, list[Ingested]]

    @property
    def own(self) -> dict[str, list[Ingested]]:
        """The slice itself, or those a longer one covers."""
        return {stream: inside(known, self.part) for stream, known in self.known.items()}

    @property
    def own_span(self) -> Slice:
        """Event times of the slice's own tuples: the slice, and wherever its late and early ones lie."""
        mine = [one for known in self.own.values() for one in known if one.first < one.end]
        low = min((one.low for one in mine), default=self.part.start)
        high = max((one.high for one in mine), default=self.part.end)
        return Slice(min(low, self.part.start), max(high, self.part.end))

    @property
    def on_time(self) -> Slice:
        """What tuples in their own time join with."""
        return Slice(self.part.start - self.query.longest_range, self.part.end)

    @property
    def span(self) -> Slice:
        """Event times that any own tuple may be joined with."""
        own, reach = self.own_span, self.query.longest_range
        if not self.needs_keys:
            return self.on_time
        return Slice(own.start - reach, own.end + reach)

    @cached_property
    def has_later(self) -> bool:
        """Whether there are later tuples that the slice's own could be joined with."""
        reach = self.part.end + self.query.longest_range
        return any(
            one.slice.start >= self.part.end and one.in_time(self.part.start, reach)
            for known in self.known.values()
            for one in known
        )

    @property
    def needs_keys(self) -> bool:
        """Whether some of the slice's tuples are joined from bronze for their keys alone."""
        return self.has_later or self.own_span != self.part

    def slices_of(self, stream: str) -> list[Ingested]:
        """The stream's slices that hold tuples in reach."""
        return [one for one in self.known[stream] if one.in_time(self.span.start, self.span.end)]


def reach_of(query: JoinQuery, part: Slice, entries: Sequence[Entry], *, later: bool) -> JoinReach:
    """What a slice's join may read: its own tuples, earlier slices and, if asked, later ones that are in gold."""
    published = set(answered_slices(entries, query.name)) if later else set()
    known = {}
    for stream in query.reads:
        ingested = ingested_slices(entries, stream)
        mine = {one.slice for one in inside(ingested, part)}
        known[stream] = [
            one
            for one in ingested
            if one.slice in mine or one.slice.start < part.start or _covered(one.slice, published)
        ]
    return JoinReach(query, part, known)


def _covered(one: Slice, published: set[Slice]) -> bool:
    return any(longer.start <= one.start and one.end <= longer.end for longer in published)


def is_exact_code(query: JoinQuery) -> bool:
    """Whether a key's code is the key itself."""
    return len(query.key_types) == 1 and query.key_types[0] in _EXACT_CODES


def carried_columns(query: JoinQuery, stream: JoinStream) -> tuple[str, ...]:
    """What results take from a stream's tuples: selected columns, and keys where their codes do not decide."""
    keys = () if is_exact_code(query) else stream.keys
    return tuple(stream.column(name) for name in dict.fromkeys((*stream.columns, *keys)))


def read_tuples(context: Context, reach: JoinReach) -> DataFrame:
    """All streams' tuples in reach that take part, one frame; without late ones that is the slice and W before it."""
    frames = [_stream_tuples(context, reach, place) for place in range(len(reach.query.streams))]
    tuples = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    return _for_keys_alone(tuples, reach) if reach.needs_keys else tuples


def own_on_time(context: Context, reach: JoinReach) -> DataFrame:
    """The slice's own tuples that lie in it."""
    frames = [_stream_tuples(context, reach, place) for place in range(len(reach.query.streams))]
    tuples = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    return tuples.where(F.col(OWN) & _between(reach.part))


def _for_keys_alone(tuples: DataFrame, reach: JoinReach) -> DataFrame:
    """Tuples beside the slice and its windows count only for keys of own tuples that reach there."""
    inside_windows = _between(reach.on_time)
    own = F.col(OWN) if reach.has_later else F.col(OWN) & ~_between(reach.part)
    keys = tuples.where(own).select(KEY).distinct()
    beside = tuples.where(~inside_windows).join(keys, KEY, "left_semi")
    return tuples.where(inside_windows).unionByName(beside)


def _between(span: Slice) -> Column:
    return (F.col(TS) >= span.start) & (F.col(TS) < span.end)


def _stream_tuples(context: Context, reach: JoinReach, place: int) -> DataFrame:
    query, stream = reach.query, reach.query.streams[place]
    bronze = _read(context, reach, stream)
    event_time = context.workspace.streams[stream.stream].event_time
    names = context.workspace.streams[stream.stream].columns
    mine = [F.lit(to_datetime(one.slice.start)) for one in reach.own[stream.stream]]
    own = F.col(BRONZE_SLICE).isin(*mine) if mine else F.lit(False)  # noqa: FBT003 - Spark's signature
    frame = bronze.select(
        F.unix_micros(F.col(f"`{event_time}`")).alias(TS),
        F.lit(place).cast("int").alias(STREAM),
        F.col(SEQ),
        F.unix_micros(BRONZE_SLICE).alias(f"{SLICE}_us"),
        own.alias(OWN),
        *(F.col(f"`{name}`").alias(stream.column(name)) for name in names),
    ).withColumnRenamed(f"{SLICE}_us", SLICE)
    frame = frame.where((F.col(TS) >= reach.span.start) & (F.col(TS) < reach.span.end))
    for condition in stream.conditions:
        frame = frame.where(F.expr(condition))
    for name in stream.keys:
        frame = frame.where(F.col(f"`{stream.column(name)}`").isNotNull())
    carried = [F.col(f"`{name}`") for name in carried_columns(query, stream)]
    return frame.select(TS, STREAM, _code(query, stream).alias(KEY), SEQ, SLICE, OWN, *carried)


def _read(context: Context, reach: JoinReach, stream: JoinStream) -> DataFrame:
    """The slices in reach, and of those only the ones that may be read."""
    require_kept(stream.stream, reach.slices_of(stream.stream))
    wanted = [one.slice for one in reach.slices_of(stream.stream)]
    low, high = (min(wanted).start, max(wanted).start + 1) if wanted else (reach.part.start, reach.part.start)
    frame = read_slices(context.spark, context.catalog.bronze(stream.stream), low, high)
    starts = [F.lit(to_datetime(one.start)) for one in wanted]
    return frame.where(F.col(BRONZE_SLICE).isin(*starts)).drop(DATE) if starts else frame


def _code(query: JoinQuery, stream: JoinStream) -> Column:
    keys = [f"CAST(`{stream.column(n)}` AS {kind})" for n, kind in zip(stream.keys, query.key_types, strict=True)]
    if is_exact_code(query):
        return F.expr(_EXACT_CODES[query.key_types[0]].format(keys[0]))
    return F.xxhash64(*(F.expr(key) for key in keys))
