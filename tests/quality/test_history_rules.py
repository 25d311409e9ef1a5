"""Freshness, volume and missing slices: warnings against the slice's own end and the slices before it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from panelake.context import Context
from panelake.durations import MINUTE, SECOND
from panelake.ledger import Entry
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.history_rules import history_metrics
from panelake.quality.metric import Metric
from panelake.slices import Slice
from panelake.workspace import load_workspace

STREAMS = """\
slice: 5 minutes
streams:
  s:
    schema: {ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""


def slice_at(number: int) -> Slice:
    return Slice(number * 5 * MINUTE, (number + 1) * 5 * MINUTE)


def entry(number: int, accepted: int = 100) -> Entry:
    return Entry(slice_at(number), "ingest", "s", "done", accepted, details={"accepted": accepted, "first": 0})


@pytest.fixture
def context(tmp_path: Path) -> Context:
    (tmp_path / "streams.yaml").write_text(STREAMS)
    return Context(load_workspace(tmp_path))


def metrics(context: Context, mine: Entry, before: list[Entry], newest: int | None = None) -> dict[str, Metric]:
    stream = StreamSlice(context, "s", mine.slice, mine, [*before, mine, entry(99)])
    return {metric.rule: metric for metric in history_metrics(stream, newest)}


def passes(metric: Metric) -> bool:
    assert metric.severity == "warning"
    return metric.low <= metric.observed <= metric.high


@pytest.mark.parametrize(
    ("newest", "age", "passed"),
    [(50 * MINUTE - SECOND, 1.0, True), (45 * MINUTE, 300.0, True), (45 * MINUTE - SECOND, 301.0, False)],
    ids=["fresh", "at its start", "only late ones"],
)
def test_freshness_is_the_age_of_the_newest_tuple_at_the_slices_end(
    context: Context, newest: int, age: float, *, passed: bool
) -> None:
    found = metrics(context, entry(9), [], newest)["freshness"]
    assert (found.observed, passes(found)) == (age, passed)


def test_a_slice_without_tuples_is_not_fresh(context: Context) -> None:
    found = metrics(context, entry(9, accepted=0), [])["freshness"]
    assert (found.observed, passes(found)) == (math.inf, False)


@pytest.mark.parametrize(
    ("accepted", "passed"), [(1000, True), (1100, True), (890, True), (0, False), (400, False), (2000, False)]
)
def test_volume_far_from_the_recent_median_warns(context: Context, accepted: int, *, passed: bool) -> None:
    before = [entry(number, 1000 + 20 * (number % 3 - 1)) for number in range(12)]
    found = metrics(context, entry(12, accepted), before)["volume"]
    assert passes(found) == passed, found.observed
    assert found.expected == "within 3.5 deviations of 1000, the median of 12 slices before"


def test_one_wild_slice_among_the_recent_ones_does_not_hide_another(context: Context) -> None:
    before = [entry(number, 1000) for number in range(11)] + [entry(11, 10**9)]
    assert not passes(metrics(context, entry(12, 10**8), before)["volume"])


def test_volume_says_nothing_before_there_is_a_history(context: Context) -> None:
    assert "volume" not in metrics(context, entry(4), [entry(number) for number in range(4)])
    assert "volume" in metrics(context, entry(5), [entry(number) for number in range(5)])


def test_only_slices_before_the_one_in_hand_count(context: Context) -> None:
    later = [entry(number, 10) for number in range(20, 30)]
    assert "volume" not in metrics(context, entry(4), later)


def test_gaps_between_slices_are_named(context: Context) -> None:
    found = metrics(context, entry(9), [entry(1), entry(2), entry(5), entry(8)])["missing_slices"]
    assert (found.observed, passes(found)) == (2, False)
    assert found.sample() == [
        {"from": "1970-01-01T00:15:00Z", "to": "1970-01-01T00:25:00Z"},
        {"from": "1970-01-01T00:30:00Z", "to": "1970-01-01T00:40:00Z"},
    ]


def test_the_first_slice_and_adjacent_ones_miss_nothing(context: Context) -> None:
    assert passes(metrics(context, entry(3), [])["missing_slices"])
    assert passes(metrics(context, entry(3), [entry(2), entry(1)])["missing_slices"])
