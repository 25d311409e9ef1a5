"""Pointers, and the panes that no window to come can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from panelake.context import Context
from panelake.ledger import Entry
from panelake.slices import Slice
from panelake.stages.pane_retention import obsolete, pointers
from panelake.workspace import load_workspace

MINUTE = 60_000_000
STREAMS = """\
slice: 1 minute
streams:
  s:
    schema: {x: int, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 1 minute
"""
QUERIES = {
    "timed": "SELECT count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE]",
    "rows": "SELECT count(*) AS n FROM s [RANGE 20 SLIDE 10 WATTR ROW]",
}


def part(minute: int) -> Slice:
    return Slice(minute * MINUTE, (minute + 1) * MINUTE)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Ten slices of ten tuples each, in panes."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (tmp_path / "queries" / f"{name}.sql").write_text(text)
    context = Context(load_workspace(tmp_path))
    for minute in range(10):
        details = {"first": 10 * minute, "accepted": 10, "late_from": None}
        context.ledger.record(
            [
                Entry(part(minute), "ingest", "s", "done", 10, details=details),
                Entry(part(minute), "panes", "s", "done", 1, details={"sets": {"a set": ["a state"]}}),
            ]
        )
    return context


def answer(context: Context, query: str, minutes: range) -> None:
    context.ledger.record([Entry(part(minute), "publish", query, "done", 1) for minute in minutes])


def test_a_pointer_is_where_the_next_window_starts(context: Context) -> None:
    assert pointers(context, "s") == {"timed": None, "rows": None}
    answer(context, "timed", range(10))
    answer(context, "rows", range(10))
    assert pointers(context, "s") == {"timed": 9 * MINUTE, "rows": 90}


def test_nothing_is_obsolete_while_a_query_has_answered_nothing(context: Context) -> None:
    answer(context, "timed", range(10))
    assert obsolete(context, "s") == []


def test_panes_stay_for_the_slowest_query_its_range_and_the_lateness_allowed(context: Context) -> None:
    """
    timed: next window starts at minute 9, less 2 of range and 1 of lateness: slices before minute 6 are past
    rows:  next window starts at 90, less 20: slices before number 70, minute 7, are past
    """
    answer(context, "timed", range(10))
    answer(context, "rows", range(10))
    assert obsolete(context, "s") == [part(minute) for minute in range(6)]


def test_a_query_that_lags_holds_the_panes(context: Context) -> None:
    answer(context, "timed", range(10))
    answer(context, "rows", range(5))
    assert obsolete(context, "s") == [part(0), part(1)]


def test_slices_that_were_freed_are_not_freed_again(context: Context) -> None:
    answer(context, "timed", range(10))
    answer(context, "rows", range(10))
    context.ledger.record([Entry(part(0), "panes", "s", "done", 0, details={"sets": {}, "freed": True})])
    assert obsolete(context, "s") == [part(minute) for minute in range(1, 6)]
