"""The page in the repository says what its CSV files say, and these what model and simulation make of its rates."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import panelake
from panelake import cli
from panelake.benchmarks import capacity
from panelake.capacity import page
from panelake.capacity import rates as kept
from panelake.capacity.pictures import PICTURES
from panelake.capacity.study import TABLES
from panelake.experiments import table

from .paper import RATES

FOLDER = Path(panelake.__file__).parents[2] / "docs" / "capacity"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in [*FOLDER.glob("*.csv"), FOLDER / page.RATES_FILE]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_the_page_agrees_with_the_files():
    assert (FOLDER / page.NAME).read_text(encoding="utf-8") == page.text(FOLDER)


@pytest.mark.parametrize("name", TABLES)
def test_the_files_agree_with_the_rates(name):
    computed, there = TABLES[name](kept.read(FOLDER / page.RATES_FILE).rates), table.read(FOLDER / f"{name}.csv")
    assert [row[:-1] for row in there.rows] == [(row.panel, _as_read(row.x), *row[2:-1]) for row in computed.rows]
    for row, other in zip(there.rows, computed.rows, strict=True):
        assert row.value == pytest.approx(other.value, rel=1e-4), row


def _as_read(x: float | str) -> float | str:
    return float(f"{x}") if isinstance(x, float) else x


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_number_changes_the_page(name, copy):
    found = table.read(copy / f"{name}.csv")
    table.write(table.Table(row._replace(value=row.value * 2 + 1) for row in found.rows), copy / f"{name}.csv")
    # Swept rates are drawn alone.
    assert (page.text(copy) == page.text(FOLDER)) == (name == "cores")


def test_other_rates_make_another_page(copy):
    measured = kept.read(copy / page.RATES_FILE)
    kept.write(kept.Measured(measured.machine, RATES), copy / page.RATES_FILE)
    assert page.text(copy) != page.text(FOLDER)


def test_every_rate_is_told_with_its_unit():
    assert {*page.UNITS, "fixed", "a_query"} == set(vars(RATES))


def test_what_was_measured_tells_its_machine_and_took_minutes():
    machine = json.loads((FOLDER / page.RATES_FILE).read_text(encoding="utf-8"))["machine"]
    assert set(machine) == {"cores", "memory_gb", "python", "tuples", "seconds", "load", "slice"}
    assert 30 < machine["seconds"] < 600


def test_the_model_tells_what_a_slice_took_that_was_measured():
    """Within a half: rates are of processor time, and the clock also saw what else the machine did."""
    measured = kept.read(FOLDER / page.RATES_FILE)
    assert page.model_seconds(measured) == pytest.approx(measured.machine["slice"]["seconds"], rel=0.5)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda one: one.name)
def test_every_picture_is_there_and_shown(picture):
    assert (FOLDER / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
    assert f"({picture.name}.png)" in (FOLDER / page.NAME).read_text(encoding="utf-8")
    found = table.read(FOLDER / f"{picture.name}.csv")
    assert all(found.contenders(panel.name) for panel in picture.panels)


def test_the_command_makes_everything_from_given_rates(tmp_path, capsys):
    out = tmp_path / "out"
    rates = FOLDER / page.RATES_FILE
    assert cli.main(["bench", "capacity", "--rates", str(rates), "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["capacity"]["page"] == str(out / page.NAME)
    assert {path.name for path in out.iterdir()} == {path.name for path in FOLDER.iterdir()}
    assert (out / page.NAME).read_text(encoding="utf-8") == (FOLDER / page.NAME).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--rates", "none.json"], "holds no rates"),
        (["--rates", "none.json", "--out", __file__], "is a file"),
    ],
)
def test_bad_paths_are_refused_before_anything_is_written(arguments, told, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", "capacity", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_a_session_nothing_is_measured(tmp_path):
    with pytest.raises(ValueError, match="measured with Spark"):
        capacity.run(None, tmp_path, 1, None, None)


def test_the_page_names_no_path_of_a_machine():
    assert not re.search(r"/(home|tmp|work|root)/", (FOLDER / page.NAME).read_text(encoding="utf-8"))
