"""What every policy answers: who goes, and what it notes as tuples arrive, leave, or come back from a snapshot.

All policies are compiled into one kernel, which asks by number at each of four places: a branch that goes the same way
throughout a join. The callers keep slots, chains, BiHT and pattern table; a policy, its own lists or heaps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panelake.kernels.joins.class_lists import append, drop, least, make_lists
from panelake.kernels.joins.compiled import part
from panelake.kernels.joins.existence_growth import (
    Growth,
    arrived_by_growth,
    judge_all_classes,
    kept_by_growth,
    left_by_growth,
    make_growth,
)
from panelake.kernels.joins.existence_patterns import ByPattern, PatternTable, arrived_by_pattern, judge_all_patterns
from panelake.kernels.joins.join_spec import POLICIES, JoinSpec
from panelake.kernels.joins.key_priorities import Heaps, make_heaps, refresh, victim_by_key
from panelake.kernels.joins.plain_victims import Words, random_victim
from panelake.kernels.joins.slots import NOTHING, oldest
from panelake.kernels.joins.windows import Windows

ARRIVAL_ORDER, EXISTENCE_GROWTH, FREQUENCY, RESULT, RANDOM, OLDEST = range(len(POLICIES))


class Policy(NamedTuple):
    """Which, as a place in POLICIES, and what those policies keep that keep anything; the others' are empty."""

    kind: int
    patterns: ByPattern
    growth: Growth
    heaps: Heaps
    random: Words


def make_policy(spec: JoinSpec, keys: int, table: PatternTable) -> Policy:
    """Nothing seen yet; room for so many keys."""
    kind = POLICIES.index(spec.policy)
    heaps = make_heaps(spec.streams, keys if kind in {FREQUENCY, RESULT} else 0)
    random = np.array([spec.seed % 2**64], dtype=np.uint64)
    return Policy(kind, ByPattern(make_lists(spec.streams), table), make_growth(spec.streams), heaps, random)


@part
def victim(policy: Policy, windows: Windows, stream: int) -> int:
    """The slot of the tuple to shed from a full window."""
    slot = NOTHING
    if policy.kind == ARRIVAL_ORDER:
        slot = least(policy.patterns.lists, stream)
    elif policy.kind == EXISTENCE_GROWTH:
        slot = least(policy.growth.lists, stream)
    elif policy.kind <= RESULT:
        slot = victim_by_key(policy.heaps, windows, stream)
    elif policy.kind == RANDOM:
        slot = random_victim(policy.random, windows.slots, stream)
    return oldest(windows.slots, stream) if slot == NOTHING else slot


@part
def arrived(policy: Policy, windows: Windows, stream: int, slot: int, results: float) -> None:
    """A tuple has been linked and has so many results, itself being in none before."""
    if policy.kind == ARRIVAL_ORDER:
        arrived_by_pattern(policy.patterns, windows, stream, slot, results)
    elif policy.kind == EXISTENCE_GROWTH:
        arrived_by_growth(policy.growth, windows, stream, slot, results)
    elif policy.kind <= RESULT:
        refresh(policy.heaps, windows, windows.slots.tuples[slot]["entry"], int(policy.kind == RESULT))


@part
def left(policy: Policy, windows: Windows, stream: int, slot: int) -> None:
    """A tuple has been unlinked, shed or expired."""
    if policy.kind == ARRIVAL_ORDER:
        drop(policy.patterns.lists, windows, stream, slot)
    elif policy.kind == EXISTENCE_GROWTH:
        left_by_growth(policy.growth, windows, stream, slot)
    elif policy.kind <= RESULT:
        refresh(policy.heaps, windows, windows.slots.tuples[slot]["entry"], int(policy.kind == RESULT))


@part
def kept(policy: Policy, windows: Windows, stream: int, slot: int) -> None:
    """A tuple of a snapshot has been linked; they come in the order in which they had been filed."""
    tuples = windows.slots.tuples
    if policy.kind == ARRIVAL_ORDER:
        append(policy.patterns.lists, windows.slots, stream, slot, tuples[slot]["entered"])
    elif policy.kind == EXISTENCE_GROWTH:
        kept_by_growth(policy.growth, windows, stream, slot)
    elif policy.kind <= RESULT:
        refresh(policy.heaps, windows, tuples[slot]["entry"], int(policy.kind == RESULT))


@part
def judge_all(policy: Policy) -> None:
    """What each class of tuples is worth, by all that has been learnt."""
    if policy.kind == ARRIVAL_ORDER:
        judge_all_patterns(policy.patterns)
    elif policy.kind == EXISTENCE_GROWTH:
        judge_all_classes(policy.growth)
