"""What all tests share: UTC, a home of the run's own, and one Spark Connect server in it.

A run is one process, or a few side by side (`pytest -n 2`): these share the server, which the first to need it starts,
and which ends with the run. What must not be shared between them has the name of its process.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

from panelake.home import home
from panelake.processes import spawn_detached
from panelake.spark import probe, server
from panelake.spark.owner_guard import guarded
from panelake.spark.session import open_session, use_utc
from panelake.spark.settings import JAVA_OPTIONS_VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A server of a few minutes would spend most of its time on making and optimizing code that soon is needed no more:
# Java stops at its first compiler, and Spark interprets the small projections; whole stages are compiled as ever.
BRIEF_SERVER = "-XX:TieredStopAtLevel=1 -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
# What takes long to make and never changes is shared with the real home.
SHARED_CACHES = ("jars", "numba")
ASKED_FOR = ("cluster", "faults", "scheduler", "slow")
# The whole run's pid and the folder of its server, told to its processes.
RUN_PID, RUN_HOME = "PANELAKE_TEST_RUN_PID", "PANELAKE_TEST_RUN_HOME"
# Where the run's object store will listen: the server is told when it starts, whether the store is needed or not.
RUN_STORE = "AWS_ENDPOINT_URL"
STORE = {
    "AWS_ACCESS_KEY_ID": "anyone",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


def pytest_configure(config: pytest.Config) -> None:
    """Open the run, in the process that was started by hand; the processes it starts in turn inherit both."""
    if not is_part_of_a_run(config):
        os.environ[RUN_PID] = str(os.getpid())
        os.environ[RUN_HOME] = str(Path(tempfile.mkdtemp(prefix="panelake-tests-")).resolve())
        os.environ[RUN_STORE] = f"http://127.0.0.1:{free_port()}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the run's server, when all its processes are done."""
    if is_part_of_a_run(config):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANELAKE_HOME", os.environ[RUN_HOME])
        server.stop()
    shutil.rmtree(os.environ.pop(RUN_HOME))
    del os.environ[RUN_PID]


def is_part_of_a_run(config: pytest.Config) -> bool:
    """Whether this process was started by a run that has several."""
    return hasattr(config, "workerinput")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes many minutes, unless it is asked for by its marker."""
    asked = [marker for marker in ASKED_FOR if marker not in config.option.markexpr]
    left_out = [item for item in items if any(item.get_closest_marker(marker) for marker in asked)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def share_caches(source: Path, target: Path) -> None:
    for name in SHARED_CACHES:
        (source / name).mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process of the run was first
            (target / name).symlink_to((source / name).resolve())


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="session", autouse=True)
def panelake_home() -> Iterator[Path]:
    """A home for this run: its server is not the developer's, and ends with the run however that ends."""
    folder = Path(os.environ[RUN_HOME])
    share_caches(home(), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANELAKE_HOME", str(folder))
        patch.setenv("PANELAKE_DRIVER_MEMORY", "2g")
        patch.setenv(JAVA_OPTIONS_VARIABLE, os.environ.get(JAVA_OPTIONS_VARIABLE, BRIEF_SERVER))
        patch.setenv(server.OWNER_VARIABLE, os.environ[RUN_PID])
        patch.delenv("PANELAKE_MASTER", raising=False)
        for name, value in STORE.items():
            patch.setenv(name, value)
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
def spark_server(panelake_home: Path) -> str:
    """The URL of the one server of this run, started on first use; `pytest_unconfigure` ends it."""
    assert home() == panelake_home, "the shared server belongs to the run's home: ask for it before other_home"
    return server.start().url


@pytest.fixture(scope="session")
def spark(spark_server: str) -> Iterator[SparkSession]:
    """A session on the shared server."""
    session = open_session(spark_server)
    yield session
    session.stop()


class Reading:
    """Calls a reader again and again in another thread while the block runs, and raises what it raised."""

    def __init__(self, read: Callable[[], None]) -> None:
        self._read = read
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._read()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self._error = error

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


@pytest.fixture
def reading() -> type[Reading]:
    """Reads as a block: `with reading(look): …`."""
    return Reading


@pytest.fixture(scope="session")
def object_store(panelake_home: Path) -> str:
    """The address of a bucket in the run's store, started by the first process to need it; it ends with the run."""
    port = int(os.environ[RUN_STORE].rpartition(":")[2])
    if not probe.port_open("127.0.0.1", port):
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        command = guarded(command, int(os.environ[RUN_PID]))
        log = panelake_home / "object_store.log"
        spawn_detached(command, env=os.environ, cwd=panelake_home, log=log)
        deadline = time.monotonic() + 120
        while not probe.port_open("127.0.0.1", port):
            assert time.monotonic() < deadline, f"the object store is not up: {log.read_text()[-2000:]}"
            time.sleep(0.2)
    store = fs.S3FileSystem(endpoint_override=os.environ[RUN_STORE], allow_bucket_creation=True)
    store.create_dir("lake")
    return "s3a://lake"
