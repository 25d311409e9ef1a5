"""The figures and tables of the shared-pane paper: what it costs to build and to answer, how late answers come.

Times are processor time, so that others on the machine disturb them less. Delay is the paper's: from the end of the
input to the last answer. Tuples arrive in steps of a tenth of a second; each step's work is really done and timed, the
waiting in between is not waited for: a step begins when its tuples are there and the step before it is done.
Memory is the bytes held at the end of the input, tuples that wait to be taken in included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from statistics import mean
from typing import NamedTuple

import numpy as np

from panelake.baselines.bint import Bint
from panelake.baselines.lint import Lint
from panelake.baselines.minimal_panes import MinimalPanes
from panelake.baselines.normal import Normal
from panelake.baselines.shared_windows import TUPLE, Query, SharedWindows, Tuples
from panelake.baselines.spqp import Spqp
from panelake.experiments.figure import Check, Figure, Panel, Scale
from panelake.experiments.table import Row, Table

PAPER = "Shared panes for many window queries (SPQP)"
WORDS = (
    "Many sliding-window queries run on one stream. Normal shares the raw tuples and computes each window anew;"
    " BINT keeps a hierarchy of dyadic intervals; LINT keeps, beside each tuple, what lies between it and"
    " landmarks. SPQP cuts the stream once into panes that all queries share, and into time units for time"
    " windows. Ours cuts only where some window starts or ends, keeps time panes apart from row panes, and slides"
    " windows at constant cost. LINT is left out where it would hold more than a gigabyte."
)
AREAS = 6
SECOND = 1_000
NORMAL, BINT, LINT, SPQP, OURS = "Normal", "BINT", "LINT", "SPQP", "minimal cuts, O(1) windows (ours)"
SCHEMES: dict[str, Callable[[Sequence[Query], int], SharedWindows]] = {
    NORMAL: Normal,
    BINT: Bint,
    LINT: Lint,
    SPQP: Spqp,
    OURS: MinimalPanes,
}
TABLE_1 = (Query(180 * SECOND, 60 * SECOND, timed=True), Query(200, 50), Query(400, 100))
TABLE_2 = (Query(10 * SECOND, 5 * SECOND, timed=True), Query(200, 50), Query(400, 100))
STEP = SECOND // 10
_LINT_BYTES = 2**30
_LINT_A_TUPLE = 15 * (16 + 2 * 20 * AREAS)
_CHEAP_RATE = 10_000


def _stream(tuples: int, rate: int, seed: int) -> Tuples:
    """Tuples at even distances, each of a random area, car and speed."""
    random = np.random.default_rng(seed)
    made = np.empty(tuples, TUPLE)
    made["area"] = random.integers(0, AREAS, tuples)
    made["car"] = random.integers(0, 10_000, tuples)
    made["speed"] = random.integers(0, 200, tuples)
    made["ts"] = np.arange(tuples, dtype=np.int64) * SECOND // rate
    return made


def _figure_12(scale: Scale) -> Iterator[Row]:
    """Query 2 alone, as in the paper: all tuples are taken in, then all windows are answered.

    The paper's SPQP has units of two seconds besides, which this query does not read: a cut more in 400 panes.
    """
    sizes = (100_000, 200_000, 400_000) if scale.quick else (200_000, 400_000, 600_000, 800_000, 1_000_000)
    for contender in SCHEMES:
        _build_and_answer(contender, _stream(10_000, _CHEAP_RATE, 0))
    for size, seed in product(sizes, scale.seeds):
        tuples = _stream(size, _CHEAP_RATE, seed)
        for contender in SCHEMES:
            build, answer = _build_and_answer(contender, tuples)
            yield Row("building", float(size), contender, seed, 1e3 * build)
            yield Row("answering", float(size), contender, seed, 1e3 * answer)


def _build_and_answer(contender: str, tuples: Tuples) -> tuple[float, float]:
    shared = SCHEMES[contender](TABLE_2[1:2], AREAS)
    began = time.process_time()
    shared.insert(tuples)
    built = time.process_time()
    shared.answer(0)
    return built - began, time.process_time() - built


class _Minute(NamedTuple):
    """Seconds from the end of the input to the last answer, bytes held at that end, work as a share of the time."""

    delay: float
    memory: int
    work: float


def _figure_13(scale: Scale) -> Iterator[Row]:
    rates = (20_000, 50_000, 100_000) if scale.quick else (50_000, 100_000, 200_000, 300_000, 400_000, 500_000)
    seconds = 20 if scale.quick else 60
    for contender in SCHEMES:
        _run_minute(contender, _stream(10_000, 1_000, 0), 10)
    for rate, seed in product(rates, scale.seeds):
        tuples = _stream(rate * seconds, rate, seed)
        for contender in SCHEMES:
            if contender == LINT and rate * _LINT_A_TUPLE > _LINT_BYTES:
                continue
            found = _run_minute(contender, tuples, seconds)
            yield Row("delay", float(rate), contender, seed, 1e3 * found.delay)
            yield Row("memory", float(rate), contender, seed, found.memory / 1e6)
            yield Row("work", float(rate), contender, seed, 100 * found.work)


def _run_minute(contender: str, tuples: Tuples, seconds: int) -> _Minute:
    shared = SCHEMES[contender](TABLE_2, AREAS)
    cuts = np.searchsorted(tuples["ts"], np.arange(0, seconds * SECOND + 1, STEP)).tolist()
    done, work, memory = 0.0, 0.0, 0
    for number, (first, last) in enumerate(pairwise(cuts), start=1):
        arrived = number * STEP / SECOND
        began = time.process_time()
        shared.insert(tuples[first:last])
        shared.answer(number * STEP)
        spent = time.process_time() - began
        work += spent
        done = max(done, arrived) + spent
        if done <= seconds or not memory:
            memory = shared.held_bytes() + (len(tuples) - last) * TUPLE.itemsize * (done > seconds)
    return _Minute(done - seconds, memory, work / seconds)


def _judge_12(table: Table) -> list[Check]:
    build = {name: table.overall("building", name) for name in (BINT, LINT, SPQP)}
    answer = {name: table.overall("answering", name) for name in (NORMAL, BINT, LINT, SPQP)}
    return [
        Check("SPQP builds faster than BINT", f"building, mean: {_ms(build)}", build[SPQP] < build[BINT]),
        Check("SPQP answers faster than BINT", f"answering, mean: {_ms(answer)}", answer[SPQP] < answer[BINT],
              "a window is 4 panes for SPQP, and for BINT few intervals as well"),
        Check("SPQP answers faster than Normal", f"Normal {answer[NORMAL] / answer[SPQP]:.1f} times SPQP",
              answer[SPQP] < answer[NORMAL]),
        Check("BINT answers faster than Normal", f"Normal {answer[NORMAL] / answer[BINT]:.1f} times BINT",
              answer[BINT] < answer[NORMAL], "a tuple touches one group, an interval all of them"),
    ]  # fmt: skip


def _judge_13(table: Table) -> list[Check]:
    rivals = (NORMAL, BINT)
    late = _rates_lost(table, "delay", rivals)
    heavy = _rates_lost(table, "memory", rivals)
    most = max(x for x in table.xs("memory"))
    memory = {name: table.mean("memory", most, name) for name in (*rivals, SPQP)}
    delay = {name: table.mean("delay", most, name) for name in (*rivals, SPQP)}
    work = {name: mean(table.series("work", name)) for name in table.contenders("work")}
    busiest = max(table.mean("work", most, name) for name in (*rivals, SPQP))
    held = ", ".join(f"{name} {megabytes:.2f} MB" for name, megabytes in memory.items())
    return [
        Check("SPQP has the least delay at every rate", f"at {most:,.0f} tuples/s {_ms(delay)}", not late,
              f"behind at {', '.join(late)} tuples/s; nobody lags, the work of a second takes {busiest:.1f} % of it"),
        Check("SPQP holds the least memory at every rate", f"{held}", not heavy,
              f"more at {', '.join(heavy)} tuples/s"),
        Check("SPQP has the least work", "work, mean share of the time: "
              + ", ".join(f"{name} {share:.2f} %" for name, share in work.items()),
              work[SPQP] < min(work[name] for name in rivals)),
    ]  # fmt: skip


def _rates_lost(table: Table, panel: str, rivals: Sequence[str]) -> list[str]:
    return [
        f"{x:,.0f}"
        for x in table.xs(panel)
        if table.mean(panel, x, SPQP) > min(table.mean(panel, x, name) for name in rivals)
    ]


def _ms(spent: dict[str, float]) -> str:
    return ", ".join(f"{name} {ms:.3g} ms" for name, ms in spent.items())


def _ours_12(table: Table) -> str:
    build, answer = (table.overall(panel, OURS) / table.overall(panel, SPQP) for panel in ("building", "answering"))
    return f"building takes {build:.2f} times SPQP's time, answering {answer:.2f} times (windows here are only 4 panes)"


def _ours_13(table: Table) -> str:
    most = max(x for x in table.xs("memory"))
    memory = table.mean("memory", most, OURS)
    delay, work = (table.mean(panel, most, OURS) / table.mean(panel, most, SPQP) for panel in ("delay", "work"))
    return (
        f"at {most:,.0f} tuples/s ours holds {memory:.3g} MB, SPQP {table.mean('memory', most, SPQP):.3g} MB,"
        f" with {delay:.2f} times its delay and {work:.2f} times its work"
    )


def _table(queries: tuple[Query, ...]) -> Callable[[Scale], Iterator[Row]]:
    """Sizes and reads as the paper has them and as planned here; then every answer held against Normal's."""

    def measure(scale: Scale) -> Iterator[Row]:
        timed, *rows = queries
        planned = Spqp(queries, AREAS)
        size = planned.cuts.mean_size if planned.cuts else 0.0
        claimed = {"pane (tuples)": 50.0, "time unit (s)": timed.slide / SECOND, "Q1 units": timed.range / timed.slide,
                   "Q2 panes": 4.0, "Q3 panes": 8.0}  # fmt: skip
        found = {"pane (tuples)": size, "time unit (s)": planned.unit / SECOND, "Q1 units": timed.range / planned.unit}
        found |= {f"Q{number} panes": query.range / size for number, query in enumerate(rows, start=2)}
        for x, value in claimed.items():
            yield Row("sizes and panes read", x, "paper", scale.seeds[0], value)
            yield Row("sizes and panes read", x, "measured", scale.seeds[0], found[x])
        seconds = 2 * timed.range // SECOND
        for seed in scale.seeds:
            for contender, wrong in _wrong_windows(queries, seconds, seed).items():
                yield Row("windows answered wrongly", "all queries", contender, seed, wrong)

    return measure


