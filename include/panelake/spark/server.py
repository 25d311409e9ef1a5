"""One long-lived local Spark Connect server: started once, found again by every client, ended by its pid."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from panelake.errors import PartDownError, TransientError
from panelake.home import home
from panelake.processes import end, spawn_detached
from panelake.spark import probe, warmup
from panelake.spark.connect_host import serve
from panelake.spark.java import find_java
from panelake.spark.owner_guard import guarded
from panelake.spark.record import (
    ServerRecord,
    current_versions,
    forget_record,
    load_record,
    settings_fingerprint,
)
from panelake.spark.settings import server_settings, write_properties
from panelake.spark.submit import environment, submit_command

OWNER_VARIABLE = "PANELAKE_SERVER_OWNER_PID"

_LOOPBACK = "127.0.0.1"
_START_SECONDS = 180.0
_GRACE_SECONDS = 20.0
_POLL_SECONDS = 0.2
_LOG_LINES_SHOWN = 15

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerStatus:
    """What is known of the local server now."""

    state: str  # running, starting (or hung), stopped
    url: str | None = None
    pid: int | None = None
    log: str | None = None
    current: bool = True  # False: started with other versions or settings than this client's

    @property
    def healthy(self) -> bool:
        return self.state == "running"


def status() -> ServerStatus:
    """The recorded server's state; nothing is started or changed."""
    record = load_record()
    if record is None or not record.process.is_alive():
        return ServerStatus("stopped")
    state = "running" if probe.answers(record.url, seconds=10) else "starting"
    return ServerStatus(state, record.url, record.pid, record.log, _is_current(record))


def ensure() -> str:
    """The URL of a healthy server; one is started when none answers."""
    record = load_record()
    if record is None or not _usable(record):
        record = start()
    elif not _is_current(record):
        log.warning("the server at %s runs with other settings: `panelake server stop` applies the new", record.url)
    return record.url


def start(port: int | None = None, owner_pid: int | None = None) -> ServerRecord:
    """Start the server, or return the healthy one that is there; it ends with the owner, if one is given."""
    home().mkdir(parents=True, exist_ok=True)
    with _locked():
        record = load_record()
        if record is not None and _usable(record):
            return _on_port(record, port)
        _clear(record)
        return _launch(port, owner_pid or int(os.environ.get(OWNER_VARIABLE, "0")))


def stop() -> bool:
    """End the recorded server; False when none was running."""
    if not home().is_dir():
        return False
    with _locked():
        return _clear(load_record())


@contextmanager
def _locked() -> Iterator[None]:
    """One starter or stopper at a time, over all processes of this home."""
    with (home() / "server.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _usable(record: ServerRecord) -> bool:
    """Whether the recorded server lives, fits this client and answers; one just started is waited for."""
    if not record.process.is_alive() or record.versions != current_versions():
        return False
    try:
        _await_port(record, time.monotonic() + _START_SECONDS)
        probe.ask(record.url)
    except PartDownError:
        return False
    return True


def _is_current(record: ServerRecord) -> bool:
    same_settings = record.fingerprint == settings_fingerprint(server_settings(record.port))
    return same_settings and record.versions == current_versions()


def _on_port(record: ServerRecord, port: int | None) -> ServerRecord:
    if port not in (None, record.port):
        raise PartDownError(
            f"a server runs on port {record.port} already, port {port} was asked for: "
            "stop it first (`panelake server stop`)"
        )
    return record


def _clear(record: ServerRecord | None) -> bool:
    """End what the record names, if it still runs, and forget it."""
    was_running = record is not None and end(record.process, _GRACE_SECONDS)
    forget_record()
    return was_running


def _launch(port: int | None, owner_pid: int) -> ServerRecord:
    port = _checked(port) if port else _free_port()
    record = _spawn(port, owner_pid)
    try:
        # Recorded before it answers: whoever is killed while waiting leaves a server that others find.
        record.save()
        _await_port(record, time.monotonic() + _START_SECONDS)
        warmup.run(record.url)
    except BaseException:
        _clear(record)
        raise
    return record


def _spawn(port: int, owner_pid: int) -> ServerRecord:
    settings = server_settings(port)
    properties = home() / "server.properties"
    write_properties(settings, properties)
    log_file = _fresh_log()
    command = submit_command("--properties-file", str(properties), serve.__file__)
    if owner_pid:
        command = guarded(command, owner_pid)
    env = environment(find_java().home, settings["spark.master"])
    folder = _fresh_scratch(Path(settings["spark.local.dir"]))
    process = spawn_detached(command, env=env, cwd=folder, log=log_file)
    fingerprint = settings_fingerprint(settings)
    return ServerRecord(process.pid, process.started, port, current_versions(), fingerprint, str(log_file))


def _fresh_scratch(folder: Path) -> Path:
    # A killed server could not remove its shuffle files; the lock says that no other uses them.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _fresh_log() -> Path:
    path = home() / "server.log"
    if path.exists():
        path.replace(path.with_suffix(".log.1"))
    path.touch()
    return path


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((_LOOPBACK, 0))
        return int(listener.getsockname()[1])


def _checked(port: int) -> int:
    with socket.socket() as listener:
        # As the server does: a port whose last connection closed a moment ago is free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise PartDownError(
                f"port {port} of {_LOOPBACK} cannot be used for the Spark Connect server ({error}): "
                "give another port, or none for a free one"
            ) from error
    return port


def _await_port(record: ServerRecord, deadline: float) -> None:
    while not probe.port_open(_LOOPBACK, record.port):
        if not record.process.is_alive():
            raise PartDownError(f"the Spark Connect server ended while starting. {_log_tail(record)}")
        if time.monotonic() > deadline:
            raise TransientError(
                f"the Spark Connect server is not up after {_START_SECONDS:.0f} s. {_log_tail(record)}"
            )
        time.sleep(_POLL_SECONDS)


def _log_tail(record: ServerRecord) -> str:
    lines = Path(record.log).read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:]
    return "\n  ".join([f"The end of {record.log}:", *lines])
