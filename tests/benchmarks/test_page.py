"""What `panelake bench` tells of its targets, and the page over them: made from the files beside it, and agreeing."""

from __future__ import annotations

import json
import types
from pathlib import Path

import panelake
from panelake.benchmarks import page
from panelake.benchmarks.targets import at_least, at_most, below, missed, told

FOLDER = Path(panelake.__file__).parents[2] / "docs" / "benchmarks"
MACHINE = {"cores": 2, "memory_gb": 24, "python": "3.11.7", "load before": 0.1}


def test_a_target_is_reached_at_its_limit_and_missed_beyond():
    met = [at_most("a", 2.5, 2.5), at_least("b", 1.0, 1.0), below("c", 0.9, 1.0)]
    not_met = [at_most("a", 2.51, 2.5), at_least("b", 0.99, 1.0), below("c", 1.0, 1.0)]
    beside = told("d", 9.0)
    assert missed([*met, *not_met, beside]) == not_met


def test_the_page_shows_each_target_with_its_outcome(tmp_path):
    module = types.ModuleType("some", "Ours beside\ntheirs.")
    found = {"tuples": 1000, "targets": [at_most("ours, times theirs", 3.14159, 2.5), told("a figure", 7)]}
    page.write(tmp_path, "some", module, MACHINE, found)
    text = (tmp_path / page.NAME).read_text(encoding="utf-8")
    assert "Ours beside theirs." in text
    assert "| ours, times theirs | 3.142 | at most 2.5 | **missed** |" in text
    assert "| a figure | 7 | told beside |  |" in text
    assert "1,000 tuples; 2 cores" in text


def test_a_changed_number_changes_the_page(tmp_path):
    module = types.ModuleType("some", "Doc.")
    page.write(tmp_path, "some", module, MACHINE, {"targets": [at_most("x", 1.0, 2.0)]})
    before = page.text(tmp_path)
    document = json.loads((tmp_path / "some.json").read_text(encoding="utf-8"))
    document["found"]["targets"][0]["value"] = 1.5
    (tmp_path / "some.json").write_text(json.dumps(document), encoding="utf-8")
    assert page.text(tmp_path) != before


def test_the_page_in_the_repository_agrees_with_its_files():
    assert list(FOLDER.glob("*.json"))
    assert (FOLDER / page.NAME).read_text(encoding="utf-8") == page.text(FOLDER)
