"""The paper's synthetic streams: filters in correlation groups over uniform values, and a reversal halfway.

Source: J.-K. Min, WT-Heuristics (2007), section 4.1, after Babu et al. (2004): n filters in ⌈n/T⌉ groups of T; filters
of different groups are independent, filters of one group agree on 80 % of tuples at a selectivity of 50 %. Each filter
looks at its own value, uniform on [0, 10000]: with probability √0.6 the group's common one, so that two of a group look
at the same value for 60 % of tuples, and agree on half of the others. Time and space O(tuples·n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from panelake.kernels.filter_order.batch import Batch, Doubles

_DOMAIN = 10_000
_SHARED = 0.6**0.5


@dataclass(frozen=True)
class Workload:
    """Table 1 of the paper; `reversed_halfway` gives the first filter the last one's selectivity, and so on."""

    costs: tuple[float, ...] = (1,) * 6
    selectivities: tuple[float, ...] = (0.5,) * 6
    tuples: int = 100_000
    group: int = 2
    reversed_halfway: bool = False

    def batch(self, seed: int) -> Batch:
        """All tuples at once, at positions 0, 1 and so on."""
        values = self._values(np.random.default_rng(seed))
        passes = values < np.array(self.selectivities) * _DOMAIN
        if self.reversed_halfway:
            half = self.tuples // 2
            passes[half:] = values[half:] < np.array(self.selectivities[::-1]) * _DOMAIN
        return Batch(passes, np.arange(self.tuples, dtype=np.int64), np.array(self.costs, dtype=np.float64))

    def _values(self, random: np.random.Generator) -> Doubles:
        filters = len(self.costs)
        groups = np.arange(filters) // self.group
        common = random.uniform(0, _DOMAIN, (self.tuples, groups[-1] + 1))[:, groups]
        own = random.uniform(0, _DOMAIN, (self.tuples, filters))
        return np.where(random.random((self.tuples, filters)) < _SHARED, common, own)


FIGURE_4 = Workload()
COSTS = {
    "Cost1": replace(FIGURE_4, costs=(1, 1, 1, 1, 5, 5)),
    "Cost2": replace(FIGURE_4, costs=(1, 1, 5, 5, 5, 5)),
    "Cost3": replace(FIGURE_4, costs=(1, 5, 1, 5, 1, 5)),
    "Cost4": replace(FIGURE_4, costs=(5, 1, 5, 1, 5, 1)),
}


def figure_5(filters: int) -> Workload:
    """Another number of filters."""
    return replace(FIGURE_4, costs=(1,) * filters, selectivities=(0.5,) * filters)


def figure_6(tuples: int) -> Workload:
    """Another number of tuples."""
    return replace(FIGURE_4, tuples=tuples)


REVERSAL = replace(FIGURE_4, selectivities=(0.15, 0.3, 0.45, 0.6, 0.75, 0.9), reversed_halfway=True)
