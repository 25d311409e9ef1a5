"""What every policy answers: who goes, and what it notes as tuples arrive, leave, or come back from a snapshot.

A policy is a named tuple of arrays. Four functions take it first; for each type another function is compiled in, so
that a kernel is made for its policy. Their callers keep slots, chains, BiHT and pattern table; a policy, its own lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from panelake.kernels.joins import existence_growth as growth
from panelake.kernels.joins import existence_patterns as patterns
from panelake.kernels.joins import key_priorities as keys
from panelake.kernels.joins import plain_victims as plain
from panelake.kernels.joins.compiled import part_by_type
from panelake.kernels.joins.existence_patterns import PatternTable
from panelake.kernels.joins.windows import Windows

Policy = Any
_VICTIM: dict[type, Callable[..., int]] = {
    patterns.ByPattern: patterns.victim_by_pattern,
    growth.ByGrowth: growth.victim_by_growth,
    keys.ByKey: keys.victim_by_key,
    plain.AtRandom: plain.random_victim,
    plain.Oldest: plain.oldest_victim,
}
_ARRIVED: dict[type, Callable[..., None]] = {
    patterns.ByPattern: patterns.arrived_by_pattern,
    growth.ByGrowth: growth.arrived_by_growth,
    keys.ByKey: keys.arrived_by_key,
    plain.AtRandom: plain.nothing_to_file,
    plain.Oldest: plain.nothing_to_file,
}
_LEFT: dict[type, Callable[..., None]] = {
    patterns.ByPattern: patterns.left_by_pattern,
    growth.ByGrowth: growth.left_by_growth,
    keys.ByKey: keys.left_by_key,
    plain.AtRandom: plain.nothing_to_note,
    plain.Oldest: plain.nothing_to_note,
}
_KEPT: dict[type, Callable[..., None]] = {
    patterns.ByPattern: patterns.kept_by_pattern,
    growth.ByGrowth: growth.kept_by_growth,
    keys.ByKey: keys.left_by_key,
    plain.AtRandom: plain.nothing_to_note,
    plain.Oldest: plain.nothing_to_note,
}


def victim(policy: Policy, table: PatternTable, windows: Windows, stream: int) -> int:
    """The slot of the tuple to shed from a full window."""
    return _VICTIM[type(policy)](policy, table, windows, stream)


def arrived(policy: Policy, windows: Windows, stream: int, slot: int, results: float) -> None:
    """A tuple has been linked and has so many results, itself being in none before."""
    _ARRIVED[type(policy)](policy, windows, stream, slot, results)


def left(policy: Policy, windows: Windows, stream: int, slot: int) -> None:
    """A tuple has been unlinked, shed or expired."""
    _LEFT[type(policy)](policy, windows, stream, slot)


def kept(policy: Policy, windows: Windows, stream: int, slot: int) -> None:
    """A tuple of a snapshot has been linked."""
    _KEPT[type(policy)](policy, windows, stream, slot)


part_by_type(victim, _VICTIM)
part_by_type(arrived, _ARRIVED)
part_by_type(left, _LEFT)
part_by_type(kept, _KEPT)
