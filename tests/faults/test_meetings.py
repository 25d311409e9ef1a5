"""Runs that meet: the same slice twice at once, ranges that overlap, and one of two killed. Each tuple counts once."""

from __future__ import annotations

import time

import pytest

from .breaking import Moment, broken, killed
from .tally import Tally, trials
from .world import World

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_slice_is_run_twice_at_once(world: World, tally: Tally, _: int) -> None:
    with tally.trial("same slice twice") as trial:
        part = world.next_slice()
        with world.running(part) as one:
            time.sleep(trial.chance.uniform(0, 4))
            trial.hit = one.poll() is None
            with world.running(part, more=("--again",)) as other:
                said = [client.communicate(timeout=400)[0] for client in (one, other)]
        assert (one.returncode, other.returncode) == (0, 0), said
        world.assert_healed(trial)


@pytest.mark.parametrize("_", range(trials(1)))
def test_ranges_overlap_and_one_of_two_runs_is_killed(world: World, tally: Tally, _: int) -> None:
    """Either may find the other's slice unfinished and be refused by name; running both once more mends all."""
    with tally.trial("overlapping runs") as trial:
        parts = [world.next_slice(), world.next_slice()]
        with world.running(*parts) as one, world.running(*parts, more=("--again",)) as other:
            moment = Moment(trial.chance.randrange(1, 50), trial.chance.uniform(0, 0.4))
            victim = trial.chance.choice([one, other])
            trial.hit = broken(victim, world.warehouse, moment, lambda: killed(victim))
            said = [client.communicate(timeout=400)[0] for client in (one, other) if client is not victim]
        survivor = other if victim is one else one
        assert survivor.returncode in {0, 1, 2, 3}, said
        world.run(*parts)
        world.assert_healed(trial, without="_revision")
        world.level()
