"""The figures of the shedding paper: accuracy by what a full window lets go, and its two worked examples.

Five streams, 20,000 tuples each, nothing expires, memory 75 % of a stream unless varied. Accuracy is results emitted
as a share of those with unlimited memory. The workloads are those of worlds/join_orders.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from panelake.experiments.figure import Check, Figure, Panel, Scale
from panelake.experiments.table import Row, Table
from panelake.kernels.joins.arrivals import Arrivals, arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.window_join import WindowJoin
from panelake.worlds.join_orders import STREAMS, JoinOrder, normal_keys, repeating_keys, unique_keys
from panelake.worlds.news import HEADLINES

PAPER = "Load shedding by arrival order (EP)"
WORDS = (
    "Several streams are joined and memory is short: which tuple of a full window should go? The paper looks at"
    " the order in which a key's tuples came (its existence pattern) instead of at the key, and lets the oldest"
    " tuple of the least productive pattern go. Rivals let go by the key's frequency, by its results so far, or at"
    " random. Ours, `existence_growth`, lets a tuple's pattern grow while it waits, counts future results only,"
    " and measures them on a control group that is never shed."
)

LENGTH = 20_000
EP, OURS = "EP", "existence_growth (ours)"
POLICIES = {EP: "arrival_order", "frequency": "frequency", "result": "result", "random": "random"}
CONTENDERS = POLICIES | {OURS: "existence_growth"}
RIVALS = ("frequency", "result", "random")
MEMORY = 0.75
ACCURACY = "accuracy (% of the true result)"
_FOREVER = 10**9
# Points of accuracy: alike, clearly ahead, and how far below the number printed still counts as it.
_ALIKE, _AHEAD, _NEARLY = 5.0, 10.0, 5.0
_SLOWER = 1.5

Workload = Callable[[int], JoinOrder]
NO_PATTERN: dict[str, Workload] = {
    "no pattern, 30 % join": lambda seed: unique_keys(LENGTH, 0.0, 0.3, seed),
    "no pattern, all join": lambda seed: unique_keys(LENGTH, 0.0, 1.0, seed),
}
PATTERN: Workload = lambda seed: unique_keys(LENGTH, 0.3, 0.0, seed)  # noqa: E731 - one of several like it
NORMAL: dict[str, Workload] = {
    "no pattern": lambda seed: normal_keys(LENGTH, 2_000, 3_000, 0.0, seed),
    "pattern": lambda seed: normal_keys(LENGTH, 2_000, 3_000, 0.3, seed),
}
REPEATING: Workload = lambda seed: repeating_keys(LENGTH, 5, 1_000, 2.0, seed)  # noqa: E731 - the same


def _arrivals(order: JoinOrder) -> Arrivals:
    number = np.arange(len(order.key))
    return arrivals(number, order.stream, order.key, number)


def _results(join: WindowJoin, batch: Arrivals) -> int:
    return sum(len(matches.window_end) for matches in join.feed(batch))


@lru_cache(maxsize=32)
def _world(workload: Workload, seed: int) -> tuple[Arrivals, int]:
    """A workload's tuples, and how many results they have."""
    batch = _arrivals(workload(seed))
    return batch, _results(WindowJoin(JoinSpec((_FOREVER,) * STREAMS, _FOREVER)), batch)


def _shed(workload: Workload, memory: float, contender: str, seed: int) -> tuple[float, float]:
    """Accuracy in %, and processor time in ms."""
    batch, true = _world(workload, seed)
    limit, policy = int(memory * LENGTH), CONTENDERS[contender]
    join = WindowJoin(JoinSpec((_FOREVER,) * STREAMS, _FOREVER, memory=limit, policy=policy, seed=seed))
    began = time.process_time()
    found = _results(join, batch)
    return 100 * found / true, 1e3 * (time.process_time() - began)


def _accuracies(panel: str, points: dict[float | str, tuple[Workload, float]], scale: Scale) -> Iterator[Row]:
    for x, (workload, memory) in points.items():
        for contender in CONTENDERS:
            for seed in scale.seeds:
                yield Row(panel, x, contender, seed, _shed(workload, memory, contender, seed)[0])


