from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]
TEXT = (PROJECT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def test_the_tests_that_the_threat_model_names_are_there():
    named = re.findall(r"`(tests/[\w/.]+)`", TEXT)
    assert named
    assert [path for path in named if not (PROJECT / path).exists()] == []


def test_it_fits_one_page():
    assert len(TEXT.splitlines()) <= 60
