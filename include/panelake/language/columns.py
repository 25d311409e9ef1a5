"""The columns of the one stream a query reads, as its schema spells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from panelake.language.functions import is_nondeterministic


@dataclass(frozen=True)
class Columns:
    """Finds columns by name, whatever the case; `qualifiers` are the stream's name and its alias."""

    stream: str
    schema: Mapping[str, str]
    qualifiers: tuple[str, ...]

    def spelling(self, name: str) -> str | None:
        """The schema's spelling of a name; None where the stream has no such column."""
        return spelling_in(name, self.schema)

    def resolved(self, column: exp.Column) -> str | None:
        """The schema's spelling of the column referred to."""
        return self.spelling(column.name)

    def own_name(self, resolved: str) -> str:
        """The name of a column that is selected without one."""
        return resolved

    def problem(self, column: exp.Column) -> str | None:
        """Why this reference is no column of the stream; None if it is one."""
        if isinstance(column.this, exp.Star):
            return "* is not supported in a query of aggregates; name the group keys and aggregates"
        if column.args.get("db") or spelling_in(column.table or self.qualifiers[0], self.qualifiers) is None:
            written = ".".join(part.name for part in column.parts)
            wanted = f"{self.qualifiers[0]}.{column.name}"
            return f"{written!r} is not a column of {self.stream!r}; expected {wanted}, or the plain name"
        return None if self.spelling(column.name) else self._unknown(column.name)

    def _unknown(self, name: str) -> str:
        if is_nondeterministic(name):
            return (
                f"{name} is not deterministic: running a slice again would change its answer; use the stream's columns"
            )
        near = get_close_matches(name, self.schema, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns: {', '.join(self.schema)}"
        return f"stream {self.stream!r} has no column {name!r}; {hint}"


def spelling_in(name: str, names: Mapping[str, object] | tuple[str, ...]) -> str | None:
    """The name itself if present, else the first that differs only in case."""
    if name in names:
        return name
    return next((known for known in names if known.lower() == name.lower()), None)


def quoted_column(name: str) -> exp.Column:
    """A reference by exactly this name, safe whatever its characters."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True))
