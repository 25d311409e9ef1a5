from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.orchestration.instants import microseconds_of

pytestmark = pytest.mark.airflow

SEVEN_MINUTES = 7 * 60 * 1_000_000


def timetable(length: int = SEVEN_MINUTES):
    from panelake.orchestration.timetable import SliceTimetable  # noqa: PLC0415 - imports Airflow

    return SliceTimetable(length)


def restriction(earliest: datetime | None, latest: datetime | None = None, *, catchup: bool):
    from airflow.timetables.base import TimeRestriction  # noqa: PLC0415
    from pendulum import instance  # noqa: PLC0415

    return TimeRestriction(earliest and instance(earliest), latest and instance(latest), catchup)


def interval(start: datetime, length: timedelta):
    from airflow.timetables.base import DataInterval  # noqa: PLC0415
    from pendulum import instance  # noqa: PLC0415

    return DataInterval(instance(start), instance(start + length))


def manual(at: datetime, length: int = SEVEN_MINUTES) -> tuple[datetime, datetime]:
    from pendulum import instance  # noqa: PLC0415

    found = timetable(length).infer_manual_data_interval(run_after=instance(at))
    return found.start, found.end


def on_grid(instant: datetime, length: int) -> bool:
    return microseconds_of(instant) % length == 0


def test_the_first_scheduled_run_is_the_newest_complete_slice() -> None:
    before = datetime.now(UTC)
    info = timetable().next_dagrun_info(
        last_automated_data_interval=None, restriction=restriction(datetime(1970, 1, 1, tzinfo=UTC), catchup=False)
    )
    assert on_grid(info.data_interval.start, SEVEN_MINUTES)
    assert info.data_interval.end - info.data_interval.start == timedelta(minutes=7)
    assert info.data_interval.end <= datetime.now(UTC)
    assert info.data_interval.end > before - timedelta(minutes=7)


def test_after_a_long_outage_the_next_run_follows_the_last_one() -> None:
    last = interval(datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=5))
    info = timetable(5 * 60_000_000).next_dagrun_info(
        last_automated_data_interval=last,
        restriction=restriction(datetime(1970, 1, 1, tzinfo=UTC), catchup=False),
    )
    assert info.data_interval.start == last.end


def test_a_backfill_off_the_grid_takes_the_slices_that_start_within_it() -> None:
    earliest, latest = datetime(2026, 1, 1, 0, 2, tzinfo=UTC), datetime(2026, 1, 1, 0, 12, tzinfo=UTC)
    starts, last = [], None
    while info := timetable(5 * 60_000_000).next_dagrun_info(
        last_automated_data_interval=last, restriction=restriction(earliest, latest, catchup=True)
    ):
        last = info.data_interval
        starts.append(last.start.minute)
    assert starts == [5, 10]


def test_a_manual_run_at_a_slices_start_is_that_slice() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert manual(start, 5 * 60_000_000) == (start, start + timedelta(minutes=5))


def test_a_manual_run_between_starts_is_the_last_complete_slice() -> None:
    found = manual(datetime(2026, 1, 1, 0, 7, 30, tzinfo=UTC), 5 * 60_000_000)
    assert found == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 5, tzinfo=UTC))


@given(
    at=st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis
    length=st.integers(1, 10**12),
)
def test_a_manual_run_is_always_a_slice_of_the_grid(at: datetime, length: int) -> None:
    start, end = manual(at, length)
    assert on_grid(start, length)
    assert end - start == timedelta(microseconds=length)
    assert start == at or end <= at


def test_the_length_survives_airflows_serialization_to_the_microsecond() -> None:
    from airflow.serialization.decoders import decode_timetable  # noqa: PLC0415
    from airflow.serialization.encoders import encode_timetable  # noqa: PLC0415

    again = decode_timetable(encode_timetable(timetable(300_000_001)))
    assert type(again).__name__ == "SliceTimetable"
    assert again.serialize() == {"length": 300_000_001}
