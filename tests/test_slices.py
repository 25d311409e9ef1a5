from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.durations import MINUTE
from panelake.errors import BadInputError
from panelake.slices import Slice, format_instant, parse_instant, slices_between

INSTANTS = st.integers(-(2**50), 2**52)


@given(INSTANTS)
def test_an_instant_is_shown_exactly(instant):
    assert parse_instant(format_instant(instant)) == instant


def test_an_instant_without_a_zone_is_utc_and_another_zone_is_converted():
    assert parse_instant("2026-01-01T00:05:00") == parse_instant("2026-01-01T01:05:00+01:00")


def test_what_is_no_instant_is_refused_with_the_form_expected():
    with pytest.raises(BadInputError, match=r"'yesterday' is not an instant; expected ISO 8601 in UTC"):
        parse_instant("yesterday")


@given(INSTANTS, st.integers(1, 20), st.integers(1, 10**9))
def test_slices_follow_each_other_without_gap_or_overlap(instant, count, length):
    start = instant - instant % length
    parts = list(slices_between(start, start + count * length, length))
    assert [part.start for part in parts] == [start + i * length for i in range(count)]
    assert all(one.end == other.start for one, other in pairwise(parts))


def test_off_the_grid_is_refused_with_the_nearest_on_it():
    with pytest.raises(BadInputError, match=r"--from 2026-01-01T00:03:00Z is not on the grid of 5 minutes") as caught:
        slices_between(parse_instant("2026-01-01T00:03:00Z"), parse_instant("2026-01-01T00:10:00Z"), 5 * MINUTE)
    assert "2026-01-01T00:00:00Z or 2026-01-01T00:05:00Z" in str(caught.value)


def test_an_empty_range_or_slice_is_refused():
    noon = parse_instant("2026-01-01T12:00:00Z")
    with pytest.raises(BadInputError, match="must lie after --from"):
        slices_between(noon, noon, MINUTE)
    with pytest.raises(BadInputError, match="its end must come later"):
        Slice(noon, noon)


def test_a_slice_names_a_folder_that_any_file_system_takes():
    noon = parse_instant("2026-01-01T12:00:00Z")
    assert Slice(noon, noon + MINUTE + 1).folder == "20260101T120000Z-20260101T120100_000001Z"
