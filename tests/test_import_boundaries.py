"""Who may import what: read from the source, so that a slip shows where it is written."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import panelake

PACKAGE = Path(panelake.__file__).parent
PROJECT = PACKAGE.parents[1]
PURE = ("planning", "language", "capacity")


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def roots(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(file)}


def name_of(file: Path) -> str:
    return str(file.relative_to(PROJECT))


@pytest.mark.parametrize("file", sorted((PACKAGE / "kernels").rglob("*.py")), ids=name_of)
def test_a_kernel_imports_numpy_numba_and_kernels_only(file):
    allowed = {"numba", "numpy"} | sys.stdlib_module_names
    foreign = {
        name for name in imported(file) if name.split(".")[0] not in allowed and not name.startswith("panelake.kernels")
    }
    assert foreign == set()


@pytest.mark.parametrize("file", sorted((PROJECT / "dags").glob("*.py")), ids=name_of)
def test_a_dag_file_is_a_declaration(file):
    assert roots(file) & {"pyspark", "numba", "deltalake", "great_expectations"} == set()
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize("file", sorted((PROJECT / "jobs").glob("*.py")), ids=name_of)
def test_a_job_is_a_short_way_to_a_stage(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("part", PURE)
def test_what_is_pure_needs_no_spark(part):
    files = sorted((PACKAGE / part).rglob("*.py"))
    assert files
    assert {name_of(file) for file in files if roots(file) & {"pyspark", "deltalake", "airflow"}} == set()


def test_the_package_imports_neither_dags_nor_jobs():
    assert {name_of(file) for file in PACKAGE.rglob("*.py") if roots(file) & {"dags", "jobs"}} == set()


def test_no_module_opens_a_session_when_it_is_imported():
    """A call at module level of anything named open_session or builder would start Spark by an import."""

    def calls_at_import(file: Path) -> set[str]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        calls = [node for top in tree.body if isinstance(top, ast.Assign | ast.Expr) for node in ast.walk(top)]
        return {ast.unparse(node.func) for node in calls if isinstance(node, ast.Call)}

    opened = {
        name_of(file)
        for file in PACKAGE.rglob("*.py")
        if any("session" in call.lower() or "getOrCreate" in call for call in calls_at_import(file))
    }
    assert opened == set()
