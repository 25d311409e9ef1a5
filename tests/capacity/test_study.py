"""The study's tables: complete, the same every time, and saying what the model and the simulation say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panelake.capacity import study
from panelake.capacity.design import AS_IS
from panelake.capacity.load import Load
from panelake.capacity.simulation import simulate
from panelake.capacity.study import NEVER, Weather
from panelake.experiments.table import Table

from .paper import RATES

CALM = Weather(days=0.25, burst=1.0, bursts_a_day=0.0, hangs_seconds=0.0)


def test_bursts_come_and_the_mean_stays():
    factors = Weather().factors(5_000, 300.0, seed=1)
    assert sum(factors) / len(factors) == pytest.approx(1)
    assert max(factors) / min(factors) == pytest.approx(3)
    # Six a day of four slices each: some 8 in 100, fewer where they overlap.
    assert 0.06 < sum(factor > 1 for factor in factors) / len(factors) < 0.09


@pytest.mark.parametrize("make", study.TABLES.values(), ids=study.TABLES)
def test_the_same_rates_give_the_same_table(make):
    assert make(RATES).rows == make(RATES).rows


def test_without_bursts_every_slice_takes_what_the_model_says():
    scenario = study.scenarios(RATES)[0]
    factors = CALM.factors(20, scenario.load.slice_seconds, seed=1)
    queue = study.jobs(scenario, RATES, factors, CALM)
    outcome = simulate(queue, scenario.cores, scenario.design.in_flight)
    for job, one in zip(queue, outcome.passages, strict=True):
        alone = sum(step.serial + step.work / min(scenario.cores, step.most_cores) for step in job.steps)
        assert one.seconds == pytest.approx(alone)
    assert outcome.most_behind() == 1


def test_a_slice_that_hangs_delays_those_behind_it_and_is_caught_up_with():
    hour = replace(CALM, days=1.0, hangs_seconds=3_600.0)
    found = study.delays(RATES, hour, seeds=(1,))
    name = study.scenarios(RATES)[0].name
    assert found.mean("summary", name, "most behind") >= 12
    assert found.mean("summary", name, "caught up after") > 0
    calm = study.delays(RATES, CALM, seeds=(1,))
    assert calm.mean("summary", name, "most behind") == 1


def test_what_cannot_keep_up_falls_behind_without_end():
    slow = replace(RATES, file_pair=1e-4)
    found = study.delays(slow, Weather(), seeds=(1,))
    hopeless = next(scenario.name for scenario in study.scenarios(slow) if scenario.name.startswith("100 M as it is"))
    assert found.mean("summary", hopeless, "caught up after") == NEVER
    assert found.mean("summary", hopeless, "behind at the end") > 50


def test_work_by_stage_is_proportional_to_the_rate():
    table = study.cores(RATES)
    first, last = (table.mean("work by stage", rate, "ingest") for rate in (1e6, 1e8))
    assert last == pytest.approx(100 * first)
    assert first == pytest.approx(1e6 / RATES.ingest_tuples / 0.7)


def test_limits_are_told_for_every_age_and_rate():
    table: Table = study.limits(RATES)
    assert table.mean("rate, as it is", "memory of files", "1 day") > table.mean(
        "rate, as it is", "memory of files", "365 days"
    )
    assert table.mean("days, changed", "memory of files", "100 M") == NEVER
    assert table.mean("answers", "answers", "rows a slice") == pytest.approx(Load(1.0).slice_seconds / 1e-5)


def test_shares_of_the_stream_are_costed_as_one_shard():
    table = study.stages(RATES)
    [as_it_is] = table.values("100 M, as it is", "ingest", "cores")
    assert as_it_is == pytest.approx(1e8 / RATES.ingest_tuples / 0.7)
    [parted] = table.values("100 M, changed", "ingest", "cores")
    assert parted == pytest.approx(as_it_is)
    assert AS_IS.shards == 1
