"""The ring queue with a hash index as its paper has it: 100 buckets, each a chain of tuples, newest first.

Source: 김상기 외, "Join processing using Hash Index based on Ring Queue Buffer in DSMS". It chains tuples "of one key"
below 100 buckets. Left open there: how keys that share a bucket are told apart. Here they share its chain, as in any
table of 100 buckets, and a walk compares keys. The rings and chains are MJoin's; with two streams nothing else differs.
The kernel that answers real queries keeps a chain for each key instead (kernels/joins/ring_window).
"""

from __future__ import annotations

from panelake.baselines.mjoin import MJoin
from panelake.kernels.joins.join_spec import JoinSpec

PRINTED_BUCKETS = 100


class RingQueue(MJoin):
    """Rings, and 100 buckets a stream."""

    def __init__(self, spec: JoinSpec, buckets: int = PRINTED_BUCKETS) -> None:
        super().__init__(spec, buckets)
