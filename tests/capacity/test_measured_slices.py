"""The slices that are measured are what the rates take them for: so many panes, reads, answers, bytes moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from panelake.benchmarks import capacity_parts
from panelake.benchmarks.capacity_slices import joined, paned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_slice_of_cars_tells_what_it_took(spark: SparkSession, tmp_path):
    """Twenty groups in five units; windows of one and of two minutes, and so of 0.2 and 0.4 slices before."""
    world = paned(spark, tmp_path / "cars", 2)
    first, second = world.run(4_000, 20), world.run(8_000, 20)
    assert (first.pane_rows, second.pane_rows) == (100, 100)
    assert (first.pane_reads, second.pane_reads) == (200, pytest.approx(260))
    assert second.took["publish"].rows == 2 * 5 * 20
    assert second.took["ingest"].rows == second.tuples == 8_000
    assert second.took["ingest"].written > first.took["ingest"].written > 0
    assert all(took.seconds > 0 for took in second.took.values())
    assert second.took["ingest"].server > 0
    # Four files that mingle in time are moved to be numbered, and some bytes a tuple at least.
    assert second.took["ingest"].shuffled > 8_000
    assert second.ledger_rows > 10
    assert second.commits >= 5
    assert second.full_reads > 0


def test_what_lands_in_time_order_is_not_moved(spark: SparkSession, tmp_path):
    world = paned(spark, tmp_path / "ordered", 1, in_order=True)
    ran = world.run(8_000, 20, ("ingest",))
    assert ran.took["ingest"].rows == 8_000
    assert ran.took["ingest"].shuffled < 8_000


def test_a_join_finds_pairs(spark: SparkSession, tmp_path):
    ran = joined(spark, tmp_path / "pairs").run(2_000, 2_000, ("ingest", "join"))
    assert ran.tuples == 4_000
    assert ran.took["join"].rows > 500
    assert ran.took["join"].shuffled > 4_000


def test_parts_of_spark_cost_something(spark: SparkSession, tmp_path, monkeypatch):
    monkeypatch.setattr(capacity_parts, "TASKS", 40)
    assert 0 < capacity_parts.task_seconds(spark) < 5
    address = capacity_parts._logged(tmp_path / "log", 20)
    capacity_parts._none_found(spark, address)
