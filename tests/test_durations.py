from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.durations import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, format_duration, parse_duration
from panelake.errors import BadInputError


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("5 minutes", 5 * MINUTE),
        ("1 minute", MINUTE),
        ("90s", 90 * SECOND),
        ("  2 HOURS ", 2 * HOUR),
        ("250ms", 250 * MILLISECOND),
        ("7 us", 7),
        ("3d", 3 * DAY),
        ("2 weeks", 2 * WEEK),
        ("0 s", 0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text, microseconds):
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize("text", ["", "5", "minutes", "1.5 hours", "-5 s", "5 parsecs", "5 minutes ago", "٣ s s"])
def test_anything_else_says_what_was_expected_and_got(text):
    with pytest.raises(BadInputError, match="such as '5 minutes' or '90s'") as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["1 month", "2 years", "1 quarter", "3 mon"])
def test_calendar_units_vary_in_length_and_are_refused(text):
    with pytest.raises(BadInputError, match="use days or weeks"):
        parse_duration(text)


@given(st.integers(0, 10 * WEEK))
def test_what_is_shown_can_be_read_again(microseconds):
    assert parse_duration(format_duration(microseconds)) == microseconds
