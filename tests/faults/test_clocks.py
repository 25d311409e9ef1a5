"""A client's clock is wrong by hours or years: what counts is decided by order and event time, never by a clock.

The clock is set inside of the client's Python (`wrong_clock/`); the server and the file system keep the right one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .breaking import broken, killed
from .tally import Tally, trials
from .test_kills import prepared
from .world import World

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(900)]

HOUR = 3600
WRONG_BY = (-400 * 24 * HOUR, -26 * HOUR, -HOUR, 5 * HOUR, 400 * 24 * HOUR, 20 * 365 * 24 * HOUR)


def wrong_clock(seconds: int) -> dict[str, str]:
    path = [str(Path(__file__).with_name("wrong_clock")), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(path), "PANELAKE_TEST_CLOCK_OFFSET": str(seconds)}


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_clients_clock_is_wrong(world: World, tally: Tally, _: int) -> None:
    """One clock is wrong while it is killed, another while it runs again; the next trials have the right one."""
    with tally.trial("wrong clock") as trial:
        part, before, moment = prepared(world, trial)
        first, second = trial.chance.sample(WRONG_BY, 2)
        with world.running(part, variables=wrong_clock(first)) as client:
            broken(client, world.warehouse, moment, lambda: killed(client))
        trial.hit = True  # the clock was wrong, whether the kill came in time or not
        world.assert_consistent(trial, before)
        world.run(part, variables=wrong_clock(second))
        world.assert_healed(trial)
