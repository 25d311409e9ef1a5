"""The README as a newcomer follows it: its files are written, its commands are run, its targets exist."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from panelake.cli import COMMANDS
from panelake.context import Context
from panelake.filters.explained import filter_chains
from panelake.home import checkout
from panelake.workspace import load_workspace

pytestmark = pytest.mark.end_to_end

PROJECT = checkout()
TEXT = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[str]:
    return [body for found, body in BLOCKS if found == kind]


def commands(first_word: str) -> list[list[str]]:
    lines = [line for body in blocks("sh") for line in body.splitlines()]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words and words[0] == first_word]


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    (folder / "town" / "queries").mkdir(parents=True)
    [retention] = [block for block in blocks("yaml") if block.startswith("retention:")]
    (folder / "town" / "streams.yaml").write_text(blocks("yaml")[0] + retention)
    (folder / "town" / "queries" / "jams.sql").write_text(blocks("sql")[0])
    (folder / "town" / "expectations").mkdir()
    (folder / "town" / "expectations" / "jams.yaml").write_text(blocks("yaml")[1])
    return folder


@pytest.mark.usefixtures("spark_server")
@pytest.mark.timeout(600)
def test_the_commands_of_your_own_data_work_in_the_order_given(town):
    bin_folder = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    wanted = commands("panelake")
    assert len(wanted) >= 5
    for words in wanted:
        done = subprocess.run(
            words, cwd=town, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    assert DeltaTable(str(town / "town" / "warehouse" / "gold" / "jams")).to_pyarrow_table().num_rows > 0


def test_the_filters_shown_are_right_and_fixed_where_it_says_so(tmp_path):
    declared, filters = blocks("yaml")[0], blocks("yaml")[2]
    (tmp_path / "streams.yaml").write_text(declared.replace('    where: ["speed >= 0"]\n', filters))
    (tmp_path / "filters.py").write_text(blocks("python")[0])
    told = filter_chains(Context(load_workspace(tmp_path)))[0].document()
    assert [one["filter"] for one in told["filters"]] == ["speed >= 0", "3600 / speed < 100", "plausible()"]
    assert [one["fixed"] is None for one in told["filters"]] == [True, False, True]


def test_every_make_target_named_exists_and_is_listed_by_help():
    named = {words[1] for words in commands("make")} | set(re.findall(r"`make (\w+)`", TEXT))
    listed = subprocess.run(
        [shutil.which("make"), "help"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    assert named == {name for name in named if f"make {name} " in listed}
    assert {"demo", "test", "up", "down"} <= named


def test_every_command_named_is_one_of_the_command_line():
    named = set(re.findall(r"`?panelake (\w+)", TEXT))
    assert named <= set(COMMANDS)


def test_every_file_named_exists():
    named = re.findall(r"`((?:include|stages|planning|kernels|quality|report|dags|jobs|[a-z_]+)[/.][\w./]*)`", TEXT)
    bases = (PROJECT, PROJECT / "include" / "panelake")
    there = {name for name in named if any((base / name).exists() for base in bases)}
    outputs = {"gold/jams", "streams.yaml", "town/streams.yaml", "town/queries/jams.sql", "town/landing/traffic"}
    outputs |= {"ledger/filters", "quality/results", "filters.py"}
    assert {name for name in set(named) - there if not name.startswith(".")} <= outputs
    assert "include/panelake/flow.py" in there
