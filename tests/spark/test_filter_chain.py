"""Learned orders inside Spark: the plan follows them, the rows do not depend on them, and guards stay guards."""

from __future__ import annotations

import re
from itertools import permutations

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.filters import statistics as filter_statistics
from panelake.language.raising import placed
from panelake.spark import filter_chain
from panelake.spark.conjunction import conjunction
from panelake.spark.filter_costs import LEAST, measure_costs

pytestmark = pytest.mark.spark

TYPES = {"id": "bigint", "word": "string", "small": "bigint", "share": "double", "zero": "bigint", "flag": "boolean"}
ROWS = 4_000
# Each condition with its twin in Python's terms, None being NULL.
CONDITIONS = {
    "`word` LIKE '%3%'": lambda row: None if row["word"] is None else "3" in row["word"],
    "`small` > 2": lambda row: None if row["small"] is None else row["small"] > 2,
    "NOT `share` < 0.3 OR `word` IS NULL": lambda row: (
        True if row["word"] is None else None if row["share"] is None else row["share"] >= 0.3
    ),
    "`flag`": lambda row: row["flag"],
}
MARKS = ("Contains(word", "(small", "share", "flag")


def row_of(number):
    random = np.random.default_rng(number)
    known = random.random(4) < 0.85
    return {
        "id": number,
        "word": f"w{random.integers(0, 9_999)}" if known[0] else None,
        "small": int(random.integers(0, 7)) if known[1] else None,
        "share": float(random.random()) if known[2] else None,
        "zero": int(random.integers(0, 2)),
        "flag": bool(random.random() < 0.8) if known[3] else None,
    }


@pytest.fixture(scope="module")
def rows():
    return [row_of(number) for number in range(ROWS)]


@pytest.fixture(scope="module")
def table(spark, rows, tmp_path_factory):
    address = str(tmp_path_factory.mktemp("filters") / "delta")
    schema = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    spark.createDataFrame([tuple(row[name] for name in TYPES) for row in rows], schema).write.format("delta").save(
        address
    )
    return spark.read.format("delta").load(address)


@pytest.fixture
def chain():
    return placed(CONDITIONS, TYPES)


def in_order(chain, order):
    statistics = filter_statistics.start(chain)
    return filter_statistics.resume(statistics.to_row() | {"order": list(order)}, chain)


def conditions_in_plan(frame, capsys):
    """The order in which the physical plan's filter names what marks each condition, inferred NULL checks apart."""
    frame.explain()
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "Filter " in line)
    text = re.sub(r"isnotnull\(\w+#\d+L?\)", "", line)
    return sorted(range(len(MARKS)), key=lambda number: text.index(MARKS[number]))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)], ids=str)
@pytest.mark.parametrize("earlier", [False, True], ids=["alone", "behind another filter"])
def test_the_physical_plan_evaluates_conditions_in_the_order_told(table, chain, capsys, order, earlier):
    frame = table.where("id >= 0") if earlier else table
    assert conditions_in_plan(filter_chain.filtered(frame, in_order(chain, order)), capsys) == list(order)


def test_the_rows_kept_are_those_of_three_valued_logic_in_every_order(table, rows, chain):
    wanted = {row["id"] for row in rows if all(truth(row) is True for truth in CONDITIONS.values())}
    assert 0 < len(wanted) < ROWS
    for order in list(permutations(range(4)))[::5]:
        found = filter_chain.filtered(table, in_order(chain, order)).select("id").collect()
        assert {row["id"] for row in found} == wanted


def test_spark_stops_at_the_first_condition_that_is_not_true(table):
    guarded = ["`zero` <> 0", "10 / `zero` > 1"]
    assert table.where(conjunction(guarded)).count() > 0
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        table.where(conjunction(guarded[::-1])).count()


