"""Applies `airflow_settings.yaml` where no Astro CLI does, through Airflow's own import commands.

`python -m panelake.orchestration.settings_loader [FILE]` works on the Airflow of AIRFLOW_HOME, else on the project's.
Applying twice is the same as once: what the file names is replaced, nothing else is touched.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from panelake.console import say
from panelake.errors import PanelakeError, Problem, WorkspaceError
from panelake.orchestration.airflow_home import ensure_database, environment, settings_file
from panelake.yamlfile import YamlFile, read_yaml

Name = Annotated[str, Field(min_length=1)]
_MAX_PORT = 65535


class _Strict(BaseModel):
    """No unknown key, no guessed type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Connection(_Strict):
    """One of Airflow's connections, under Astro's names."""

    conn_id: Name
    conn_type: Name
    conn_host: str | None = None
    conn_schema: str | None = None
    conn_login: str | None = None
    conn_password: str | None = None
    conn_port: Annotated[int, Field(ge=1, le=_MAX_PORT)] | None = None
    conn_extra: dict[str, Any] | str | None = None


class Pool(_Strict):
    """One of Airflow's pools; it has at least one slot, or its tasks would wait for ever."""

    pool_name: Name
    pool_slot: Annotated[int, Field(ge=1)]
    pool_description: str = ""


class Variable(_Strict):
    """One of Airflow's variables; what is no text is kept as JSON."""

    variable_name: Name
    variable_value: str | int | float | bool | list[Any] | dict[str, Any]


class Settings(_Strict):
    """What stands under `airflow:`."""

    connections: list[Connection] = []
    pools: list[Pool] = []
    variables: list[Variable] = []


class _SettingsFile(_Strict):
    airflow: Settings


_MODELS: dict[str, type[_Strict]] = {"connections": Connection, "pools": Pool, "variables": Variable}


def read_settings(path: Path) -> Settings:
    """Read and check the file; a WorkspaceError names every problem with its file, line and key."""
    file = read_yaml(path, path.name)
    if not isinstance(file.values, dict):
        raise WorkspaceError([file.problem((), "is empty; expected the key 'airflow'")])
    try:
        settings = _SettingsFile.model_validate(file.values).airflow
    except ValidationError as error:
        # A value of several allowed types is complained of once a type: the first complaint tells enough.
        problems = {_key(detail): _problem(file, detail) for detail in reversed(error.errors())}
        raise WorkspaceError(list(reversed(problems.values()))) from None
    repeated = _repeated(file, settings)
    if repeated:
        raise WorkspaceError(repeated)
    return settings


def _key(detail: ErrorDetails) -> tuple[int | str, ...]:
    """The key's place in the file: at most airflow, list, index, name; what pydantic adds for unions is left out."""
    return detail["loc"][:4]


def _problem(file: YamlFile, detail: ErrorDetails) -> Problem:
    path = _key(detail)
    dotted = ".".join(str(part) for part in path)
    if detail["type"] == "extra_forbidden":
        return file.problem(path, f"unknown key {dotted!r}; expected one of {', '.join(_expected_keys(path))}")
    if detail["type"] == "missing":
        return file.problem(path, f"key {dotted!r} is missing")
    return file.problem(path, f"{dotted}: {detail['msg']}, got {detail['input']!r}")


def _expected_keys(path: tuple[int | str, ...]) -> Sequence[str]:
    models: tuple[type[_Strict], ...] = (_SettingsFile, Settings)
    model = models[len(path) - 1] if len(path) <= len(models) else _MODELS[str(path[1])]
    return list(model.model_fields)


def _repeated(file: YamlFile, settings: Settings) -> list[Problem]:
    """One name given to two things of a kind: one of them would silently win."""
    names = {
        ("connections", "conn_id"): [item.conn_id for item in settings.connections],
        ("pools", "pool_name"): [item.pool_name for item in settings.pools],
        ("variables", "variable_name"): [item.variable_name for item in settings.variables],
    }
    return [
        file.problem(("airflow", kind, index, key), f"airflow.{kind}.{index}.{key}: {name!r} is given twice; keep one")
        for (kind, key), given in names.items()
        for index, name in enumerate(given)
        if name in given[:index]
    ]


def apply_settings(settings: Settings) -> None:
    """Import everything into the database of this process's Airflow."""
    with tempfile.TemporaryDirectory() as folder:
        _import(Path(folder), ["connections", "import", "--overwrite"], _connections(settings))
        _import(Path(folder), ["pools", "import"], _pools(settings))
        _import(Path(folder), ["variables", "import"], _variables(settings))


def _import(folder: Path, command: list[str], values: dict[str, Any]) -> None:
    """Run one of Airflow's import commands here: three processes would take three times five seconds."""
    from airflow.cli.cli_parser import get_parser  # noqa: PLC0415 - takes seconds, and reads the environment

    if not values:
        return
    file = folder / f"{command[0]}.json"
    file.touch(mode=0o600)  # it may hold a token
    file.write_text(json.dumps(values))
    arguments = get_parser().parse_args([*command, str(file)])
    arguments.func(arguments)


def _connections(settings: Settings) -> dict[str, Any]:
    return {
        item.conn_id: {
            "conn_type": item.conn_type,
            "host": item.conn_host,
            "schema": item.conn_schema,
            "login": item.conn_login,
            "password": item.conn_password,
            "port": item.conn_port,
            "extra": item.conn_extra,
        }
        for item in settings.connections
    }


def _pools(settings: Settings) -> dict[str, Any]:
    return {item.pool_name: {"slots": item.pool_slot, "description": item.pool_description} for item in settings.pools}


def _variables(settings: Settings) -> dict[str, Any]:
    return {item.variable_name: item.variable_value for item in settings.variables}


def main(arguments: Sequence[str]) -> int:
    """Apply the file given, else the project's; exit codes as the command line's."""
    path = Path(arguments[0]) if arguments else settings_file()
    try:
        settings = read_settings(path)
        if "AIRFLOW_HOME" not in os.environ:
            os.environ.update(environment(ensure_database()))
        apply_settings(settings)
    except PanelakeError as error:
        print(f"{path}: {error}", file=sys.stderr)  # noqa: T201 - the command's own voice
        return error.exit_code
    say(f"{path} is applied to {os.environ['AIRFLOW_HOME']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
