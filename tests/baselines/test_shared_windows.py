"""Every scheme of shared windows gives what brute force over the raw tuples gives, however the stream is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.baselines.bint import Bint
from panelake.baselines.lint import Lint
from panelake.baselines.minimal_panes import MinimalPanes
from panelake.baselines.normal import Normal
from panelake.baselines.shared_windows import TUPLE, Query
from panelake.baselines.spqp import Spqp

GROUPS = 3
SCHEMES = (Normal, Bint, Lint, Spqp, MinimalPanes)
queries = st.lists(st.builds(Query, st.integers(1, 40), st.integers(1, 15), st.booleans()), min_size=1, max_size=4)


@st.composite
def streams(draw):
    count = draw(st.integers(0, 150))
    seed = draw(st.integers(0, 2**20))
    random = np.random.default_rng(seed)
    tuples = np.zeros(count, TUPLE)
    tuples["area"] = random.integers(0, GROUPS, count)
    tuples["speed"] = random.integers(-50, 200, count)
    tuples["ts"] = np.cumsum(random.choice([0, 0, 1, 2, 30], count))
    return tuples


def brute_force(tuples, query, now):
    """Count, sum, least and greatest of each group, for each window due."""
    position = tuples["ts"] if query.timed else np.arange(len(tuples))
    reached = now if query.timed else len(tuples)
    found, k = [], 0
    while k * query.slide + query.range <= reached:
        inside = tuples[(position >= k * query.slide) & (position < k * query.slide + query.range)]
        found.append([state_of(inside[inside["area"] == group]["speed"]) for group in range(GROUPS)])
        k += 1
    return found


def state_of(speeds):
    return (len(speeds), int(speeds.sum()), int(speeds.min()), int(speeds.max())) if len(speeds) else (0, 0, None, None)


def as_states(state):
    count = int(state["count"])
    return (count, int(state["total"]), *((int(state["low"]), int(state["high"])) if count else (None, None)))


def answered(scheme, queries, tuples, cuts):
    """All answers of a scheme fed in pieces, each followed by a call for what is due."""
    shared, found = scheme(queries, GROUPS), [[] for _ in queries]
    last = int(tuples["ts"][-1]) + 1 if len(tuples) else 0
    ends = [*cuts, len(tuples)]
    for piece, end in zip(np.split(tuples, cuts), ends, strict=True):
        shared.insert(piece)
        for answers in shared.answer(int(tuples["ts"][end]) if end < len(tuples) else last):
            assert answers.first == len(found[answers.query])
            found[answers.query] += [[as_states(state) for state in window] for window in answers.states]
    return shared, found


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.__name__)
@settings(max_examples=60, deadline=None)
@given(queries=queries, tuples=streams(), data=st.data())
def test_a_scheme_answers_as_brute_force_does(scheme, queries, tuples, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(tuples)), max_size=5)))
    _, found = answered(scheme, queries, tuples, cuts)
    now = int(tuples["ts"][-1]) + 1 if len(tuples) else 0
    assert found == [brute_force(tuples, query, now) for query in queries]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.__name__)
def test_a_scheme_holds_no_more_after_ten_times_as_many_tuples(scheme):
    queries = (Query(40, 20), Query(100, 50, timed=True))
    tuples = np.zeros(10_000, TUPLE)
    tuples["ts"] = np.arange(10_000)
    early, _ = answered(scheme, queries, tuples[:1_000], range(100, 1_000, 100))
    late, _ = answered(scheme, queries, tuples, range(100, 10_000, 100))
    assert 0 < late.held_bytes() <= 1.5 * early.held_bytes()
