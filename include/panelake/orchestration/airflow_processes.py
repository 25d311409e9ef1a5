"""The Airflow that `make up` started: its record, and the end of every process in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from panelake.orchestration.airflow_home import LOOPBACK, airflow_home
from panelake.processes import ProcessId

_GRACE_SECONDS = 20.0


@dataclass(frozen=True)
class Part:
    """One part of Airflow: its first process, and the session that its other processes are in."""

    name: str
    pid: int
    started: float
    session: int

    @classmethod
    def of(cls, name: str, process: ProcessId) -> Part:
        return cls(name, process.pid, process.started, os.getsid(process.pid))

    def is_alive(self) -> bool:
        return ProcessId(self.pid, self.started).is_alive()


@dataclass(frozen=True)
class AirflowRecord:
    """One started Airflow."""

    port: int
    log: str
    own_server: bool  # the Spark server was started with it, and ends with it
    parts: tuple[Part, ...] = ()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def ended_parts(self) -> list[str]:
        return [part.name for part in self.parts if not part.is_alive()]

    def save(self) -> None:
        draft = _path().with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        draft.replace(_path())


def load_record() -> AirflowRecord | None:
    """The recorded Airflow, or None when there is none or the file is of another format."""
    try:
        values = json.loads(_path().read_text(encoding="utf-8"))
        return AirflowRecord(**{**values, "parts": tuple(Part(**part) for part in values["parts"])})
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None


def forget_record() -> None:
    """Remove the record."""
    _path().unlink(missing_ok=True)


def _path() -> Path:
    return airflow_home() / "standalone.json"


def end_airflow(record: AirflowRecord) -> int:
    """End every process of the recorded Airflow, asked first, forced after the grace time; give how many they were."""
    family = family_of(record)
    for process in family:
        _quietly(process.terminate)
    psutil.wait_procs(family, timeout=_GRACE_SECONDS)
    left = family_of(record)
    for process in left:
        _quietly(process.kill)
    psutil.wait_procs(left, timeout=_GRACE_SECONDS)
    return len({process.pid for process in [*family, *left]})


def family_of(record: AirflowRecord) -> list[psutil.Process]:
    """The living processes of the recorded sessions, which work in Airflow's home, and their descendants."""
    sessions = {part.session for part in record.parts}
    members = [process for process in psutil.process_iter() if _belongs(process, sessions)]
    found = {process.pid: process for member in members for process in [member, *_children(member)]}
    return list(found.values())


def _belongs(process: psutil.Process, sessions: set[int]) -> bool:
    """Same session and same working folder: a session's number used again by others is not ours."""
    try:
        mine = os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE
        return mine and Path(process.cwd()) == airflow_home()
    except (OSError, psutil.Error):
        return False


def _children(process: psutil.Process) -> Sequence[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def _quietly(signal: Callable[[], None]) -> None:
    try:
        signal()
    except psutil.NoSuchProcess:
        return
