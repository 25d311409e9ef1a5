"""What is known of a chain of filters, as a value: the order in force, what each drops, what each costs.

Resumed from what the slice before left, extended by a sample of the present one, stored for the next; older samples
fade. Needs no Spark: `plan` and the report read it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panelake.filters.chain import Placed
from panelake.kernels.filter_order import profile as profiles
from panelake.kernels.filter_order.profile import Profile

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Sample = tuple[Integers, Integers]
COSTS_EVERY = 64
# A sample makes a slice's job some tenths of a second dearer: it comes when filters took about ten times that.
WORTH_SECONDS = 3.0
_ENOUGH = profiles.LIMIT // 5


@dataclass(frozen=True)
class FilterStatistics:
    """All that is known of a chain of conditions: a value, stored after a slice and resumed by the next.

    `costs` are seconds a tuple, NaN until measured; `samples` counts those learned from.
    """

    conditions: tuple[str, ...]
    profile: Profile
    costs: Doubles
    samples: int = 0

    @property
    def order(self) -> tuple[int, ...]:
        """The conditions by their place as written, in the order in force."""
        return tuple(self.profile.order.tolist())

    @property
    def wants_costs(self) -> bool:
        """Whether costs are to be measured: at first, and every now and then."""
        return self.samples % COSTS_EVERY == 0

    def wants_sample(self, idle: float) -> bool:
        """Whether to learn more: while little is known, and when filters took so many seconds since the last sample."""
        return self.profile.weight < _ENOUGH or idle >= WORTH_SECONDS

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

    def surprised_by(self, dropped: Mapping[tuple[int, ...], int], tuples: int) -> bool:
        """Whether filters, told in groups that run one after another, dropped other shares than the profile tells."""
        expected, weight = profiles.dropped(self.profile, self.profile.order), self.profile.weight
        if min(weight, tuples) < profiles.OBSERVATIONS:
            return False
        shares = ((float(expected[list(group)].sum()), count / tuples) for group, count in dropped.items())
        return any(profiles.differ(share, weight, seen, tuples) for share, seen in shares)

    def with_costs(self, measured: Doubles) -> FilterStatistics:
        """These statistics with costs measured anew, NaN where they were not; the order stays."""
        return replace(self, costs=_blended(self.costs, measured))

    def to_row(self) -> dict[str, Any]:
        """Plain values, as a table holds them."""
        arrays = {"order": self.profile.order, "outcomes": self.profile.outcomes, "weights": self.profile.weights}
        lists = {name: array.tolist() for name, array in (arrays | {"costs": self.costs}).items()}
        return {"conditions": list(self.conditions), **lists, "samples": self.samples}


def start(chain: Sequence[Placed]) -> FilterStatistics:
    """Nothing known: conditions in the order written."""
    conditions = tuple(placed.condition for placed in chain)
    return FilterStatistics(conditions, profiles.start(len(chain)), np.full(len(chain), np.nan))


def with_order(statistics: FilterStatistics, order: Sequence[int]) -> FilterStatistics:
    """The same, run in another order."""
    return replace(statistics, profile=statistics.profile._replace(order=np.array(order, dtype=np.int64)))


def resume(row: Mapping[str, Any] | None, chain: Sequence[Placed]) -> FilterStatistics:
    """The statistics of a stored row; a chain of other conditions, or in another order as written, starts anew."""
    fresh = start(chain)
    if row is None or tuple(row["conditions"]) != fresh.conditions:
        return fresh
    order, outcomes = (np.array(row[name], dtype=np.int64) for name in ("order", "outcomes"))
    weights, costs = (np.array(row[name], dtype=np.float64) for name in ("weights", "costs"))
    if np.any(np.diff(_segments(chain)[order]) < 0):  # what can raise is judged anew by every version
        return fresh
    return FilterStatistics(fresh.conditions, Profile(order, outcomes, weights), costs, row["samples"])


def learn(
    statistics: FilterStatistics,
    chain: Sequence[Placed],
    sample: Sample,
    costs: Doubles | None = None,
) -> FilterStatistics:
    """The statistics with a sample's outcomes and, if measured, new costs; the order for what comes next."""
    known = statistics if costs is None else statistics.with_costs(costs)
    observed = replace(known, profile=profiles.absorb(known.profile, *sample), samples=known.samples + 1)
    return replace(observed, profile=profiles.reorder(observed.profile, observed.assumed_costs, _segments(chain)))


def _blended(known: Doubles, measured: Doubles) -> Doubles:
    """What was known and what was measured, half each where there are both: older measurements fade."""
    blended = np.where(np.isnan(measured), known, (known + measured) / 2)
    return np.where(np.isnan(known), measured, blended)


def _segments(chain: Sequence[Placed]) -> Integers:
    return np.array([placed.segment for placed in chain], dtype=np.int64)
