"""Slices that queue: a discrete simulation of stages that share cores, wait for their order, and fall behind.

A slice arrives when its interval is over. It goes through its steps one after another: first the serial seconds of a
step, which use no core, then its core-seconds. Cores are shared equally by all steps at work, none getting more than
it can use. At most `in_flight` slices are under way; a step may have to wait until the slice before has done a step.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_NEARLY = 1e-9


@dataclass(frozen=True)
class Step:
    """Serial seconds, then core-seconds on at most so many cores; `after` is what the slice before must have done."""

    name: str
    serial: float
    work: float = 0.0
    most_cores: float = math.inf
    after: str = ""


@dataclass(frozen=True)
class Job:
    """One slice: when it arrives and what it takes."""

    arrives: float
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Passage:
    """When a slice arrived, began and was done."""

    arrived: float
    began: float
    done: float

    @property
    def seconds(self) -> float:
        return self.done - self.arrived


@dataclass(frozen=True)
class Outcome:
    """Every slice's passage; slice-seconds are those that slices waited or were at work, added up as time passed."""

    passages: tuple[Passage, ...]
    slice_seconds: float
    core_seconds: float

    def backlog(self, at: float) -> int:
        """Slices that have arrived and are not done."""
        return sum(one.arrived <= at < one.done for one in self.passages)

    def most_behind(self) -> int:
        """The largest backlog: it grows at arrivals alone."""
        return max(self.backlog(one.arrived) for one in self.passages)

    def quantile(self, share: float) -> float:
        """The seconds from arrival to done that this share of the slices does not exceed."""
        ordered = sorted(one.seconds for one in self.passages)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class _UnderWay:
    """A slice at one of its steps."""

    def __init__(self, number: int, job: Job, now: float) -> None:
        self.number, self.job, self.began = number, job, now
        self.place = 0
        self.enter()

    @property
    def step(self) -> Step:
        return self.job.steps[self.place]

    def enter(self) -> None:
        self.serial, self.work = self.step.serial, self.step.work

    def advance(self, passed: float, cores: float) -> None:
        if self.serial > 0:
            self.serial = max(0.0, self.serial - passed)
        else:
            self.work = max(0.0, self.work - passed * cores)


class _Simulation:
    def __init__(self, jobs: Sequence[Job], cores: float, in_flight: int) -> None:
        self.jobs, self.cores, self.in_flight = jobs, cores, in_flight
        self.arrivals = [job.arrives for job in jobs]
        self.now = self.slice_seconds = self.core_seconds = 0.0
        self.admitted = 0
        self.done_steps: list[set[str]] = [set() for _ in jobs]
        self.under_way: list[_UnderWay] = []
        self.passages: dict[int, Passage] = {}

    def run(self) -> Outcome:
        while len(self.passages) < len(self.jobs):
            self._settle()
            if len(self.passages) < len(self.jobs):
                self._pass()
        ordered = tuple(self.passages[number] for number in range(len(self.jobs)))
        return Outcome(ordered, self.slice_seconds, self.core_seconds)

    def _settle(self) -> None:
        """Everything that happens at this moment: steps end, slices are admitted."""
        moving = True
        while moving:
            ended = [one for one in self.under_way if self._may_work(one) and one.serial + one.work <= _NEARLY]
            for one in ended:
                self._end_step(one)
            moving = bool(ended) or self._admit()

    def _end_step(self, one: _UnderWay) -> None:
        self.done_steps[one.number].add(one.step.name)
        one.place += 1
        if one.place < len(one.job.steps):
            one.enter()
        else:
            self.under_way.remove(one)
            self.passages[one.number] = Passage(one.job.arrives, one.began, self.now)

    def _admit(self) -> bool:
        if self.admitted == len(self.jobs) or len(self.under_way) >= self.in_flight:
            return False
        job = self.jobs[self.admitted]
        if job.arrives > self.now + _NEARLY:
            return False
        self.under_way.append(_UnderWay(self.admitted, job, self.now))
        self.admitted += 1
        return True

    def _may_work(self, one: _UnderWay) -> bool:
        before = one.number - 1
        return not one.step.after or before < 0 or one.step.after in self.done_steps[before]

    def _pass(self) -> None:
        """Let time pass until the next thing happens."""
        active = [one for one in self.under_way if self._may_work(one)]
        working = [one for one in active if one.serial <= 0]
        given = shares([one.step.most_cores for one in working], self.cores)
        ends = [one.serial for one in active if one.serial > 0]
        ends += [one.work / cores for one, cores in zip(working, given, strict=True)]
        arrived = bisect_right(self.arrivals, self.now + _NEARLY)
        ends += [arrives - self.now for arrives in self.arrivals[arrived : arrived + 1]]
        passed = min(ends)
        self.now += passed
        self.slice_seconds += passed * (arrived - len(self.passages))
        self.core_seconds += passed * sum(given)
        cores = dict(zip((one.number for one in working), given, strict=True))
        for one in active:
            one.advance(passed, cores.get(one.number, 0.0))


def simulate(jobs: Sequence[Job], cores: float, in_flight: int = 1) -> Outcome:
    """Every slice's way, in the order of arrival."""
    if cores <= 0 or in_flight < 1:
        raise ValueError(f"{cores} cores and {in_flight} slices in flight; both must be more than 0")
    if any(later.arrives < earlier.arrives for earlier, later in pairwise(jobs)):
        raise ValueError("slices must be given in the order of their arrival")
    return _Simulation(jobs, cores, in_flight).run()


def shares(wanted: Sequence[float], cores: float) -> list[float]:
    """Cores for each, equally, none above what it wants; what one leaves goes to the others."""
    given = [0.0] * len(wanted)
    left, open_ = cores, sorted(range(len(wanted)), key=lambda place: wanted[place])
    for number, place in enumerate(open_):
        given[place] = min(wanted[place], left / (len(open_) - number))
        left -= given[place]
    return given
