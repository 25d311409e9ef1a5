from __future__ import annotations

import numpy as np
import pytest

from panelake.kernels.joins.join_spec import JoinSpec

WRONG = [
    ({"ranges": (5,)}, "2 to 8 streams; got 1"),
    ({"ranges": (5,) * 9}, "2 to 8 streams; got 9"),
    ({"ranges": (5, 0)}, "must be positive"),
    ({"slide": 0}, "must be positive"),
    ({"every": 12}, "got EVERY 12, SLIDE 10 microseconds"),
    ({"every": 3}, "got EVERY 3, SLIDE 10 microseconds"),
    ({"every": 0}, "got EVERY 0"),
    ({"memory": 0}, "at least 1 row; got 0"),
    ({"policy": "best"}, "unknown policy 'best'; expected one of arrival_order, existence_growth, frequency"),
]


@pytest.mark.parametrize(("changed", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_spec_that_cannot_be_is_refused_with_what_was_got(changed, message):
    with pytest.raises(ValueError, match=message):
        JoinSpec(**{"ranges": (5, 5), "slide": 10} | changed)


def test_rows_are_cut_at_multiples_of_the_join_period():
    ts = np.array([-1, 0, 4, 5, 5, 17])
    rows = JoinSpec((5, 5), slide=10, every=5).period_rows(ts)
    assert [ts[piece].tolist() for piece in rows] == [[-1], [0, 4], [5, 5], [17]]


def test_no_rows_are_no_periods():
    assert JoinSpec((5, 5), slide=10).period_rows(np.array([], dtype=np.int64)) == []
