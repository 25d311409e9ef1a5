from __future__ import annotations

import json

import pytest

from panelake import cli


def test_an_unknown_figure_is_refused_with_the_list_and_nothing_is_written(tmp_path, capsys):
    out = tmp_path / "out"
    assert cli.main(["experiments", "ep-99", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "'ep-99'" in said
    assert "ep-7" in said
    assert not out.exists()


def test_a_file_is_no_place_for_figures(tmp_path, capsys):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert cli.main(["experiments", "period-1", "--out", str(tmp_path / "out")]) == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_figures_are_measured_drawn_judged_and_put_on_a_page(tmp_path, capsys, options):
    assert cli.main(["experiments", "period-1", "period-2", "--quick", "--out", str(tmp_path), *options]) == 0
    said = capsys.readouterr().out
    for name in ("period-1", "period-2"):
        assert (tmp_path / f"{name}.csv").read_text(encoding="utf-8").startswith("panel,x,contender,seed,value\n")
        assert (tmp_path / f"{name}.png").stat().st_size > 1_000
        assert name in (tmp_path / "README.md").read_text(encoding="utf-8")
    if options:
        found = {figure["figure"]: figure for figure in json.loads(said)["figures"]}
        assert found["period-1"]["verdict"] == "holds"
        assert "16 by t = 4" in found["period-1"]["measured"]
        assert found["period-2"]["verdict"] == "holds in part"
    else:
        assert "period-1: holds" in said
        assert "not so: R2(t) = R1(t − 1) + R1(t)" in said


def test_the_figures_can_be_listed_without_measuring(capsys):
    assert cli.main(["experiments", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"figure", "paper", "title", "claim"} == set(listed[0])
