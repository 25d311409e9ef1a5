"""`make up` and `make down`: Airflow with its scheduler and UI, and the Spark server, on this machine.

`python -m panelake.orchestration.standalone up|down [--port N]`. Each part is started in a session of its own and
recorded, and ended by that record alone. They are the parts of `airflow standalone`, which cannot be told to keep the
log servers away from the network; nothing needs them where the logs are files of the same machine.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from panelake.console import Advance, progress_bar, say
from panelake.errors import PanelakeError, PartDownError, TransientError
from panelake.orchestration.airflow_home import (
    LOOPBACK,
    airflow_home,
    ensure_database,
    environment,
    free_port,
    log_tail,
    port_is_free,
    run_logged,
    settings_file,
)
from panelake.orchestration.airflow_part import PARTS, USER, password_file, variables_of
from panelake.orchestration.airflow_processes import (
    AirflowRecord,
    Part,
    end_airflow,
    forget_record,
    load_record,
)
from panelake.orchestration.health import unhealthy_parts
from panelake.processes import spawn_detached
from panelake.spark import server
from panelake.spark.session import MASTER_VARIABLE

_USUAL_PORT = 8080
_START_SECONDS = 180.0
_POLL_SECONDS = 0.5
_STEPS = 4


def up(port: int | None) -> AirflowRecord:
    """Start what is not running, and wait until all of it is healthy."""
    with _locked():
        record = load_record()
        if record is not None and not unhealthy_parts(record.url):
            return _on_port(record, port)
        _stop(record)
        with progress_bar(_STEPS) as bar:
            return _start(_usable(port), bar)


def down() -> list[str]:
    """End all that `up` started; give what was ended, in words."""
    if not airflow_home().is_dir():
        return []
    with _locked():
        return _stop(load_record())


@contextmanager
def _locked() -> Iterator[None]:
    airflow_home().mkdir(parents=True, exist_ok=True)
    with (airflow_home() / "standalone.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _on_port(record: AirflowRecord, port: int | None) -> AirflowRecord:
    if port not in (None, record.port):
        raise PartDownError(f"Airflow runs at {record.url} already, port {port} was asked for: 'make down' first")
    return record


def _usable(port: int | None) -> int:
    if port is None:
        return _USUAL_PORT if port_is_free(_USUAL_PORT) else free_port()
    if not port_is_free(port):
        raise PartDownError(f"port {port} of {LOOPBACK} cannot be used for Airflow; give another, or none")
    return port


def _start(port: int, bar: Advance) -> AirflowRecord:
    given = os.environ.get(MASTER_VARIABLE)
    own_server = not given and not server.status().healthy
    with ThreadPoolExecutor(1) as beside:
        starting = None if given else beside.submit(server.ensure)  # it takes as long as all the rest
        try:
            record = _start_airflow(port, bar, own_server=own_server)
            bar.step("the Spark server")
            if starting is not None:
                starting.result()
        except BaseException:
            _stop(load_record())
            if own_server:
                wait([starting] if starting else [])
                server.stop()
            raise
    return record


def _start_airflow(port: int, bar: Advance, *, own_server: bool) -> AirflowRecord:
    bar.step("Airflow's database")
    place = ensure_database()
    variables = environment(place, port)
    bar.step("connections, pools and variables")
    loader = [sys.executable, "-m", "panelake.orchestration.settings_loader", str(settings_file())]
    run_logged(loader, variables, place / "settings.log")
    bar.step("Airflow")
    record = _spawn(port, place, variables, own_server=own_server)
    _await_health(record)
    return record


def _spawn(port: int, place: Path, variables: dict[str, str], *, own_server: bool) -> AirflowRecord:
    log = place / "standalone.log"
    log.write_text("")
    record = AirflowRecord(port, str(log), own_server)
    for part in PARTS:
        command = [sys.executable, "-m", "airflow", *PARTS[part]]
        process = spawn_detached(command, env=variables | variables_of(part), cwd=place, log=log)
        record = replace(record, parts=(*record.parts, Part.of(part, process)))
        record.save()
    return record


def _await_health(record: AirflowRecord) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while missing := unhealthy_parts(record.url):
        if ended := record.ended_parts():
            raise PartDownError(f"{', '.join(ended)} of Airflow ended while starting. {log_tail(Path(record.log))}")
        if time.monotonic() > deadline:
            names = ", ".join(missing)
            raise TransientError(f"not healthy after {_START_SECONDS:.0f} s: {names}. {log_tail(Path(record.log))}")
        time.sleep(_POLL_SECONDS)


def _stop(record: AirflowRecord | None) -> list[str]:
    if record is None:
        return []
    ended = end_airflow(record)
    told = [f"Airflow at {record.url} ({ended} processes)"] if ended else []
    if record.own_server and server.stop():
        told.append("the Spark server")
    forget_record()
    return told


def password() -> str:
    """The one that Airflow made for its user at its first start."""
    return str(json.loads(password_file(airflow_home()).read_text(encoding="utf-8"))[USER])


def main(arguments: Sequence[str]) -> int:
    """Exit codes as the command line's."""
    parser = argparse.ArgumentParser(prog="standalone", description=__doc__)
    parser.add_argument("action", choices=("up", "down"))
    parser.add_argument("--port", type=int, default=None, help="loopback port of Airflow; default: 8080 or a free one")
    options = parser.parse_args(arguments)
    try:
        if options.action == "down":
            say(f"stopped: {', '.join(down()) or 'nothing, nothing was running'}")
        else:
            record = up(options.port)
            say(f"Airflow: {record.url}  user {USER}  password {password()}  (log {record.log}; 'make down' ends it)")
    except PanelakeError as error:
        print(f"{options.action}: {error}", file=sys.stderr)  # noqa: T201 - the command's own voice
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