def _by_memory(workload: Workload) -> Callable[[Scale], Iterator[Row]]:
    def measure(scale: Scale) -> Iterator[Row]:
        return _accuracies("memory", {100 * m: (workload, m) for m in _memories(scale)}, scale)

    return measure


def _memories(scale: Scale) -> tuple[float, ...]:
    return (0.25, 0.5, 0.75) if scale.quick else (0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)


def _figure_6(scale: Scale) -> Iterator[Row]:
    worlds = NO_PATTERN | {"pattern": PATTERN}
    return _accuracies("order", {name: (world, MEMORY) for name, world in worlds.items()}, scale)


def _figure_8(scale: Scale) -> Iterator[Row]:
    return _accuracies("order", {name: (world, MEMORY) for name, world in NORMAL.items()}, scale)


def _figure_11(scale: Scale) -> Iterator[Row]:
    _shed(REPEATING, MEMORY, EP, scale.seeds[0])
    for memory in _memories(scale):
        for contender in CONTENDERS:
            _shed(REPEATING, memory, contender, scale.seeds[0])  # compiled and warm before it is timed
            for seed in scale.seeds:
                yield Row("time", 100 * memory, contender, seed, _shed(REPEATING, memory, contender, seed)[1])


def _lead(table: Table, panel: str, x: float | str) -> float:
    """Points by which EP is ahead of its best rival, behind where negative."""
    return table.mean(panel, x, EP) - max(table.mean(panel, x, rival) for rival in RIVALS)


def _at(table: Table, panel: str, x: float | str) -> str:
    shown = f"{x:g} %" if isinstance(x, float) else x
    return f"at {shown} " + ", ".join(
        f"{name} {table.mean(panel, x, name):.1f}" for name in POLICIES if table.values(panel, x, name)
    )


def _judge_6(table: Table) -> list[Check]:
    checks = []
    for order in NO_PATTERN:
        found = [table.mean("order", order, name) for name in POLICIES]
        best, worst = (pick(POLICIES, key=lambda name: table.mean("order", order, name)) for pick in (max, min))
        apart = max(found) - min(found)
        because = f"{best} is {apart:.0f} points ahead of {worst}"
        checks.append(Check(f"{order}: all alike", _at(table, "order", order), apart <= _ALIKE, because))
    lead = _lead(table, "order", "pattern")
    found_text = f"{_at(table, 'order', 'pattern')} (EP {lead:+.1f})"
    return [*checks, Check("with a pattern EP is far ahead", found_text, lead >= _AHEAD)]


def _judge_lead(points: float) -> Callable[[Table], list[Check]]:
    """EP ahead at every memory, and at best by about so many points."""

    def judge(table: Table) -> list[Check]:
        leads = {x: _lead(table, "memory", x) for x in table.xs("memory")}
        best = max(leads, key=lambda x: leads[x])
        behind = [f"{x:g} % ({leads[x]:+.1f})" for x in leads if leads[x] <= 0]
        return [
            Check(f"up to {points:.0f} points ahead",
                  f"EP at best {leads[best]:+.1f} points ({_at(table, 'memory', best)})",
                  leads[best] >= points - _NEARLY, f"{leads[best]:.1f} points at best"),
            Check("ahead at every memory", f"ahead at {len(leads) - len(behind)} of {len(leads)} sizes of memory",
                  not behind, f"EP is behind at {', '.join(behind)}"),
        ]  # fmt: skip

    return judge


def _judge_8(table: Table) -> list[Check]:
    checks = []
    for order in NORMAL:
        lead = _lead(table, "order", order)
        found = f"{_at(table, 'order', order)} (EP {lead:+.1f})"
        checks.append(Check(f"EP ahead, {order}", found, lead > 1, "without delays a key's frequency says as much"))
    return checks


def _judge_9(table: Table) -> list[Check]:
    return _judge_lead(_AHEAD)(table)


