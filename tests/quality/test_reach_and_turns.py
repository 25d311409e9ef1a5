"""Which slices a window reads, which of them block it, which numbers a slice holds, and when a query is sampled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from panelake.context import Context
from panelake.durations import MINUTE
from panelake.gold import answer_schema
from panelake.kernels.window_spec import WindowSpec
from panelake.ledger import Entry, Status
from panelake.quality import recompute
from panelake.quality.answer_rules import Answers
from panelake.quality.blocking import blocking_metric, has_passed
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.reach import slices_in_reach
from panelake.slices import Slice
from panelake.workspace import load_workspace

STREAMS = """\
slice: 1 minute
streams:
  s:
    schema: {speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERIES = {
    "time": "SELECT count(*) AS n FROM s [RANGE 3 MINUTES SLIDE 1 MINUTE]",
    "rows": "SELECT count(*) AS n FROM s [RANGE 15 SLIDE 5 WATTR ROW]",
}


def minute(start: int, end: int | None = None) -> Slice:
    return Slice(start * MINUTE, (start + 1 if end is None else end) * MINUTE)


def ingested(part: Slice, first: int = 0, accepted: int = 10, **details: Any) -> Entry:
    return Entry(part, "ingest", "s", "done", accepted, details={"first": first, "accepted": accepted, **details})


def audited(part: Slice, status: Status = "done") -> Entry:
    return Entry(part, "audit", "bronze/s", status, 0)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (tmp_path / "queries" / f"{name}.sql").write_text(text)
    return Context(load_workspace(tmp_path))


def stream_slice(context: Context, part: Slice, history: list[Entry]) -> StreamSlice:
    return StreamSlice(context, "s", part, history[-1], history)


def answers(context: Context, query: str, part: Slice, ends: list[int], rows: int = 0) -> Answers:
    one = context.workspace.queries[query]
    spec = WindowSpec(3 * MINUTE, MINUTE) if query == "time" else WindowSpec.over_rows(15, 5)
    windows = Entry(part, "windows", query, "done", rows, details={"ends": ends, "types": {}})
    schema = answer_schema(pa.schema([("n", pa.int64())]), one.window.kind)
    end = ends[-1] if ends else 0
    table = pa.Table.from_pylist([{"window_start": 0, "window_end": end, "n": 1}] * rows, schema)
    return Answers(one, spec, part, windows, table, "")


def test_a_window_over_time_reads_the_slices_it_reaches_back_over_and_those_with_late_tuples(context: Context) -> None:
    # slices   0  1  2  3  4  5 | 8 holds a tuple of minute 4
    # window         |--------|
    history = [ingested(minute(start)) for start in range(6)]
    history += [ingested(minute(7)), ingested(minute(8), late_from=4 * MINUTE)]
    known = stream_slice(context, minute(8), history).known
    found = slices_in_reach(known, answers(context, "time", minute(5), [6 * MINUTE, 6 * MINUTE]))
    assert found == [minute(3), minute(4), minute(5), minute(8)]


def test_a_window_over_time_reads_an_empty_slice_too(context: Context) -> None:
    known = stream_slice(context, minute(5), [ingested(minute(4), accepted=0)]).known
    assert slices_in_reach(known, answers(context, "time", minute(5), [6 * MINUTE] * 2)) == [minute(4)]


def test_a_window_over_rows_reads_the_slices_of_its_numbers(context: Context) -> None:
    history = [ingested(minute(start), first=10 * start) for start in range(6)]
    known = stream_slice(context, minute(5), history).known
    assert slices_in_reach(known, answers(context, "rows", minute(5), [50, 60])) == [minute(3), minute(4), minute(5)]


def test_nothing_due_reads_nothing(context: Context) -> None:
    known = stream_slice(context, minute(5), [ingested(minute(5))]).known
    assert slices_in_reach(known, answers(context, "time", minute(5), [])) == []


@pytest.mark.parametrize(
    ("audits", "passed"),
    [
        ([], False),
        ([audited(minute(3))], True),
        ([audited(minute(3), "refused")], False),
        ([audited(minute(4))], False),
        ([audited(minute(0, 5))], True),
        ([audited(minute(3), "refused"), audited(minute(0, 5))], True),
        ([audited(minute(3)), audited(minute(0, 5), "refused")], False),
    ],
)
def test_a_slice_passes_by_itself_or_inside_a_longer_one(audits: list[Entry], *, passed: bool) -> None:
    assert has_passed(minute(3), audits) is passed


def test_slices_that_did_not_pass_block_by_name_and_the_slice_in_hand_does_not(context: Context) -> None:
    stream = stream_slice(context, minute(5), [ingested(minute(start)) for start in range(6)])
    one = answers(context, "time", minute(5), [6 * MINUTE] * 2)
    metric = blocking_metric(
        stream, one, [audited(minute(3)), audited(minute(4), "refused"), audited(minute(0), "refused")]
    )
    assert (metric.rule, metric.observed, metric.sample()) == (
        "reads_passed_slices", 1, [{"slice": "1970-01-01T00:04:00Z"}]
    )  # fmt: skip


def test_a_slice_holds_its_reserved_numbers_and_event_times(context: Context) -> None:
    stream = stream_slice(context, minute(5), [ingested(minute(5), first=50, late_from=2 * MINUTE, high=9 * MINUTE)])
    assert stream.numbers == [(50, 60)]
    assert stream.reach == (2 * MINUTE, 9 * MINUTE + 1)


def test_a_longer_slice_holds_the_numbers_of_those_it_covers(context: Context) -> None:
    inner = [ingested(minute(0), 0), ingested(minute(1), 10, 0), ingested(minute(2), 10), ingested(minute(3), 50, 5)]
    whole = Entry(minute(0, 4), "ingest", "s", "done", 25, details={"slices": 4, "accepted": 25, "first": 0})
    stream = stream_slice(context, minute(0, 4), [*inner, whole])
    assert [one.slice for one in stream.inside] == [minute(0), minute(1), minute(2), minute(3)]
    assert stream.numbers == [(0, 20), (50, 55)]


def turns(context: Context, accepted: int, slices: int) -> list[int]:
    """The slices in which the query over three minutes is sampled."""
    history = [ingested(minute(start), accepted * start, accepted) for start in range(slices)]
    found = []
    for number in range(3, slices):
        part = minute(number)
        stream = StreamSlice(context, "s", part, history[number], history[: number + 1])
        if recompute.chosen(stream, [answers(context, "time", part, [(number + 1) * MINUTE] * 2, rows=1)]):
            found.append(number)
    return found


def test_short_windows_are_sampled_in_every_slice(context: Context) -> None:
    assert turns(context, 1_000_000, 10) == list(range(3, 10))


def test_long_windows_are_sampled_in_turn(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompute, "AFFORDED_SLICES", 1)  # the windows hold the tuples of three
    assert turns(context, 1_000_000, 13) == [3, 6, 9, 12]


def test_long_windows_of_few_tuples_are_sampled_in_every_slice(context: Context) -> None:
    assert turns(context, 10, 8) == [3, 4, 5, 6, 7]


def test_of_many_queries_a_few_are_sampled_and_all_in_time(context: Context) -> None:
    history = [ingested(minute(start), 10 * start, 10) for start in range(40)]
    seen = set()
    for number in range(3, 40):
        part = minute(number)
        stream = StreamSlice(context, "s", part, history[number], history[: number + 1])
        one = answers(context, "time", part, [(number + 1) * MINUTE] * 2, rows=1)
        many = [replace(one, query=replace(one.query, name=f"q{place}")) for place in range(20)]
        samples = recompute.chosen(stream, many)
        assert len(samples) <= recompute.MOST_SAMPLES
        assert samples == recompute.chosen(stream, many)
        seen |= {sample.query.name for sample in samples}
    assert len(seen) == 20
