"""What shedding took, by stream and pattern, and what it is estimated to have cost.

Where the policy has a control group of keys that are never shed (see existence_growth), the results of all keys are
estimated from theirs: the group is a random sample of keys. Otherwise the estimate of one tuple shed is what tuples of
its pattern have brought after their own arrival, on average, when it was shed (see existence_patterns); shedding
starves that average, so such an estimate of accuracy is too high where much is shed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.existence_growth import CONTROL_SHARE
from panelake.kernels.joins.existence_patterns import PatternTable
from panelake.kernels.joins.join_spec import JoinSpec

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Accounting:
    """At [i, ep]: tuples of stream i and pattern ep (bit j: stream j) shed so far, and results estimated lost."""

    shed: Doubles
    lost: Doubles
    control_results: float | None = None

    @classmethod
    def of(cls, table: PatternTable, control_results: float | None) -> Accounting:
        return cls(table.shed.copy(), table.lost.copy(), control_results)

    @classmethod
    def nothing(cls, spec: JoinSpec) -> Accounting:
        shed, lost = np.zeros((2, spec.streams, 1 << spec.streams))
        return cls(shed, lost)

    def since(self, before: Accounting) -> Accounting:
        """What came after an earlier accounting of the same join."""
        control = None if self.control_results is None else self.control_results - (before.control_results or 0.0)
        return Accounting(self.shed - before.shed, self.lost - before.lost, control)

    def shed_tuples(self) -> list[int]:
        """Tuples shed of each stream."""
        return [int(count) for count in self.shed.sum(axis=1)]

    def shed_by_pattern(self, stream: int) -> dict[str, int]:
        """Tuples shed of a stream by pattern, S1's bit first as in the paper: '100' came before all others."""
        streams = len(self.shed)
        found = ((format(ep, f"0{streams}b")[::-1], int(count)) for ep, count in enumerate(self.shed[stream]))
        return {pattern: count for pattern, count in found if count}

    def estimated_lost(self, emitted: int) -> float:
        """Results that exist beside those emitted; none where nothing was shed."""
        if self.control_results is None or not self.shed.any():
            return float(self.lost.sum())
        return max(0.0, self.control_results * CONTROL_SHARE - emitted)

    def estimated_accuracy(self, emitted: int) -> float:
        """Results emitted as a share of those estimated to exist; 1 where there are none."""
        total = emitted + self.estimated_lost(emitted)
        return emitted / total if total else 1.0