def _judge_11(table: Table) -> list[Check]:
    spent = {name: table.overall("time", name) for name in POLICIES}
    found = ", ".join(f"{name} {ms:.0f} ms" for name, ms in spent.items())
    slow = spent["frequency"] / spent[EP]
    return [
        Check("EP costs about what result costs", found, spent[EP] <= _SLOWER * spent["result"]),
        Check("frequency costs far more", f"frequency {slow:.1f} times EP",
              spent["frequency"] > 2 * max(spent[EP], spent["result"]),
              "priorities sit in indexed heaps here, so that a change costs O(log keys)"),
    ]  # fmt: skip


def _ours(panel: str) -> Callable[[Table], str]:
    def compare(table: Table) -> str:
        leads = {
            x: table.mean(panel, x, OURS) - max(table.mean(panel, x, name) for name in POLICIES)
            for x in table.xs(panel)
        }
        return "points ahead of the best of the paper's four: " + ", ".join(
            f"{x:g} % {lead:+.1f}" if isinstance(x, float) else f"{x} {lead:+.1f}" for x, lead in leads.items()
        )

    return compare


def _ours_11(table: Table) -> str:
    return f"existence_growth takes {table.overall('time', OURS) / table.overall('time', EP):.1f} times as long as EP"


def _headlines() -> Arrivals:
    words = [keywords[turn] for turn in range(7) for keywords in HEADLINES.values()]
    codes = {word: code for code, word in enumerate(dict.fromkeys(words))}
    number = np.arange(len(words))
    return arrivals(number, number % len(HEADLINES), [codes[word] for word in words], number)


def _figure_2(scale: Scale) -> Iterator[Row]:
    batch, streams = _headlines(), len(HEADLINES)
    policies = CONTENDERS | {"oldest first": "oldest"}
    for contender, policy in policies.items():
        for seed in scale.seeds:
            spec = JoinSpec((_FOREVER,) * streams, _FOREVER, memory=4, policy=policy, seed=seed)
            yield Row("headlines", "4 tuples a window", contender, seed, _results(WindowJoin(spec), batch))
    exact = _results(WindowJoin(JoinSpec((_FOREVER,) * streams, _FOREVER)), batch)
    yield Row("headlines", "4 tuples a window", "unlimited memory", scale.seeds[0], exact)


def _judge_2(table: Table) -> list[Check]:
    kept = {name: table.mean("headlines", "4 tuples a window", name) for name in table.contenders("headlines")}
    true = kept["unlimited memory"]
    rivals = max(kept[name] for name in ("frequency", "result"))
    found = ", ".join(f"{name} {results:g}" for name, results in kept.items())
    return [
        Check("EP loses nothing", f"results of {true:g}: {found}", kept[EP] == true),
        Check("frequency and result lose some", f"the better of both keeps {rivals:g}", rivals < true),
    ]


def _ours_2(table: Table) -> str:
    kept, true = (table.mean("headlines", "4 tuples a window", name) for name in (OURS, "unlimited memory"))
    return (
        f"existence_growth keeps {kept:g} of {true:g}: 28 tuples are few to learn from"
        if kept < true
        else (f"existence_growth keeps all {true:g}")
    )


# The tuple lists of figure 5 are in its picture alone; these give the windows, patterns and victims its text names:
# R1 → R2 → R3 (a) and R3 → R2 → R1 (e) join, d went R3 → R1, c came on R2 alone, b and f are under way.
_PACKETS = ("3d", "3e", "1a", "2e", "2a", "1d", "1e", "2c", "3a", "1b", "3f", "2f")
_VICTIMS = {"R1": "d", "R2": "c", "R3": "d"}


def _figure_5(scale: Scale) -> Iterator[Row]:
    for contender in CONTENDERS:
        for place, (router, named) in enumerate(_VICTIMS.items()):
            for seed in scale.seeds:
                shed = _victim(CONTENDERS[contender], place, seed)
                yield Row("victims", router, contender, seed, float(shed == named))


