"""kill -9 of a client, of a Python worker, of the Connect server: the tables stay whole, and a second run mends all."""

from __future__ import annotations

import random

import psutil
import pytest

from panelake.slices import Slice
from panelake.spark.record import load_record

from .breaking import Moment, broken, kill, killed
from .tally import CLIENT_KILLS, Tally, Trial, trials
from .world import Tables, World, commits, rows_of

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(900)]


def prepared(world: World, trial: Trial) -> tuple[Slice, Tables, Moment]:
    """The next slice, the tables before it, and a moment of its run."""
    before, made = rows_of(world.warehouse), commits(world.undisturbed / "warehouse")
    part = world.next_slice()
    return part, before, Moment.drawn(trial.chance, commits(world.undisturbed / "warehouse") - made)


@pytest.mark.parametrize("_", range(trials(CLIENT_KILLS)))
def test_a_client_is_killed(world: World, tally: Tally, _: int) -> None:
    with tally.trial("client killed") as trial:
        part, before, moment = prepared(world, trial)
        with world.running(part) as client:
            trial.hit = broken(client, world.warehouse, moment, lambda: killed(client))
        world.assert_consistent(trial, before)
        world.run(part)
        world.assert_healed(trial)


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_python_worker_is_killed(world: World, tally: Tally, _: int) -> None:
    """Spark runs the task again, or fails the job: the client then ends with 3."""
    with tally.trial("Python worker killed") as trial:
        part, before, moment = prepared(world, trial)
        with world.running(part) as client:
            trial.hit = broken(client, world.warehouse, moment, lambda: kill_a_worker(trial.chance))
            said, _ = client.communicate(timeout=400)
        assert client.returncode in {0, 3}, said
        world.assert_consistent(trial, before)
        world.run(part)
        world.assert_healed(trial)


@pytest.mark.parametrize("_", range(trials(2)))
def test_the_server_is_killed(world: World, tally: Tally, _: int) -> None:
    """Its client ends with 3, or with 0 where it needs no server any more; the next run starts another server."""
    with tally.trial("Connect server killed") as trial:
        part, before, moment = prepared(world, trial)
        record = load_record()
        assert record is not None
        with world.running(part) as client:
            trial.hit = broken(client, world.warehouse, moment, lambda: kill(record.pid))
            said, _ = client.communicate(timeout=400)
        assert client.returncode in {0, 3}, said
        world.assert_consistent(trial, before)
        world.run(part)
        world.assert_healed(trial)


def kill_a_worker(chance: random.Random) -> bool:
    """Kill one of the server's Python processes: a worker, or the daemon that they are forked from."""
    record = load_record()
    family = psutil.Process(record.pid).children(recursive=True) if record else []
    workers = [one.pid for one in family if "pyspark" in " ".join(one.cmdline()) and one.pid != record.pid]
    return bool(workers) and kill(chance.choice(sorted(workers)))
