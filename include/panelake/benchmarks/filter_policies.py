"""Simulated cost of every filter-ordering policy on the paper's workloads; its claims beside what is measured.

Cost is the sum of the filter costs actually paid; ratios are means over the seeds. `best` is the best fixed order on
true statistics; for the reversal, the best of each half. `per batch` is the default decided once a tenth of the data,
before it, from a sample of one tuple in a hundred on which all filters run, as through Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import mean

import numpy as np

from panelake.baselines.filter_policies import DEFAULT, NAMES, policy_named
from panelake.benchmarks.targets import Target, at_most, below
from panelake.kernels.filter_order import profile as profiles
from panelake.kernels.filter_order.batch import Batch
from panelake.kernels.filter_order.best_order import best_order, cost_of
from panelake.kernels.filter_order.workloads import COSTS, FIGURE_4, REVERSAL, Workload, figure_5, figure_6

SEEDS = 20
PER_BATCH = "per batch"
BATCHES = 10
SAMPLED_EVERY = 100
ADAPTIVE = [name for name in NAMES if name != "static"]
WORKLOADS = {
    "figure 4": FIGURE_4,
    **{f"figure 5: {filters} filters": figure_5(filters) for filters in (4, 8, 10, 12)},
    **{f"figure 6: {tuples // 1000}k tuples": figure_6(tuples) for tuples in range(100_000, 600_000, 100_000)},
    "figure 6: 50k tuples": figure_6(50_000),
    **{f"figure 7: {name}": workload for name, workload in COSTS.items()},
    "reversal": REVERSAL,
    "reversal, worst order first": replace(REVERSAL, selectivities=REVERSAL.selectivities[::-1]),
}
# How far above the best fixed order the default may be.
TARGETS = {"figure 4": 1.02} | {f"figure 7: {name}": 1.04 for name in COSTS}
REVERSAL_TARGET = 1.10
# Points of % within which ratios "hold".
STEADY = 3


@dataclass(frozen=True)
class Paid:
    """What one run cost: all of it, and from halfway on."""

    whole: float
    second_half: float


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    middle = len(batch.positions) // 2
    return (
        Batch(batch.passes[:middle], batch.positions[:middle], batch.costs),
        Batch(batch.passes[middle:], batch.positions[middle:], batch.costs),
    )


def _run_policy(name: str, batch: Batch, seed: int) -> Paid:
    policy = policy_named(name, seed)
    first, second = _halves(batch)
    before = policy.route(policy.start(len(batch.costs)), first)
    after = policy.route(before.state, second)
    return Paid(before.paid(batch.costs) + after.paid(batch.costs), after.paid(batch.costs))


def _run_per_batch(batch: Batch) -> Paid:
    """A batch's sample pays all filters, then every tuple, those sampled too, pays the order learned from it."""
    profile, costs = profiles.start(len(batch.costs)), []
    bits = 1 << np.arange(len(batch.costs))
    for passes in np.array_split(batch.passes, BATCHES):
        sample = passes[::SAMPLED_EVERY]
        outcomes = np.unique(sample @ bits, return_counts=True)
        profile = profiles.reorder(profiles.absorb(profile, *outcomes), batch.costs)
        learning = len(sample) * float(batch.costs.sum())
        costs.append(learning + cost_of(profile.order, passes, batch.costs))
    return Paid(sum(costs), sum(costs[BATCHES // 2 :]))


def _run_best(batch: Batch, *, each_half: bool) -> Paid:
    first, second = _halves(batch)
    if each_half:
        early, late = (best_order(half.passes, half.costs).cost for half in (first, second))
        return Paid(early + late, late)
    found = best_order(batch.passes, batch.costs)
    return Paid(found.cost, cost_of(found.order, second.passes, second.costs))


def _run_workload(workload: Workload, seeds: int) -> dict[str, dict[str, float]]:
    runs: list[dict[str, Paid]] = []
    for seed in range(seeds):
        batch = workload.batch(seed)
        paid = {name: _run_policy(name, batch, seed) for name in NAMES}
        paid[PER_BATCH] = _run_per_batch(batch)
        runs.append(paid | {"best": _run_best(batch, each_half=workload.reversed_halfway)})
    ratios = {
        "cost as % of static": {
            name: round(100 * mean(run[name].whole / run["static"].whole for run in runs), 2)
            for name in [*ADAPTIVE, PER_BATCH, "best"]
        },
        "cost / best": {name: _against_best(runs, name, "whole") for name in [*NAMES, PER_BATCH]},
    }
    if workload.reversed_halfway:
        ratios["second half / best"] = {name: _against_best(runs, name, "second_half") for name in [*NAMES, PER_BATCH]}
    return ratios


def _against_best(runs: list[dict[str, Paid]], name: str, part: str) -> float:
    return float(round(mean(getattr(run[name], part) / getattr(run["best"], part) for run in runs), 4))


def _check_targets(table: dict[str, dict[str, dict[str, float]]]) -> list[Target]:
    checks = []
    for name, target in TARGETS.items():
        above_best = table[name]["cost / best"]
        checks.append(at_most(f"{name}: {DEFAULT}, times the best order", above_best[DEFAULT], target))
        checks.append(below(f"{name}: {DEFAULT}, beside A-Greedy", above_best[DEFAULT], above_best["a_greedy"]))
    for name, ratios in table.items():
        if "second half / best" in ratios:
            worst = max(ratios[part][DEFAULT] for part in ("cost / best", "second half / best"))
            checks.append(at_most(f"{name}: {DEFAULT}, times the best, also after it", worst, REVERSAL_TARGET))
    return checks


def _claim(text: str, paper: dict[str, float], measured: dict[str, float], *, reproduced: bool) -> dict[str, object]:
    return {"claim": text, "paper": paper, "measured": measured, "reproduced": reproduced}


def _check_claims(table: dict[str, dict[str, dict[str, float]]]) -> list[dict[str, object]]:
    """What the paper says of WT and A-Greedy (% saved against static), beside what is measured with its own formula."""
    rivals = ("a_greedy", "wt", "wt_reach")
    saved = {
        name: {rival: round(100 - ratios["cost as % of static"][rival], 1) for rival in rivals}
        for name, ratios in table.items()
    }
    sizes = [row for name, row in saved.items() if name.startswith("figure 6")]
    by_size = {rival: round(mean(row[rival] for row in sizes), 1) for rival in rivals}
    counts = [row for name, row in saved.items() if name.startswith("figure 5")] + [saved["figure 4"]]
    spread = {
        rival: round(max(row[rival] for row in counts) - min(row[rival] for row in counts), 1) for rival in rivals
    }
    small = saved["figure 6: 50k tuples"]
    costs = {name: saved[f"figure 7: {name}"] for name in COSTS}
    ahead = {name: row["wt"] > row["a_greedy"] for name, row in costs.items()}
    wt_first = "WT saves more than A-Greedy"
    return [
        _claim(f"figure 4: {wt_first}", {"a_greedy": 4, "wt": 10}, saved["figure 4"],
              reproduced=saved["figure 4"]["wt"] > saved["figure 4"]["a_greedy"]),
        _claim(f"figure 6: {wt_first}, on average", {"a_greedy": 9, "wt": 12}, by_size,
              reproduced=by_size["wt"] > by_size["a_greedy"]),
        _claim("figure 6: at 50k tuples A-Greedy is worst, static included", {}, small,
              reproduced=small["a_greedy"] < min(0, small["wt"])),
        _claim("figure 5: what is saved changes little with the number of filters (here: by 3 points)", {}, spread,
              reproduced=max(spread["wt"], spread["a_greedy"]) <= STEADY),
        *(_claim(f"figure 7: {wt_first} on {name}", {}, costs[name], reproduced=ahead[name])
          for name in ("Cost1", "Cost2", "Cost3")),
        _claim("figure 7: A-Greedy saves more than WT on Cost4", {}, costs["Cost4"], reproduced=not ahead["Cost4"]),
    ]  # fmt: skip


def simulate(seeds: int = SEEDS) -> dict[str, object]:
    """Every workload, whether each target is met, and which of the paper's claims reproduce."""
    table = {name: _run_workload(workload, seeds) for name, workload in WORKLOADS.items()}
    return {"seeds": seeds, "workloads": table, "targets": _check_targets(table), "paper": _check_claims(table)}
