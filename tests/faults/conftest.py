"""One home and server for the suite, which may be killed; one world, whose slices the trials break one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from panelake.slices import parse_instant
from panelake.spark import server

from .tally import Tally
from .world import World

TALLY = Tally()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The sum of all trials, as the run's last lines."""
    if TALLY.trials:
        terminalreporter.section("faults")
        for line in TALLY.told():
            terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run of trials in which no fault hit shows nothing: it fails."""
    if TALLY.trials and not TALLY.faults:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def tally() -> Tally:
    return TALLY


@pytest.fixture(autouse=True)
def in_time(tally: Tally) -> None:
    """No trial is begun when the suite's time is over."""
    if tally.is_over:
        pytest.skip(f"{tally.minutes:g} minutes are over: PANELAKE_FAULT_MINUTES")


@pytest.fixture(scope="session")
def faults_home(panelake_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose server the trials may kill: the run's own is left alone."""
    folder = tmp_path_factory.mktemp("faults-home")
    for name in ("jars", "numba"):
        (folder / name).symlink_to((panelake_home / name).resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANELAKE_HOME", str(folder))
        patch.setenv(server.OWNER_VARIABLE, str(os.getpid()))
        yield folder
        server.stop()


@pytest.fixture(scope="session")
def world(faults_home: Path, tmp_path_factory: pytest.TempPathFactory) -> World:  # noqa: ARG001 - commands start the server of that home
    """The world of most trials; its first slice is run on both sides without any fault."""
    made = World(tmp_path_factory.mktemp("faults"), parse_instant("2026-01-01T00:00:00Z"))
    made.run(made.next_slice())
    assert not made.differences()
    return made