def _wrong_windows(queries: tuple[Query, ...], seconds: int, seed: int) -> dict[str, float]:
    """Windows whose answer differs from Normal's, with a tuple rate at which units cut panes."""
    tuples = _stream(seconds * 37, 37, seed)
    answers = {}
    for contender, make in SCHEMES.items():
        shared = make(queries, AREAS)
        shared.insert(tuples)
        answers[contender] = [found.states for found in shared.answer(seconds * SECOND)]
    return {
        name: float(sum((mine != true).any(axis=1).sum() for mine, true in zip(found, answers[NORMAL], strict=True)))
        for name, found in answers.items()
    }


def _judge_table(table: Table) -> list[Check]:
    panel, other = "sizes and panes read", "windows answered wrongly"
    sizes = {x: (table.mean(panel, x, "paper"), table.mean(panel, x, "measured")) for x in table.xs(panel)}
    wrong = sum(table.overall(other, name) for name in table.contenders(other))
    found = ", ".join(f"{x} {measured:g}" for x, (_, measured) in sizes.items())
    return [
        Check("pane, time unit and reads", found, all(paper == measured for paper, measured in sizes.values())),
        Check("both kinds of windows are answered exactly", f"{wrong:g} windows differ from Normal's", wrong == 0),
    ]


def _ours_table(table: Table) -> str:
    wrong = table.overall("windows answered wrongly", OURS)
    return f"{wrong:g} windows answered wrongly; the same cuts, since here the gcd cuts only where windows start or end"


