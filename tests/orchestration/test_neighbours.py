from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from panelake.context import Context
from panelake.flow import STAGES
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.orchestration.neighbours import waits_for
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace

MIDNIGHT = parse_instant("2026-01-01T00:00:00Z")
FIVE_MINUTES = 300_000_000


def at(number: int) -> Slice:
    return Slice(MIDNIGHT + number * FIVE_MINUTES, MIDNIGHT + (number + 1) * FIVE_MINUTES)


def running(*numbers: int) -> Callable[[list[Slice]], bool]:
    parts = {at(number) for number in numbers}
    return lambda asked: not parts.isdisjoint(asked)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    folder = tmp_path / "traffic"
    shutil.copytree(example_workspace("traffic"), folder, ignore=shutil.ignore_patterns("warehouse", "landing"))
    return Context(load_workspace(folder))


def enter(context: Context, stage: str, *numbers: int) -> None:
    context.ledger.record([Entry(at(number), stage, "", "done", 1) for number in numbers])


def number(context: Context, *numbers: int) -> None:
    for one in numbers:
        Numbers(context.catalog).reserve("traffic", at(one), 10)


def test_the_first_slice_of_all_waits_for_none(context: Context) -> None:
    assert waits_for(context, at(7), "ingest", running(5, 6, 8)) is None


#   ingested  0 1 . . .        the slice 4 waits while 2 or 3 is under way
@pytest.mark.parametrize("under_way", [2, 3])
def test_a_slice_waits_for_runs_between_it_and_what_is_ingested(context: Context, under_way: int) -> None:
    number(context, 0, 1)
    assert (
        waits_for(context, at(4), "ingest", running(under_way, 4))
        == "a slice between it and what is ingested, whose run is under way"
    )


@pytest.mark.parametrize("under_way", [0, 1, 4, 5])
def test_a_slice_waits_for_no_other_run(context: Context, under_way: int) -> None:
    number(context, 0, 1)
    assert waits_for(context, at(4), "ingest", running(under_way)) is None


def test_history_waits_for_the_newer_slice_it_is_numbered_after(context: Context) -> None:
    number(context, 10)
    assert waits_for(context, at(7), "ingest", running(9)) is not None
    assert waits_for(context, at(7), "ingest", running(6)) is None


def test_a_slice_next_to_what_is_ingested_waits_for_none(context: Context) -> None:
    number(context, 5)
    assert waits_for(context, at(6), "ingest", running(4, 5, 7)) is None
    assert waits_for(context, at(4), "ingest", running(3, 5, 7)) is None


def test_a_far_slice_asks_for_a_bounded_number_of_runs(context: Context) -> None:
    asked: list[Slice] = []
    number(context, 0)
    waits_for(context, at(1_000_000), "ingest", lambda parts: bool(asked.extend(parts)))
    assert asked[-1] == at(999_999)
    assert len(asked) < 100


@pytest.mark.parametrize("other", [2, 4])
def test_publishing_waits_for_the_audit_of_slices_under_way(context: Context, other: int) -> None:
    enter(context, "ingest", 1, 3, other)
    enter(context, "audit", 1, 3)
    waited = waits_for(context, at(3), "publish", running(other, 3))
    assert waited == "the audit of a slice that answers may reach into, whose run is under way"


def test_of_two_slices_under_way_each_can_be_audited(context: Context) -> None:
    enter(context, "ingest", 1, 2)
    assert [waits_for(context, at(one), "audit", running(1, 2)) for one in (1, 2)] == [None, None]
    enter(context, "audit", 1, 2)
    assert [waits_for(context, at(one), "publish", running(1, 2)) for one in (1, 2)] == [None, None]


def test_publishing_does_not_wait_for_a_slice_whose_run_is_over(context: Context) -> None:
    enter(context, "ingest", 1, 2)
    assert waits_for(context, at(2), "publish", running(2)) is None


def test_a_refused_slice_is_audited_and_not_waited_for(context: Context) -> None:
    enter(context, "ingest", 1, 2)
    context.ledger.record([Entry(at(1), "audit", "", "refused", 0)])
    assert waits_for(context, at(2), "publish", running(1)) is None


def test_a_far_slice_is_not_waited_for(context: Context) -> None:
    enter(context, "ingest", 1, 1_000)
    assert waits_for(context, at(1_000), "publish", running(1)) is None


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES if stage.name not in {"ingest", "publish"}])
def test_other_stages_wait_for_none(context: Context, stage: str) -> None:
    number(context, 0)
    enter(context, "ingest", 0, 1, 4, 6)
    assert waits_for(context, at(5), stage, running(0, 1, 2, 3, 4, 6)) is None