def _victim(policy: str, stream: int, seed: int) -> str:
    """The packet that goes when one more arrives on a stream of full windows."""
    packets = [*_PACKETS, f"{stream + 1}g"]
    number = np.arange(len(packets))
    batch = arrivals(number, [int(p[0]) - 1 for p in packets], [ord(p[1]) for p in packets], number)
    join = WindowJoin(JoinSpec((_FOREVER,) * 3, _FOREVER, memory=4, policy=policy, seed=seed))
    for _ in join.feed(batch):
        pass
    kept = set(join.snapshot()["id"].tolist())
    (gone,) = set(range(len(packets))) - kept
    return packets[gone][1]


def _judge_5(table: Table) -> list[Check]:
    def named(contender: str) -> int:
        return sum(round(table.mean("victims", x, contender)) for x in table.xs("victims"))

    others = ", ".join(f"{name} {named(name)}" for name in ("frequency", "result"))
    return [
        Check("EP sheds d, c and d", f"EP sheds the tuple the paper names on {named(EP)} of 3 routers", named(EP) == 3),  # noqa: PLR2004
        Check("frequency and result shed others", f"the same tuples: {others} of 3",
              max(named("frequency"), named("result")) < 3,  # noqa: PLR2004
              "all priorities are 0 there and ties go to the oldest, which is the same tuple"),
    ]  # fmt: skip


def _ours_5(table: Table) -> str:
    shed = sum(round(table.mean("victims", x, OURS)) for x in table.xs("victims"))
    return f"existence_growth sheds the tuple the paper names on {shed} of 3 routers"


def _memory_figure(
    name: str, title: str, claim: str, workload: Workload, judge: Callable[[Table], Sequence[Check]]
) -> Figure:
    panels = (Panel("memory", "memory (% of a stream's tuples)", ACCURACY),)
    return Figure(name, PAPER, title, claim, panels, _by_memory(workload), judge, _ours("memory"))


def _order_figure(
    name: str,
    title: str,
    claim: str,
    measure: Callable[[Scale], Iterator[Row]],
    judge: Callable[[Table], Sequence[Check]],
) -> Figure:
    panels = (Panel("order", "arrival order", ACCURACY),)
    return Figure(name, PAPER, title, claim, panels, measure, judge, _ours("order"))


FIGURES = (
    Figure("ep-2", PAPER, "28 headlines of four sites, 4 tuples a window",
           "by arrival order nothing is lost although memory is short; by frequency or results something is",
           (Panel("headlines", "", "results"),), _figure_2, _judge_2, _ours_2),
    Figure("ep-5", PAPER, "three routers: who goes when one more packet arrives (windows rebuilt from the text)",
           "EP sheds d for a packet on R1 or R3 and c on R2; shedding by key has no basis to choose and sheds others",
           (Panel("victims", "router of the newcomer", "sheds the tuple the paper names (1 = yes)"),),
           _figure_5, _judge_5, _ours_5),
    _order_figure("ep-6", "unique keys, with and without a pattern", "no pattern: all alike; pattern: EP far ahead",
                  _figure_6, _judge_6),
    _memory_figure("ep-7", "unique keys with a pattern, by memory", "EP up to 30 % more of the true result", PATTERN,
                   _judge_lead(30)),
    _order_figure("ep-8", "normally distributed keys, with and without delays", "EP ahead in both", _figure_8,
                  _judge_8),
    _memory_figure("ep-9", "normally distributed keys with delays, by memory", "EP ahead at every memory",
                   NORMAL["pattern"], _judge_9),
    _memory_figure("ep-10", "a pattern that repeats, by memory", "EP up to 20 % ahead", REPEATING, _judge_lead(20)),
    Figure("ep-11", PAPER, "run time on figure 10's streams", "EP ≈ result, frequency far slower",
           (Panel("time", "memory (% of a stream's tuples)", "processor time (ms)"),), _figure_11, _judge_11, _ours_11),
)  # fmt: skip
