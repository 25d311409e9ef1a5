"""`streams.yaml` as declared, and all that is wrong with it.

A file that is wrong in one place is still read as far as it can be: queries and filters are checked against the streams
whose schema is right, so that everything wrong with a workspace is said at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from panelake.errors import Problem, WorkspaceError
from panelake.filters.python_source import PythonSource
from panelake.language.stream_filters import filter_problems
from panelake.retention import Retention
from panelake.streams import (
    Condition,
    Filters,
    Identifier,
    PositiveDuration,
    Schema,
    Source,
    Stream,
    StrictModel,
    check_no_login,
)
from panelake.yamlfile import YamlFile, read_yaml, shortened

STREAMS_FILE = "streams.yaml"
_EXAMPLES = {
    "slice": "slice: 5 minutes",
    "streams": "streams: {NAME: {schema: …, event_time: …, source: …}}",
    "schema": "schema: {COLUMN: TYPE, ts: timestamp}",
    "event_time": "event_time: ts",
    "source": "source: {format: parquet, path: landing/NAME}",
    "format": "format: parquet",
}


class StreamsFile(StrictModel):
    """`streams.yaml` as declared."""

    warehouse: Annotated[str, Field(min_length=1), AfterValidator(check_no_login)] = "warehouse"
    slice: PositiveDuration
    streams: Annotated[dict[Identifier, Stream], Field(min_length=1)]
    retention: Retention = Retention()
    least_accuracy: Annotated[float | None, Field(ge=0, le=1)] = None


@dataclass(frozen=True)
class ReadStreams:
    """The file, None where anything in it is wrong; the streams to check others against, and those past reading."""

    declared: StreamsFile | None = None
    streams: Mapping[str, Stream] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def read_streams(root: Path, python: PythonSource | None) -> ReadStreams:
    """Read and check the file; its filters too, but for those of a filters.py that could not be read."""
    try:
        file = read_yaml(root / STREAMS_FILE, STREAMS_FILE)
    except WorkspaceError as error:
        return ReadStreams(problems=error.problems)
    if not isinstance(file.values, dict):
        return ReadStreams(problems=(file.problem((), "is empty; expected the keys slice and streams (see README)"),))
    declared, problems = _declared(file)
    streams = _readable(file.values.get("streams")) if declared is None else declared.streams
    found = [p for name, stream in streams.items() for p in filter_problems(name, stream, python, file)]
    told = sorted((*problems, *found), key=lambda problem: problem.line or 0)
    return ReadStreams(declared, streams, _names(file.values) - streams.keys(), tuple(told))


def _declared(file: YamlFile) -> tuple[StreamsFile | None, list[Problem]]:
    try:
        return StreamsFile.model_validate(file.values), []
    except ValidationError as error:
        return None, [_problem(file, detail) for detail in error.errors()]


def _names(values: Mapping[str, Any]) -> frozenset[str]:
    streams = values.get("streams")
    return frozenset(streams) if isinstance(streams, dict) else frozenset()


def _readable(streams: Any) -> dict[str, Stream]:
    """Of streams that may be wrong, those whose schema is right: with their filters, where these can be read."""
    declared = streams.items() if isinstance(streams, dict) else ()
    found = {name: _as_far_as_right(values) for name, values in declared if isinstance(values, dict)}
    return {name: stream for name, stream in found.items() if stream is not None}


def _as_far_as_right(values: dict[str, Any]) -> Stream | None:
    columns = _valid(Schema, values.get("schema"))
    where = _valid(Filters, values.get("where", ()))
    return None if columns is None else Stream.model_construct(columns=columns, where=where or ())


def _valid(kind: Any, value: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None


def _problem(file: YamlFile, detail: ErrorDetails) -> Problem:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    dotted = ".".join(str(part) for part in path) or STREAMS_FILE
    if detail["type"] == "extra_forbidden":
        return file.problem(path, f"unknown key {dotted!r}; expected one of {_expected_keys(path)}")
    if detail["type"] == "missing":
        return file.problem(path, f"key {dotted!r} is missing; expected such as {_EXAMPLES.get(str(path[-1]), '…')}")
    got = "" if detail["type"] == "value_error" else f", got {shortened(detail['input'])}"
    return file.problem(path, f"{dotted}: {detail['msg'].removeprefix('Value error, ')}{got}")


def _expected_keys(path: tuple[int | str, ...]) -> str:
    """The keys allowed beside the last one of the path."""
    model: type[StrictModel] = StreamsFile
    if len(path) > 1:
        models: dict[str, type[StrictModel]] = {"source": Source, "retention": Retention}
        model = models.get(str(path[-2]), Condition if "where" in path else Stream)
    return ", ".join(declared.alias or name for name, declared in model.model_fields.items())
