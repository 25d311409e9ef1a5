"""What all tests share: a home of their own, UTC, and one Spark Connect server for the whole run."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from panelake.home import home
from panelake.spark import server
from panelake.spark.session import open_session, use_utc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What takes long to make and never changes is shared with the real home.
SHARED_CACHES = ("jars", "numba")
ASKED_FOR = ("scheduler", "slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes many minutes, unless it is asked for by its marker."""
    asked = [marker for marker in ASKED_FOR if marker not in config.option.markexpr]
    left_out = [item for item in items if any(item.get_closest_marker(marker) for marker in asked)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def share_caches(source: Path, target: Path) -> None:
    for name in SHARED_CACHES:
        (source / name).mkdir(parents=True, exist_ok=True)
        (target / name).symlink_to((source / name).resolve())


@pytest.fixture(scope="session", autouse=True)
def panelake_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for this run: its server is not the developer's, and ends with this process however that ends."""
    folder = tmp_path_factory.mktemp("home")
    share_caches(home(), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANELAKE_HOME", str(folder))
        patch.setenv("PANELAKE_DRIVER_MEMORY", "2g")
        patch.setenv(server.OWNER_VARIABLE, str(os.getpid()))
        patch.delenv("PANELAKE_MASTER", raising=False)
        use_utc()
        yield folder


@pytest.fixture
def other_home(panelake_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home apart from the run's: a test may start, break and stop servers there."""
    folder = tmp_path / "other home"
    folder.mkdir()
    share_caches(panelake_home, folder)
    monkeypatch.setenv("PANELAKE_HOME", str(folder))
    yield folder
    server.stop()


@pytest.fixture(scope="session")
def spark_server(panelake_home: Path) -> Iterator[str]:
    """The URL of the one server of this run, started on first use."""
    assert home() == panelake_home, "the shared server belongs to the run's home: ask for it before other_home"
    atexit.register(server.stop)
    record = server.start(owner_pid=os.getpid())
    yield record.url
    atexit.unregister(server.stop)
    server.stop()
    assert not record.process.is_alive()


@pytest.fixture(scope="session")
def spark(spark_server: str) -> Iterator[SparkSession]:
    """A session on the shared server."""
    session = open_session(spark_server)
    yield session
    session.stop()
