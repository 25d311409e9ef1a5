"""What shedding took, by stream and pattern, and what it is estimated to have cost.

The estimate is that of the sampled keys (see key_sample): what they lack stands for what all lack. It is made the same
way for every policy, and exact where so few tuples were in the windows that all keys were sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panelake.kernels.joins.join_spec import JoinSpec

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Accounting:
    """At [i, ep]: tuples of stream i and pattern ep (bit j: stream j) shed so far.

    Of the sampled keys' results, how many there would have been, and how many were found.
    """

    shed: Doubles
    true_results: float = 0.0
    found_results: float = 0.0

    @classmethod
    def nothing(cls, spec: JoinSpec) -> Accounting:
        return cls(np.zeros((spec.streams, 1 << spec.streams)))

    def since(self, before: Accounting) -> Accounting:
        """What came after an earlier accounting of the same join."""
        return Accounting(
            self.shed - before.shed,
            self.true_results - before.true_results,
            self.found_results - before.found_results,
        )

    def shed_tuples(self) -> list[int]:
        """Tuples shed of each stream."""
        return [int(count) for count in self.shed.sum(axis=1)]

    def shed_by_pattern(self, stream: int) -> dict[str, int]:
        """Tuples shed of a stream by pattern, S1's bit first as in the paper: '100' came before all others."""
        streams = len(self.shed)
        found = ((format(ep, f"0{streams}b")[::-1], int(count)) for ep, count in enumerate(self.shed[stream]))
        return {pattern: count for pattern, count in found if count}

    @property
    def estimated_lost(self) -> float:
        """Results that exist beside those found: those that the sampled keys lack."""
        return self.true_results - self.found_results

    def estimated_accuracy(self, emitted: int) -> float:
        """Results emitted as a share of those estimated to exist; 1 where there are none."""
        total = emitted + self.estimated_lost
        return emitted / total if total else 1.0
