"""What a tuple costs in the window join's kernel: nanoseconds of processor time, the least of some runs.

Streams take turns at random; keys are drawn from TUPLES / 10 (at a million tuples 100,000), windows hold a tenth of the
tuples and slide by a tenth of that, so a two-way join has about half a result a tuple. `unlimited` keeps all, a policy
keeps half of what a window would hold, or all of it where `sheds` is false. The largest size is run once. Also, at
10,000 tuples: nested loops over the same windows, the paper's LWO.
Targets, at a million tuples: 60 ns two-way, 200 ns five-way by arrival order, shedding at most 1.5 times the same join
with memory enough; how it stands to the join without limit is told beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from panelake.benchmarks.targets import Target, at_most, told
from panelake.kernels.joins.arrivals import Arrivals, arrivals
from panelake.kernels.joins.join_spec import POLICIES, JoinSpec
from panelake.kernels.joins.window_join import WindowJoin

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
WAYS = (2, 3, 5)
REPEATS = 3
LARGEST = SIZES[-1]
TIGHT, AMPLE = 0.5, 2.0  # memory, as a share of what a window would hold
SHOWN_AMPLE = ("arrival_order", "existence_growth")
TARGET_SIZE = 1_000_000
NESTED_SIZE = 10_000


def stream_of(tuples: int, ways: int, seed: int = 1) -> Arrivals:
    """Tuples in time order, streams and keys at random."""
    generator = np.random.default_rng(seed)
    number = np.arange(tuples)
    return arrivals(number, generator.integers(0, ways, tuples), generator.integers(0, tuples // 10, tuples), number)


def spec_of(tuples: int, ways: int, policy: str | None, memory: float = TIGHT) -> JoinSpec:
    """Windows of a tenth of the tuples; with a policy a share of the memory that needs."""
    extent = tuples // 10
    if policy is None:
        return JoinSpec((extent,) * ways, extent // 10)
    return JoinSpec((extent,) * ways, extent // 10, memory=int(memory * extent / ways), policy=policy)


def run(spec: JoinSpec, batch: Arrivals) -> tuple[int, int]:
    """Results, and the most tuples a window held at the end of a tenth of the input."""
    join, results, held = WindowJoin(spec), 0, 0
    for rows in np.array_split(np.arange(len(batch.ts)), 10):
        results += sum(len(found.window_end) for found in join.feed(batch.rows(slice(rows[0], rows[-1] + 1))))
        held = max(held, *join.held())
    return results, held


def nanoseconds(work: Callable[[], object], tuples: int, repeats: int = REPEATS) -> float:
    """Processor time a tuple, which others on the machine disturb less than the clock on the wall."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return round(1e9 * best / tuples, 1)


def nested_loops(spec: JoinSpec, batch: Arrivals) -> int:
    """Two streams, each newcomer held against the whole other window."""
    period = (batch.ts // spec.slide + 1) * spec.slide
    sides = [np.flatnonzero(batch.stream == stream) for stream in range(2)]
    results = 0
    for row in range(len(batch.ts)):
        other = sides[1 - batch.stream[row]]
        first, last = np.searchsorted(other, [period[row] - spec.ranges[0], row])
        results += int(np.count_nonzero(batch.key[other[first:last]] == batch.key[row]))
    return results


def measure(
    tuples: int, ways: int, policy: str | None, memory: float = TIGHT, repeats: int = REPEATS
) -> dict[str, Any]:
    """One row of the table."""
    spec, batch = spec_of(tuples, ways, policy, memory), stream_of(tuples, ways)
    found: list[tuple[int, int]] = []
    spent = nanoseconds(lambda: found.append(run(spec, batch)), tuples, repeats)
    return {
        "tuples": tuples,
        "streams": ways,
        "policy": policy or "unlimited",
        "sheds": policy is not None and memory == TIGHT,
        "ns": spent,
        "results": found[0][0],
        "memory": spec.memory,
        "held": found[0][1],
    }


def against_nested_loops() -> dict[str, float]:
    """Ours beside nested loops, which must find the same."""
    spec, batch = spec_of(NESTED_SIZE, 2, None), stream_of(NESTED_SIZE, 2)
    if run(spec, batch)[0] != nested_loops(spec, batch):
        raise AssertionError("nested loops found other results than the kernel")
    ours = nanoseconds(lambda: run(spec, batch), NESTED_SIZE)
    nested = nanoseconds(lambda: nested_loops(spec, batch), NESTED_SIZE, repeats=1)
    return {"ns": ours, "nested_loops_ns": nested, "ratio": round(nested / ours, 1)}


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """What was to be reached, and what was."""
    at_target = [row for row in rows if row["tuples"] == TARGET_SIZE]
    spent = {(row["streams"], row["policy"], row["sheds"]): row["ns"] for row in at_target}
    if not spent:
        return []
    unlimited, by_order = "unlimited", "arrival_order"
    found = [
        at_most("two-way, unlimited, ns a tuple", spent[2, unlimited, False], 60.0),
        at_most("five-way, arrival_order, ns a tuple", spent[5, by_order, True], 200.0),
    ]
    for ways in WAYS:
        for policy in SHOWN_AMPLE:
            ratio = spent[ways, policy, True] / spent[ways, policy, False]
            found.append(at_most(f"{ways}-way, {policy}, times itself with memory enough", ratio, 1.5))
    for ways in WAYS:
        ratio = spent[ways, by_order, True] / spent[ways, unlimited, False]
        found.append(told(f"{ways}-way, {by_order}, times unlimited", ratio))
    return found


def kernel_table(tuples: int) -> dict[str, Any]:
    """Every policy, two-, three- and five-way, for sizes up to so many tuples."""
    sizes = [size for size in SIZES if size <= tuples] or [tuples]
    rows = []
    warm = [measure(1_000, 2, policy, repeats=1) for policy in (None, *POLICIES)]
    for size in sizes:
        repeats = 1 if size == LARGEST else REPEATS
        for ways in WAYS:
            rows += [measure(size, ways, policy, repeats=repeats) for policy in (None, *POLICIES)]
            rows += [measure(size, ways, policy, AMPLE, repeats) for policy in SHOWN_AMPLE]
    outside = [row for row in (*warm, *rows) if row["memory"] is not None and row["held"] > row["memory"]]
    return {
        "rows": rows,
        "nested_loops": against_nested_loops(),
        "targets": targets(rows),
        "memory_exceeded": outside,
    }
