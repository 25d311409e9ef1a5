"""Cores, bytes, files and rows that a load takes."""

from __future__ import annotations

from collections.abc import Sequence

from panelake.capacity.design import Cluster, Design
from panelake.capacity.load import Load
from panelake.capacity.rates import Rates
from panelake.capacity.stages import StageNeed, compacted_files, ranges, source_files, stage_needs

_MOST_CORES = 1 << 40


def cores_needed(load: Load, rates: Rates, design: Design, cluster: Cluster) -> int | None:
    """Cores of all shards together that keep up at the utilisation wanted; None where no number does."""
    needs = stage_needs(load.split(design.shards), rates, design)
    wanted = cluster.utilisation * load.slice_seconds
    if not _keeps_up(needs, _MOST_CORES, design.in_flight, wanted):
        return None
    low, high = 0, _MOST_CORES  # low does not keep up, high does
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _keeps_up(needs, middle, design.in_flight, wanted) else (middle, high)
    return high * design.shards


def _keeps_up(needs: Sequence[StageNeed], cores: int, in_flight: int, wanted: float) -> bool:
    """Whether a slice is done in its time: alone, or with others under way, none of whose stages outlasts a slice."""
    alone = [need.seconds(cores) for need in needs]
    return sum(need.work for need in needs) / cores <= wanted and max(alone) <= wanted and (
        sum(alone) <= in_flight * wanted
    )  # fmt: skip


def slice_seconds(load: Load, rates: Rates, design: Design, cores: float) -> float:
    """How long one slice takes alone, of the slowest, that is of any, shard."""
    return sum(need.seconds(cores / design.shards) for need in stage_needs(load.split(design.shards), rates, design))


def shuffled_bytes(load: Load, rates: Rates, design: Design) -> float:
    """Bytes that are written for other tasks to read, a second, were they spread evenly."""
    a_slice = (
        (0.0 if design.in_order else load.tuples * rates.moved_tuple)
        + load.reached_panes * rates.moved_pane
        + load.joined_tuples * rates.moved_join
    )  # fmt: skip
    return a_slice / load.slice_seconds


def quantities(load: Load, rates: Rates, design: Design) -> dict[str, tuple[float, str]]:
    """Everything that grows, by name, with its unit; of all shards together."""
    shard = load.split(design.shards)
    slices, shards = load.slices_a_day, design.shards
    queries = shards * load.queries
    ledger_rows = slices * (shards * rates.ledger_rows + queries * rates.ledger_rows_a_query)
    bronze = load.tuples_per_second * rates.bronze_tuple
    panes = shards * shard.pane_rows
    return {
        "source bytes": (load.tuples_per_second * rates.source_tuple, "bytes/s"),
        "bronze": (bronze, "bytes/s"),
        "shuffle": (shards * shuffled_bytes(shard, rates, design), "bytes/s"),
        "source files": (shards * source_files(shard, rates) * slices, "files/day"),
        "bronze files as written": (shards * ranges(shard) * slices, "files/day"),
        "bronze files compacted": (shards * compacted_files(shard, rates), "files/day"),
        "commits": (slices * (shards * rates.commits + queries * rates.commits_a_query), "commits/day"),
        "ledger": (ledger_rows, "rows/day"),
        "ledger bytes": (ledger_rows * rates.ledger_row_bytes, "bytes/day"),
        "pane rows": (panes, "rows/slice"),
        "panes": (panes * rates.pane_row_bytes, "bytes/slice"),
        "tuples a pane row": (load.tuples / panes, "tuples"),
        "answers": (shards * shard.answers, "rows/slice"),
        "gold": (shards * shard.answers * rates.answer_row_bytes * slices, "bytes/day"),
    }
