from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.numbers import NumberRange, Numbers, covering, next_range, restated
from panelake.slices import Slice

MINUTE = 60_000_000


def minute(index: int) -> Slice:
    return Slice(index * MINUTE, (index + 1) * MINUTE)


COUNTS = st.lists(st.integers(0, 5), min_size=1, max_size=12)
# One step of an ingest: which slice, counted from the origin's, and whether gaps are allowed.
STEPS = st.lists(st.tuples(st.integers(-6, 6), st.integers(0, 5), st.booleans()), max_size=25)


def assert_dense(taken: list[NumberRange]) -> None:
    numbers = sorted(number for known in taken for number in range(known.first, known.end))
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True


def reserve_all(steps: list[tuple[int, int, bool]]) -> list[NumberRange]:
    taken: list[NumberRange] = []
    for index, count, allow_gap in steps:
        try:
            given_range = next_range("s", taken, minute(index), count, allow_gap=allow_gap)
        except BadInputError:
            continue
        taken = [known for known in taken if known.slice != given_range.slice] + [given_range]
    return taken


@given(STEPS)
def test_numbers_are_dense_and_never_given_twice_in_any_order_with_gaps(steps):
    assert_dense(reserve_all(steps))


@given(STEPS)
def test_a_slice_run_again_gets_its_own_numbers(steps):
    taken = reserve_all(steps)
    for known in taken:
        assert next_range("s", taken, known.slice, known.count) == known


@given(COUNTS, st.data())
def test_without_gaps_numbers_follow_the_slices_whatever_the_order_of_ingest(counts, data):
    #  history ←──── origin ────→ later      each side adjacent to what is there
    origin = data.draw(st.integers(0, len(counts) - 1))
    taken = [next_range("s", [], minute(origin), counts[origin])]
    low, high = origin, origin
    while (low, high) != (0, len(counts) - 1):
        backwards = low > 0 and (high == len(counts) - 1 or data.draw(st.booleans()))
        low, high = (low - 1, high) if backwards else (low, high + 1)
        index = low if backwards else high
        taken.append(next_range("s", taken, minute(index), counts[index]))
    first = -sum(counts[:origin])
    for known, count in zip(sorted(taken), counts, strict=True):
        assert (known.first, known.count) == (first, count)
        first += count


@given(COUNTS, st.integers(1, 4))
def test_longer_slices_over_the_same_tuples_give_the_same_numbers(counts, length):
    short: list[NumberRange] = []
    for index, count in enumerate(counts):
        short.append(next_range("s", short, minute(index), count))
    long: list[NumberRange] = []
    for start in range(0, len(counts), length):
        part = Slice(start * MINUTE, (start + length) * MINUTE)
        long.append(next_range("s", long, part, sum(counts[start : start + length])))
    assert long[-1].end == short[-1].end
    assert {known.first for known in long} <= {known.first for known in short} | {short[-1].end}


@given(STEPS, st.integers(0, 8), st.data())
def test_a_restatement_leaves_numbers_dense_and_moves_only_what_lies_beyond(steps, count, data):
    taken = reserve_all(steps)
    if not taken:
        return
    known = data.draw(st.sampled_from(taken))
    changed = {other.slice: other for other in restated(taken, known.slice, count)}
    after = [changed.get(other.slice, other) for other in taken]
    assert_dense(after)
    assert next(other.count for other in after if other.slice == known.slice) == count
    nearer = [o for o in taken if (o.end <= known.first if known.first >= 0 else o.first >= known.end) and o.count]
    assert all(other in after for other in nearer if other != known)


def test_the_first_slice_starts_at_nought_and_history_counts_down():
    first = next_range("s", [], minute(10), 3)
    before = next_range("s", [first], minute(9), 2)
    assert (first.first, before.first, before.end) == (0, -2, 0)


def test_a_gap_filled_later_takes_the_next_free_numbers():
    taken = [NumberRange(minute(0), 0, 3)]
    taken.append(next_range("s", taken, minute(2), 4, allow_gap=True))
    assert next_range("s", taken, minute(1), 5) == NumberRange(minute(1), 7, 5)


@pytest.mark.parametrize(("index", "missing"), [(2, "00:01:00Z --to 1970-01-01T00:02:00Z"), (-2, "23:59:00Z")])
def test_a_slice_that_is_not_adjacent_is_refused_with_the_slice_to_run_first(index, missing):
    with pytest.raises(BadInputError, match="is not adjacent to what is ingested") as caught:
        next_range("s", [NumberRange(minute(0), 0, 3)], minute(index), 1)
    assert missing in str(caught.value)
    assert "--allow-gap" in str(caught.value)


def test_a_slice_that_cuts_an_ingested_one_is_refused():
    with pytest.raises(BadInputError, match="overlaps slice"):
        next_range("s", [NumberRange(minute(0), 0, 3)], Slice(MINUTE // 2, 2 * MINUTE), 1)


def test_a_changed_count_is_refused_and_says_what_must_be_restated():
    taken = [NumberRange(minute(index), index * 3, 3) for index in range(4)]
    with pytest.raises(BadInputError, match="3 tuples were numbered before, 5 are there now") as caught:
        next_range("s", taken, minute(1), 5)
    assert "restate the 3 slices of [1970-01-01T00:01:00Z, 1970-01-01T00:04:00Z)" in str(caught.value)


def test_a_longer_slice_knows_the_ingested_ones_that_fill_it():
    taken = [NumberRange(minute(index), index, 1) for index in (0, 1, 2, 4)]
    assert covering(taken, Slice(0, 3 * MINUTE)) == taken[:3]
    assert covering(taken, Slice(0, 5 * MINUTE)) == []
    assert covering(taken, minute(1)) == []


def test_two_runs_at_once_never_take_the_same_numbers(tmp_path):
    numbers = Numbers(Catalog(str(tmp_path)))
    parts = [minute(index) for index in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda part: numbers.reserve("s", part, 5, allow_gap=True), parts))
    taken = numbers.taken("s")
    assert [known.slice for known in taken] == parts
    assert_dense(taken)


def test_a_restatement_is_kept_in_one_commit_and_streams_do_not_mix(tmp_path):
    numbers = Numbers(Catalog(str(tmp_path)))
    for index in range(3):
        numbers.reserve("s", minute(index), 2)
        numbers.reserve("other", minute(index), 7)
    assert numbers.reserve("s", minute(1), 5, restate=True) == NumberRange(minute(1), 2, 5)
    assert [(known.first, known.count) for known in numbers.taken("s")] == [(0, 2), (2, 5), (7, 2)]
    assert [known.first for known in numbers.taken("other")] == [0, 7, 14]
