"""Slices that queue: worked by hand, against Little's law, and monotone in cores and in work."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.capacity.simulation import Job, Step, shares, simulate

SECONDS = st.floats(0, 50)


@st.composite
def queues(draw: st.DrawFn) -> list[Job]:
    """Up to eight slices of up to three steps, some of which wait for the slice before."""
    afters = draw(st.lists(st.booleans(), min_size=1, max_size=3))
    gaps = draw(st.lists(SECONDS, min_size=1, max_size=8))
    jobs, now = [], 0.0
    for gap in gaps:
        now += gap
        steps = [
            Step(f"s{place}", draw(SECONDS), draw(SECONDS), after=f"s{place}" if waits else "")
            for place, waits in enumerate(afters)
        ]
        jobs.append(Job(now, tuple(steps)))
    return jobs


def test_worked_by_hand():
    """
    cores: 4          0    10    20    30    40    50    60    70
    first   (at 0)    |serial 10|work 80 on 4: 20 s|
    second  (at 5)         waits                   |serial 10|20 s|        one in flight
    """
    step = Step("all", serial=10, work=80)
    found = simulate([Job(0, (step,)), Job(5, (step,))], cores=4)
    assert [(one.began, one.done, one.seconds) for one in found.passages] == [(0, 30, 30), (30, 60, 55)]
    assert found.core_seconds == pytest.approx(160)
    assert found.slice_seconds == pytest.approx(30 + 55)
    assert [found.backlog(at) for at in (0, 5, 29.9, 30, 60)] == [1, 2, 2, 1, 0]


def test_slices_in_flight_share_the_cores():
    """
    first   (at 0)    0–10 serial, 10–15 alone on 4 cores (20 of 80), then 2 cores each: 60 left take 30 s, to 45
    second  (at 5)    5–15 serial, 15–45 two cores (60 of 80), then 4 cores for the last 20: to 50
    """
    step = Step("all", serial=10, work=80)
    found = simulate([Job(0, (step,)), Job(5, (step,))], cores=4, in_flight=2)
    assert [one.done for one in found.passages] == pytest.approx([45, 50])


def test_an_ordered_step_waits_for_the_slice_before():
    """The second slice's number comes after the first one's, however early it is ready."""
    slow, quick = Job(0, (Step("read", 10), Step("number", 1, after="number"))), Job(
        0, (Step("read", 1), Step("number", 1, after="number"))
    )  # fmt: skip
    found = simulate([slow, quick], cores=1, in_flight=2)
    assert [one.done for one in found.passages] == [11, 12]


def test_cores_are_shared_equally_as_far_as_they_can_be_used():
    assert shares([1, 10, 10], 9) == [1, 4, 4]
    assert shares([10, 1], 100) == [10, 1]
    assert shares([], 4) == []


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="order of their arrival"):
        simulate([Job(5, (Step("s", 1),)), Job(0, (Step("s", 1),))], cores=1)
    with pytest.raises(ValueError, match="0 cores"):
        simulate([], cores=0)


@given(queues(), st.integers(1, 8), st.integers(1, 4))
def test_little_s_law(jobs, cores, in_flight):
    """Slices present, summed over time, are the seconds of all slices: L = λW over the whole run."""
    found = simulate(jobs, cores, in_flight)
    assert found.slice_seconds == pytest.approx(sum(one.seconds for one in found.passages), rel=1e-6, abs=1e-5)


@given(queues(), st.integers(1, 8), st.integers(1, 4))
def test_no_work_is_lost_and_no_slice_is_quicker_than_alone(jobs, cores, in_flight):
    found = simulate(jobs, cores, in_flight)
    assert found.core_seconds == pytest.approx(sum(step.work for job in jobs for step in job.steps), abs=1e-4)
    for job, one in zip(jobs, found.passages, strict=True):
        alone = sum(step.serial + step.work / cores for step in job.steps)
        assert one.done - one.began >= alone - 1e-5
        assert one.arrived == job.arrives <= one.began + 1e-6


@given(queues(), st.integers(1, 8))
def test_one_in_flight_is_a_queue_of_one_server(jobs, cores):
    """Lindley: a slice begins when it has arrived and the one before is done."""
    found = simulate(jobs, cores)
    for before, one in pairwise(found.passages):
        assert one.began == pytest.approx(max(one.arrived, before.done), abs=1e-5)


@given(queues(), st.integers(1, 8))
def test_more_cores_are_never_slower(jobs, cores):
    few, many = simulate(jobs, cores), simulate(jobs, 2 * cores)
    for one, other in zip(few.passages, many.passages, strict=True):
        assert other.done <= one.done + 1e-5


@given(queues(), st.integers(1, 4), st.integers(1, 4))
def test_an_ordered_step_keeps_its_order(jobs, cores, in_flight):
    ordered = [Job(job.arrives, (*job.steps, Step("last", 1, after="last"))) for job in jobs]
    found = simulate(ordered, cores, in_flight)
    assert all(later.done >= before.done + 1 - 1e-6 for before, later in pairwise(found.passages))


def test_a_backlog_without_end_where_slices_outlast_their_time():
    slow = [Job(10.0 * number, (Step("all", 0, work=22),)) for number in range(100)]
    found = simulate(slow, cores=2)
    assert found.passages[-1].seconds == pytest.approx(11 + 99)
    assert found.most_behind() == 10
    assert found.quantile(0.5) == pytest.approx(11 + 49)
