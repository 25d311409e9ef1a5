"""A workspace: the folder a user writes, read whole and checked at once.

`streams.yaml`, `queries/*.sql`, `filters.py`, `expectations/*.yaml`. Everything wrong with it is said in one go, with
file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from panelake.errors import BadInputError, Problem, WorkspaceError
from panelake.filters.python_source import PythonSource, read_python_source
from panelake.language.parser import Query, parse_any_query
from panelake.language.query import AggregateQuery, JoinQuery
from panelake.quality.own_rules import OwnRule, read_own_rules
from panelake.retention import Retention
from panelake.streams import IDENTIFIER, Stream
from panelake.streams_file import STREAMS_FILE, ReadStreams, read_streams

QUERIES_FOLDER = "queries"


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
    python, problems = _read_python(root)
    read = read_streams(root, python)
    queries, broken, more = _read_queries(root, read)
    unread = {f"bronze/{name}" for name in read.unread} | {f"gold/{name}" for name in broken}
    own_rules, others = read_own_rules(root, read.streams, queries, unread) if read.streams else ((), [])
    problems += [*read.problems, *more, *others]
    declared = read.declared
    if problems or python is None or declared is None:
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


def _read_python(root: Path) -> tuple[PythonSource | None, list[Problem]]:
    try:
        return read_python_source(root), []
    except WorkspaceError as error:
        return None, list(error.problems)


def _read_queries(root: Path, read: ReadStreams) -> tuple[dict[str, Query], set[str], list[Problem]]:
    """The queries, the names of those that are none, and why; one over a stream past reading is not read either."""
    schemas = {name: stream.columns for name, stream in read.streams.items()}
    queries: dict[str, Query] = {}
    problems: list[Problem] = []
    files = sorted((root / QUERIES_FOLDER).glob("*.sql"))
    for path in files if schemas else ():
        try:
            text = _read_text(path)
            if not _names_any(text, read.unread):
                queries[path.stem] = parse_any_query(path.stem, _shown(path), text, schemas)
        except WorkspaceError as error:
            problems += error.problems
    problems += _clashing_names(queries)
    return queries, {path.stem for path in files} - queries.keys(), problems


def _names_any(text: str, streams: Iterable[str]) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) for name in streams)


def _shown(path: Path) -> str:
    return f"{QUERIES_FOLDER}/{path.name}"


def _read_text(path: Path) -> str:
    if not IDENTIFIER.fullmatch(path.stem):
        message = (
            f"{path.stem!r} names a table; expected a letter, then letters, digits and underscores: rename the file"
        )
        raise WorkspaceError([Problem(_shown(path), message)])
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkspaceError([Problem(_shown(path), f"not UTF-8 text: {error.reason} at byte {error.start}")]) from None


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
