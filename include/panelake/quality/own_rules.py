"""A user's own expectations: `expectations/*.yaml`, each file for one stream or one query.

Read with the workspace, without Great Expectations; what each expectation means is checked by `own_checks`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from panelake.errors import Problem, WorkspaceError
from panelake.language.query import AggregateQuery, JoinQuery
from panelake.quality.metric import Severity
from panelake.streams import Stream, StrictModel
from panelake.yamlfile import KeyPath, YamlFile, read_yaml, shortened

EXPECTATIONS_FOLDER = "expectations"
_BRONZE_COLUMNS = ("_seq", "_slice", "_source")
_GOLD_COLUMNS = ("window_start", "window_end")
# These ask whether columns are there, so that naming one that is not is no mistake.
_ABOUT_COLUMNS = ("expect_column_to_exist", "expect_table_columns")


class DeclaredRule(StrictModel):
    """One expectation as Great Expectations itself writes it: its snake_case type and its keyword arguments."""

    type: Annotated[str, Field(min_length=1)]
    kwargs: Annotated[dict[str, Any], Field(default_factory=dict)]
    severity: Severity = "blocking"
    name: str | None = None


class ExpectationsFile(StrictModel):
    """One file of `expectations/`: for a stream, or for a query."""

    stream: str | None = None
    query: str | None = None
    expectations: Annotated[tuple[DeclaredRule, ...], Field(min_length=1)]


@dataclass(frozen=True)
class OwnRule:
    """A user's expectation of one table, and where it stands."""

    table: str
    name: str
    type: str
    kwargs: Mapping[str, Any]
    severity: Severity
    file: YamlFile = field(compare=False, repr=False)
    place: KeyPath = ()

    def problem(self, message: str, *keys: str) -> Problem:
        """A problem at one of the rule's keys."""
        return self.file.problem((*self.place, *keys), message)


def read_own_rules(
    root: Path,
    streams: Mapping[str, Stream],
    queries: Mapping[str, AggregateQuery | JoinQuery],
    unread: Collection[str] = (),
) -> tuple[tuple[OwnRule, ...], list[Problem]]:
    """The rules of all files, and everything wrong with the files; files of tables that are `unread` are left alone."""
    columns = {f"bronze/{name}": {*stream.columns, *_BRONZE_COLUMNS} for name, stream in streams.items()}
    columns |= {f"gold/{name}": _gold_columns(query) for name, query in queries.items()}
    rules: list[OwnRule] = []
    problems: list[Problem] = []
    for path in sorted((root / EXPECTATIONS_FOLDER).glob("*.y*ml")):
        try:
            mine = _file_rules(path, columns, unread)
        except WorkspaceError as error:
            problems += error.problems
            continue
        problems += [problem for rule in mine for problem in _column_problems(rule, columns[rule.table])]
        rules += mine
    return tuple(rules), problems


def _gold_columns(query: AggregateQuery | JoinQuery) -> set[str]:
    if isinstance(query, JoinQuery):
        numbers = {f"_seq_{stream.alias}" for stream in query.streams}
        return {"window_end", *numbers, *(output.alias for output in query.outputs)}
    own = [key.alias for key in query.keys] + [output.alias for output in query.outputs]
    return {*_GOLD_COLUMNS, *own}


def _file_rules(path: Path, tables: Mapping[str, set[str]], unread: Collection[str]) -> list[OwnRule]:
    file = read_yaml(path, f"{EXPECTATIONS_FOLDER}/{path.name}")
    try:
        declared = ExpectationsFile.model_validate(file.values or {})
    except ValidationError as error:
        raise WorkspaceError([_problem(file, detail) for detail in error.errors()]) from None
    table = _table(file, declared)
    if table in unread:
        return []
    _require_known(file, table, tables)
    return [
        OwnRule(table, _name(rule), rule.type, rule.kwargs, rule.severity, file, ("expectations", number))
        for number, rule in enumerate(declared.expectations)
    ]


def _problem(file: YamlFile, detail: ErrorDetails) -> Problem:
    dotted = ".".join(str(part) for part in detail["loc"]) or file.name
    told = f"{dotted}: {detail['msg']}, got {shortened(detail['input'])}"
    told = {"extra_forbidden": f"unknown key {dotted!r}", "missing": f"key {dotted!r} is missing"}.get(
        detail["type"], told
    )
    form = "expected stream: NAME or query: NAME, and expectations: a list of {type, kwargs, severity, name}"
    return file.problem(detail["loc"], f"{told}; {form}")


def _table(file: YamlFile, declared: ExpectationsFile) -> str:
    given = [name for name in (declared.stream, declared.query) if name is not None]
    if len(given) != 1:
        raise WorkspaceError([file.problem((), "name one table: either stream: NAME or query: NAME")])
    return f"gold/{given[0]}" if declared.stream is None else f"bronze/{given[0]}"


def _require_known(file: YamlFile, table: str, tables: Mapping[str, set[str]]) -> None:
    if table in tables:
        return
    layer, _, name = table.partition("/")
    kind = "stream" if layer == "bronze" else "query"
    known = ", ".join(sorted(other.partition("/")[2] for other in tables if other.startswith(layer))) or "none"
    raise WorkspaceError([file.problem((kind,), f"there is no {kind} {name!r}; expected one of {known}")])


def _name(rule: DeclaredRule) -> str:
    about = ", ".join(_columns_of(rule.kwargs))
    return rule.name or (f"{rule.type}({about})" if about else rule.type)


def _columns_of(kwargs: Mapping[str, Any]) -> Iterator[str]:
    """The columns that keyword arguments name."""
    for key, value in kwargs.items():
        if key.startswith("column") and key != "column_index":
            yield from ([value] if isinstance(value, str) else (one for one in _listed(value) if isinstance(one, str)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _column_problems(rule: OwnRule, columns: set[str]) -> list[Problem]:
    if rule.type.startswith(_ABOUT_COLUMNS):
        return []
    message = f"{rule.table} has no column {{!r}}; expected one of {', '.join(sorted(columns))}"
    return [rule.problem(message.format(name), "kwargs") for name in _columns_of(rule.kwargs) if name not in columns]
