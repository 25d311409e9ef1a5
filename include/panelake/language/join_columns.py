"""The columns of all streams of a join, each known by its alias and the schema's spelling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from panelake.language.columns import spelling_in
from panelake.language.functions import is_nondeterministic


@dataclass(frozen=True)
class JoinColumns:
    """Finds columns by `alias.name`, or by name alone where one stream has it; schemas by alias, in FROM's order."""

    schemas: Mapping[str, Mapping[str, str]]

    @property
    def schema(self) -> Mapping[str, str]:
        """Every column's type by the one name expressions know it by."""
        return {f"{alias}/{name}": kind for alias, schema in self.schemas.items() for name, kind in schema.items()}

    def spelling(self, name: str) -> str | None:
        """The one name of a column that a single stream has."""
        found = self._holders(name)
        return f"{found[0]}/{spelling_in(name, self.schemas[found[0]])}" if len(found) == 1 else None

    def resolved(self, column: exp.Column) -> str | None:
        """The one name of the column referred to."""
        if not column.table:
            return self.spelling(column.name)
        alias = spelling_in(column.table, self.schemas)
        name = None if alias is None else spelling_in(column.name, self.schemas[alias])
        return None if name is None else f"{alias}/{name}"

    def own_name(self, resolved: str) -> str:
        """The name of a column that is selected without one: the stream is not part of it."""
        return resolved.partition("/")[2]

    def problem(self, column: exp.Column) -> str | None:
        """Why this reference is no column of the join; None if it is one."""
        if isinstance(column.this, exp.Star):
            return "* is not supported in a join; name the columns: SELECT a.x, b.y"
        written = ".".join(part.name for part in column.parts)
        if column.args.get("db"):
            return f"{written!r} is not a column; expected stream.column"
        if column.table:
            return self._qualified_problem(column, written)
        holders = self._holders(column.name)
        if len(holders) > 1:
            return f"{written!r} is a column of {' and '.join(holders)}; say which: {holders[0]}.{column.name}"
        return None if holders else self._unknown(column.name)

    def _qualified_problem(self, column: exp.Column, written: str) -> str | None:
        alias = spelling_in(column.table, self.schemas)
        if alias is None:
            return f"{written!r}: FROM has no stream {column.table!r}; expected one of {', '.join(self.schemas)}"
        if spelling_in(column.name, self.schemas[alias]):
            return None
        near = get_close_matches(column.name, self.schemas[alias], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns: {', '.join(self.schemas[alias])}"
        return f"stream {alias!r} has no column {column.name!r}; {hint}"

    def _holders(self, name: str) -> list[str]:
        return [alias for alias, schema in self.schemas.items() if spelling_in(name, schema)]

    def _unknown(self, name: str) -> str:
        if is_nondeterministic(name):
            return f"{name} is not deterministic: running a slice again would change its answer; use streams' columns"
        return f"no stream of the join has a column {name!r}; they have: {', '.join(self.schema)}"


def columns_in(expression: exp.Expr) -> Iterator[tuple[str, str]]:
    """(alias, column) of every reference in a checked expression of a join."""
    for column in expression.find_all(exp.Column):
        alias, _, name = column.name.partition("/")
        yield alias, name


def aliases_in(expression: exp.Expr) -> set[str]:
    """The streams an expression reads."""
    return {alias for alias, _ in columns_in(expression)}