def test_a_guard_that_is_null_drops_the_tuple_too(table):
    unknown = table.withColumn("flag", F.when(F.col("zero") != 0, F.lit(True)))  # noqa: FBT003 - Spark's signature
    assert unknown.where(conjunction(["`flag`", "10 / `zero` > 1"])).count() > 0


def test_a_sample_is_the_same_however_the_tuples_are_spread(table):
    position = ["id"]
    once = {row["id"] for row in filter_chain.sampled(table, position, every=20).collect()}
    again = {row["id"] for row in filter_chain.sampled(table.repartition(5, "word"), position, every=20).collect()}
    other = {row["id"] for row in filter_chain.sampled(table, position, every=20, seed=1).collect()}
    assert once == again
    assert once != other
    assert ROWS / 20 * 0.7 < len(once) < ROWS / 20 * 1.3


def test_outcomes_of_a_sample_are_those_of_its_rows(table, rows, chain):
    outcomes, tuples = filter_chain.observe(table, chain)
    bits = [sum((truth(row) is True) << number for number, truth in enumerate(CONDITIONS.values())) for row in rows]
    expected, counts = np.unique(bits, return_counts=True)
    assert outcomes.tolist() == expected.tolist()
    assert tuples.tolist() == counts.tolist()


def test_an_empty_sample_teaches_nothing(table, chain):
    outcomes, tuples = filter_chain.observe(table.limit(0), chain)
    assert (len(outcomes), len(tuples)) == (0, 0)
    assert filter_statistics.learn(filter_statistics.start(chain), chain, (outcomes, tuples)).order == (0, 1, 2, 3)


BORDERED = ["`small` > 0", "`zero` <> 0", "10 / `zero` > 1", "`flag`", "`id` < 40"]


def test_a_sample_evaluates_what_can_raise_only_behind_its_guards(table, rows):
    chain = placed(BORDERED, TYPES)
    outcomes, tuples = filter_chain.observe(table, chain)
    reaching = [row for row in rows if (row["small"] or 0) > 0 and row["zero"] != 0]
    assert sum(tuples[outcomes & 0b100 != 0]) == len(reaching)
    assert sum(tuples[outcomes & 0b10000 != 0]) == sum(row["id"] < 40 for row in reaching)


def test_conditions_change_places_between_borders_only(table):
    """The last condition drops most, and may come before its neighbour, not before the division."""
    chain = placed(BORDERED, TYPES)
    learned = filter_statistics.learn(filter_statistics.start(chain), chain, filter_chain.observe(table, chain))
    assert learned.order == (1, 0, 2, 4, 3)
    assert filter_chain.filtered(table, learned).count() == table.where(conjunction(BORDERED)).count()


SLOW = "levenshtein(concat(`word`, `word`, `word`, `word`), 'a word that is rather long to compare') > 3"


def test_costs_are_told_apart(table):
    costs = measure_costs(table, placed([SLOW, "`small` > 2"], TYPES))
    assert costs[0] > 3 * costs[1] >= 3 * LEAST


def test_the_cost_of_what_no_tuple_reaches_is_not_known(table):
    costs = measure_costs(table.limit(500), placed(["`id` < 0", "10 / `zero` > 1"], TYPES))
    assert costs[0] >= LEAST
    assert np.isnan(costs[1])


def test_what_drops_most_per_cost_comes_first_and_is_remembered(table):
    chain = placed([SLOW, "`flag`", "`small` > 5"], TYPES)
    sample = filter_chain.sampled(table, ["id"], every=5)
    learned = filter_statistics.learn(
        filter_statistics.start(chain), chain, filter_chain.observe(sample, chain), np.array([1e-6, 1e-8, 1e-8])
    )
    assert learned.order == (2, 1, 0)
    assert learned.saved() > 0.5
    assert learned.selectivities == pytest.approx([1, 0.68, 0.12], abs=0.15)
    resumed = filter_statistics.resume(learned.to_row(), chain)
    assert resumed.order == learned.order
    assert resumed.to_row() == learned.to_row()
