"""The timetable of slices: one run a slice, on the grid counted from the epoch, none left out.

The first run takes the newest complete slice. Every later one follows the run before it, however long Airflow was
down: tuples are numbered in the order of their slices, so a slice skipped would stop all that come after it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import DeltaDataIntervalTimetable
from pendulum import DateTime, instance

from panelake.orchestration.instants import microseconds_of
from panelake.slices import to_datetime


class SliceTimetable(DeltaDataIntervalTimetable):  # type: ignore[misc]  # Airflow is not followed
    """Data intervals of `length` microseconds; Airflow finds the class by the project's plugin."""

    def __init__(self, length: int) -> None:
        super().__init__(timedelta(microseconds=length))
        self._length = length

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> SliceTimetable:
        return cls(int(data["length"]))

    def serialize(self) -> dict[str, Any]:
        return {"length": self._length}

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        follows = last_automated_data_interval is not None
        return super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval,
            restriction=restriction._replace(catchup=restriction.catchup or follows),
        )

    def infer_manual_data_interval(self, run_after: DateTime) -> DataInterval:
        """The slice that starts at the logical date, as for a scheduled run; between two, the last complete one."""
        start = self._align_to_prev(run_after)
        if start != run_after:
            start = self._get_prev(start)
        return DataInterval(start, self._get_next(start))

    def _round(self, dt: DateTime, anchor: DateTime) -> DateTime:  # noqa: ARG002 - Airflow's signature
        return self._align_to_prev(dt)

    def _align_to_prev(self, current: DateTime) -> DateTime:
        return self._on_grid(microseconds_of(current) // self._length)

    def _align_to_next(self, current: DateTime) -> DateTime:
        return self._on_grid(-(-microseconds_of(current) // self._length))

    def _on_grid(self, number: int) -> DateTime:
        return instance(to_datetime(number * self._length))
