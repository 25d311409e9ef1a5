"""The news world: headlines of four sites, `<keyword, ts>`, as the shedding paper's figure 2 collected them.

The first 28 are the paper's, round robin; 화물연대, 개성공단 and 신종플루 are common to all sites. Then the same
happens again with new stories: the keyword carries the number of its round.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import pyarrow as pa

HEADLINES = {
    "hankook": ["화물연대", "신종플루", "개성공단", "복핵위협", "재테크전략", "월드컵예선", "지방선거"],
    "kyunghyang": ["국방대이전", "월드컵예선", "화물연대", "신종플루", "달러약세", "개성공단", "복핵위협"],
    "dailynews": ["관세행정", "복핵위협", "화물연대", "여기자역류", "개성공단", "달러약세", "신종플루"],
    "daejeon": ["국방대이전", "지방선거", "화물연대", "교과부지원", "개성공단", "재테크전략", "신종플루"],
}
ROUND = sum(len(keywords) for keywords in HEADLINES.values())
_ROUNDS_AT_ONCE = 5_000
_SECOND = 1_000_000
SCHEMA = pa.schema([("keyword", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))])


def batches(tuples: int, rate: float, seed: int, start: int) -> Iterator[tuple[str, pa.Table]]:  # noqa: ARG001 - fixed
    """The sites' headlines, evenly in time from `start`, microseconds; no seed changes what the paper printed."""
    at_once = _ROUNDS_AT_ONCE * ROUND
    for first in range(0, tuples, at_once):
        stories = islice(_stories(first // ROUND), min(at_once, tuples - first))
        rows = [(site, word, start + int((first + row) * _SECOND / rate)) for row, (site, word) in enumerate(stories)]
        for site in HEADLINES:
            mine = [(word, ts) for name, word, ts in rows if name == site]
            if mine:
                yield (
                    site,
                    pa.table([pa.array(column) for column in zip(*mine, strict=True)], SCHEMA.names).cast(SCHEMA),
                )


def _stories(number: int) -> Iterator[tuple[str, str]]:
    """Site and keyword in arrival order, from a round on; the first round is the paper's own."""
    while True:
        again = f" {number + 1}" if number else ""
        for turn, site in product(range(ROUND // len(HEADLINES)), HEADLINES):
            yield site, HEADLINES[site][turn] + again
        number += 1
