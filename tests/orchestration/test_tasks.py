from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from panelake.errors import (
    BadInputError,
    GateRefusedError,
    InterruptedRunError,
    PanelakeError,
    PartDownError,
    TransientError,
)
from panelake.flow import STAGES
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.orchestration import tasks
from panelake.slices import Slice, parse_instant, to_datetime
from panelake.workspace import Workspace, load_workspace

MIDNIGHT = parse_instant("2026-01-01T00:00:00Z")
FIVE_MINUTES = 300_000_000


@pytest.fixture(scope="module")
def traffic() -> Workspace:
    return load_workspace(example_workspace("traffic"))


@pytest.mark.airflow
@pytest.mark.parametrize("error", [BadInputError, PartDownError, GateRefusedError, InterruptedRunError])
def test_an_error_that_would_come_again_ends_the_task_at_once(error: type[PanelakeError]) -> None:
    from airflow.sdk.exceptions import AirflowFailException  # noqa: PLC0415

    with pytest.raises(AirflowFailException, match="what is wrong") as raised, tasks.only_transient_is_retried():
        raise error("what is wrong")
    assert isinstance(raised.value.__cause__, error)


@pytest.mark.airflow
def test_a_transient_error_is_left_to_airflows_retries() -> None:
    from airflow.sdk.exceptions import AirflowFailException  # noqa: PLC0415

    with pytest.raises(TransientError) as raised, tasks.only_transient_is_retried():
        raise TransientError("down for a moment")
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.airflow
def test_an_error_nobody_foresaw_ends_the_task_and_keeps_its_type_in_the_message() -> None:
    from airflow.sdk.exceptions import AirflowFailException  # noqa: PLC0415

    with pytest.raises(AirflowFailException, match="ZeroDivisionError: by zero"), tasks.only_transient_is_retried():
        raise ZeroDivisionError("by zero")


def test_a_slice_is_the_runs_data_interval(traffic: Workspace) -> None:
    found = tasks.slice_of(traffic, to_datetime(MIDNIGHT), to_datetime(MIDNIGHT + FIVE_MINUTES))
    assert found == Slice(MIDNIGHT, MIDNIGHT + FIVE_MINUTES)


def test_a_run_without_an_interval_is_refused_with_what_to_do(traffic: Workspace) -> None:
    with pytest.raises(BadInputError) as refused:
        tasks.slice_of(traffic, None, None)
    assert str(refused.value) == (
        "this run has no data interval, so there is no slice to work on; trigger it with the start of a slice as its"
        " logical date: 'airflow dags trigger slices_traffic --logical-date 2026-01-01T00:00:00Z' runs"
        " [2026-01-01T00:00:00Z, 2026-01-01T00:05:00Z); or use 'airflow backfill create'"
        " or 'panelake run --from … --to …'"
    )


@pytest.mark.parametrize(
    ("start", "length"),
    [("00:01:00", timedelta(minutes=5)), ("00:00:00", timedelta(minutes=10)), ("00:00:00", timedelta(0))],
)
def test_an_interval_that_is_no_slice_is_refused_by_its_value(
    traffic: Workspace, start: str, length: timedelta
) -> None:
    low = datetime.fromisoformat(f"2026-01-01T{start}").replace(tzinfo=UTC)
    with pytest.raises(BadInputError, match=rf"\[2026-01-01T{start}Z, .* is no slice of 5 minutes on the grid"):
        tasks.slice_of(traffic, low, low + length)


@pytest.mark.airflow
def test_a_task_of_a_run_without_an_interval_fails_before_anything_is_written(tmp_path: Path) -> None:
    from airflow.sdk.exceptions import AirflowFailException  # noqa: PLC0415

    folder = tmp_path / "traffic"
    folder.mkdir()
    (folder / "streams.yaml").write_text((example_workspace("traffic") / "streams.yaml").read_text())
    with pytest.raises(AirflowFailException, match="no data interval"):
        tasks.run_flow_task(str(folder), "ingest")
    assert sorted(path.name for path in folder.iterdir()) == ["streams.yaml"]


def refused(*subjects: str) -> list[Entry]:
    """What the ledger holds of a slice of the queries calm and busy, after publish."""
    part = Slice(MIDNIGHT, MIDNIGHT + FIVE_MINUTES)
    why = {"why": "mean is NULL in 3 rows"}
    queries = [
        Entry(part, "publish", name, "refused", 0, details=why)
        if name in subjects
        else Entry(part, "publish", name, "done", 6)
        for name in ("calm", "busy")
    ]
    return [Entry(part, "audit", "gold/busy", "refused", 0, details=why), *queries]


def failing_stages(entries: list[Entry]) -> dict[str, str]:
    found = {}
    for stage in STAGES:
        try:
            tasks._refuse(stage.name, Slice(MIDNIGHT, MIDNIGHT + FIVE_MINUTES), entries)
        except GateRefusedError as error:
            found[stage.name] = str(error)
    return found


def test_a_slice_that_passed_fails_no_stage() -> None:
    assert failing_stages(refused()) == {}


def test_publish_fails_where_nothing_could_be_published() -> None:
    found = failing_stages(refused("calm", "busy"))
    assert list(found) == ["publish"]
    assert "of calm: mean is NULL in 3 rows; busy: mean is NULL in 3 rows; only what passed" in found["publish"]


def test_a_part_that_was_refused_fails_the_last_stage_so_that_the_rest_is_announced() -> None:
    found = failing_stages(refused("busy"))
    assert list(found) == [STAGES[-1].name]
    assert "of busy: mean is NULL in 3 rows; only what passed" in found[STAGES[-1].name]
