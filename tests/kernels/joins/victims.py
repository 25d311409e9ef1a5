"""Shedding joins in plain Python, each policy by its definition and nothing else: the oracle of the kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from math import prod


@dataclass
class Tuple:
    arrival: int
    ts: int
    key: int
    id: int
    pattern: int = 0


@dataclass
class Model:
    """Windows as lists, oldest first, and whatever a policy may ask of the past."""

    spec: object
    windows: list
    given: Counter = field(default_factory=Counter)
    produced: Counter = field(default_factory=Counter)
    key_results: Counter = field(default_factory=Counter)

    def held(self, stream, key):
        return [one for one in self.windows[stream] if one.key == key]


def _least_productive_pattern(model, stream):
    def productivity(one):
        return model.produced[stream, one.pattern] / model.given[stream, one.pattern]

    return min(model.windows[stream], key=lambda one: (productivity(one), one.arrival))


def _least_frequent(model, stream):
    others = [other for other in range(model.spec.streams) if other != stream]
    return min(
        model.windows[stream],
        key=lambda one: (prod(len(model.held(other, one.key)) for other in others), one.arrival),
    )


def _fewest_results(model, stream):
    return min(model.windows[stream], key=lambda one: (model.key_results[one.key], one.arrival))


def _oldest(model, stream):
    return model.windows[stream][0]


MODELS = {
    "arrival_order": _least_productive_pattern,
    "frequency": _least_frequent,
    "result": _fewest_results,
    "oldest": _oldest,
}


def join_by_model(spec, batch):
    """Results with their window's end, and tuples shed by stream."""
    model = Model(spec, [[] for _ in spec.ranges])
    found, shed = [], [0] * spec.streams
    rows = zip(*(column.tolist() for column in batch), strict=True)
    for arrival, (ts, stream, key, number) in enumerate(rows):
        end = ((ts - spec.shift) // spec.slide + 1) * spec.slide + spec.shift
        for window, extent in zip(model.windows, spec.ranges, strict=True):
            window[:] = [one for one in window if one.ts >= end - extent]
        _forget(model)
        if ts < end - spec.ranges[stream]:
            continue
        if len(model.windows[stream]) == spec.memory:
            model.windows[stream].remove(MODELS[spec.policy](model, stream))
            shed[stream] += 1
            _forget(model)
        found += [(*ids, end) for ids in _arrive(model, stream, Tuple(arrival, ts, key, number))]
    return found, shed


def _forget(model):
    """A key that no window holds has produced nothing yet."""
    live = {one.key for window in model.windows for one in window}
    for key in set(model.key_results) - live:
        del model.key_results[key]


def _arrive(model, stream, newcomer):
    model.windows[stream].append(newcomer)
    newcomer.pattern = sum(1 << other for other in range(model.spec.streams) if model.held(other, newcomer.key))
    model.given[stream, newcomer.pattern] += 1
    sides = [[newcomer] if other == stream else model.held(other, newcomer.key) for other in range(model.spec.streams)]
    results = list(product(*sides))
    for members in results:
        model.key_results[newcomer.key] += 1
        for other, member in enumerate(members):
            model.produced[other, member.pattern] += 1
    return [tuple(member.id for member in members) for members in results]
