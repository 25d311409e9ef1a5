"""Each rival has a file of its own that opens with its paper and tells what the paper leaves open."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from panelake import baselines

FOLDER = Path(baselines.__file__).parent
RIVALS = ("normal", "bint", "lint", "spqp", "lwo", "swf", "xjoin", "ring_queue", "mjoin", "amjoin")
RIVALS += ("static", "a_greedy", "eddy", "random_swap")
SHEDDING = ("key_priorities", "plain_victims")


def opening(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


FILES = [FOLDER / f"{name}.py" for name in RIVALS] + [FOLDER.parent / f"kernels/joins/{name}.py" for name in SHEDDING]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_rival_opens_with_its_paper_and_what_was_left_open(file):
    assert "Source:" in opening(file)
    assert "Left open" in opening(file)


def test_the_folder_lists_its_rivals():
    assert [name for name in (*RIVALS, *SHEDDING) if name not in opening(FOLDER / "__init__.py")] == []
