"""What the join tests share: arrivals drawn by hypothesis, joins run in pieces, the headlines of the paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from panelake.kernels.joins.arrivals import arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.window_join import WindowJoin
from panelake.worlds.news import HEADLINES


def headlines():
    """t1 … t28, round robin S1, S2, S3, S4; the id of a headline is its t."""
    sites = list(HEADLINES.values())
    words = sorted({word for site in sites for word in site})
    keys = [words.index(sites[t % 4][t // 4]) for t in range(28)]
    return arrivals(np.arange(1, 29), np.arange(28) % 4, keys, np.arange(1, 29)), words


@st.composite
def specs(draw, **fixed):
    """Windows with overlaps, tumbling ones and gaps, of different ranges."""
    ranges = tuple(draw(st.lists(st.integers(1, 40), min_size=2, max_size=8)))
    slide = draw(st.integers(1, 20))
    return JoinSpec(ranges, slide, shift=draw(st.integers(-15, 15)), **fixed)


@st.composite
def inputs(draw, streams, most_combinations=None):
    """Tuples in order, few keys, times that repeat; so few a stream that brute force can look at all combinations."""
    most = 60 if most_combinations is None else int(streams * most_combinations ** (1 / streams))
    keys = st.sampled_from([0, 1, -7, 2**62])
    row = st.tuples(st.integers(-60, 60), st.integers(0, streams - 1), keys)
    rows = sorted(draw(st.lists(row, max_size=most)))
    ts, stream, key = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return arrivals(ts, stream, key, np.arange(len(rows)) * 3 + 100)


def collect(batches):
    """Results in the order they came: ids of a combination, then its window's end."""
    return [
        (*ids, end)
        for matches in batches
        for ids, end in zip(matches.ids.T.tolist(), matches.window_end.tolist(), strict=True)
    ]


def joined(spec, batch, **options):
    join = WindowJoin(spec, **options)
    return collect(join.feed(batch)), join


def joined_in_pieces(spec, batch, cuts, **options):
    """The same through a new join for every piece, each made from the snapshot of the one before."""
    found, snapshot = [], None
    bounds = [0, *sorted(cuts), len(batch.ts)]
    for first, last in pairwise(bounds):
        join = WindowJoin(spec, snapshot, **options)
        found += collect(join.feed(batch.rows(slice(first, last))))
        snapshot = join.snapshot()
    return found, snapshot


def assert_same_snapshot(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
