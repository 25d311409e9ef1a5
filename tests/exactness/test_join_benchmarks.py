"""The benchmarks of joins tell everything they are asked for, and find with every peer what the kernel finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from panelake.benchmarks import join, join_kernel, shedding
from panelake.benchmarks.targets import missed
from panelake.kernels.joins.join_spec import POLICIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_policy_is_measured_two_three_and_five_ways_within_its_memory() -> None:
    table = join_kernel.kernel_table(2_000)
    measured = {(row["streams"], row["policy"]) for row in table["rows"] if row["sheds"]}
    assert measured == {(ways, policy) for ways in (2, 3, 5) for policy in POLICIES}
    assert {row["streams"] for row in table["rows"] if row["policy"] == "unlimited"} == {2, 3, 5}
    assert all(row["ns"] > 0 for row in table["rows"])
    assert table["memory_exceeded"] == []
    assert table["nested_loops"]["ratio"] > 1
    assert table["targets"] == [], "they speak of a million tuples"


def kernel_rows(by_order: float) -> list[dict[str, Any]]:
    """A million tuples: 50 ns without limit, a policy's 100 with memory enough, and as told where it sheds."""
    spent = {("unlimited", False): 50.0} | {(name, False): 100.0 for name in join_kernel.SHOWN_AMPLE}
    spent |= {("existence_growth", True): 150.0, ("arrival_order", True): by_order}
    return [
        {"tuples": join_kernel.TARGET_SIZE, "streams": ways, "policy": policy, "sheds": sheds, "ns": ns}
        for ways in join_kernel.WAYS
        for (policy, sheds), ns in spent.items()
    ]


@pytest.mark.parametrize(("by_order", "met"), [(140.0, True), (180.0, False)])
def test_shedding_is_held_against_the_same_join_with_memory_enough(by_order: float, met: bool) -> None:  # noqa: FBT001
    told = {one["what"]: one for one in join_kernel.targets(kernel_rows(by_order))}
    assert told["two-way, unlimited, ns a tuple"]["value"] == 50.0
    assert told["two-way, unlimited, ns a tuple"]["reached"]
    assert told["five-way, arrival_order, ns a tuple"]["reached"]
    assert told["5-way, arrival_order, times itself with memory enough"]["reached"] is met
    assert told["5-way, existence_growth, times itself with memory enough"]["reached"]
    assert told["5-way, arrival_order, times unlimited"]["value"] == by_order / 50


@pytest.mark.spark
def test_every_peer_finds_the_results_of_the_whole_stage(tmp_path: Path, spark: SparkSession) -> None:
    found = join.compared(spark, join.make(tmp_path / "pair", 4_000, 10))
    assert found["results"] > 1_000
    assert set(found["seconds"]) == {"panelake", "shuffle", "spark_sql", "duckdb", "polars", "symmetric_hash"}
    assert found["ratios"]["panelake"] == 1.0


def row(order: float, growth: float) -> dict[str, Any]:
    return {
        "workload": "repeating",
        "memory": 0.5,
        "arrival_order": {"accuracy": order} | shedding.compare("arrival_order", "repeating", 1, order),
        "existence_growth": {"accuracy": growth} | shedding.compare("existence_growth", "repeating", 1, growth),
    }


@pytest.mark.parametrize(
    ("order", "growth", "apart", "short"),
    [
        (67.3, 72.7, [0, 0, 0], []),
        (64.3, 69.7, [-3, -3, 0], []),
        (64.2, 72.7, [-3.1, 0, 0], ["arrival_order"]),
        (72.0, 70.5, [4.7, -2.2, -1.5], ["default"]),
    ],
)
def test_accuracies_are_held_against_those_published(
    order: float, growth: float, apart: list[float], short: list[str]
) -> None:
    told = shedding.targets([row(order, growth)], "some")
    assert [one["value"] for one in told] == apart
    assert [one["what"].removeprefix("some: ").split()[0] for one in missed(told)] == short
    assert all("repeating at 0.5" in one["what"] for one in told)


def test_a_figure_that_is_missed_is_told_over_many_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shedding, "LENGTH", 4_000)
    monkeypatch.setattr(shedding, "MANY_SEEDS", range(1, 4))
    ((policy, short),) = shedding.missed([row(60.0, 72.7)])
    told = shedding.over_many_seeds(policy, short)
    single = [
        shedding.measured(policy, [(batch, shedding.truth(batch), seed)], 2_000)["accuracy"]
        for seed in range(1, 4)
        for batch in [shedding.as_arrivals(shedding.WORKLOADS["repeating"](seed))]
    ]
    assert (told["policy"], told["published"]) == ("arrival_order", 67.3)
    assert told["mean"] == pytest.approx(sum(single) / 3, abs=0.1)
    assert told["standard_deviation"] > 0
