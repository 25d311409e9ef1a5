"""Windows answered again: late tuples, history, tuples that went, and panes that another plan or ingest left."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from panelake.dirty import DirtyRange, DirtySet
from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.runner import run_stage
from panelake.slices import Slice

from .windows_world import (
    COUNT,
    MINUTE,
    SECOND,
    World,
    counted,
    ends_at_seconds,
    expected_counts,
    minute_slice,
    tuple_at,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windows")


def test_late_tuples_restate_every_answered_window_that_holds_them(folder: Path, spark: SparkSession) -> None:
    """
    minute       0         1          2
    area 1, 3    *    *    *    *     *
    late, with minute 2: area 1 at second 5, area 2 at second 95
    90 s / 30 s: windows that end at 30, 60, 90 hold the one, at 120, 150, 180 the other; 150 and 180 are due anyhow
    """
    limited = f"{COUNT.format(60, 60)} HAVING count(*) < 8"
    world = World(folder / "late", spark, q=COUNT.format(90, 30), limited=limited)
    on_time = [tuple_at(at, area=area) for at in range(0, 180, 9) for area in (1, 3)]
    world.tuples = on_time
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    late = [tuple_at(5), tuple_at(95, area=2)]
    entries = world.run(2, [row for row in on_time if row["ts"] >= 120 * SECOND] + late)
    everything = expected_counts([*on_time, *late], 90, 30, ends_at_seconds(range(3)))
    restated = {(30, 1), (60, 1), (90, 1), (120, 2)}
    due = {place for place in everything if place[0] > 120 * SECOND} | {(end * SECOND, area) for end, area in restated}
    assert counted(world.rows("q", 2)) == {place: n for place, n in everything.items() if place in due}
    details = entries["q"].details
    assert (details["ends"], entries["q"].rows) == ([150 * SECOND, 180 * SECOND], len(due))
    assert details["restated"] == [[30 * SECOND, 120 * SECOND]]
    kept = {(row["_window_end"], row["area"]): row["_kept"] for row in world.rows("limited", 2)}
    of_60 = expected_counts([*on_time, *late], 60, 60, ends_at_seconds(range(3)))
    assert of_60[(60 * SECOND, 1)] == 8, "HAVING drops what it kept before: the row is staged as gone"
    assert kept == {(60 * SECOND, 1): False, (120 * SECOND, 2): True, (180 * SECOND, 1): True, (180 * SECOND, 3): True}
    assert entries["limited"].rows == 3


def test_a_far_away_late_tuple_reads_and_restates_its_own_windows_alone(folder: Path, spark: SparkSession) -> None:
    """Ten minutes between two late tuples of different areas: nothing in between is answered again."""
    world = World(folder / "far", spark, q=COUNT.format(60, 30))
    world.tuples = [tuple_at(at, area=at % 2) for at in range(0, 720, 7)]
    for minute in range(11):
        world.ingest(minute, [row for row in world.tuples if row["ts"] // MINUTE == minute], minute * 1000)
        world.answered(minute)
    late = [tuple_at(10, area=0), tuple_at(640, area=1)]
    entries = world.run(11, [row for row in world.tuples if row["ts"] >= 660 * SECOND] + late, first=99_000)
    everything = expected_counts([*world.tuples, *late], 60, 30, ends_at_seconds(range(12)))
    restated = {(30, 0), (60, 0), (660, 1)}
    due = {place for place in everything if place[0] > 660 * SECOND} | {(end * SECOND, area) for end, area in restated}
    assert counted(world.rows("q", 11)) == {place: everything[place] for place in due}
    assert entries["q"].details["restated"] == [[30 * SECOND, 60 * SECOND], [660 * SECOND, 660 * SECOND]]


def test_an_older_slice_after_a_newer_one_completes_the_newer_windows(folder: Path, spark: SparkSession) -> None:
    world = World(folder / "older", spark, q=COUNT.format(90, 30))
    tuples = [tuple_at(at) for at in range(0, 180, 9)]
    world.tuples = tuples
    for minute in (1, 2):
        world.run(minute)
        world.answered(minute)
    world.run(0)
    got = counted(world.rows("q", 0))
    everything = expected_counts(tuples, 90, 30, ends_at_seconds(range(3)))
    last_reached = 54 + 90
    assert got == {place: n for place, n in everything.items() if place[0] <= last_reached * SECOND}


def test_windows_of_tuples_that_went_are_answered_for_every_group(folder: Path, spark: SparkSession) -> None:
    """
    minute   0 (ingested anew: area 2 and what it had late are there no more)   1
    Windows of minute 1 that reach back must lose area 2, though no tuple of it is left to say so.
    """
    world = World(folder / "gone", spark, q=COUNT.format(90, 30))
    world.tuples = [tuple_at(at, area=area) for at in range(0, 120, 10) for area in (1, 2)]
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    left = [row for row in world.tuples if row["ts"] >= MINUTE or row["area"] == 1]
    DeltaTable(world.context.catalog.bronze("s")).delete("area = 2 AND ts < '1970-01-01T00:01:00Z'")
    known = DirtyRange(minute_slice(0), -MINUTE, MINUTE, "restated", 6)
    DirtySet(world.context.catalog).mark("s", minute_slice(0), [known])
    world.stage("panes", 0)
    (entry, _) = world.stage("windows", 0)
    everything = expected_counts(left, 90, 30, ends_at_seconds(range(2)))
    assert counted(world.rows("q", 0)) == everything
    assert entry.details["ends"] == [-30 * SECOND, 120 * SECOND]
    assert "restated" not in entry.details


def test_windows_of_rows_are_answered_when_complete_in_whatever_order_slices_come(
    folder: Path, spark: SparkSession
) -> None:
    """
    minute      1        2        0 (history: numbers count down)
    numbers     0 … 20   21 … 40  -20 … -1
    Each window is answered by the slice that completes it; numbers follow event time within a slice.
    """
    shapes = {"overlapping": (15, 4), "tumbling": (6, 6), "gapped": (3, 8), "coprime": (13, 7)}
    select = "SELECT area, count(*) AS n, sum(speed) AS total FROM s [RANGE {} SLIDE {} WATTR ROW] GROUP BY area"
    world = World(folder / "rows", spark, **{name: select.format(*shape) for name, shape in shapes.items()})
    tuples = [tuple_at(at * 3, area=at % 2, speed=float(at)) for at in range(61)]
    world.tuples = tuples
    found: dict[str, dict[tuple[int, int], tuple[int, float]]] = {name: {} for name in shapes}
    for minute in (1, 2, 0):
        world.run(minute, first=-20 if minute == 0 else None)
        world.answered(minute)
        for name in shapes:
            for row in world.rows(name, minute):
                found[name][(row["_window_end"], row["area"])] = (row["n"], row["total"])
    numbered = dict(zip(range(-20, 40), tuples, strict=False))
    for name, (range_, slide) in shapes.items():
        expected: dict[tuple[int, int], list[float]] = defaultdict(list)
        for start in range(-100 * slide, 100 * slide, slide):
            held = range(start, start + range_)
            if held.start in numbered and held[-1] in numbered:
                for number in held:
                    expected[(held.stop, numbered[number]["area"])].append(numbered[number]["speed"])
        assert found[name] == {place: (len(speeds), sum(speeds)) for place, speeds in expected.items()}


def test_a_new_state_is_never_read_from_panes_that_lack_it(folder: Path, spark: SparkSession) -> None:
    """The set's name stays, a column is added: older panes have no value for it, and are made anew from bronze."""
    world = World(folder / "states", spark, q=COUNT.format(180, 60))
    world.tuples = [tuple_at(at, speed=2.0) for at in range(0, 180, 10)]
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    more = "SELECT area, sum(speed) AS total FROM s [RANGE 180 SECONDS SLIDE 60 SECONDS] GROUP BY area"
    (world.root / "queries" / "more.sql").write_text(more)
    world.reload()
    world.run(2)
    assert [row["total"] for row in world.rows("more", 2)] == [36.0]
    assert [row["n"] for row in world.rows("q", 2)] == [18]


