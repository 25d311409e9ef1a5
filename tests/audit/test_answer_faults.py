"""Every default rule of answers catches the fault it is there for: refused by table, rule, value, failing rows.

Each query is broken in its own way, all are audited once; each test asks after one fault.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from panelake.durations import MINUTE, SECOND

from .audit_world import FIRST, Failures, World, sample_of

pytestmark = pytest.mark.spark
SOUND = {"bronze/s": "done", "gold/plain": "done"}
BROKEN = dict.fromkeys(["gold/speeds", "gold/hours", "gold/many", "gold/rows", "gold/ranges"], "refused")


@pytest.fixture(scope="module")
def world(copied: Callable[[], World]) -> World:
    world = copied()
    world.restage("speeds", lambda rows: rows.slice(1))
    assert 0 < world.staged("many").num_rows < 6, "HAVING must drop some rows for this test to tell anything"
    world.restage("many", lambda rows: pa.concat_tables([rows] * 20))
    world.change("rows", 0, "n", lambda value: value + 1)
    world.shift("rows", "fastest", 0.25)
    world.shift("hours", "mean", 0.25)
    world.amend(FIRST, "windows", "hours", ends=[MINUTE])
    world.change("ranges", 0, "cars", lambda _: 0)
    world.change("ranges", 1, "slowest", lambda _: 1e6)
    world.change("ranges", 2, "_window_end", lambda end: end + SECOND)
    assert world.audit() == SOUND | BROKEN, "the stream and a sound query pass"
    return world


@pytest.fixture(scope="module")
def failures(world: World) -> Failures:
    return world.failures()


def test_a_staged_row_that_is_missing_is_named_by_window_and_group(
    copied: Callable[[], World], failures: Failures
) -> None:
    sound = copied()
    gone = sound.staged("speeds").slice(0, 1).to_pylist()[0]
    area, cars = (gone[sound.staged_column("speeds", column)] for column in ("area", "cars"))
    failed = failures["gold/speeds", "rows_due"]
    assert int(failed["observed"]) == int(failed["expected"]) - 1
    (row,) = sample_of(failed)
    assert (row["area"], row["staged"], row["due"]) == (area, None, cars)
    assert row["window_end"].startswith("1970-01-01T00:0")
    staged = failures["gold/speeds", "rows_staged"]
    assert int(staged["observed"]) == int(staged["expected"]) - 1


def test_a_row_that_having_drops_is_not_missed_and_one_too_many_is(failures: Failures) -> None:
    assert failures["gold/many", "rows_due"]["expected"] == "at most 6: HAVING may drop any"


def test_a_window_that_is_there_twice_is_named_by_group(failures: Failures) -> None:
    failed = failures["gold/many", "unique_windows"]
    assert failed["expected"] == "0 ((window_end, area) is unique)"
    assert {row["times"] for row in sample_of(failed)} == {20}
    assert {"window_end", "area"} < sample_of(failed)[0].keys()


def test_a_corrupted_count_is_told_by_column(failures: Failures) -> None:
    totals = sample_of(failures["gold/rows", "window_totals"])[0]
    assert (totals["column"], totals["staged"] - totals["expected"]) == ("n", 1)


@pytest.mark.parametrize(("query", "column"), [("rows", "fastest"), ("hours", "mean")])
def test_answers_that_differ_from_a_raw_recompute_are_shown_with_window_and_group(
    failures: Failures, query: str, column: str
) -> None:
    rows = sample_of(failures[f"gold/{query}", "recompute"])
    shifted = [row for row in rows if row["column"] == column]
    assert shifted
    for row in shifted:
        assert set(row) - {"area"} == {"window_end", "column", "staged", "recomputed"}
        assert ("area" in row) == (query != "hours")
        assert row["staged"] == pytest.approx(row["recomputed"] + 0.25)


def test_a_window_of_the_slice_that_was_not_due_is_missed(failures: Failures) -> None:
    failed = failures["gold/hours", "windows_due"]
    assert (failed["observed"], sample_of(failed)) == ("1", [{"k": 2}])


def test_a_window_that_was_not_due_is_shown(failures: Failures) -> None:
    failed = failures["gold/hours", "windows_in_range"]
    assert failed["observed"] == "1"
    assert sample_of(failed)[0]["window_end"] == "1970-01-01T00:02:00+00:00"


@pytest.mark.parametrize(
    ("rule", "column", "wrong"), [("value_ranges", "cars", 0), ("value_order", "slowest", 1e6)], ids=["count", "least"]
)
def test_a_value_that_cannot_be_is_shown_with_its_row(failures: Failures, rule: str, column: str, wrong: float) -> None:
    failed = failures["gold/ranges", rule]
    assert failed["observed"] == "1"
    (row,) = sample_of(failed)
    assert row[column] == wrong
    assert {"window_end", "area"} < row.keys()


def test_a_shifted_window_is_shown(failures: Failures) -> None:
    failed = failures["gold/ranges", "windows_on_grid"]
    (row,) = sample_of(failed)
    assert row["window_end"].endswith(":01+00:00")


def test_the_message_names_table_rule_value_and_a_failing_row(world: World) -> None:
    why = world.why("gold/hours")
    assert why.startswith("gold/hours: windows_due: observed 1, expected 0 (each of the slice's 2 window ends is due)")
    assert why.endswith("; for example {'k': 2}")
