"""AMJoin: MJoin behind a bit-vector hash table (BiHT), which says in constant time whether a newcomer can join at all.

Source: Kwon, Kim, Kim and Son, "An Advanced Join Algorithm for Multiple Data Streams Using a Bit-Vector Hash Table"
(IEICE 2009), as the shedding paper uses it. Left open: how a bit is cleared when keys share a hash address. Here each
address counts its tuples by stream, a bit being "more than none": a shared address may let a newcomer probe in vain
(MJoin's chains then find nothing), but never keeps a result away.
Time: O(streams) a newcomer that cannot join, else as MJoin. Space: MJoin's, and a counter an address and stream.
"""

from __future__ import annotations

from panelake.baselines.mjoin import MJoin
from panelake.kernels.joins.join_spec import JoinSpec


class AMJoin(MJoin):
    """An MJoin with so many BiHT addresses."""

    def __init__(self, spec: JoinSpec, buckets: int = 4_096, vectors: int = 65_536) -> None:
        super().__init__(spec, buckets, max(2, vectors))
