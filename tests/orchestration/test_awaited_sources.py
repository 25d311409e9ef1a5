from __future__ import annotations

from pathlib import Path

import pytest

from panelake.context import Context
from panelake.orchestration.awaited_sources import awaited_source
from panelake.slices import Slice, parse_instant
from panelake.sources.inputs import Inputs, SliceInput
from panelake.workspace import load_workspace

START = parse_instant("2026-01-01T00:00:00Z")
MINUTE = 60_000_000
PART = Slice(START, START + 5 * MINUTE)
SOON, TOO_LATE = PART.end + MINUTE, PART.end + 10 * MINUTE
STREAMS = """\
slice: 5 minutes
streams:
  cars:
    schema: {{car: int, ts: timestamp}}
    event_time: ts
    source: {{format: parquet, path: "{path}", wait: {wait}}}
"""
BY_SLICE = "landing/{start:%H%M}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def context(folder: Path, path: str = BY_SLICE, wait: str = "10 minutes") -> Context:
    (folder / "streams.yaml").write_text(STREAMS.format(path=path, wait=wait))
    return Context(load_workspace(folder))


def test_a_folder_without_a_file_is_awaited_until_the_time_is_over(folder: Path) -> None:
    found = awaited_source(context(folder), PART, now=SOON)
    assert found is not None
    assert found.startswith("the source of stream cars, ")
    assert found.endswith(", until 2026-01-01T00:15:00Z")
    (folder / "landing/0000").mkdir(parents=True)
    assert awaited_source(context(folder), PART, now=SOON) is not None
    assert awaited_source(context(folder), PART, now=TOO_LATE) is None


def test_a_folder_with_a_file_is_there(folder: Path) -> None:
    (folder / "landing/0000").mkdir(parents=True)
    (folder / "landing/0000/some.parquet").touch()
    assert awaited_source(context(folder), PART, now=SOON) is None


def test_a_plain_folder_is_awaited_until_it_exists(folder: Path) -> None:
    assert awaited_source(context(folder, "landing"), PART, now=SOON) is not None
    (folder / "landing").mkdir()
    assert awaited_source(context(folder, "landing"), PART, now=SOON) is None


def test_without_wait_nothing_is_awaited(folder: Path) -> None:
    assert awaited_source(context(folder, wait="0"), PART, now=SOON) is None


def test_a_slice_that_took_its_input_is_not_awaited_again(folder: Path) -> None:
    made = context(folder)
    Inputs(made.catalog, "cars").record(PART, SliceInput(()))
    assert awaited_source(made, PART, now=SOON) is None
