"""The DAG run by Airflow itself, without a scheduler: `dag.test()` over slices of the traffic world."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.catalog import Catalog
from panelake.durations import MINUTE
from panelake.flow import dag_tasks
from panelake.ledger import Ledger
from panelake.orchestration.airflow_home import private_airflow
from panelake.orchestration.driver import drive
from panelake.orchestration.run_events import TaskEvent
from panelake.slices import Slice, parse_instant, to_microseconds
from panelake.worlds import traffic
from panelake.worlds.demo import DemoWorld

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.timeout(900)]

TUPLES = 4_000
AREAS = 6
FAR = Slice(parse_instant("2026-01-01T01:00:00Z"), parse_instant("2026-01-01T01:05:00Z"))


@dataclass(frozen=True)
class Driven:
    """A world after its slices were driven through the DAG."""

    world: DemoWorld
    events: list[TaskEvent]

    def states(self, part: Slice) -> dict[str, str]:
        return {event.stage: event.state for event in self.events if event.slice_start == part.start}

    @property
    def catalog(self) -> Catalog:
        return Catalog(str(self.world.workspace / "warehouse"))

    def failures(self, part: Slice) -> list[TaskEvent]:
        return [event for event in self.events if event.slice_start == part.start and event.state == "failed"]


def land_timeless_tuples(world: DemoWorld) -> None:
    """Tuples without an event time, which the first slice takes and puts into quarantine: more than may be."""
    rows = [{"area_id": 1, "car_id": 1, "speed": 50.0, "ts": None}] * TUPLES
    pq.write_table(pa.Table.from_pylist(rows, traffic.SCHEMA), world.workspace / "landing/traffic/timeless.parquet")


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory, spark_server: str) -> Driven:  # noqa: ARG001 - tasks find it
    """Three slices in order, the first with bad tuples, then one that leaves others out."""
    world = DemoWorld(tmp_path_factory.mktemp("world"), TUPLES, seed=3)
    world.make()
    land_timeless_tuples(world)
    home = private_airflow(world.folder / "airflow")
    parts = [*world.slices[:3], FAR]
    return Driven(world, list(drive(world.workspace, parts, home, world.log)))


def test_every_task_of_a_slice_succeeds_in_the_order_of_the_flow(driven: Driven) -> None:
    third = driven.world.slices[2]
    ran = [event.stage for event in driven.events if event.slice_start == third.start and event.state == "running"]
    assert ran == list(dag_tasks())
    assert driven.states(third) == dict.fromkeys(dag_tasks(), "success")


def test_a_refused_slice_fails_at_publish_and_is_reported(driven: Driven) -> None:
    states = driven.states(driven.world.slices[0])
    assert states == dict.fromkeys(dag_tasks(), "success") | {"publish": "failed"}
    [failure] = driven.failures(driven.world.slices[0])
    assert failure.exit_code == 1
    assert "quality gate refused slice [2026-01-01T00:00:00Z, 2026-01-01T00:05:00Z) of speed_by_area" in failure.why
    assert "quarantine_share: observed 0.8, expected at most 0.05" in failure.why


def test_the_slice_after_it_is_ingested_and_its_windows_over_bad_tuples_are_refused(driven: Driven) -> None:
    second = driven.world.slices[1]
    assert driven.states(second)["ingest"] == "success"
    assert [failure.exit_code for failure in driven.failures(second)] == [1]
    assert second in Ledger(driven.catalog).done("ingest")


def test_the_interval_of_a_run_is_the_slice_the_ledger_enters(driven: Driven) -> None:
    assert Ledger(driven.catalog).done("ingest") == set(driven.world.slices[:3])
    assert Ledger(driven.catalog).done("publish") == {driven.world.slices[2]}


def test_nothing_of_a_refused_slice_is_in_gold(driven: Driven) -> None:
    rows = DeltaTable(driven.catalog.gold("speed_by_area")).to_pyarrow_table()
    third = driven.world.slices[2]
    assert {to_microseconds(end) for end in rows["window_end"].to_pylist()} == {
        third.start + minute * MINUTE for minute in range(1, 6)
    }
    assert rows.num_rows == 5 * AREAS


def test_a_slice_that_leaves_others_out_fails_at_ingest_with_what_to_run_first(driven: Driven) -> None:
    assert driven.states(FAR) == {"ingest": "failed", "report": "success"}
    [failure] = driven.failures(FAR)
    assert failure.exit_code == 2
    assert "--from 2026-01-01T00:15:00Z --to 2026-01-01T01:00:00Z first" in failure.why
