"""Which tuples must stay: ten slices of a minute with ten tuples each, in two streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.errors import PrunedError
from panelake.ledger import Entry
from panelake.maintenance.prune import prunings
from panelake.maintenance.reach import Needed, needed
from panelake.slices import Slice
from panelake.stages.known_slices import PRUNED, ingested_slices, require_kept
from panelake.workspace import load_workspace

MINUTE = 60_000_000
STREAMS = """\
slice: 1 minute
retention: {bronze: 2 minutes}
streams:
  s:
    schema: {x: int, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 1 minute
  t:
    schema: {x: int, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 2 minutes
"""
TIMED = "SELECT count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE]"
ROWS = "SELECT count(*) AS n FROM s [RANGE 40 SLIDE 10 WATTR ROW]"
JOIN = "SELECT s.x FROM s [RANGE 3 MINUTES SLIDE 1 MINUTE], t [RANGE 3 MINUTES SLIDE 1 MINUTE] WHERE s.x = t.x"


def part(minute: int) -> Slice:
    return Slice(minute * MINUTE, (minute + 1) * MINUTE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    return tmp_path


def world(folder: Path, *, published: range = range(10), **queries: str) -> Context:
    for name, text in queries.items():
        (folder / "queries" / f"{name}.sql").write_text(text)
    context = Context(load_workspace(folder))
    for minute in range(10):
        details = {"first": 10 * minute, "accepted": 10, "late_from": None}
        context.ledger.record(
            [Entry(part(minute), "ingest", name, "done", 10, details=details) for name in ("s", "t", "")]
        )
    done = [Entry(part(minute), "publish", name, "done", 1) for minute in published for name in queries]
    context.ledger.record(done)
    return context


def least(context: Context, stream: str = "s") -> Needed:
    return needed(context, stream, ingested_slices(context.ledger.entries(stage="ingest"), stream))


def test_windows_over_time_keep_their_range_and_the_lateness(folder: Path) -> None:
    assert least(world(folder, timed=TIMED)) == Needed((10 - 1 - 2) * MINUTE, 100)


def test_windows_over_rows_keep_their_numbers(folder: Path) -> None:
    assert least(world(folder, timed=TIMED, rows=ROWS)) == Needed(7 * MINUTE, 60)


def test_slices_that_are_not_published_keep_what_they_will_read(folder: Path) -> None:
    assert least(world(folder, timed=TIMED, rows=ROWS, published=range(6))) == Needed(4 * MINUTE, 20)


def test_a_join_keeps_what_late_tuples_of_its_other_streams_meet(folder: Path) -> None:
    context = world(folder, timed=TIMED, join=f"{JOIN} WITH (MEMORY 100 ROWS)")
    assert least(context).time == (10 - 2 - 3) * MINUTE
    DirtySet(context.catalog).mark("gold/join", part(6), [DirtyRange(part(6), 4 * MINUTE, 5 * MINUTE, "shed", 1)])
    assert least(context).time == (4 - 3) * MINUTE


def test_only_slices_that_nothing_reads_are_pruned_and_none_while_any_must_be_restated(folder: Path) -> None:
    context = world(folder, timed=TIMED, join=JOIN)
    assert {step.table: step.facts["slices"] for step in prunings(context)} == {"bronze/s": 5, "bronze/t": 5}
    DirtySet(context.catalog).mark("s", part(2), [DirtyRange(part(2), 0, MINUTE, "late", 1)])
    assert [step.table for step in prunings(context)] == ["bronze/t"]


def test_nothing_is_answered_from_a_pruned_slice(folder: Path) -> None:
    context = world(folder, timed=TIMED)
    [entry] = [e for e in context.ledger.entries(stage="ingest", subject="s") if e.slice == part(3)]
    before = ingested_slices([entry], "s")
    gone = ingested_slices(
        [Entry(part(3), "ingest", "s", "done", 10, details=entry.details | {PRUNED: ["bronze"]})], "s"
    )
    require_kept("s", before)
    assert before[0].token == gone[0].token
    with pytest.raises(PrunedError, match=r"--again --from 1970-01-01T00:03:00Z --to 1970-01-01T00:04:00Z"):
        require_kept("s", gone)
