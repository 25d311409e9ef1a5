"""The study: what the model and the simulation say of two rates and of those between, as tables that become CSV files.

Nothing here depends on anything but the measured rates: the same rates give the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from panelake.capacity.design import AS_IS, Cluster, Design, changed
from panelake.capacity.limits import LIMITS, World, day_of_breaking, reached_at
from panelake.capacity.load import DAY_SECONDS, Load
from panelake.capacity.rates import Rates
from panelake.capacity.simulation import Job, Outcome, Step, simulate
from panelake.capacity.sizing import cores_needed, quantities, slice_seconds
from panelake.capacity.stages import NUMBER, stage_needs
from panelake.experiments.table import Row, Table

RATES_ASKED = {"1 M": 1e6, "100 M": 1e8}
SWEPT = tuple(10.0**power for power in (3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9))
LENGTHS = (60.0, 300.0, 900.0, 3_600.0)
AGES = (1.0, 30.0, 365.0)
SEEDS = (1, 2, 3)
CLUSTER = Cluster()
NEVER = -1.0  # as a number in a table: no rate, or no time, reaches the limit
# What must be done of the slice before, where several are under way.
AFTER = {"ingest": NUMBER, NUMBER: NUMBER, "windows": "panes", "join": NUMBER, "audit": "audit", "publish": "publish"}


@dataclass(frozen=True)
class Weather:
    """How tuples come: bursts of so many times the calm rate, and an hour in which a slice hangs. Mean rate 1."""

    days: float = 2.0
    burst: float = 3.0
    burst_seconds: float = 1_200.0
    bursts_a_day: float = 6.0
    hangs_at: float = 0.75  # of the time, a server is lost
    hangs_seconds: float = 3_600.0

    def factors(self, slices: int, slice_seconds: float, seed: int) -> list[float]:
        """Of each slice, how many times the mean rate it has."""
        draws = np.random.default_rng(seed).random(slices)
        length = max(1, round(self.burst_seconds / slice_seconds))
        begins = draws < self.bursts_a_day * slice_seconds / DAY_SECONDS
        bursting = np.convolve(begins, np.ones(length))[:slices] > 0
        rates = np.where(bursting, self.burst, 1.0)
        return [float(rate) for rate in rates / rates.mean()]


WEATHER = Weather()


@dataclass(frozen=True)
class Scenario:
    """A rate, a design and the cores it is given, after so many days of running."""

    name: str
    load: Load
    design: Design
    cores: float


def aged(days: float) -> str:
    """For how long slices have been run."""
    return "1 day" if days == 1 else f"{days:g} days"


def designs(rate: float) -> dict[str, Design]:
    """As it is, with everything changed, and with sources in time order besides."""
    made = changed(rate)
    return {AS_IS.name: AS_IS, made.name: made, "changed, in order": replace(made, in_order=True)}


def given_cores(load: Load, rates: Rates, design: Design) -> float:
    """Cores that keep up; where none do, so many as the work alone would keep at the utilisation wanted."""
    found = cores_needed(load, rates, design, CLUSTER)
    return found if found is not None else work_cores(load, rates, design)


def work_cores(load: Load, rates: Rates, design: Design) -> float:
    """Cores that core-seconds alone ask for."""
    work = sum(need.work for need in stage_needs(load.split(design.shards), rates, design))
    return design.shards * max(1.0, work / (CLUSTER.utilisation * load.slice_seconds))


def sizes(rates: Rates) -> Table:
    """Everything that grows, at both rates, in every design."""
    rows = []
    for rate in RATES_ASKED.values():
        for name, design in designs(rate).items():
            load = Load(rate)
            found = {quantity: value for quantity, (value, _) in quantities(load, rates, design).items()}
            cores = cores_needed(load, rates, design, CLUSTER)
            found |= {"cores": NEVER if cores is None else cores, "shards": design.shards}
            found["slice"] = slice_seconds(load, rates, design, given_cores(load, rates, design))
            rows += [Row(name, rate, quantity, 0, value) for quantity, value in found.items()]
    return Table(rows)


def stages(rates: Rates) -> Table:
    """Each stage of a slice of one shard: serial seconds, core-seconds, tasks and the cores of all shards at work."""
    rows = []
    for label, rate in RATES_ASKED.items():
        for design in (AS_IS, changed(rate)):
            load = Load(rate).split(design.shards)
            for need in stage_needs(load, rates, design):
                busy = design.shards * need.work / (CLUSTER.utilisation * load.slice_seconds)
                most = NEVER if need.most_cores == float("inf") else need.most_cores
                told = {"serial": need.serial, "work": need.work, "tasks": need.tasks, "cores": busy, "most": most}
                rows += [Row(f"{label}, {design.name}", need.name, name, 0, value) for name, value in told.items()]
    return Table(rows)


def cores(rates: Rates) -> Table:
    """Over all rates: the cores that each stage's work asks for, and those a design needs to keep up."""
    rows = []
    for rate in SWEPT:
        load = Load(rate)
        for need in stage_needs(load, rates, AS_IS):
            if need.work:
                busy = need.work / (CLUSTER.utilisation * load.slice_seconds)
                rows.append(Row("work by stage", rate, need.name, 0, busy))
        for name, design in designs(rate).items():
            found = cores_needed(load, rates, design, CLUSTER)
            if found is not None:
                rows.append(Row("cores that keep up", rate, name, 0, found))
    return Table(rows)


