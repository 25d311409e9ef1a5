"""The figures of the join-period paper: joining every Te or once a slide, what comes out and what it costs.

Figure 3: three streams, range 30 s, slide T; keys are drawn from as many as a window holds tuples. Time is processor
time; the tuples that wait for the next join, and those in windows, are counted at the end of every second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean

import numpy as np

from panelake.baselines.amjoin import AMJoin
from panelake.baselines.mjoin import MJoin
from panelake.experiments.figure import Check, Figure, Panel, Scale
from panelake.experiments.table import Row, Table
from panelake.kernels.joins.arrivals import Arrivals, arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.window_join import WindowJoin

PAPER = "How often to join (join period)"
WORDS = (
    "Windows of range W move every T; the join itself may run more often, every Te. The paper shows that the"
    " results are the same, and says that joining every second costs less than joining every T, since fewer tuples"
    " wait. MJoin and AMJoin stand for the paper's own hash join; ours is the ring with a chain a key."
)
SECOND = 1_000_000
RANGE = 30
OURS = "ring (ours)"
EVERY_T, EVERY_SECOND = "every T seconds", "every second"
PANELS = ("slower streams", "faster streams")
WAITING = "tuples in memory"
_CLEARLY = 1.05
_SEEDS = 2  # millions of tuples differ little from one seed to the next

Feed = Callable[[Arrivals], int]


def _rings(spec: JoinSpec) -> tuple[Feed, Callable[[], int]]:
    join = WindowJoin(spec)
    return lambda batch: sum(len(found.window_end) for found in join.feed(batch)), lambda: sum(join.held())


def _hashed(make: Callable[[JoinSpec], MJoin]) -> Callable[[JoinSpec], tuple[Feed, Callable[[], int]]]:
    def made(spec: JoinSpec) -> tuple[Feed, Callable[[], int]]:
        join = make(spec)
        return lambda batch: join.feed(batch).shape[1], lambda: 0

    return made


# About as many hash addresses as there are keys at the fastest rate: tables that are full would only slow rivals down.
_ADDRESSES = 1 << 20
ENGINES = {
    OURS: _rings,
    "MJoin": _hashed(partial(MJoin, buckets=_ADDRESSES)),
    "AMJoin": _hashed(partial(AMJoin, buckets=_ADDRESSES, vectors=_ADDRESSES)),
}


def _example(every: int) -> Callable[[Scale], Iterator[Row]]:
    """One tuple a second on both streams, all of one key, W = 4, T = 2: results by the second they come out."""

    def measure(scale: Scale) -> Iterator[Row]:
        seconds = 6
        ts = np.repeat(np.arange(seconds), 2)
        batch = arrivals(ts, np.tile([0, 1], seconds), np.zeros(2 * seconds), np.arange(2 * seconds))
        for period in dict.fromkeys((every, 3 - every)):
            for engine, make in ENGINES.items():
                spec = JoinSpec((4, 4), 2, every=period)
                feed, _ = make(spec)
                came = {int(batch.ts[rows][0]) // period * period + period: feed(batch.rows(rows))
                        for rows in spec.period_rows(batch.ts)}  # fmt: skip
                for second in range(1, seconds + 1):
                    name = engine if period == every else f"{engine}, Te = {period}"
                    yield Row("results", f"t = {second}", name, scale.seeds[0], came.get(second, 0))

    return measure


def _came(table: Table, name: str) -> list[int]:
    return [int(value) for value in table.series("results", name)]


def _judge_1(table: Table) -> list[Check]:
    came = _came(table, OURS)
    return [
        Check("all 16 pairs of 0 … 3 by t = 4", f"results at t = 1 … 6: {came}, {sum(came[:4])} by t = 4",
              sum(came[:4]) == 16),  # noqa: PLR2004 - printed
        Check("at t = 6 the pairs of 2 … 5 with 4 or 5 in them", f"{came[5]} at t = 6", came[5] == 12),  # noqa: PLR2004
    ]  # fmt: skip


def _judge_2(table: Table) -> list[Check]:
    often, seldom = _came(table, OURS), _came(table, f"{OURS}, Te = 2")
    moments = range(1, len(often))
    printed = all(often[t] == seldom[t - 1] + seldom[t] for t in moments)
    mended = all(seldom[t] == often[t - 1] + often[t] for t in moments if seldom[t])
    return [
        Check("7, 5 and 7 pairs at t = 4, 5, 6", f"results at t = 1 … 6: {often}", often[3:] == [7, 5, 7]),
        Check("the union is that of figure 1", f"{sum(often)} and {sum(seldom)} results in all",
              sum(often) == sum(seldom)),
        Check("R2(t) = R1(t − 1) + R1(t)", f"as printed {'so' if printed else 'not so'}; R1(t) = R2(t − 1) + R2(t)"
              f" {'is so' if mended else 'is not so either'}", printed, "the names are exchanged"),
    ]  # fmt: skip


def _ours_example(table: Table) -> str:
    same = all(_came(table, name) == _came(table, OURS) for name in ("MJoin", "AMJoin"))
    return "MJoin and AMJoin give the same at every second" if same else "MJoin or AMJoin differ"


def _stream(rate: int, seconds: int, seed: int) -> Arrivals:
    random = np.random.default_rng(seed)
    tuples = rate * seconds * 3
    ts = np.sort(random.integers(0, seconds * SECOND, tuples))
    stream = random.integers(0, 3, tuples)
    order = np.lexsort((stream, ts))
    return arrivals(ts[order], stream[order], random.integers(0, rate * RANGE, tuples), np.arange(tuples))


def _run(engine: str, spec: JoinSpec, batch: Arrivals, seconds: int) -> tuple[float, float, int]:
    """Milliseconds of work a second of stream, mean tuples in memory, results."""
    feed, held = ENGINES[engine](spec)
    every = (spec.every or spec.slide) // SECOND
    marks = np.searchsorted(batch.ts, np.arange(seconds + 1) * SECOND).tolist()
    spent, found, waiting, done = 0.0, 0, [], 0
    for second in range(1, seconds + 1):
        waiting.append(held() + marks[second] - done)
        if second % every == 0:
            began = time.process_time()
            found += feed(batch.rows(slice(done, marks[second])))
            spent += time.process_time() - began
            done = marks[second]
    return 1e3 * spent / seconds, mean(waiting), found


def _figure_3(scale: Scale) -> Iterator[Row]:
    rates = (1_000, 3_000) if scale.quick else (10_000, 30_000)
    slides = (2, 10, 30) if scale.quick else (2, 10, 20, 30)
    seconds = 60
    for engine in ENGINES:
        _run(engine, _spec(2, 1), _stream(100, 10, 0), 10)
    for panel, rate in zip(PANELS, rates, strict=True):
        for seed in scale.seeds[:_SEEDS]:
            batch = _stream(rate, seconds, seed)
            yield Row("rate", panel, "tuples a second and stream", seed, rate)
            for slide in slides:
                yield from _compare(panel, (slide, seed), batch, seconds)


def _compare(panel: str, point: tuple[int, int], batch: Arrivals, seconds: int) -> Iterator[Row]:
    slide, seed = point
    results = set()
    for engine in ENGINES:
        for name, every in ((EVERY_T, slide), (EVERY_SECOND, 1)):
            spent, waiting, found = _run(engine, _spec(slide, every), batch, seconds)
            results.add(found)
            yield Row(panel, float(slide), f"{name}, {engine}", seed, spent)
            if engine == OURS and panel == PANELS[-1]:
                yield Row(WAITING, float(slide), f"{name}, {engine}", seed, waiting)
    yield Row("different numbers of results", f"{panel}, T = {slide}", "all", seed, len(results) - 1)


def _spec(slide: int, every: int) -> JoinSpec:
    return JoinSpec((RANGE * SECOND,) * 3, slide * SECOND, every=every * SECOND)


def _ratios(table: Table, panel: str, engine: str) -> dict[float | str, float]:
    """Time of joining every second as a share of joining every T, by T."""
    often, seldom = (table.series(panel, f"{name}, {engine}") for name in (EVERY_SECOND, EVERY_T))
    return {x: one / other for x, one, other in zip(table.xs(panel), often, seldom, strict=True)}


def _judge_panel(table: Table, panel: str) -> Check:
    rate = table.mean("rate", panel, "tuples a second and stream")
    ratios = {engine: list(_ratios(table, panel, engine).items()) for engine in ENGINES}
    shown = "; ".join(
        f"{engine} " + ", ".join(f"T = {x:g}: {ratio:.2f}" for x, ratio in found) for engine, found in ratios.items()
    )
    cheaper = [engine for engine, found in ratios.items() if found[-1][1] < min(1 / _CLEARLY, found[0][1])]
    return Check(
        f"at {rate:,.0f}/s joining every second costs less, the more so the larger T",
        f"at {rate:,.0f}/s, every second ÷ every T: {shown}",
        len(cheaper) == len(ENGINES),
        f"{' and '.join(cheaper) if cheaper else 'nobody'} gains; a probe costs its matches, not the tuples that wait",
    )


def _judge_3(table: Table) -> list[Check]:
    waiting = [table.series(WAITING, f"{name}, {OURS}") for name in (EVERY_SECOND, EVERY_T)]
    fewer = all(one < other for one, other in zip(*waiting, strict=True))
    same = table.overall("different numbers of results", "all") == 0
    return [
        *(_judge_panel(table, panel) for panel in PANELS),
        Check("fewer tuples are in memory",
              f"tuples in memory at the largest T: {waiting[0][-1]:,.0f} every second, {waiting[1][-1]:,.0f} every T",
              fewer,
              "a tuple is held from its arrival on, whether it waits or is in a window"),
        Check("the results are the same", "equally many results throughout" if same else "results differ", same),
    ]  # fmt: skip


def _ours_3(table: Table) -> str:
    ratios = [
        table.overall(panel, f"{EVERY_SECOND}, {OURS}") / table.overall(panel, f"{EVERY_SECOND}, MJoin")
        for panel in PANELS
    ]
    return "every second the ring takes " + " and ".join(f"{ratio:.2f}" for ratio in ratios) + " times MJoin's time"


def _figure(number: int, title: str, claim: str, every: int, judge: Callable[[Table], list[Check]]) -> Figure:
    return Figure(f"period-{number}", PAPER, title, claim, (Panel("results", "", "results that come out"),),
                  _example(every), judge, _ours_example)  # fmt: skip


FIGURES = (
    _figure(1, "W = 4, T = 2, joining every 2", "all pairs of 0 … 3 by t = 4, those of 2 … 5 that are new at t = 6", 2,
            _judge_1),
    _figure(2, "W = 4, T = 2, joining every 1", "the same results as with Te = 2, earlier; R2(t) = R1(t − 1) + R1(t)",
            1, _judge_2),
    Figure("period-3", PAPER, "join time by slide, W = 30 s, three streams",
           "joining every second costs less than joining every T, the more so the larger T, since fewer tuples wait",
           (*(Panel(name, "T (s)", "processor time (ms a second)") for name in PANELS),
            Panel(WAITING, "T (s)", "tuples, mean")), _figure_3, _judge_3, _ours_3),
)  # fmt: skip
