"""What `panelake bench overhead` makes of the times that Airflow's database has of a run."""

from __future__ import annotations

from panelake.benchmarks.overhead import _times


def at(second: int) -> str:
    return f"2026-01-01 00:00:{second:02}.000000"


def test_each_task_until_published_is_told_with_what_it_waited_for() -> None:
    rows = [
        ("publish", at(9), at(10), at(0)),
        ("ingest", at(2), at(5), at(0)),
        ("await_source", None, None, at(0)),
        ("audit", at(6), at(9), at(0)),
        ("report", at(11), at(12), at(0)),
    ]
    assert _times(rows) == {
        "seconds": 10.0,
        "stages": {
            "ingest": {"waited": 2.0, "worked": 3.0},
            "audit": {"waited": 1.0, "worked": 3.0},
            "publish": {"waited": 0.0, "worked": 1.0},
        },
    }
