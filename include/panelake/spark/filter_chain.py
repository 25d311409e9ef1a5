"""A WHERE in a learned order: Spark evaluates the conditions as told, a sample tells what each drops and costs.

Spark keeps the order of a conjunction as it is written, and stops at the first condition that is not TRUE, inside its
generated code. So an order costs nothing to follow, and only sampled tuples are evaluated for learning's sake. A tuple
is sampled by a hash of its source position: the same ones in every run. Measured costs differ from run to run, and so
may orders; the rows kept never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.kernels.filter_order import profile as profiles
from panelake.kernels.filter_order.profile import Profile
from panelake.language.raising import Placed
from panelake.spark.conjunction import conjunction

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

SAMPLED_EVERY = 100
_OUTCOME, _TUPLES = "_outcome", "_tuples"


@dataclass(frozen=True)
class FilterStatistics:
    """All that is known of a chain of conditions: a value, stored after a slice and resumed by the next.

    `costs` are seconds a tuple, NaN until measured.
    """

    conditions: tuple[str, ...]
    profile: Profile
    costs: Doubles

    @property
    def order(self) -> tuple[int, ...]:
        """The conditions by their place as written, in the order in force."""
        return tuple(self.profile.order.tolist())

    @property
    def assumed_costs(self) -> Doubles:
        """Costs to decide by: one that is not known is taken to be like the others."""
        known = self.costs[~np.isnan(self.costs)]
        return np.where(np.isnan(self.costs), known.mean() if len(known) else 1.0, self.costs)

    @property
    def selectivities(self) -> Doubles:
        """Each condition's share of TRUE among sampled tuples; behind a border, among those evaluated or dropped."""
        return profiles.selectivities(self.profile)

    def saved(self) -> float:
        """The share of the written order's cost that the order in force saves; NaN while nothing is known."""
        written = np.arange(len(self.conditions), dtype=np.int64)
        costs = self.assumed_costs
        return 1 - self.expected_cost() / profiles.expected_cost(self.profile, written, costs)

    def expected_cost(self) -> float:
        """What a tuple pays in the order in force, in seconds once costs are measured; NaN while nothing is known."""
        return profiles.expected_cost(self.profile, self.profile.order, self.assumed_costs)

    def with_costs(self, measured: Doubles) -> FilterStatistics:
        """These statistics with costs measured anew, NaN where they were not; the order stays."""
        return replace(self, costs=_blended(self.costs, measured))

    def to_row(self) -> dict[str, Any]:
        """Plain values, as a table holds them."""
        arrays = {"order": self.profile.order, "outcomes": self.profile.outcomes, "weights": self.profile.weights}
        lists = {name: array.tolist() for name, array in (arrays | {"costs": self.costs}).items()}
        return {"conditions": list(self.conditions), **lists}


def start(chain: Sequence[Placed]) -> FilterStatistics:
    """Nothing known: conditions in the order written."""
    conditions = tuple(placed.condition for placed in chain)
    return FilterStatistics(conditions, profiles.start(len(chain)), np.full(len(chain), np.nan))


def resume(row: dict[str, Any] | None, chain: Sequence[Placed]) -> FilterStatistics:
    """The statistics of a stored row; a chain of other conditions, or in another order as written, starts anew."""
    fresh = start(chain)
    if row is None or tuple(row["conditions"]) != fresh.conditions:
        return fresh
    order, outcomes = (np.array(row[name], dtype=np.int64) for name in ("order", "outcomes"))
    weights, costs = (np.array(row[name], dtype=np.float64) for name in ("weights", "costs"))
    if np.any(np.diff(_segments(chain)[order]) < 0):  # what can raise is judged anew by every version
        return fresh
    return FilterStatistics(fresh.conditions, Profile(order, outcomes, weights), costs)


def kept(statistics: FilterStatistics) -> Column:
    """The conjunction in the order in force: TRUE for the tuples kept."""
    return conjunction([statistics.conditions[number] for number in statistics.order])


def filtered(frame: DataFrame, statistics: FilterStatistics) -> DataFrame:
    """The tuples for which every condition is TRUE."""
    return frame.where(kept(statistics)) if statistics.conditions else frame


def sampling(tuples: int) -> int:
    """One tuple in how many to sample: a hundred, more where that would be more than a profile remembers."""
    return max(SAMPLED_EVERY, tuples // profiles.LIMIT)


def sampled(frame: DataFrame, position: Sequence[str], every: int = SAMPLED_EVERY, seed: int = 0) -> DataFrame:
    """About one tuple in `every`, chosen by the columns that say where it came from."""
    if every < 1:
        raise ValueError(f"one tuple in {every} cannot be sampled; expected 1 or more")
    place = F.xxhash64(*(F.col(name) for name in position), F.lit(seed))
    return frame.where(F.pmod(place, F.lit(every)) == 0)


def observe(sample: DataFrame, chain: Sequence[Placed]) -> tuple[Integers, Integers]:
    """Distinct outcomes of a sample and their tuples: bit i of an outcome says that condition i is TRUE.

    One job. A tuple that does not pass a segment is not evaluated further, as what can raise may be guarded by it.
    """
    rows = sample.groupBy(_outcome(chain).alias(_OUTCOME)).agg(F.count(F.lit(1)).alias(_TUPLES)).collect()
    pairs = sorted((row[_OUTCOME], row[_TUPLES]) for row in rows)
    outcomes, tuples = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return outcomes, tuples


def learn(
    statistics: FilterStatistics,
    chain: Sequence[Placed],
    sample: tuple[Integers, Integers],
    costs: Doubles | None = None,
) -> FilterStatistics:
    """The statistics with a sample's outcomes and, if measured, new costs; the order for what comes next."""
    known = statistics if costs is None else statistics.with_costs(costs)
    observed = replace(known, profile=profiles.absorb(known.profile, *sample))
    return replace(observed, profile=profiles.reorder(observed.profile, observed.assumed_costs, _segments(chain)))


def _blended(known: Doubles, measured: Doubles) -> Doubles:
    """What was known and what was measured, half each where there are both: older measurements fade."""
    blended = np.where(np.isnan(measured), known, (known + measured) / 2)
    return np.where(np.isnan(known), measured, blended)


def _segments(chain: Sequence[Placed]) -> Integers:
    return np.array([placed.segment for placed in chain], dtype=np.int64)


def _outcome(chain: Sequence[Placed]) -> Column:
    """The bits of one segment, and behind it, where all of it is TRUE, those of the rest."""
    outcome = F.lit(0).cast("bigint")
    for segment in sorted({placed.segment for placed in chain}, reverse=True):
        own = [(number, placed.condition) for number, placed in enumerate(chain) if placed.segment == segment]
        bits = [F.when(F.expr(condition), F.lit(1 << number)).otherwise(F.lit(0)) for number, condition in own]
        rest = F.when(conjunction([condition for _, condition in own]), outcome).otherwise(F.lit(0))
        outcome = reduce(lambda one, other: one.bitwiseOR(other), [rest, *bits])
    return outcome
