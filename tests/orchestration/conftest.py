"""Airflow reads its environment when it is first imported: it gets a home of this run's before any test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from panelake.orchestration.airflow_home import environment


@pytest.fixture(scope="session", autouse=True)
def airflow_in_tests(panelake_home: Path) -> Iterator[Path]:
    place = panelake_home / f"airflow in tests, {os.getpid()}"
    place.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(place, private=True).items():
            if name.startswith("AIRFLOW"):
                patch.setenv(name, value)
        yield place
