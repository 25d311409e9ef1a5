"""What a soak is judged by: each thing that may grow is found when it does, and not when it only varies."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from panelake.benchmarks.soak import write
from panelake.benchmarks.soak_plot import draw
from panelake.benchmarks.soak_verdict import Row, judged, slope, thirds

CADENCE = 20.0


def steady(slices: int = 30) -> list[Row]:
    """Latency, memory and files that go up and down, and stay."""
    return [
        Row(
            number,
            due=number * CADENCE,
            began=number * CADENCE + 0.5,
            published=number * CADENCE + 9 + number % 3,
            maintenance=4.0 if number % 6 == 5 else 0.0,
            memory={"server": 2_000 + 80 * (number % 2), "client": 400 + number % 5},
            files={"bronze/s": 3 + number % 6, "gold/q": 1 + number % 10},
        )
        for number in range(slices)
    ]


def failed(rows: list[Row]) -> set[str]:
    return {check.name for check in judged(rows, CADENCE) if not check.holds}


def test_what_varies_and_stays_holds():
    assert failed(steady()) == set()


def test_memory_that_grows_in_the_second_half_is_found_by_process():
    rows = [replace(row, memory={**row.memory, "client": 400 + 8 * row.number}) for row in steady()]
    assert failed(rows) == {"memory of the client is flat"}


def test_memory_that_grew_in_the_first_half_alone_is_no_leak():
    rows = [replace(row, memory={**row.memory, "server": 500 + 100 * min(row.number, 14)}) for row in steady()]
    assert failed(rows) == set()


def test_a_few_megabytes_of_a_small_process_are_no_leak():
    rows = [replace(row, memory={"server": 2_000, "client": 60 + row.number}) for row in steady()]
    assert failed(rows) == set()


def test_latency_that_rises_from_third_to_third_is_found():
    rows = [replace(row, published=row.due + 6 + 0.2 * row.number) for row in steady()]
    assert failed(rows) == {"latency is stable"}


def test_one_slow_slice_is_no_trend():
    rows = steady()
    rows[-1] = replace(rows[-1], published=rows[-1].due + 60)
    assert failed(rows) == set()


def test_slices_that_are_ever_later_do_not_keep_up():
    rows = [replace(row, published=row.due + 15 + row.number) for row in steady()]
    assert failed(rows) == {"latency is stable", "slices keep up"}


def test_slices_that_are_late_from_the_start_do_not_keep_up():
    rows = [replace(row, published=row.due + 25) for row in steady()]
    assert failed(rows) == {"slices keep up"}


def test_files_that_no_maintenance_gathers_are_found_by_table():
    rows = [replace(row, files={**row.files, "gold/q": 2 * row.number}) for row in steady()]
    assert failed(rows) == {"files of gold/q are bounded"}


def test_a_run_of_few_slices_tells_nothing():
    assert failed(steady(5)) == {"slices"}


def test_the_figures_are_told():
    [check] = [one for one in judged(steady(), CADENCE) if one.name == "latency is stable"]
    assert check.document() == {"holds": True, "first": 10.0, "middle": 10.0, "last": 10.0, "allowed": 13.0}


def test_thirds_hold_every_row():
    assert [len(part) for part in thirds(steady(8))] == [2, 2, 4]


@pytest.mark.parametrize(("ys", "expected"), [([1, 1, 1], 0), ([1, 2, 3], 0.5), ([3, 2, 1], -0.5)])
def test_the_slope_is_that_of_a_line(ys, expected):
    assert slope([0, 2, 4], ys) == pytest.approx(expected)
    assert slope([2, 2, 2], ys) == 0


def test_rows_are_written_and_drawn(tmp_path):
    write(steady(6), tmp_path / "soak.csv")
    with (tmp_path / "soak.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["latency_seconds"] for line in lines] == ["9.0", "10.0", "11.0"] * 2
    assert lines[5]["maintenance_seconds"] == "4.0"
    assert {line["server MB"] for line in lines} == {"2000", "2080"}
    draw(steady(6), tmp_path / "soak.png", "a test's")
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
