"""Publish, on staged files and ledger entries as the stages before leave them: no Spark takes part."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.durations import MINUTE
from panelake.errors import BadInputError
from panelake.ledger import Entry, Status
from panelake.slices import Slice
from panelake.stages import publish
from panelake.staging import staged_answers
from panelake.workspace import load_workspace

STREAMS = """\
slice: 2 minutes
streams:
  s:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
MEANS = "SELECT area, avg(speed) AS mean FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY area"
ROWS = "SELECT area, avg(speed) AS mean FROM s [RANGE 4 SLIDE 2 WATTR ROW] GROUP BY area"
TOLD = {"types": {"area": "int", "mean": "double"}, "columns": {"area": "k_1", "mean": "s_1"}}
Answers = dict[tuple[int, int | None], float]


def slice_at(number: int) -> Slice:
    return Slice(number * 2 * MINUTE, (number + 1) * 2 * MINUTE)


class World:
    """A workspace whose staging and ledger are written by hand."""

    def __init__(self, root: Path, **queries: str) -> None:
        (root / "queries").mkdir(parents=True)
        (root / "streams.yaml").write_text(STREAMS)
        for name, text in queries.items():
            (root / "queries" / f"{name}.sql").write_text(text)
        self.context = Context(load_workspace(root))
        self.catalog = self.context.catalog
        self._files = 0

    def stage(self, number: int, answers: Answers, ends: list[int], query: str = "means", unit: int = MINUTE) -> None:
        """Stage rows of {(window end in units, group): mean}, as the windows stage does."""
        part = slice_at(number)
        folder = Path(self.catalog.staging("s", part)) / f"_query={query}"
        shutil.rmtree(folder, ignore_errors=True)
        if answers:
            folder.mkdir(parents=True)
            self._files += 1
            pq.write_table(_staged(answers, unit), folder / f"part-{self._files}.parquet")
        details = {"due": 0, "ends": [end * unit for end in ends], **TOLD}
        self.context.ledger.record([Entry(part, "windows", query, "done", len(answers), details=details)])

    def audit(self, number: int, status: Status = "done", query: str = "means") -> None:
        """Enter a verdict on what is staged now."""
        part = slice_at(number)
        one = self.context.workspace.queries[query]
        digest = staged_answers(self.catalog.staging("s", part), one, TOLD).digest
        details = {"staged": digest, **({"why": "gold/means: rule: observed 1"} if status == "refused" else {})}
        self.context.ledger.record([Entry(part, "audit", f"gold/{query}", status, 0, details=details)])

    def publish(self, number: int) -> dict[str, Entry]:
        entries = publish.run(self.context, slice_at(number))
        self.context.ledger.record(entries)
        return {entry.subject: entry for entry in entries}

    def run(self, number: int, answers: Answers, ends: list[int], status: Status = "done") -> Entry:
        self.stage(number, answers, ends)
        self.audit(number, status)
        return self.publish(number)["means"]

    def gold(self, query: str = "means") -> list[dict[str, Any]]:
        rows = DeltaTable(self.catalog.gold(query)).to_pyarrow_table()
        return rows.sort_by([("window_end", "ascending"), ("area", "ascending")]).to_pylist()

    def means(self) -> dict[tuple[int, int | None], tuple[float, int, int]]:
        """(window end, group) → (mean, slice, revision), in minutes and numbers of slices."""
        return {
            (row["window_end"].minute, row["area"]): (row["mean"], row["_slice"].minute // 2, row["_revision"])
            for row in self.gold()
        }


def _staged(answers: Answers, unit: int) -> pa.Table:
    columns = {
        "_window_start": pa.array([(end - 2) * unit for end, _ in answers], pa.int64()),
        "_window_end": pa.array([end * unit for end, _ in answers], pa.int64()),
        TOLD["columns"]["area"]: pa.array([area for _, area in answers], pa.int32()),
        TOLD["columns"]["mean"]: pa.array(list(answers.values()), pa.float64()),
        "another": pa.nulls(len(answers), pa.int64()),
    }
    return pa.table(columns)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world", means=MEANS)


def test_audited_answers_become_gold_with_their_slice_and_revision_0(world: World) -> None:
    entry = world.run(1, {(3, 1): 1.0, (4, 1): 2.0, (4, None): 3.0}, [3, 4])
    assert (entry.status, entry.rows, entry.details) == ("done", 3, {"due": 3, "written": 3})
    assert world.means() == {(3, 1): (1.0, 1, 0), (4, 1): (2.0, 1, 0), (4, None): (3.0, 1, 0)}


def test_a_slice_run_again_leaves_the_table_at_its_version(world: World) -> None:
    world.run(1, {(3, 1): 1.0, (4, 1): 2.0}, [3, 4])
    version = DeltaTable(world.catalog.gold("means")).version()
    assert world.run(1, {(4, 1): 2.0, (3, 1): 1.0}, [3, 4]).rows == 2
    assert DeltaTable(world.catalog.gold("means")).version() == version


def test_a_slice_in_which_nothing_is_due_is_done_with_0_due_and_0_written(world: World) -> None:
    entry = world.run(1, {}, [])
    assert (entry.status, entry.details) == ("done", {"due": 0, "written": 0})
    assert world.gold() == []


def test_windows_without_tuples_are_due_and_have_no_rows(world: World) -> None:
    world.run(1, {(3, 1): 1.0}, [3, 4])
    details = world.run(1, {}, [3, 4]).details
    assert (details["due"], details["written"]) == (0, 0)
    assert details["restated"] == {
        "rows": 1, "windows": 1, "from": "1970-01-01T00:03:00Z", "to": "1970-01-01T00:03:00Z",
        "first": [["1970-01-01T00:03:00Z", 1]],
    }  # fmt: skip
    assert world.gold() == []


def test_an_older_slice_after_a_newer_one_restates_what_reaches_back_and_keeps_its_slice(world: World) -> None:
    # slice 1 first: windows (1,3] and (2,4]; slice 0 later brings tuples for (1,3] too
    world.run(1, {(3, 1): 1.0, (4, 1): 2.0}, [3, 4])
    world.run(0, {(1, 1): 5.0, (2, 1): 6.0, (3, 1): 1.5, (4, 1): 2.0}, [1, 4])
    assert world.means() == {(1, 1): (5.0, 0, 0), (2, 1): (6.0, 0, 0), (3, 1): (1.5, 1, 1), (4, 1): (2.0, 1, 0)}


def test_late_tuples_restate_windows_with_a_higher_revision(world: World) -> None:
    world.run(0, {(1, 1): 5.0, (2, 1): 6.0}, [1, 2])
    world.run(1, {(2, 1): 6.5, (2, 7): 1.0, (3, 1): 1.0, (4, 1): 2.0}, [2, 4])
    assert world.means() == {
        (1, 1): (5.0, 0, 0), (2, 1): (6.5, 0, 1), (2, 7): (1.0, 0, 0), (3, 1): (1.0, 1, 0), (4, 1): (2.0, 1, 0),
    }  # fmt: skip


def test_windows_of_slices_that_are_not_published_wait_for_their_own_slice(world: World) -> None:
    world.run(2, {(5, 1): 5.0, (6, 1): 6.0}, [5, 6])
    world.run(0, {(2, 1): 2.0, (3, 1): 3.0, (5, 1): 5.0}, [1, 5])
    assert list(world.means()) == [(2, 1), (5, 1), (6, 1)]


def test_a_refused_query_keeps_its_gold_and_its_staging(world: World) -> None:
    world.run(0, {(1, 1): 5.0, (2, 1): 6.0}, [1, 2])
    version = DeltaTable(world.catalog.gold("means")).version()
    entry = world.run(1, {(2, 1): -1.0, (3, 1): -1.0}, [2, 4], status="refused")
    assert (entry.status, entry.rows, entry.details) == ("refused", 0, {"why": "gold/means: rule: observed 1"})
    assert DeltaTable(world.catalog.gold("means")).version() == version
    staged = staged_answers(world.catalog.staging("s", slice_at(1)), world.context.workspace.queries["means"], TOLD)
    assert staged.rows["mean"].to_pylist() == [-1.0, -1.0]


def test_a_fixed_slice_publishes(world: World) -> None:
    world.run(0, {(1, 1): -1.0}, [1, 2], status="refused")
    assert world.run(0, {(1, 1): 5.0}, [1, 2]).status == "done"
    assert world.means() == {(1, 1): (5.0, 0, 0)}


def test_a_refused_query_does_not_hold_back_another(tmp_path: Path) -> None:
    world = World(tmp_path / "world", means=MEANS, others=MEANS)
    for query, status in (("means", "refused"), ("others", "done")):
        world.stage(0, {(1, 1): 1.0}, [1, 2], query)
        world.audit(0, status, query)
    assert {name: entry.status for name, entry in world.publish(0).items()} == {"means": "refused", "others": "done"}
    assert len(world.gold("others")) == 1


def test_what_was_staged_after_the_audit_is_not_published(world: World) -> None:
    world.run(0, {(1, 1): 5.0}, [1, 2])
    world.stage(0, {(1, 1): 6.0}, [1, 2])
    with pytest.raises(BadInputError, match="what is staged was not audited; run the stage audit"):
        world.publish(0)
    assert world.means() == {(1, 1): (5.0, 0, 0)}


@pytest.mark.parametrize("missing", ["audit", "windows"])
def test_what_was_not_answered_or_audited_is_not_published(world: World, missing: str) -> None:
    if missing == "audit":
        world.stage(0, {(1, 1): 6.0}, [1, 2])
    else:
        world.audit(0)
    with pytest.raises(BadInputError, match="run the stages windows and audit first"):
        world.publish(0)


def test_windows_over_rows_belong_to_the_slice_of_their_highest_number(tmp_path: Path) -> None:
    world = World(tmp_path / "world", rows=ROWS)
    numbers = {0: (0, 5), 1: (5, 4)}  # slice → first number, how many
    for number, (first, count) in numbers.items():
        reserve_numbers(world, number, first, count)
    # ends, one past the highest number: 4 | 6, 8
    for number, answers, ends in ((0, {(4, 1): 1.0}, [4, 4]), (1, {(6, 1): 2.0, (8, 1): 3.0}, [6, 8])):
        world.stage(number, answers, ends, "rows", unit=1)
        world.audit(number, query="rows")
        world.publish(number)
    rows = [(row["window_start"], row["window_end"], row["_slice"].minute // 2) for row in world.gold("rows")]
    assert rows == [(2, 4, 0), (4, 6, 1), (6, 8, 1)]


def reserve_numbers(world: World, number: int, first: int, count: int) -> None:
    from panelake.numbers import Numbers  # noqa: PLC0415 - used by this test alone

    given = Numbers(world.catalog).reserve("s", slice_at(number), count)
    assert (given.first, given.count) == (first, count)


def mark_dirty(world: World, *parts: Slice) -> DirtySet:
    dirty = DirtySet(world.catalog)
    for part in parts:
        dirty.mark("s", part, [DirtyRange(part, 0, MINUTE, "late", 1)])
    return dirty


def test_what_a_published_slice_changed_is_dirty_no_more(world: World) -> None:
    dirty = mark_dirty(world, slice_at(1), slice_at(2))
    world.run(1, {(3, 1): 1.0}, [3, 4])
    assert [known.slice for known in dirty.pending("s")] == [slice_at(2)]


def test_what_a_refused_slice_changed_stays_dirty(world: World) -> None:
    dirty = mark_dirty(world, slice_at(1))
    world.run(1, {(3, 1): 1.0}, [3, 4], status="refused")
    assert [known.slice for known in dirty.pending("s")] == [slice_at(1)]


def test_a_reader_never_sees_a_refused_or_half_published_slice(world: World, reading: Any) -> None:
    """Slices of 40 rows fail, are tried again and succeed, while a reader looks at every version it can get."""
    groups = range(20)
    seen: list[set[tuple[int, float]]] = []
    with reading(lambda: seen.append(slices_seen(world))):
        for number in range(8):
            ends = [2 * number + 1, 2 * number + 2]
            bad = {(end, group): -1.0 for end in ends for group in groups}
            good = {(end, group): float(number) for end in ends for group in groups}
            world.run(number, bad, ends, status="refused")
            world.run(number, good, ends)
            if number:  # a restatement of the slice before, refused first, then in full
                restated = {(end - 2, group): number - 1 + 0.5 for end in ends for group in groups}
                world.run(number, {**restated, **bad}, [ends[0] - 2, ends[1]], status="refused")
                world.run(number, {**restated, **good}, [ends[0] - 2, ends[1]])
    allowed = [(40, float(number)) for number in range(8)] + [(40, number + 0.5) for number in range(7)]
    assert set().union(*seen) <= set(allowed)
    assert len(set(map(frozenset, seen))) > 3, "the reader saw too little to tell"


def slices_seen(world: World) -> set[tuple[int, float]]:
    """For each value a slice's rows have, how many rows have it."""
    try:
        rows = DeltaTable(world.catalog.gold("means")).to_pyarrow_table()
    except TableNotFoundError:
        return set()
    counts = rows.group_by(["_slice", "mean"]).aggregate([([], "count_all")])
    return {(row["count_all"], row["mean"]) for row in counts.to_pylist()}
