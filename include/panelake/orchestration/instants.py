"""Airflow's instants as the project's: they are pendulum's, whose differences are no plain timedeltas."""

from __future__ import annotations

from datetime import datetime

from panelake.slices import to_microseconds


def microseconds_of(instant: datetime) -> int:
    """Microseconds since the epoch, exact."""
    return to_microseconds(datetime.fromisoformat(instant.isoformat()))
