"""The page in the repository says what the CSV files beside it say, and verdicts change when these do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import panelake
from panelake.experiments import page, table
from panelake.experiments.catalog import FIGURES
from panelake.experiments.table import Row, Table

FOLDER = Path(panelake.__file__).parents[2] / "docs" / "papers"
BY_NAME = {figure.name: figure for figure in FIGURES}


def committed(name: str) -> Table:
    return table.read(FOLDER / f"{name}.csv")


def exchanged(measured: Table, one: str, other: str) -> Table:
    """The same rows with two contenders' names exchanged."""
    names = {one: other, other: one}
    return Table(
        Row(row.panel, row.x, names.get(row.contender, row.contender), row.seed, row.value) for row in measured.rows
    )


def test_the_page_agrees_with_the_files():
    assert (FOLDER / page.NAME).read_text(encoding="utf-8") == page.text(FOLDER)


def test_a_changed_number_changes_the_page(tmp_path):
    for path in [*FOLDER.glob("*.csv"), FOLDER / "run.json"]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    measured = table.read(tmp_path / "ep-7.csv")
    table.write(Table(row._replace(value=row.value / 2) for row in measured.rows), tmp_path / "ep-7.csv")
    assert page.text(tmp_path) != page.text(FOLDER)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_figure_has_its_rows_its_picture_and_several_seeds(name):
    measured = committed(name)
    for panel in BY_NAME[name].panels:
        assert measured.contenders(panel.name)
    assert (FOLDER / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(measured.seeds()) >= 2 or name.startswith("period-")
    assert name in json.loads((FOLDER / "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "winner", "loser"),
    [
        ("ep-7", "EP", "random"),
        ("wt-7", "A-Greedy", "static"),
        ("spqp-12", "SPQP", "BINT"),
        ("spqp-13", "SPQP", "BINT"),
    ],
)
def test_a_verdict_follows_the_numbers(name, winner, loser):
    figure, measured = BY_NAME[name], committed(name)
    before, after = figure.verdict(measured), figure.verdict(exchanged(measured, winner, loser))
    assert [check.holds for check in before.checks] != [check.holds for check in after.checks]
    assert before.measured != after.measured
