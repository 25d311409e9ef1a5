"""What every figure shares: rows survive their file, verdicts follow the checks, plots are made from rows."""

from __future__ import annotations

import pytest

from panelake.experiments import plot, table
from panelake.experiments.catalog import FIGURES, PAPERS
from panelake.experiments.figure import Check, Figure, Panel, Verdict
from panelake.experiments.table import Row, Table

ROWS = [
    Row("time", 10.0, "mine", 1, 2.0),
    Row("time", 10.0, "mine", 2, 4.0),
    Row("time", 5.0, "mine", 1, 1.0),
    Row("time", 5.0, "other", 1, 1 / 3),
    Row("bars", 'small, and "odd"', "mine", 1, 7.0),
]


def test_rows_come_back_from_their_file(tmp_path):
    path = tmp_path / "x.csv"
    table.write(Table(ROWS), path)
    back = table.read(path)
    assert [row[:-1] for row in back.rows] == [row[:-1] for row in ROWS]
    assert [row.value for row in back.rows] == pytest.approx([row.value for row in ROWS], rel=1e-5)
    table.write(back, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


def test_means_are_taken_over_seeds_and_series_along_the_axis():
    measured = Table(ROWS)
    assert measured.xs("time") == [5.0, 10.0]
    assert measured.mean("time", 10.0, "mine") == 3.0
    assert measured.series("time", "mine") == [1.0, 3.0]
    assert measured.series("time", "other") == [1 / 3]
    assert measured.overall("time", "mine") == 2.0


@pytest.mark.parametrize(
    ("held", "outcome"),
    [((True, True), "holds"), ((True, False), "holds in part"), ((False, False), "does not hold")],
)
def test_a_verdict_is_the_sum_of_its_checks(held, outcome):
    verdict = Verdict(tuple(Check(f"claim {place}", "found", holds, "reason") for place, holds in enumerate(held)))
    assert verdict.outcome == outcome
    assert verdict.why.count("reason") == min(1, held.count(False))
    assert [f"claim {place}" in verdict.why for place in range(len(held))] == [not holds for holds in held]


def test_a_plot_shows_lines_and_bars(tmp_path):
    panels = (Panel("time", "x", "ms", logarithmic=True), Panel("bars", "", "results"))
    figure = Figure("demo", "paper", "title", "claim", panels, lambda _: ROWS, lambda _: [], lambda _: "")
    plot.draw(figure, Table(ROWS), tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_every_figure_of_the_papers_is_there_once():
    names = [figure.name for figure in FIGURES]
    assert len(names) == len(set(names))
    expected = {"spqp-12", "spqp-13", "spqp-table-1", "spqp-table-2", "ring-6"}
    expected |= {f"ep-{number}" for number in (2, 5, 6, 7, 8, 9, 10, 11)}
    expected |= {f"wt-{number}" for number in (4, 5, 6, 7)} | {f"period-{number}" for number in (1, 2, 3)}
    assert set(names) == expected
    assert {figure.paper for figure in FIGURES} == set(PAPERS)
