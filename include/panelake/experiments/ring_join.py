"""The figure of the ring-queue paper: what a window join of two streams costs, by number of tuples.

Time windows of 3,000 ms that slide by 1,000 ms, 100 hash buckets, as printed. Left open there and settled here: tuples
arrive evenly over ten seconds and take turns at random, keys are drawn from 1,000, and XJoin has memory for half of
what its windows hold, or for all; it rests once a slide, which opens the files of all its partitions. Times are
processor time, the least of three runs a seed; every contender finds the same results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from panelake.baselines.amjoin import AMJoin
from panelake.baselines.lwo import LargestWindowOnly
from panelake.baselines.mjoin import MJoin
from panelake.baselines.ring_queue import RingQueue
from panelake.baselines.swf import SmallestWindowFirst
from panelake.baselines.xjoin import XJoin
from panelake.experiments.figure import Check, Figure, Panel, Scale
from panelake.experiments.table import Row, Table
from panelake.kernels.joins.arrivals import Arrivals, arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.window_join import WindowJoin

PAPER = "A ring queue with a hash index (ring queue)"
WORDS = (
    "Two streams are joined over sliding windows. LWO and SWF hold each newcomer against the whole other window;"
    " XJoin hashes both streams and goes to disk when memory is full. The paper keeps each window in a ring and"
    " chains tuples below a hash table of 100 buckets, so that a probe costs its matches. MJoin and AMJoin are the"
    " hash joins of later papers. Ours chains the tuples of each key, whatever the number of keys."
)
LWO, SWF, XJOIN, XJOIN_IN_MEMORY, RING, MJOIN, AMJOIN, OURS = (
    "LWO",
    "SWF",
    "XJoin",
    "XJoin, all in memory",
    "ring queue, 100 buckets",
    "MJoin",
    "AMJoin",
    "chain a key (ours)",
)
RIVALS = (LWO, SWF, XJOIN, XJOIN_IN_MEMORY)
SPEC = JoinSpec((3_000, 3_000), 1_000)
_SPAN, _KEYS, _REPEATS = 10_000, 1_000, 3

Running = tuple[Callable[[Arrivals], int], Callable[[], None]]  # feeds a batch, gives its results; ends the join


def _nothing() -> None:
    """Nothing is left to end."""


def _stream(tuples: int, seed: int) -> Arrivals:
    random = np.random.default_rng(seed)
    ts = np.sort(random.integers(0, _SPAN, tuples))
    stream = random.integers(0, 2, tuples)
    order = np.lexsort((stream, ts))
    return arrivals(ts[order], stream[order], random.integers(0, _KEYS, tuples), np.arange(tuples))


def _nested(kind: type[LargestWindowOnly | SmallestWindowFirst], _tuples: int) -> Running:
    join = kind([SPEC])
    return lambda batch: join.feed(batch)[0].shape[1], _nothing


def _xjoin(share: float, tuples: int) -> Running:
    """With memory for such a share of what both windows hold."""
    join = XJoin(SPEC, int(share * tuples * SPEC.ranges[0] / _SPAN))
    return lambda batch: join.feed(batch).shape[1] + join.rest().shape[1], join.close


def _hashed(kind: type[MJoin], _tuples: int) -> Running:
    join = kind(SPEC)
    return lambda batch: join.feed(batch).shape[1], _nothing


def _ours(_tuples: int) -> Running:
    join = WindowJoin(SPEC)
    return lambda batch: sum(len(found.window_end) for found in join.feed(batch)), _nothing


CONTENDERS: dict[str, Callable[[int], Running]] = {
    LWO: partial(_nested, LargestWindowOnly),
    SWF: partial(_nested, SmallestWindowFirst),
    XJOIN: partial(_xjoin, 0.5),
    XJOIN_IN_MEMORY: partial(_xjoin, 2.0),
    RING: partial(_hashed, RingQueue),
    MJOIN: partial(_hashed, MJoin),
    AMJOIN: partial(_hashed, AMJoin),
    OURS: _ours,
}


def _run(contender: str, batch: Arrivals) -> tuple[float, int]:
    """Milliseconds and results: the join runs once a slide."""
    feed, close = CONTENDERS[contender](len(batch.ts))
    found = 0
    pieces = [batch.rows(rows) for rows in SPEC.period_rows(batch.ts)]
    began = time.process_time()
    for piece in pieces:
        found += feed(piece)
    spent = time.process_time() - began
    close()
    return 1e3 * spent, found


def _figure_6(scale: Scale) -> Iterator[Row]:
    sizes = range(10_000, 20_001, 5_000 if scale.quick else 2_000)
    larger = (50_000, 100_000) if scale.quick else (50_000, 100_000, 200_000)
    points = [("as printed", size, list(CONTENDERS)) for size in sizes]
    points += [("more tuples", size, [name for name in CONTENDERS if name not in (LWO, SWF)]) for size in larger]
    for contender in CONTENDERS:
        _run(contender, _stream(2_000, 0))
    for panel, size, contenders in points:
        for seed in scale.seeds:
            batch = _stream(size, seed)
            results = set()
            for contender in contenders:
                runs = [_run(contender, batch) for _ in range(_REPEATS)]
                results |= {found for _, found in runs}
                yield Row(panel, float(size), contender, seed, min(spent for spent, _ in runs))
            yield Row("different numbers of results", f"{size:,}", "all", seed, len(results) - 1)
            if panel == "more tuples":
                yield Row("chaining alone", float(size), OURS, seed, _inserting(batch))


def _inserting(batch: Arrivals) -> float:
    """Nanoseconds a tuple where nothing can join: hashing, chaining and expiring alone."""
    alone = batch._replace(stream=np.zeros_like(batch.stream))
    return min(_run(OURS, alone)[0] for _ in range(_REPEATS)) * 1e6 / len(batch.ts)


def _judge_6(table: Table) -> list[Check]:
    sizes = [float(x) for x in table.xs("as printed")]
    four = (*RIVALS, RING)
    spent = {name: table.overall("as printed", name) for name in four}
    grown = {name: series[-1] - series[0] for name in four if (series := table.series("as printed", name))}
    fastest, slowest = min(spent, key=lambda name: spent[name]), min(grown, key=lambda name: grown[name])
    big = max(float(x) for x in table.xs("more tuples"))
    ring, xjoin = (table.mean("more tuples", big, name) for name in (RING, XJOIN))
    return [
        Check("the ring queue is fastest", "mean " + _ms(spent), fastest == RING, f"{fastest} is"),
        Check("XJoin takes less than LWO and SWF",
              f"XJoin {spent[XJOIN_IN_MEMORY] / spent[SWF]:.2f} times SWF with memory for all, as in the paper's 4 GB;"
              f" with half of that {spent[XJOIN] / spent[SWF]:.1f} times, as it reads and writes files once a slide",
              spent[XJOIN_IN_MEMORY] < min(spent[LWO], spent[SWF])),
        Check("and grows slowest", "grows by " + _ms(grown), slowest == RING, f"{slowest} does"),
        Check("a probe does not depend on the number of tuples",
              f"at {big:,.0f} tuples the ring takes {_three(ring)} ms, XJoin {_three(xjoin)} ms",
              ring / big < 2 * spent[RING] / (sum(sizes) / len(sizes)),
              "100 buckets hold ever longer chains"),
    ]  # fmt: skip


def _ms(spent: dict[str, float]) -> str:
    return ", ".join(f"{name} {_three(ms)} ms" for name, ms in spent.items())


def _three(figure: float) -> str:
    """Three digits, as one writes them."""
    return f"{float(f'{figure:.3g}'):,g}"


def _beside(table: Table) -> str:
    spent = {name: table.overall("as printed", name) for name in (OURS, RING, MJOIN, AMJOIN)}
    big = max(table.xs("more tuples"))
    ratio = table.mean("more tuples", big, RING) / table.mean("more tuples", big, OURS)
    building = table.overall("chaining alone", OURS)
    same = table.overall("different numbers of results", "all") == 0
    behind = [name for name in (RING, MJOIN, AMJOIN) if spent[name] < spent[OURS]]
    return (
        f"mean {_ms(spent)}; at {big:,.0f} tuples the 100 buckets take {ratio:.1f} times as long as a chain a key;"
        f" hashing and chaining alone cost {building:.0f} ns a tuple, the paper's open question"
        + (f"; behind {' and '.join(behind)} at the printed sizes" if behind else "")
        + ("; all contenders find equally many results" if same else "; contenders differ in their results")
    )


FIGURES = (
    Figure("ring-6", PAPER, "join time by number of tuples", "the ring queue is fastest and grows slowest",
           (Panel("as printed", "tuples", "processor time (ms)", logarithmic=True),
            Panel("more tuples", "tuples", "processor time (ms)", logarithmic=True)), _figure_6, _judge_6, _beside),
)  # fmt: skip