def test_a_finer_plan_never_mixes_with_the_panes_of_the_old_one(folder: Path, spark: SparkSession) -> None:
    world = World(folder / "finer", spark, q=COUNT.format(180, 60))
    world.tuples = [tuple_at(at) for at in range(0, 180, 10)]
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    (world.root / "queries" / "fine.sql").write_text(COUNT.format(90, 45))
    world.reload()
    world.run(2)
    assert [row["n"] for row in world.rows("q", 2)] == [18]
    assert counted(world.rows("fine", 2)) == {(135 * SECOND, 1): 9, (180 * SECOND, 1): 9}


def test_panes_of_tuples_that_were_ingested_anew_are_not_used(folder: Path, spark: SparkSession) -> None:
    """Renumbered: the ledger shows other numbers than the slice's panes were made of."""
    query = "SELECT min(speed) AS least FROM s [RANGE 4 SLIDE 4 WATTR ROW]"
    world = World(folder / "renumbered", spark, q=query)
    world.run(0, [tuple_at(at, speed=float(at)) for at in range(4)], first=2)
    bronze = DeltaTable(world.context.catalog.bronze("s"))
    bronze.update({"_seq": "_seq + 2"})
    world.context.ledger.record(
        [Entry(minute_slice(0), "ingest", "s", "done", 4, details={"first": 4, "accepted": 4, "late_from": None})]
    )
    world.run(1, [tuple_at(60 + at, speed=9.0) for at in range(4)], first=0)
    assert [(row["_window_start"], row["least"]) for row in world.rows("q", 1)] == [(0, 9.0)]
    world.stage("windows", 0)
    assert [(row["_window_start"], row["least"]) for row in world.rows("q", 0)] == [(4, 0.0)]


def test_a_longer_slice_over_ingested_ones_answers_all_their_windows(folder: Path, spark: SparkSession) -> None:
    rows = "SELECT area, count(*) AS n FROM s [RANGE 5 SLIDE 5 WATTR ROW] GROUP BY area"
    world = World(folder / "longer", spark, q=COUNT.format(90, 30), rows=rows)
    tuples = [tuple_at(at) for at in range(0, 120, 9)]
    for minute in range(2):
        mine = [row for row in tuples if row["ts"] // MINUTE == minute]
        world.ingest(minute, mine, world.numbered)
        world.numbered += len(mine)
    both = Slice(0, 2 * MINUTE)
    details = {"first": 0, "accepted": len(tuples), "late_from": None, "slices": 2}
    world.context.ledger.record([Entry(both, "ingest", "s", "done", len(tuples), details=details)])
    for name in ("panes", "windows"):
        run_stage(world.context, both, stage_named(name))
    assert counted(world.staged("q", both)) == expected_counts(tuples, 90, 30, ends_at_seconds(range(2)))
    assert [row["n"] for row in world.staged("rows", both)] == [5, 5]
    held = world.context.ledger.entries(stage="panes", subject="s")
    assert [entry.slice for entry in held] == [minute_slice(0), both, minute_slice(1)]
