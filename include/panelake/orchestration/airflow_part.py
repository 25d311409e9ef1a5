"""One part of Airflow in the foreground, as a container runs it: `python -m panelake.orchestration.airflow_part NAME`.

`prepare` migrates the database, applies airflow_settings.yaml and ends; the others are Airflow's own parts. What the
environment says (AIRFLOW__…) stands before what the project would choose.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from panelake.console import say
from panelake.errors import BadInputError, PanelakeError
from panelake.orchestration.airflow_home import ensure_database, environment, run_logged, settings_file
from panelake.orchestration.preload import PRELOAD_VARIABLE

_SCHEDULER = "scheduler"
PARTS: Mapping[str, tuple[str, ...]] = {
    "api-server": ("api-server",),
    _SCHEDULER: (_SCHEDULER, "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}
PREPARE = "prepare"
PASSWORD_VARIABLE = "PANELAKE_AIRFLOW_PASSWORD"  # noqa: S105 - a name, not a secret
USER = "admin"

_FEWEST = 8


def part_command(name: str) -> list[str]:
    """The command line of one of Airflow's parts."""
    if name not in PARTS:
        raise BadInputError(f"{name!r} is no part of Airflow; expected one of {', '.join([PREPARE, *PARTS])}")
    return [sys.executable, "-m", "airflow", *PARTS[name]]


def variables(part: str = "") -> dict[str, str]:
    """A part's environment; what was given there is kept, a password never."""
    given = {name: value for name, value in os.environ.items() if name.startswith("AIRFLOW_")}
    told = environment() | given
    told.pop(PASSWORD_VARIABLE, None)
    return told | variables_of(part)


def variables_of(part: str) -> dict[str, str]:
    """What one part alone is told: the scheduler, whose tasks are forked from it, imports what they need."""
    return {PRELOAD_VARIABLE: "1"} if part == _SCHEDULER else {}


def prepare() -> None:
    """Make the database current, apply the settings, and set the user's password, if one is given."""
    told = variables()
    place = ensure_database(Path(told["AIRFLOW_HOME"]))
    loader = [sys.executable, "-m", "panelake.orchestration.settings_loader", str(settings_file())]
    run_logged(loader, told, place / "settings.log")
    _set_password(password_file(place))
    say(f"Airflow's database and settings are ready ({place})")


def password_file(place: Path) -> Path:
    """Where Airflow keeps the password of its user; one it does not find there it makes up."""
    return place / "simple_auth_manager_passwords.json.generated"


def _set_password(file: Path) -> None:
    password = os.environ.get(PASSWORD_VARIABLE)
    if password is None:
        return
    if len(password) < _FEWEST:
        raise BadInputError(f"{PASSWORD_VARIABLE} has fewer than {_FEWEST} characters; choose a longer one")
    file.touch(mode=0o600)
    file.write_text(json.dumps({USER: password}), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Prepare, or become the part; exit codes as the command line's."""
    try:
        if list(arguments) == [PREPARE]:
            prepare()
            return 0
        part = " ".join(arguments)
        command, told = part_command(part), variables(part)
        os.chdir(told["AIRFLOW_HOME"])
        os.execve(command[0], command, told)  # noqa: S606 - Airflow's own command
    except (PanelakeError, OSError) as error:
        print(f"airflow_part: {error}", file=sys.stderr)  # noqa: T201 - the command's own voice
        return error.exit_code if isinstance(error, PanelakeError) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
