"""Quality results: replaced slice by slice, told as text, fast whatever the history."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from deltalake import DeltaTable

from panelake import tables
from panelake.durations import MINUTE
from panelake.quality import results
from panelake.quality.metric import Row, Verdict, equal
from panelake.slices import Slice


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "quality" / "results")


def slice_at(number: int) -> Slice:
    return Slice(number * MINUTE, (number + 1) * MINUTE)


def verdict(observed: int = 1, sample: tuple[Row, ...] = (), rule: str = "rows") -> Verdict:
    return Verdict(equal("gold/q", rule, observed, 1), observed == 1, sample, 0.5)


def test_a_verdict_becomes_a_row_of_the_contract(address: str) -> None:
    sample = ({"window_end": datetime(2026, 1, 1, tzinfo=UTC), "price": Decimal("1.50"), "area": None},)
    results.record(address, slice_at(1), [verdict(2, sample)])
    (row,) = results.of_slice(address, slice_at(1)).to_pylist()
    start, end = row.pop("slice_start"), row.pop("slice_end")
    assert (start.minute, end.minute) == (1, 2)
    assert json.loads(row.pop("sample")) == [{"window_end": "2026-01-01T00:00:00+00:00", "price": "1.50", "area": None}]
    assert row == {
        "table": "gold/q", "rule": "rows", "severity": "blocking", "success": False, "observed": "2", "expected": "1",
        "seconds": 0.5,
    }  # fmt: skip


def test_a_slice_audited_again_replaces_its_results_and_no_others(address: str) -> None:
    for number in range(3):
        results.record(address, slice_at(number), [verdict(2), verdict(rule="more")])
    results.record(address, slice_at(1), [verdict()])
    assert [results.of_slice(address, slice_at(number)).num_rows for number in range(3)] == [2, 1, 2]


def test_a_longer_slice_with_the_same_start_is_another_slice(address: str) -> None:
    results.record(address, slice_at(0), [verdict()])
    results.record(address, Slice(0, 5 * MINUTE), [verdict(2)])
    assert results.of_slice(address, slice_at(0))["success"].to_pylist() == [True]


def test_no_results_yet_are_no_rows(address: str) -> None:
    assert results.of_slice(address, slice_at(0)).num_rows == 0


def test_four_writers_lose_nothing(address: str) -> None:
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(lambda number: results.record(address, slice_at(number), [verdict()]), range(24)))
    assert DeltaTable(address).to_pyarrow_table().num_rows == 24


def test_files_are_gathered_so_that_many_slices_are_read_fast(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_FILES", 10)
    for number in range(35):
        results.record(address, slice_at(number), [verdict(number)])
        assert len(DeltaTable(address).file_uris()) <= 10
    results.record(address, slice_at(3), [verdict(100)])
    observed = [results.of_slice(address, slice_at(number))["observed"].to_pylist() for number in range(35)]
    assert observed == [[str(100 if number == 3 else number)] for number in range(35)]
