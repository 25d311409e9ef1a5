"""The measuring's own arithmetic, and the parts of it that need no Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deltalake import DeltaTable

from panelake.benchmarks import capacity_parts, capacity_rates
from panelake.benchmarks.capacity_rates import (
    ALL,
    TINY,
    Slices,
    _by_query,
    _fixed,
    _large,
    _more,
    _pane_seconds,
    _sound,
    measure,
)
from panelake.benchmarks.capacity_slices import Ran, Took
from panelake.errors import BadInputError, TransientError
from panelake.ledger import Entry
from panelake.slices import Slice

from .paper import RATES

ENTRY = Entry(
    Slice(0, 300_000_000), "ingest", "cars", "done", 9, details={"accepted": 9, "first": 0, "event_times": [1, 2]}
)


def ran(tuples: int, panes: int = 30, *, server: float = 1.0, seconds: float = 1.0, entries: int = 20) -> Ran:
    """Panes take 1 µs a tuple and 2 µs a row beside one second; every other stage what is given."""
    one = Took(seconds, server, 2.0, shuffled=0, written=0, rows=panes)
    took = dict.fromkeys(ALL, one)
    took["panes"] = replace(one, server=1 + tuples * 1e-6 + panes * 2e-6)
    return Ran(
        tuples, 20.0 * tuples, took, commits=entries // 2, full_reads=5, ledger_rows=entries, pane_reads=10.0 * panes
    )


MEASURED = Slices(
    tiny=[ran(TINY, seconds=3.0, entries=40), ran(TINY, seconds=2.8, entries=40)],
    large=[ran(3_000_000, 5_000, server=9.0), ran(3_000_000, 5_000, server=7.0)],
    many=ran(1_000_000, 100_000, server=4.0),
    few_queries=[ran(TINY, seconds=1.3, entries=24), ran(TINY, seconds=1.2, entries=24)],
    join_tiny=ran(2 * TINY, seconds=0.7),
    join_large=ran(2_000_000),
    in_order_tiny=ran(TINY),
    in_order_large=ran(3_000_000),
    entry=ENTRY,
)


def test_a_rate_is_what_the_quickest_large_slice_took_more_than_the_quickest_tiny_one():
    assert _large(MEASURED, "ingest") == pytest.approx(6.0)
    assert _more(MEASURED, "windows", lambda took: took.processor) == pytest.approx(3.0)


def test_tuples_and_rows_of_panes_are_told_apart():
    assert _pane_seconds(MEASURED) == pytest.approx((1e-6, 2e-6))


def test_queries_and_what_is_there_without_any_are_told_apart():
    """Ten queries take 2.8 s and two 1.2 s: 0.2 s each, and 0.8 s without."""
    fixed, a_query = _fixed(MEASURED)
    assert a_query["windows"] == pytest.approx(0.2)
    assert fixed["windows"] == pytest.approx(0.8)
    assert fixed["join"] == 0.7
    assert _by_query(MEASURED, lambda one: one.ledger_rows) == pytest.approx((20, 2))


def test_a_difference_that_noise_made_negative_is_no_rate():
    assert _sound(RATES) == RATES
    with pytest.raises(TransientError, match="audit_tuples was measured as -5"):
        _sound(replace(RATES, audit_tuples=-5.0))


def test_only_the_local_server_s_processor_seconds_are_known(monkeypatch, tmp_path):
    monkeypatch.setenv("PANELAKE_HOME", str(tmp_path))
    with pytest.raises(BadInputError, match="local server"):
        measure(None, 1_000)


def test_the_memory_of_files_costs_something_for_each(tmp_path):
    costs = capacity_parts.file_costs(tmp_path)
    assert 1e-7 < costs.known < 1e-2
    assert 1e-10 < costs.pair < 1e-4


def test_history_costs_something_for_each_slice(tmp_path, monkeypatch):
    monkeypatch.setattr(capacity_parts, "PAST_SLICES", 300)
    costs = capacity_parts.history_costs(tmp_path, ENTRY, rows=20)
    assert 1e-7 < costs.entry < 1e-2
    assert 1e-7 < costs.number_row < 1e-2
    assert 0.001 < costs.number < 5
    assert costs.row_bytes > 10


def test_a_log_lists_files_that_a_reader_skips(tmp_path):
    address = capacity_parts._logged(tmp_path / "log", 50)
    table = DeltaTable(address)
    assert len(table.file_uris()) == 50
    actions = table.get_add_actions(flatten=True)
    assert "max._slice" in actions.schema.names


def test_too_few_tuples_are_refused_before_anything_is_run(monkeypatch):
    monkeypatch.setattr(capacity_rates, "load_record", lambda: "a server")
    with pytest.raises(BadInputError, match="--tuples 1000 is too few"):
        measure(None, 1_000)
