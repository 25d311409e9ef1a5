"""When a slice is sampled, and how a change is noticed without a sample; no Spark session needed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from panelake.filters.statistics import WORTH_SECONDS, resume
from panelake.kernels.filter_order import profile as profiles
from panelake.language.stream_filters import StreamFilter
from panelake.slices import Slice
from panelake.stages import filtering
from panelake.stages.filtering import due

TYPES = {"a": "bigint", "b": "bigint", "ts": "timestamp"}
FILTERS = (StreamFilter("often", "`a` > 1"), StreamFilter("seldom", "`b` > 1"))
PYTHON = (
    StreamFilter("one()", "", "one", ("a",), "1", commutative=True),
    StreamFilter("two()", "", "two", ("b",), "2", commutative=True),
)
TUPLES = 100_000
# Bit 0: the first filter is TRUE (90 %), bit 1: the second is (20 %), independently.
SAMPLE = {0b11: 1_800, 0b01: 7_200, 0b10: 200, 0b00: 800}
SECOND_FIRST = {"seldom": 80_000, "often": 2_000}


def fresh(filters=FILTERS):
    return filtering.as_written(filters, TYPES, "ts")


def after_a_sample(filters=FILTERS, cost=1e-7):
    """The filters as the slice after the first one finds them."""
    way = due(fresh(filters), 0.0, 0)
    way = replace(way, before=way.before.with_costs(np.full(len(filters), cost)))
    return following(way, way.learned(Slice(0, 1), "s", TUPLES, SAMPLE, {}))


def following(way, learned):
    after = resume(learned.after, way.chain)
    return due(replace(way, before=after, used=after.order), learned.idle, learned.tuples)


def test_a_slice_is_sampled_while_little_is_known():
    assert due(fresh(), 0.0, 0).every == 100
    way = due(fresh(), 0.0, 0)
    known = way.learned(Slice(0, 1), "s", 500, {0b11: 3, 0b01: 2}, {})
    assert following(way, known).every == 100


def test_what_is_known_is_not_sampled_again_until_filters_took_long_enough():
    way = after_a_sample()
    assert (way.every, way.idle, way.used) == (0, 0.0, (1, 0))
    a_slice = way.learned(Slice(1, 2), "s", TUPLES, {}, SECOND_FIRST)
    assert a_slice.after == a_slice.before
    assert a_slice.idle == pytest.approx(TUPLES * 1.2e-7)
    assert following(way, a_slice).every == 0
    long = way.learned(Slice(1, 2), "s", round(WORTH_SECONDS / 1.2e-7) + 1, {}, {})
    assert due(way, WORTH_SECONDS, TUPLES).every > 0
    assert long.idle > WORTH_SECONDS


def test_a_change_is_told_by_what_filters_drop():
    way = after_a_sample()
    changed = way.learned(Slice(1, 2), "s", TUPLES, {}, {"seldom": 10_000, "often": 72_000})
    assert changed.idle == math.inf
    next_one = following(way, changed)
    assert next_one.every > 0
    again = next_one.learned(Slice(2, 3), "s", TUPLES, {0b11: 180, 0b10: 720, 0b01: 20, 0b00: 80}, {})
    assert again.idle == 0.0
    assert following(next_one, again).used == (0, 1)


def test_chance_is_no_change():
    random = np.random.default_rng(1)
    for _ in range(50):
        seldom = random.binomial(TUPLES, 0.8)
        drops = {"seldom": int(seldom), "often": int(random.binomial(TUPLES - seldom, 0.1))}
        assert after_a_sample().learned(Slice(1, 2), "s", TUPLES, {}, drops).idle < math.inf


def test_python_functions_that_follow_one_another_are_told_together():
    way = after_a_sample(PYTHON)
    assert way.learned(Slice(1, 2), "s", TUPLES, {}, {"one() AND two()": 82_000}).idle < math.inf
    assert way.learned(Slice(1, 2), "s", TUPLES, {}, {"one() AND two()": 50_000}).idle == math.inf


def test_filters_that_are_written_twice_surprise_nobody():
    way = after_a_sample((FILTERS[1], FILTERS[1]))
    way = way.learned(Slice(1, 2), "s", TUPLES, {}, {"seldom": 82_000})
    assert way.idle < math.inf


def test_shares_dropped_are_those_of_the_tuples_that_come_so_far():
    known = profiles.absorb(profiles.start(2), np.array([3, 1, 2, 0]), np.array([1_800, 7_200, 200, 800]))
    assert profiles.dropped(known, np.array([1, 0])) == pytest.approx([0.02, 0.8])
    assert profiles.dropped(known, np.array([0, 1])) == pytest.approx([0.1, 0.72])
    assert np.isnan(profiles.dropped(profiles.start(2), np.array([0, 1]))).all()
