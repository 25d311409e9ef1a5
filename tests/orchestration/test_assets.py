from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from panelake.errors import BadInputError
from panelake.flow import STAGES
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.orchestration.assets import announce, bronze_asset, gold_asset, outlets
from panelake.orchestration.deadlines import DEADLINE_VARIABLE, slice_deadline
from panelake.slices import Slice, parse_instant
from panelake.workspace import Workspace, load_workspace

pytestmark = pytest.mark.airflow

PART = Slice(parse_instant("2026-01-01T00:00:00Z"), parse_instant("2026-01-01T00:05:00Z"))


class Events:
    """Remembers what was added under an alias."""

    def __init__(self) -> None:
        self.added: list[tuple[str, dict[str, Any]]] = []

    def add(self, asset: Any, extra: dict[str, Any]) -> None:
        self.added.append((asset.name, extra))


@pytest.fixture(scope="module")
def traffic() -> Workspace:
    return load_workspace(example_workspace("traffic"))


def announced(workspace: Workspace, stage: str, entries: list[Entry]) -> list[tuple[str, dict[str, Any]]]:
    events: defaultdict[Any, Events] = defaultdict(Events)
    announce(workspace, stage, entries, events)
    assert set(events) <= set(outlets(workspace, stage))
    return [event for one in events.values() for event in one.added]


def test_an_asset_is_the_table_a_reader_opens(traffic: Workspace) -> None:
    assert gold_asset(traffic, "speed_by_area").uri == f"file://{traffic.warehouse}/gold/speed_by_area"
    assert bronze_asset(traffic, "traffic").name == "traffic/bronze/traffic"


def test_only_stages_that_change_bronze_or_gold_announce(traffic: Workspace) -> None:
    assert [stage.name for stage in STAGES if outlets(traffic, stage.name)] == ["ingest", "publish"]


def test_an_event_tells_the_slice_and_its_rows(traffic: Workspace) -> None:
    entries = [Entry(PART, "ingest", "traffic", "done", 500), Entry(PART, "ingest", "", "done", 500)]
    assert announced(traffic, "ingest", entries) == [
        (
            "traffic/bronze/traffic",
            {"slice": "2026-01-01T00:00:00Z", "slice_end": "2026-01-01T00:05:00Z", "rows": 500},
        )
    ]


def test_a_refused_query_is_not_announced(traffic: Workspace) -> None:
    entries = [Entry(PART, "publish", "calm", "done", 6), Entry(PART, "publish", "busy", "refused", 0)]
    assert [name for name, _ in announced(traffic, "publish", entries)] == ["traffic/gold/calm"]


def test_a_run_may_take_two_slices_time(traffic: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DEADLINE_VARIABLE, raising=False)
    assert slice_deadline(traffic).interval.total_seconds() == 600


def test_the_deadline_can_be_given(traffic: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEADLINE_VARIABLE, "45")
    assert slice_deadline(traffic).interval.total_seconds() == 45


@pytest.mark.parametrize("given", ["soon", "0", "-5", "1.5"])
def test_a_deadline_that_is_no_number_of_seconds_is_refused(
    traffic: Workspace, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(DEADLINE_VARIABLE, given)
    with pytest.raises(BadInputError, match=rf"{DEADLINE_VARIABLE} is '{given}'; expected a whole number of seconds"):
        slice_deadline(traffic)