def _table_figure(name: str, queries: tuple[Query, ...], claim: str) -> Figure:
    panels = (
        Panel("sizes and panes read", "", "number"),
        Panel("windows answered wrongly", "", "windows"),
    )
    return Figure(name, PAPER, "the registered queries: pane, time unit, panes read", claim, panels, _table(queries),
                  _judge_table, _ours_table)  # fmt: skip


FIGURES = (
    _table_figure("spqp-table-1", TABLE_1, "pane 50 tuples, unit 60 s; Q1 reads 3 units, Q2 4 panes, Q3 8"),
    _table_figure("spqp-table-2", TABLE_2, "pane 50 tuples, unit 5 s; Q1 reads 2 units; exact for both kinds"),
    Figure("spqp-12", PAPER, "time to build and to answer, query 2",
           "SPQP builds faster than BINT, and answers faster than BINT, which answers faster than Normal",
           (Panel("building", "tuples", "processor time (ms)", logarithmic=True),
            Panel("answering", "tuples", "processor time (ms)", logarithmic=True)),
           _figure_12, _judge_12, _ours_12),
    Figure("spqp-13", PAPER, "delay and memory by arrival rate, three queries",
           "SPQP has the least delay and the least memory at every rate up to 500,000 tuples/s",
           (Panel("delay", "tuples a second", "delay (ms)", logarithmic=True),
            Panel("memory", "tuples a second", "memory held (MB)", logarithmic=True),
            Panel("work", "tuples a second", "processor time (% of the time)")),
           _figure_13, _judge_13, _ours_13),
)  # fmt: skip
