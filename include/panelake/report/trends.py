"""Trend lines over the slices shown: tuples, late, quarantined, published, freshness, seconds, shedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from panelake.durations import SECOND
from panelake.flow import STAGES
from panelake.report.charts import Axes, Series, line_chart
from panelake.report.history import SliceFacts, missing_between

Point = SliceFacts | None
Measure = Callable[[SliceFacts], float | None]


def trends(shown: Sequence[SliceFacts]) -> list[Markup]:
    """The charts that have something to draw."""
    places, points = with_gaps(shown)
    if not points:
        return []
    seconds = Axes("seconds")
    charts = [
        line_chart("Tuples accepted, by stream", places, _by_stream(points, "accepted")),
        line_chart("Tuples quarantined, by stream", places, _by_stream(points, "quarantined")),
        line_chart("Late tuples accepted, by stream", places, _by_stream(points, "late")),
        line_chart("Answers published, by query", places, _by_query(points)),
        line_chart("From the slice's end to its publication", places, [_series("delay", points, _delay)], seconds),
        line_chart("Seconds, by stage", places, _by_stage(points), seconds),
        line_chart("Tuples shed by joins", places, [_series("shed", points, lambda facts: facts.shed)]),
        line_chart("Accuracy of joins", places, _accuracies(points), Axes("share")),
    ]
    return [chart for chart in charts if chart is not None]


def stream_trends(shown: Sequence[SliceFacts], stream: str) -> list[Markup]:
    """What one stream brought, slice by slice."""
    places, points = with_gaps(shown)
    counts = (("Tuples accepted", "accepted"), ("Late tuples accepted", "late"), ("Tuples quarantined", "quarantined"))
    charts = [line_chart(title, places, [_of_stream(points, stream, count)]) for title, count in counts]
    return [chart for chart in charts if chart is not None]


def shedding_trends(shown: Sequence[SliceFacts], join: str) -> list[Markup]:
    """What one join shed of each stream, and how accurate it is estimated and measured to be."""
    places, points = with_gaps(shown)
    told = [None if facts is None else _joined(facts, join) for facts in points]
    if not any(details.get("shed") for details in told if details):
        return []
    streams = sorted({alias for details in told if details for alias in details.get("shed_by", {})})
    shed = [Series(alias, [_shed_of(details, alias) for details in told]) for alias in streams]
    accuracies = [
        Series(name, [None if details is None else details.get(f"{name}_accuracy") for details in told])
        for name in ("estimated", "measured")
    ]
    charts = [
        line_chart("Tuples shed, by stream", places, shed),
        line_chart("Accuracy, estimated and measured", places, accuracies, Axes("share")),
    ]
    return [chart for chart in charts if chart is not None]


def _joined(facts: SliceFacts, join: str) -> dict[str, Any] | None:
    found = facts.outcome("join", join)
    return None if found is None or found.refused else found.details


def _shed_of(details: dict[str, Any] | None, alias: str) -> int | None:
    return None if details is None else sum(details.get("shed_by", {}).get(alias, {}).values())


def with_gaps(shown: Sequence[SliceFacts]) -> tuple[list[int], list[Point]]:
    """Places and what is there: each slice, and nothing where slices are missing, so that lines break."""
    found: dict[int, Point] = {gap.start: None for gap in missing_between([facts.slice for facts in shown])}
    found |= {facts.slice.start: facts for facts in shown}
    places = sorted(found)
    return places, [found[place] for place in places]


def _series(name: str, points: Sequence[Point], measure: Measure) -> Series:
    return Series(name, [None if facts is None else measure(facts) for facts in points])


def _subjects(points: Sequence[Point], stage: str) -> list[str]:
    return sorted({outcome.subject for facts in points if facts for outcome in facts.of_stage(stage)})


def _by_stream(points: Sequence[Point], count: str) -> list[Series]:
    return [_of_stream(points, stream, count) for stream in _subjects(points, "ingest")]


def _of_stream(points: Sequence[Point], stream: str, count: str) -> Series:
    return _series(stream, points, lambda facts: _ingested(facts, stream, count))


def _by_query(points: Sequence[Point]) -> list[Series]:
    def measure(query: str) -> Measure:
        return lambda facts: _published(facts, query)

    return [_series(query, points, measure(query)) for query in _subjects(points, "publish")]


def _ingested(facts: SliceFacts, stream: str, count: str) -> float | None:
    found = facts.outcome("ingest", stream)
    return None if found is None else found.details.get(count)


def _published(facts: SliceFacts, query: str) -> float | None:
    found = facts.outcome("publish", query)
    return None if found is None or found.refused else found.rows


def _by_stage(points: Sequence[Point]) -> list[Series]:
    def measure(stage: str) -> Measure:
        return lambda facts: facts.seconds.get(stage)

    return [_series(stage.name, points, measure(stage.name)) for stage in STAGES]


def _delay(facts: SliceFacts) -> float | None:
    return None if facts.freshness is None else facts.freshness / SECOND


def _accuracies(points: Sequence[Point]) -> list[Series]:
    return [
        _series("estimated", points, lambda facts: facts.estimated_accuracy),
        _series("measured", points, lambda facts: facts.measured_accuracy),
    ]
