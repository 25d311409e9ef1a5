from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from panelake import tables
from panelake.ledger import Entry, Ledger
from panelake.report.history import missing_between, read_history
from panelake.slices import Slice


def test_an_empty_warehouse_has_no_history(world: Any) -> None:
    assert read_history(world.catalog) == []


def test_counts_of_a_slice_come_from_the_stages_that_made_them(world: Any) -> None:
    world.record([0])
    (facts,) = read_history(world.catalog)
    assert [facts.counted(name) for name in ("read", "accepted", "filtered", "quarantined", "late")] == [
        1010, 1000, 3, 7, 0,
    ]  # fmt: skip
    assert facts.published == 15
    assert facts.quality == "passed"
    assert facts.total_seconds == pytest.approx(0.5 + 0.6 + 0.7 + 0.8 + 0.9 + 1.0)
    assert facts.freshness == 34_000_000


def test_a_refused_slice_says_why_once_and_publishes_nothing(world: Any) -> None:
    world.record([0], refused=[0])
    (facts,) = read_history(world.catalog)
    assert facts.quality == "refused"
    assert facts.published is None
    assert facts.freshness is None
    assert [(refusal.subject, refusal.why[:11]) for refusal in facts.refusals] == [("gold/speeds", "rule volume")]


def test_a_slice_mended_and_run_again_is_refused_no_more(world: Any) -> None:
    world.record([0], refused=[0])
    part = read_history(world.catalog)[0].slice
    Ledger(world.catalog).record([
        Entry(part, "audit", "gold/speeds", "done", 6),
        Entry(part, "audit", "", "done", 10),
        Entry(part, "publish", "speeds", "done", 15),
        Entry(part, "publish", "", "done", 15),
    ])  # fmt: skip
    (facts,) = read_history(world.catalog)
    assert facts.refusals == ()
    assert facts.published == 15
    assert facts.quality != "refused", "the ledger decides, even over results that were left behind"


def test_a_failed_warning_warns_its_table_and_its_slice(world: Any) -> None:
    world.record([4])
    (facts,) = read_history(world.catalog)
    assert facts.tables == {"bronze/traffic": "warned", "gold/speeds": "passed", "panes/traffic": "passed"}
    assert facts.quality == "warned"


def test_a_slice_that_was_only_ingested_is_not_audited(world: Any) -> None:
    Ledger(world.catalog).record([Entry(Slice(0, 10), "ingest", "traffic", "done", 5, details={"read": 5})])
    (facts,) = read_history(world.catalog)
    assert facts.quality is None
    assert facts.published is None
    assert facts.counted("read") == 5


def test_shedding_is_told_only_by_stages_that_shed(world: Any) -> None:
    details = {"shed": 40, "estimated_accuracy": 0.9, "measured_accuracy": None}
    Ledger(world.catalog).record([
        Entry(Slice(0, 10), "windows", "joined", "done", 5, details=details),
        Entry(Slice(10, 20), "windows", "speeds", "done", 5),
    ])  # fmt: skip
    shedding, plain = read_history(world.catalog)
    assert (shedding.shed, shedding.estimated_accuracy, shedding.measured_accuracy) == (40, 0.9, None)
    assert (plain.shed, plain.estimated_accuracy) == (None, None)


def test_entries_of_rows_recorded_out_of_order_still_count_by_time(world: Any) -> None:
    world.record([0])
    address = world.catalog.ledger("stages")
    rows = tables.open_table(address).to_pyarrow_table().to_pylist()
    older = [{**row, "rows": 99, "recorded_at": row["recorded_at"].replace(year=2020)} for row in rows]
    tables.append(address, pa.Table.from_pylist(older, schema=tables.open_table(address).to_pyarrow_table().schema))
    assert read_history(world.catalog)[0].published == 15


@pytest.mark.parametrize(
    ("parts", "gaps"),
    [
        ([], []),
        ([(0, 5), (5, 10)], []),
        ([(0, 5), (10, 15), (30, 35)], [(5, 10), (15, 30)]),
        ([(0, 20), (5, 10), (20, 25)], []),  # a long slice covers short ones
        ([(0, 5), (0, 20), (25, 30)], [(20, 25)]),
    ],
)
def test_gaps_are_what_no_slice_covers(parts: list[tuple[int, int]], gaps: list[tuple[int, int]]) -> None:
    assert missing_between([Slice(*part) for part in parts]) == [Slice(*gap) for gap in gaps]
