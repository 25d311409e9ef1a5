"""Metrics: what a rule observed of a table, and the bounds it must lie in.

A rule never judges by itself: it gives a metric, the gate judges all of a slice at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["blocking", "warning"]
Row = dict[str, Any]
Number = int | float

SAMPLE_ROWS = 5


def no_rows() -> list[Row]:
    """The sample of a rule that looks at no rows."""
    return []


@dataclass(frozen=True)
class Metric:
    """`observed` must lie in [low, high], unless it is told in words.

    `sample` finds failing rows with their keys; it is asked on failure alone.
    """

    table: str
    rule: str
    observed: Number | str
    low: Number
    high: Number
    expected: str
    sample: Callable[[], list[Row]] = field(default=no_rows, compare=False)
    severity: Severity = "blocking"


@dataclass(frozen=True)
class Verdict:
    """A metric as the gate judged it."""

    metric: Metric
    success: bool
    sample: Sequence[Row] = ()
    seconds: float = 0.0

    @property
    def blocks(self) -> bool:
        return not self.success and self.metric.severity == "blocking"

    def __str__(self) -> str:
        metric = self.metric
        shown = f"; for example {self.sample[0]}" if self.sample else ""
        return f"{metric.table}: {metric.rule}: observed {metric.observed}, expected {metric.expected}{shown}"


def equal(table: str, rule: str, observed: Number, expected: int, sample: Callable[[], list[Row]] = no_rows) -> Metric:
    """A count that must be exactly so."""
    return Metric(table, rule, observed, expected, expected, str(expected), sample)


def none(table: str, rule: str, failing: int, expected: str, sample: Callable[[], list[Row]] = no_rows) -> Metric:
    """A number of failures that must be 0; `expected` says what holds then."""
    return Metric(table, rule, failing, 0, 0, f"0 ({expected})", sample)


def at_most(table: str, rule: str, observed: Number, high: Number, sample: Callable[[], list[Row]] = no_rows) -> Metric:
    """A quantity under a ceiling."""
    return Metric(table, rule, observed, 0, high, f"at most {high:g}", sample)
