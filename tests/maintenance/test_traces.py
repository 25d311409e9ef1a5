"""What a join's sample of keys remembers of tuples that are shed already."""

from __future__ import annotations

from panelake.kernels.joins.arrivals import arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.window_join import WindowJoin
from panelake.maintenance.traces import samples
from panelake.slices import Slice


def test_a_shed_tuple_is_found_in_the_sample_until_it_leaves_the_window():
    """S1 has room for one tuple: that of 12 displaces that of 3; at 25 the window begins at 10."""
    join = WindowJoin(JoinSpec((20, 20), slide=10, memory=1, policy="oldest"))
    early, streams = Slice(0, 10), [0]
    list(join.feed(arrivals([3, 12], [0, 0], [7, 8], [0, 1])))
    assert join.snapshot()["ts"].tolist() == [12]
    assert samples(join.snapshot(), streams, [early])
    assert not samples(join.snapshot(), [1], [early])
    assert not samples(join.snapshot(), streams, [Slice(20, 30)])
    list(join.feed(arrivals([25], [1], [7], [2])))
    assert not samples(join.snapshot(), streams, [early])
    assert samples(join.snapshot(), streams, [Slice(30, 40), Slice(10, 20)])
