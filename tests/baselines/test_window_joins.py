"""Every rival of the window join gives what the definition, held against every combination of tuples, gives."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.baselines.amjoin import AMJoin
from panelake.baselines.lwo import LargestWindowOnly
from panelake.baselines.mjoin import MJoin
from panelake.baselines.ring_queue import RingQueue
from panelake.baselines.swf import SmallestWindowFirst
from panelake.baselines.xjoin import XJoin
from panelake.kernels.joins.arrivals import arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.naive import join_naively

FEW = settings(max_examples=40, deadline=None)


@st.composite
def batches(draw, streams, most):
    count, seed = draw(st.integers(0, most)), draw(st.integers(0, 2**20))
    random = np.random.default_rng(seed)
    ts = np.cumsum(random.choice([0, 0, 1, 3], count)) if count else np.empty(0)
    stream = random.integers(0, streams, count)
    order = np.lexsort((stream, ts))
    return arrivals(ts[order], stream[order], random.integers(0, 4, count), np.arange(count))


def pieces(data, batch):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(batch.ts)), max_size=4)))
    bounds = [0, *cuts, len(batch.ts)]
    return [batch.rows(slice(first, last)) for first, last in pairwise(bounds)]


def combinations(found):
    """Each result once: a second copy would be lost in a set."""
    columns = sorted(map(tuple, np.concatenate(found, axis=1).T.tolist()))
    assert len(set(columns)) == len(columns)
    return columns


def windows(streams):
    ranges = st.tuples(*[st.integers(1, 20)] * streams)
    return st.builds(JoinSpec, ranges, st.integers(1, 12), shift=st.integers(0, 5))


@pytest.mark.parametrize("join", [MJoin, AMJoin, RingQueue], ids=lambda join: join.__name__)
@pytest.mark.parametrize("streams", [2, 3])
@FEW
@given(data=st.data())
def test_hash_joins_find_every_combination_once(join, streams, data):
    spec, batch = data.draw(windows(streams)), data.draw(batches(streams, 60 if streams == 2 else 30))
    running = join(spec, buckets=data.draw(st.sampled_from([1, 2, 64])))
    found = [running.feed(piece) for piece in pieces(data, batch)]
    assert combinations([np.empty((streams, 0), int), *found]) == sorted(join_naively(spec, batch))


def test_the_bit_vectors_of_amjoin_spare_probes():
    random = np.random.default_rng(1)
    batch = arrivals(np.arange(2_000), random.integers(0, 3, 2_000), random.integers(0, 2_000, 2_000), np.arange(2_000))
    joins = [join(JoinSpec((1_000,) * 3, 100)) for join in (MJoin, AMJoin)]
    one, other = (combinations([join.feed(batch)]) for join in joins)
    assert one == other
    assert joins[1].probes < joins[0].probes / 2


@pytest.mark.parametrize("join", [LargestWindowOnly, SmallestWindowFirst], ids=lambda join: join.__name__)
@FEW
@given(ranges=st.lists(st.integers(1, 20), min_size=1, max_size=3), slide=st.integers(1, 12), data=st.data())
def test_nested_loops_serve_every_query(join, ranges, slide, data):
    specs, batch = [JoinSpec((extent, extent), slide) for extent in ranges], data.draw(batches(2, 60))
    running = join(specs)
    fed = [running.feed(piece) for piece in pieces(data, batch)]
    for number, spec in enumerate(specs):
        assert combinations([found[number] for found in fed]) == sorted(join_naively(spec, batch))


def test_the_smallest_window_is_served_first():
    specs = [JoinSpec((1_000, 1_000), 10), JoinSpec((20, 20), 10)]
    batch = arrivals(np.arange(200), np.arange(200) % 2, np.zeros(200), np.arange(200))
    served = []
    for join in (LargestWindowOnly(specs), SmallestWindowFirst(specs)):
        scan = join._with(batch)
        found = np.empty((30_000, 3), dtype=np.int64)
        served.append(found[: join._scan(scan, found), 0])
    small = [np.flatnonzero(queries == 0) for queries in served]
    assert small[1].max() < small[0].max()


@FEW
@given(spec=windows(2), memory=st.integers(1, 30), partitions=st.sampled_from([1, 3, 100]), data=st.data())
def test_xjoin_finds_on_disk_what_memory_missed_and_nothing_twice(spec, memory, partitions, data):
    batch = data.draw(batches(2, 60))
    found = [np.empty((2, 0), dtype=np.int64)]
    with closing(XJoin(spec, memory, partitions)) as join:
        for piece in pieces(data, batch):
            found.append(join.feed(piece))
            if data.draw(st.booleans()):
                found.append(join.rest())
        found.append(join.rest())
    assert combinations(found) == sorted(join_naively(spec, batch))


def test_xjoin_goes_to_disk_for_real_and_stays_within_memory():
    batch = arrivals(np.arange(5_000), np.arange(5_000) % 2, np.arange(5_000) % 50, np.arange(5_000))
    with closing(XJoin(JoinSpec((2_000, 2_000), 500), 300)) as join:
        join.feed(batch)
        assert join.disk_bytes > 0
        assert join.held_bytes() <= 300 * 48 + 1_600
