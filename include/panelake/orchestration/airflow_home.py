"""Airflow on this machine: its home among the runtime files, on SQLite, served on loopback alone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from panelake.errors import PartDownError
from panelake.home import checkout, home

LOOPBACK = "127.0.0.1"
DATABASE_VARIABLE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"

_DATABASE = "airflow.db"
_MIGRATED = "migrated"
_LOG_LINES_SHOWN = 10


def airflow_home() -> Path:
    """The folder of Airflow's own files."""
    return home() / "airflow"


def dags_folder() -> Path:
    """The project's DAG files: the checkout's, else those of the Airflow project in the working folder."""
    return (checkout() or Path.cwd()) / "dags"


def settings_file() -> Path:
    """The project's airflow_settings.yaml, beside its DAG files."""
    return dags_folder().parent / "airflow_settings.yaml"


def environment(folder: Path | None = None, port: int | None = None, *, private: bool = False) -> dict[str, str]:
    """This process's environment with all that Airflow is told.

    A database given by the user is kept; a private Airflow has its own all the same.
    """
    place = folder or airflow_home()
    variables = {
        "AIRFLOW_HOME": str(place),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags_folder()),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "DO_NOT_TRACK": "1",
        "SCARF_ANALYTICS": "false",
        "TZ": "UTC",
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _without_proxy()),
        # Airflow starts its parts as `airflow`, found on the PATH.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    }
    if private or DATABASE_VARIABLE not in os.environ:
        variables[DATABASE_VARIABLE] = _own_database(place)
    return {**os.environ, **variables, **(_served(port) if port else {})}


def _without_proxy() -> str:
    """Airflow's parts reach each other on loopback, never through a proxy."""
    known = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    return ",".join([*filter(None, known.split(",")), LOOPBACK, "localhost"])


def _own_database(place: Path) -> str:
    return f"sqlite:///{place / _DATABASE}"


def _served(port: int) -> dict[str, str]:
    url = f"http://{LOOPBACK}:{port}"
    return {
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__WORKERS": "1",
        # The tasks' way back; its default is a port that is not ours.
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
    }


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Whether a server could listen there; a port whose last connection closed a moment ago is free."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except (OSError, OverflowError):
            return False
    return True


def ensure_database(folder: Path | None = None, *, private: bool = False) -> Path:
    """Migrate Airflow's database unless this version of Airflow did already; give Airflow's home."""
    place = folder or airflow_home()
    place.mkdir(parents=True, exist_ok=True)
    variables = environment(place, private=private)
    with (place / "migrate.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not _is_migrated(place, variables[DATABASE_VARIABLE]):
            run_logged([sys.executable, "-m", "airflow", "db", "migrate"], variables, place / "migrate.log")
            (place / _MIGRATED).write_text(_mark(variables[DATABASE_VARIABLE]))
    return place


def private_airflow(place: Path) -> Path:
    """A home with a fresh database of its own, copied from one that is migrated once: that takes most of the time."""
    template = ensure_database(home() / "airflow-template", private=True)
    place.mkdir(parents=True)
    shutil.copyfile(template / _DATABASE, place / _DATABASE)
    return place


def _is_migrated(place: Path, database: str) -> bool:
    marked = (place / _MIGRATED).is_file() and (place / _MIGRATED).read_text() == _mark(database)
    return marked and (database != _own_database(place) or (place / _DATABASE).is_file())


def _mark(database: str) -> str:
    # A database URL may hold a password: only its digest is written down.
    return f"{version('apache-airflow')} {hashlib.sha256(database.encode()).hexdigest()}"


def run_logged(command: list[str], variables: dict[str, str], log: Path) -> None:
    """Run a command with its output in the log; a failure is a PartDownError that shows the log's end."""
    with log.open("w") as output:
        done = subprocess.run(  # noqa: S603 - the project's own commands
            command, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise PartDownError(f"'{' '.join(command[1:])}' failed with {done.returncode}. {log_tail(log)}")


def log_tail(log: Path) -> str:
    """The last lines of a log, for an error message."""
    lines = log.read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:]
    return "\n  ".join([f"The end of {log}:", *lines])
