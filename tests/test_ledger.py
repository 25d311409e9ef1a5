from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from panelake import tables
from panelake.catalog import Catalog
from panelake.ledger import Entry, Ledger
from panelake.slices import Slice

FIRST, SECOND, THIRD = (Slice(start, start + 60) for start in (0, 60, 120))


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return Ledger(Catalog(str(tmp_path / "warehouse")))


def test_a_ledger_that_is_not_there_yet_has_no_entries(ledger):
    assert ledger.entries() == []
    assert ledger.of_slice(FIRST) == {}
    assert ledger.done("ingest") == set()


def test_the_newest_entry_counts(ledger):
    ledger.record([Entry(FIRST, "audit", "", "refused", 3, details={"why": "too few"})])
    ledger.record([Entry(FIRST, "audit", "", "done", 3)])
    assert ledger.entries() == [Entry(FIRST, "audit", "", "done", 3)]
    assert ledger.done("audit") == {FIRST}


def test_the_newest_entry_counts_also_after_the_clock_was_set_back(ledger, monkeypatch):
    class Tomorrow(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.now(zone) + timedelta(days=1)

    with monkeypatch.context() as patch:
        patch.setattr(tables, "datetime", Tomorrow)
        ledger.record([Entry(FIRST, "audit", "", "refused", 3)])
    for rows in (4, 5):
        ledger.record([Entry(FIRST, "audit", "", "done", rows)])
        assert [entry.rows for entry in ledger.entries()] == [rows]


def test_a_stage_is_done_only_as_a_whole(ledger):
    ledger.record([Entry(FIRST, "publish", "one", "done", 3), Entry(FIRST, "publish", "", "refused", 3)])
    assert ledger.done("publish") == set()


def test_entries_come_by_slice_stage_and_subject(ledger):
    ledger.record([Entry(SECOND, "ingest", "traffic", "done", 2, 1.5, {"read": 2})])
    ledger.record([Entry(FIRST, "ingest", "traffic", "done", 1), Entry(FIRST, "panes", "traffic", "done", 6)])
    assert [entry.slice for entry in ledger.entries(stage="ingest")] == [FIRST, SECOND]
    assert set(ledger.of_slice(FIRST)) == {("ingest", "traffic"), ("panes", "traffic")}
    assert ledger.of_slice(SECOND)["ingest", "traffic"].details == {"read": 2}


def test_entries_within_a_range_are_those_of_slices_that_overlap_it(ledger):
    parts = [Slice(start, start + 60) for start in range(0, 600, 60)]
    ledger.record([Entry(part, "ingest", "traffic", "done", 1) for part in [*parts, Slice(0, 600)]])
    found = ledger.entries(stage="ingest", subject="traffic", within=Slice(119, 180))
    assert [entry.slice for entry in found] == [Slice(0, 600), parts[1], parts[2]]


def test_entries_of_many_writers_at_once_are_all_kept(ledger):
    parts = [Slice(start, start + 60) for start in range(0, 60 * 24, 60)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda part: ledger.record([Entry(part, "ingest", "", "done", 1)]), parts))
    assert ledger.done("ingest") == set(parts)


def test_what_other_slices_recorded_is_counted_apart_from_ones_own(ledger):
    ledger.record([Entry(FIRST, "panes", "traffic", "done", 6), Entry(FIRST, "panes", "", "done", 6)])
    ledger.record([Entry(SECOND, "panes", "", "done", 6), Entry(SECOND, "windows", "", "done", 6)])
    assert ledger.times_recorded(["panes", "publish"], apart_from=FIRST) == 1
    assert ledger.times_recorded(["panes", "publish"], apart_from=THIRD) == 2
    ledger.record([Entry(SECOND, "panes", "", "done", 6)])
    assert ledger.times_recorded(["panes", "publish"], apart_from=FIRST) == 2


def test_writers_that_count_each_other_enter_one_after_another(ledger):
    """Each enters only what knows of all before it: of eight at once seven must look again."""
    parts = [Slice(start, start + 60) for start in range(0, 480, 60)]
    looks = []

    def publish(part):
        entered = False
        while not entered:
            known = ledger.times_recorded(["publish"], apart_from=part)
            looks.append(known)
            entered = ledger.record_unless_overtaken(
                [Entry(part, "publish", "", "done", known)], ["publish"], part, known
            )

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(publish, parts))
    assert sorted(entry.rows for entry in ledger.entries(stage="publish")) == list(range(8))
    assert len(looks) >= 8
