"""Verdicts: what becomes of each tuple of a slice, and how many there are of each.

Checks in order: parse, event time, future, lateness, unique, `where` (NULL drops). A tuple whose own slice is still
to come is held, after the checks on its time and before the others, which are made when it is released. Tuples
released were read and checked by an earlier slice: they are neither late nor too early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.durations import format_duration
from panelake.language.stream_filters import StreamFilter, recorded_filters
from panelake.slices import Slice
from panelake.sources.glance import Glance
from panelake.sources.source import FAULT, RAW, column, nothing
from panelake.spark.numbering import Block
from panelake.stages.filtering import DROPPED, Filtering

ACCEPTED, FILTERED, QUARANTINED, HELD, ELSEWHERE = "accepted", "filtered", "quarantined", "held", "elsewhere"
VERDICT, REASON, RELEASED, DUPLICATE, MINE = "_verdict", "_reason", "_released", "_duplicate", "_mine"


@dataclass(frozen=True)
class Rules:
    """A stream's rules as they are in force for a slice; `python` is the text of filters.py where it is needed."""

    event_time: str
    lateness: int
    future: int
    where: tuple[StreamFilter, ...]
    unique: tuple[str, ...]
    max_late: int
    python: str = ""

    @classmethod
    def recorded(cls, values: Mapping[str, Any]) -> Rules:
        return cls(**{**values, "where": recorded_filters(values), "unique": tuple(values["unique"])})


@dataclass
class Counts:
    """What one pass over a slice's tuples found; `histogram` holds accepted ones by time bucket.

    `glances` are there where event times alone told all: every tuple is accepted.
    """

    part: Slice
    read: int = 0
    released: int = 0
    held: int = 0
    late: int = 0
    low: int | None = None
    high: int | None = None
    late_high: int | None = None
    filtered: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    histogram: Counter[int] = field(default_factory=Counter)
    blocks: dict[int, Block] = field(default_factory=dict)
    is_mixed: bool = False
    spans: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    glances: list[Glance] = field(default_factory=list)
    outcomes: Counter[int] = field(default_factory=Counter)

    @property
    def accepted(self) -> int:
        return self.histogram.total()

    def cut_late(self, most: int) -> int | None:
        """The time from which late tuples are too many for one run; the earliest bucket is always taken."""
        taken = 0
        for index, bucket in enumerate(sorted(time for time in self.histogram if time < self.part.start)):
            taken += self.histogram[bucket]
            if index and taken > most:
                return bucket
        return None

    def queue_from(self, cut: int) -> int:
        """Count late tuples from the cut on as held; give how many."""
        queued = [bucket for bucket in self.histogram if cut <= bucket < self.part.start]
        number = sum(self.histogram.pop(bucket) for bucket in queued)
        self.held += number
        self.late -= number
        self.late_high = cut - 1
        self.is_mixed = True
        return number

    def require_conserved(self, stream: str) -> None:
        """Check that read + released = accepted + filtered + quarantined + held, or the count itself is wrong."""
        came = self.read + self.released
        went = self.accepted + self.filtered.total() + self.quarantined.total() + self.held
        if came != went:
            raise AssertionError(f"stream {stream}, slice {self.part}: {came} tuples came, {went} went")


def classified(
    tuples: DataFrame, rules: Rules, part: Slice, before: Iterable[Slice], filtering: Filtering
) -> DataFrame:
    """Each tuple with its `_verdict` and, unless accepted or held, the `_reason`; `before` was ingested earlier."""
    if filtering.filters:
        tuples = filtering.judged(tuples, reaches_filters(rules, part, before))
    time = F.unix_micros(column(rules.event_time))
    fault = F.when(~F.col(RELEASED), F.coalesce(F.col(FAULT), _time_fault(time, rules, part)))
    early = ~F.col(RELEASED) & (time >= part.end) & ~in_spans(time, before)
    duplicate = F.when(F.col(DUPLICATE), "duplicate by " + ", ".join(rules.unique)) if rules.unique else nothing()
    filtered = F.col(DROPPED) if filtering.filters else nothing()
    bad = F.coalesce(fault, F.when(~early, duplicate))
    verdict = (
        F.when(~F.col(MINE), ELSEWHERE)
        .when(fault.isNotNull(), QUARANTINED)
        .when(early, HELD)
        .when(bad.isNotNull(), QUARANTINED)
        .when(filtered.isNotNull(), FILTERED)
        .otherwise(ACCEPTED)
    )
    reason = F.when(F.col(MINE), F.coalesce(bad, F.when(~early, filtered)))
    return tuples.withColumn(VERDICT, verdict).withColumn(REASON, reason)


def with_raw_of_bad_ones(tuples: DataFrame) -> DataFrame:
    """Classified tuples with their raw text where it will be kept: it is most of what there is to carry."""
    return tuples.withColumn(RAW, F.when(F.col(VERDICT) == QUARANTINED, F.col(RAW))).drop(MINE, DUPLICATE)


def is_sound(rules: Rules, part: Slice, before: Iterable[Slice]) -> Column:
    """Whether a tuple passes every check that comes before `unique`, and is not held."""
    time = F.unix_micros(column(rules.event_time))
    fault = F.when(~F.col(RELEASED), F.coalesce(F.col(FAULT), _time_fault(time, rules, part)))
    early = ~F.col(RELEASED) & (time >= part.end) & ~in_spans(time, before)
    return F.col(MINE) & fault.isNull() & ~early


def reaches_filters(rules: Rules, part: Slice, before: Iterable[Slice]) -> Column:
    """Whether a tuple passes every check that comes before `where`."""
    sound = is_sound(rules, part, before)
    return sound & ~F.col(DUPLICATE) if rules.unique else sound


def in_spans(time: Column, spans: Iterable[Slice]) -> Column:
    """Whether microseconds lie in one of the spans."""
    inside = F.lit(False)  # noqa: FBT003 - Spark's signature
    for span in spans:
        inside |= (time >= span.start) & (time < span.end)
    return inside


def _time_fault(time: Column, rules: Rules, part: Slice) -> Column:
    too_late = f"late by more than {format_duration(rules.lateness)}" if rules.lateness else "late"
    return (
        F.when(time.isNull(), "event time is NULL")
        .when(time > part.end + rules.future, f"more than {format_duration(rules.future)} in the future")
        .when(F.lit(part.start) - time > rules.lateness, too_late)
        .otherwise(nothing())
    )
