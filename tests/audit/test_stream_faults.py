"""Every default rule of a stream catches the fault it is there for: refused by table, rule, value, failing rows.

Faults are seeded together and audited once; each test asks after one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from panelake.durations import SECOND

from .audit_world import FIRST, QUERIES, Failures, World, sample_of

pytestmark = pytest.mark.spark
REFUSED = dict.fromkeys(["bronze/s", *(f"gold/{query}" for query in QUERIES)], "refused")
ELSEWHERE = "arrow_cast('1970-01-02', 'Timestamp(Microsecond, Some(\"UTC\"))')"


@pytest.fixture(scope="module")
def broken(copied: Callable[[], World]) -> tuple[World, Failures]:
    """Bronze and what ingest recorded of it, broken."""
    world = copied()
    bronze = world.bronze()
    bronze.delete("_seq = 17")
    bronze.update(updates={"_seq": "5"}, predicate="_seq = 6")
    bronze.update(updates={"ts": ELSEWHERE}, predicate="_seq = 30")
    bronze.update(updates={"ts": "NULL"}, predicate="_seq = 31")
    streams = world.context.workspace.streams
    streams["s"] = streams["s"].model_copy(update={"max_quarantined": 0.001})
    world.amend(FIRST, "ingest", "s", quarantined=2, read=125)
    assert world.audit() == REFUSED, "with the stream all its queries are refused"
    return world, world.failures()


def test_a_tuple_lost_from_bronze_is_named_by_its_number(broken: tuple[World, Failures]) -> None:
    failed = broken[1]["bronze/s", "bronze_rows"]
    assert (failed["observed"], failed["expected"], failed["severity"]) == ("119", "120", "blocking")
    assert {"_seq": 17, "times": 0} in sample_of(failed)


def test_a_number_given_twice_and_one_given_to_nobody_are_named(broken: tuple[World, Failures]) -> None:
    failed = broken[1]["bronze/s", "sequence_dense"]
    assert (failed["observed"], failed["expected"]) == ("118", "120")
    assert sample_of(failed) == [{"_seq": 5, "times": 2}, {"_seq": 6, "times": 0}, {"_seq": 17, "times": 0}]


def test_an_event_time_outside_the_slice_and_one_that_is_missing_are_named(broken: tuple[World, Failures]) -> None:
    failed = broken[1]["bronze/s", "event_times"]
    assert (failed["observed"], failed["expected"]) == ("2", "0 (1970-01-01T00:00:00Z <= ts < 1970-01-01T00:02:00Z)")
    assert sorted(row["_seq"] for row in sample_of(failed)) == [30, 31]


def test_tuples_that_went_nowhere_are_counted(broken: tuple[World, Failures]) -> None:
    failed = broken[1]["bronze/s", "conservation"]
    assert (failed["observed"], failed["expected"]) == ("124", "125")
    assert sample_of(failed) == [{"read": 125, "accepted": 120, "filtered": {"speed >= 0": 2}, "quarantined": 2}]


def test_a_quarantined_tuple_that_was_not_kept_is_missed(broken: tuple[World, Failures]) -> None:
    failed = broken[1]["quarantine/s", "quarantine_rows"]
    assert (failed["observed"], failed["expected"]) == ("1", "2")
    assert sample_of(failed) == [{"reason": "event time is NULL", "raw": "{}"}]


def test_too_many_quarantined_tuples_refuse_the_stream(broken: tuple[World, Failures]) -> None:
    share = broken[1]["bronze/s", "quarantine_share"]
    assert (float(share["observed"]), share["expected"]) == (2 / 125, "at most 0.001")
    assert sample_of(share) == [{"reason": "event time is NULL", "raw": "{}"}]


def test_the_message_names_table_rule_value_and_a_failing_row(broken: tuple[World, Failures]) -> None:
    why = "bronze/s: conservation: observed 124, expected 125; for example {'read': 125, 'accepted': 120, "
    assert broken[0].why("bronze/s").startswith(why)
    assert broken[0].why("gold/plain").startswith(f"blocked by {why}")


@pytest.fixture(scope="module")
def broken_panes(copied: Callable[[], World]) -> Failures:
    """A pane of one group dropped, a sum in others changed."""
    world = copied()
    key, total = pane_column(world, "k_"), pane_column(world, "s_sum")
    gone = f"{key} = 2 AND _unit = {40 * SECOND} AND _slice = '1970-01-01T00:00:00Z'"
    assert world.panes().delete(gone)["num_deleted_rows"]
    world.panes().update(updates={total: f"{total} + 0.001"}, predicate="_unit = 0")
    assert world.audit() == REFUSED
    return world.failures()


def pane_column(world: World, kind: str) -> str:
    """The name of the first pane column of a kind."""
    return next(field.name for field in world.panes().schema().fields if field.name.startswith(kind))


def test_a_dropped_pane_is_named_by_group_and_unit(broken_panes: Failures) -> None:
    failed = broken_panes["panes/s", "pane_counts(speeds)"]
    assert int(failed["observed"]) < int(failed["expected"]) == 120
    assert [(row["area"], row["_unit"], row["panes"]) for row in sample_of(failed)] == [(2, 40 * SECOND, 0)]


def test_a_corrupted_sum_in_a_pane_is_told_by_state(broken_panes: Failures) -> None:
    failed = broken_panes["panes/s", "pane_states(speeds)"]
    states: dict[str, Any] = {row["state"]: row for row in sample_of(failed)}
    assert states["sum(speed)"]["panes"] != states["sum(speed)"]["tuples"]
    assert int(failed["observed"]) == len(states)
