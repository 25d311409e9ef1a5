"""A worker of a cluster, or its executor, is killed: its tasks run elsewhere, or the run fails and is repeated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .breaking import broken
from .cluster import Cluster, cluster
from .tally import Tally, trials
from .test_kills import prepared
from .world import World

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def url(world: World, workers: Cluster) -> str:
    """The cluster's server, warm: it has run a slice."""
    served = workers.serve()
    world.run(world.next_slice(), more=("--master", served))
    assert not world.differences()
    return served


@pytest.mark.parametrize("_", range(trials(2)))
def test_a_worker_is_killed(world: World, workers: Cluster, url: str, tally: Tally, _: int) -> None:
    with tally.trial("cluster worker killed") as trial:
        part, before, moment = prepared(world, trial)
        more = ("--master", url)
        with world.running(part, more=more) as client:
            trial.hit = broken(client, world.warehouse, moment, lambda: workers.kill_a_part(trial.chance))
            said, _ = client.communicate(timeout=400)
        assert client.returncode in {0, 3}, said
        world.assert_consistent(trial, before)
        workers.mend()
        world.run(part, more=more)
        world.assert_healed(trial)