def limits(rates: Rates) -> Table:
    """The rate that breaks each limit after some days, and the days until each of both rates does."""
    rows = []
    for limit in LIMITS:
        for design in (AS_IS, replace(changed(1.0), name="changed, one shard")):
            world = World(rates, design, CLUSTER)
            for age in AGES:
                at = reached_at(limit, Load(1.0, days=age), world)
                rows.append(Row(f"rate, {design.name}", limit.name, aged(age), 0, NEVER if at is None else at))
        for label, rate in RATES_ASKED.items():
            for design in (AS_IS, changed(rate)):
                load, world = Load(rate).split(design.shards), World(rates, design, CLUSTER)
                days = day_of_breaking(limit, load, world)
                used = limit.used(load, world)
                rows.append(Row(f"days, {design.name}", limit.name, label, 0, NEVER if days is None else days))
                rows.append(Row(f"used, {design.name}", limit.name, label, 0, used))
    rows.append(Row("answers", "answers", "rows a slice", 0, Load(1.0).slice_seconds / rates.answer_row))
    return Table(rows)


def lengths(rates: Rates) -> Table:
    """Shorter and longer slices: the cores they need, and how old an answer is at most when it is published."""
    rows = []
    for length in LENGTHS:
        for label, rate in RATES_ASKED.items():
            for name, design in list(designs(rate).items())[:2]:
                load = Load(rate, slice_seconds=length)
                found = cores_needed(load, rates, design, CLUSTER)
                contender = f"{label}, {name}"
                rows.append(Row("cores", length, contender, 0, NEVER if found is None else found))
                if found is not None:
                    oldest = length + slice_seconds(load, rates, design, found)
                    rows.append(Row("oldest", length, contender, 0, oldest))
    return Table(rows)


def scenarios(rates: Rates) -> list[Scenario]:
    """Both rates as it is from the first day on, and changed after a month of running."""
    found = []
    for label, rate in RATES_ASKED.items():
        for design, age, when in ((AS_IS, 0.0, "from the first day"), (changed(rate), 30.0, "after 30 days")):
            load = Load(rate, days=age)
            name = f"{label} {design.name}, {when}"
            found.append(Scenario(name, load, design, given_cores(replace(load, days=1.0), rates, design)))
    return found


def jobs(scenario: Scenario, rates: Rates, factors: Sequence[float], weather: Weather) -> list[Job]:
    """The slices of one shard, every shard being like the others; one slice hangs, and the history grows."""
    load = scenario.load.split(scenario.design.shards)
    hanging = round(weather.hangs_at * len(factors))
    made = []
    for number, factor in enumerate(factors):
        now = replace(load.at(load.tuples_per_second * factor), days=load.days + number / load.slices_a_day)
        steps = []
        for need in stage_needs(now, rates, scenario.design):
            hangs = weather.hangs_seconds if number == hanging and need.name == "ingest" else 0.0
            steps.append(Step(need.name, need.serial + hangs, need.work, need.most_cores, AFTER.get(need.name, "")))
        made.append(Job((number + 1) * load.slice_seconds, tuple(steps)))
    return made


def delays(rates: Rates, weather: Weather = WEATHER, seeds: Sequence[int] = SEEDS) -> Table:
    """Seconds from a slice's end to its answers and slices behind, hour by hour, and what they come to."""
    rows: list[Row] = []
    for scenario in scenarios(rates):
        slices = round(weather.days * scenario.load.slices_a_day)
        for seed in seeds:
            factors = weather.factors(slices, scenario.load.slice_seconds, seed)
            outcome = simulate(
                jobs(scenario, rates, factors, weather),
                scenario.cores / scenario.design.shards,
                scenario.design.in_flight,
            )
            rows += _hours(scenario, outcome, seed)
            rows += _summary(scenario, outcome, seed, weather)
    return Table(rows)


def _hours(scenario: Scenario, outcome: Outcome, seed: int) -> Iterator[Row]:
    """Of each hour the newest slice to arrive in it."""
    newest = {int(one.arrived // 3_600): one for one in outcome.passages}
    for hour, one in newest.items():
        yield Row("delay", float(hour), scenario.name, seed, one.seconds)
        yield Row("backlog", float(hour), scenario.name, seed, outcome.backlog(one.arrived))


def _summary(scenario: Scenario, outcome: Outcome, seed: int, weather: Weather) -> Iterator[Row]:
    span = max(one.done for one in outcome.passages) - min(one.arrived for one in outcome.passages)
    told = {
        "cores": scenario.cores,
        "median": outcome.quantile(0.5),
        "p99": outcome.quantile(0.99),
        "most behind": outcome.most_behind(),
        "behind at the end": outcome.backlog(outcome.passages[-1].arrived),
        "caught up after": caught_up(outcome, weather),
        "cores busy": outcome.core_seconds * scenario.design.shards / (scenario.cores * span),
    }
    for name, value in told.items():
        yield Row("summary", scenario.name, name, seed, value)


def caught_up(outcome: Outcome, weather: Weather) -> float:
    """Hours from when the slice that hung went on until one arrived that had nobody before it; NEVER if none did."""
    hanging = round(weather.hangs_at * len(outcome.passages))
    over = outcome.passages[hanging].began + weather.hangs_seconds
    for one in outcome.passages[hanging + 1 :]:
        if one.arrived >= over and outcome.backlog(one.arrived) <= 1:
            return (one.arrived - over) / 3_600
    return NEVER


TABLES = {"sizes": sizes, "stages": stages, "cores": cores, "limits": limits, "lengths": lengths, "delays": delays}
