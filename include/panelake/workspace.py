"""A workspace: the folder a user writes, read whole and checked at once.

`streams.yaml`, `queries/*.sql`, `filters.py`, `expectations/*.yaml`. Everything wrong with it is said in one go, with
file and line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from panelake.errors import BadInputError, Problem, WorkspaceError
from panelake.filters.python_source import PythonSource, read_python_source
from panelake.language.parser import Query, parse_any_query
from panelake.language.query import AggregateQuery, JoinQuery
from panelake.language.stream_filters import filter_problems
from panelake.quality.own_rules import OwnRule, read_own_rules
from panelake.retention import Retention
from panelake.streams import (
    IDENTIFIER,
    Condition,
    Identifier,
    PositiveDuration,
    Source,
    Stream,
    StrictModel,
    check_no_login,
)
from panelake.yamlfile import YamlFile, read_yaml

STREAMS_FILE = "streams.yaml"
QUERIES_FOLDER = "queries"


class StreamsFile(StrictModel):
    """`streams.yaml` as declared."""

    warehouse: Annotated[str, Field(min_length=1), AfterValidator(check_no_login)] = "warehouse"
    slice: PositiveDuration
    streams: Annotated[dict[Identifier, Stream], Field(min_length=1)]
    retention: Retention = Retention()
    least_accuracy: Annotated[float | None, Field(ge=0, le=1)] = None


@dataclass(frozen=True)
class Workspace:
    """A checked workspace; `slice_length` is microseconds, `queries` aggregate one stream, `joins` join several."""

    root: Path
    warehouse: str
    slice_length: int
    streams: dict[str, Stream]
    queries: dict[str, AggregateQuery]
    own_rules: tuple[OwnRule, ...] = ()
    joins: dict[str, JoinQuery] = field(default_factory=dict)
    retention: Retention = field(default_factory=Retention)
    python: PythonSource = field(default_factory=PythonSource)
    least_accuracy: float | None = None  # of joins that shed; below it a slice is refused

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def has_filters(self) -> bool:
        """Whether any stream or query drops tuples by a condition."""
        return any(stream.where for stream in self.streams.values()) or any(
            query.conditions for query in self.queries.values()
        )

    def source_path(self, stream: str) -> str:
        """The source's path as Spark can read it: a URI as it is, a folder below the workspace."""
        return _located(self.root, self.streams[stream].source.path)

    @property
    def all_queries(self) -> dict[str, Query]:
        """Aggregates and joins by name."""
        every: dict[str, Query] = {}
        every |= self.queries
        every |= self.joins
        return dict(sorted(every.items()))

    def queries_of(self, stream: str) -> tuple[AggregateQuery, ...]:
        return tuple(query for query in self.queries.values() if query.stream == stream)


def load_workspace(root: Path) -> Workspace:
    """Read and check a workspace; a WorkspaceError holds every problem found."""
    root = root.resolve()
    if not (root / STREAMS_FILE).is_file():
        message = (
            f"{root} is not a workspace: it holds no {STREAMS_FILE}; give --workspace DIR, or write one (see README)"
        )
        raise BadInputError(message)
    python = read_python_source(root)
    declared = _read_streams(root, python)
    queries, problems = _read_queries(root, declared.streams)
    own_rules, more = read_own_rules(root, declared.streams, queries)
    problems += more
    if problems:
        raise WorkspaceError(problems)
    warehouse = _located(root, declared.warehouse)
    aggregates = {name: query for name, query in queries.items() if isinstance(query, AggregateQuery)}
    joins = {name: query for name, query in queries.items() if isinstance(query, JoinQuery)}
    return Workspace(
        root,
        warehouse,
        declared.slice,
        declared.streams,
        aggregates,
        own_rules,
        joins,
        declared.retention,
        python,
        declared.least_accuracy,
    )


def _located(root: Path, path: str) -> str:
    return path if "://" in path else str((root / path).resolve())


def _read_streams(root: Path, python: PythonSource) -> StreamsFile:
    file = read_yaml(root / STREAMS_FILE, STREAMS_FILE)
    if not isinstance(file.values, dict):
        raise WorkspaceError([file.problem((), "is empty; expected the keys slice and streams (see README)")])
    try:
        declared = StreamsFile.model_validate(file.values)
    except ValidationError as error:
        raise WorkspaceError([_declared_problem(file, detail) for detail in error.errors()]) from None
    streams = declared.streams.items()
    problems = [p for name, stream in streams for p in filter_problems(name, stream, python, file)]
    if problems:
        raise WorkspaceError(problems)
    return declared


def _declared_problem(file: YamlFile, detail: ErrorDetails) -> Problem:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    dotted = ".".join(str(part) for part in path) or STREAMS_FILE
    if detail["type"] == "extra_forbidden":
        return file.problem(path, f"unknown key {dotted!r}; expected one of {_expected_keys(path)}")
    if detail["type"] == "missing":
        return file.problem(path, f"key {dotted!r} is missing")
    got = "" if detail["type"] == "value_error" else f", got {_shortened(detail['input'])}"
    return file.problem(path, f"{dotted}: {detail['msg'].removeprefix('Value error, ')}{got}")


def _shortened(value: object, length: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def _expected_keys(path: tuple[int | str, ...]) -> str:
    """The keys allowed beside the last one of the path."""
    model: type[StrictModel] = StreamsFile
    if len(path) > 1:
        models: dict[str, type[StrictModel]] = {"source": Source, "retention": Retention}
        model = models.get(str(path[-2]), Condition if "where" in path else Stream)
    return ", ".join(declared.alias or name for name, declared in model.model_fields.items())


def _read_queries(root: Path, streams: dict[str, Stream]) -> tuple[dict[str, Query], list[Problem]]:
    schemas = {name: stream.columns for name, stream in streams.items()}
    queries: dict[str, Query] = {}
    problems: list[Problem] = []
    for path in sorted((root / QUERIES_FOLDER).glob("*.sql")):
        try:
            queries[path.stem] = _read_query(path, schemas)
        except WorkspaceError as error:
            problems += error.problems
    problems += _clashing_names(queries)
    return queries, problems


def _read_query(path: Path, schemas: dict[str, dict[str, str]]) -> Query:
    file = f"{QUERIES_FOLDER}/{path.name}"
    if not IDENTIFIER.fullmatch(path.stem):
        message = (
            f"{path.stem!r} names a table; expected a letter, then letters, digits and underscores: rename the file"
        )
        raise WorkspaceError([Problem(file, message)])
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkspaceError([Problem(file, f"not UTF-8 text: {error.reason} at byte {error.start}")]) from None
    return parse_any_query(path.stem, file, text, schemas)


def _clashing_names(names: Iterable[str]) -> list[Problem]:
    """Table folders must differ on every file system, so names may not differ in case alone."""
    seen: dict[str, str] = {}
    problems = []
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            file = f"{QUERIES_FOLDER}/{name}.sql"
            problems.append(Problem(file, f"differs from query {other!r} only in upper and lower case; rename one"))
    return problems
