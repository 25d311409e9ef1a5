"""Where it breaks: each limit known, how near a load is to it, at which rate it is reached, what to change then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from panelake.capacity.design import Cluster, Design
from panelake.capacity.load import Load
from panelake.capacity.rates import Rates
from panelake.capacity.sizing import shuffled_bytes
from panelake.capacity.stages import StageNeed, logged_files, ranges, recall_seconds, stage_needs

# A row that is sorted in memory: 8 bytes a field (a timestamp, three values, file, position, partition), as many for
# which are NULL, and 16 for what sorting compares.
SORTED_ROW = 8 * 7 + 8 + 16
_LEAST, _MOST = 1.0, 1e15


@dataclass(frozen=True)
class World:
    """What a limit is judged by; the load's own rate is what is looked for."""

    rates: Rates
    design: Design
    cluster: Cluster


@dataclass(frozen=True)
class Limit:
    """`used` is the share of what there is that a load takes: broken above 1."""

    name: str
    breaks: str
    change: str
    used: Callable[[Load, World], float]


def _serial(load: Load, world: World) -> float:
    """Seconds that no core makes less, alone on as many cores as one likes."""
    needs = stage_needs(load, world.rates, world.design)
    return sum(need.serial for need in needs)


def _driven(need: StageNeed) -> float:
    return need.tasks * need.task_seconds


def _machine(load: Load, world: World, cores: int = 2) -> float:
    needs = stage_needs(replace(load, days=0), world.rates, world.design)
    return sum(need.seconds(cores) for need in needs) / load.slice_seconds


def _files(load: Load, world: World) -> float:
    return recall_seconds(load, world.rates) / load.slice_seconds if world.design.recalls_all else 0.0


def _tasks(load: Load, world: World) -> float:
    return sum(_driven(need) for need in stage_needs(load, world.rates, world.design)) / load.slice_seconds


def _range(load: Load, world: World) -> float:
    return load.tuples / ranges(load) * SORTED_ROW / (world.cluster.memory_per_core * world.cluster.sort_share)


def _log(load: Load, world: World) -> float:
    return logged_files(load, world.rates) * world.rates.logged_file / world.cluster.snapshot_seconds


def _network(load: Load, world: World) -> float:
    """Shuffle of a core that does nothing else but ingest."""
    work = sum(need.work for need in stage_needs(load, world.rates, world.design))
    moved = shuffled_bytes(load, world.rates, world.design) * load.slice_seconds
    return moved / work / world.cluster.network_per_core


def _history(load: Load, world: World) -> float:
    past = load.past_slices * world.rates.past_slice if world.design.recalls_all else 0.0
    return past / load.slice_seconds


def _answers(load: Load, world: World) -> float:
    return load.answers * world.rates.answer_row / load.slice_seconds if world.design.answers_by_driver else 0.0


def _fixed(load: Load, world: World) -> float:
    return _serial(replace(load, days=0), world) / load.slice_seconds


LIMITS = (
    Limit(
        "two cores",
        "one machine of two cores no longer ends a slice within a slice",
        "a Spark cluster: another connection, no other code",
        _machine,
    ),
    Limit(
        "memory of files",
        "intake reads every file ever taken and compares each new one with each of them, in Python, for a whole slice",
        "keep the memory as columns and anti-join the listing with it; let sources land below a folder a slice;"
        " or read Kafka, whose ranges are one a partition",
        _files,
    ),
    Limit(
        "log of bronze",
        "reading the list of bronze's files takes longer than is given it",
        "raise the snapshot's partitions (two now), files of 1 GB, a shorter retention.bronze, a table a shard",
        _log,
    ),
    Limit(
        "driver's tasks",
        "handing out a slice's tasks takes the one driver a whole slice",
        "scans of 128 MB in place of 32 MB; then shards, each with a driver of its own",
        _tasks,
    ),
    Limit(
        "range of numbers",
        "a partition that is sorted to be numbered, 2,000 at most, outgrows the memory of its task and spills",
        "more ranges than 2,000, shorter slices, sources in time order (nothing is moved), or shards",
        _range,
    ),
    Limit(
        "answers",
        "one client carries every answer to audit and gold, for a whole slice",
        "audit and publish large queries by Spark; the small ones as now",
        _answers,
    ),
    Limit(
        "network",
        "a core's share of the shuffle is more than its share of the network",
        "sources in time order, so that ingest moves nothing; compression of the shuffle by zstd",
        _network,
    ),
    Limit(
        "fixed seconds",
        "start-up and commits alone take a whole slice",
        "longer slices; fewer queries a workspace; slices in flight together",
        _fixed,
    ),
    Limit(
        "ledger's history",
        "reading what the ledger has of all slices before takes a whole slice",
        "read by slice and stage alone, as windows do already; a checkpoint row a stream in place of its history",
        _history,
    ),
)


def reached_at(limit: Limit, load: Load, world: World) -> float | None:
    """The least rate, tuples a second, that breaks the limit; None where none does, or any."""

    def broken(rate: float) -> bool:
        return limit.used(load.at(rate), world) > 1

    if broken(_LEAST) or not broken(_MOST):
        return None
    low, high = _LEAST, _MOST
    while high / low > 1 + 1e-6:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if broken(middle) else (middle, high)
    return high


def day_of_breaking(limit: Limit, load: Load, world: World, most: float = 36_500.0) -> float | None:
    """After how many days of running at this rate a limit is reached; None where it takes more than `most`."""

    def broken(days: float) -> bool:
        return limit.used(replace(load, days=days), world) > 1

    if broken(0.0) or not broken(most):
        return 0.0 if broken(0.0) else None
    low, high = 0.0, most
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if broken(middle) else (middle, high)
    return high
