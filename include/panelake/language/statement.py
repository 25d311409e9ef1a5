"""The one SELECT a query file holds, and the stream it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from panelake.language.columns import Columns, spelling_in
from panelake.language.dialect import WindowSql
from panelake.language.problems import ProblemList, offset_of
from panelake.language.source_text import Bracket, SourceText
from panelake.language.window_clause import EXPECTED as WINDOW_EXPECTED

_SHAPE = "SELECT … FROM stream [RANGE … SLIDE …] WHERE … GROUP BY … HAVING …"
_KNOWN_ARGUMENTS = frozenset(("expressions", "from_", "where", "group", "having"))
_WORDS = {
    "with_": "WITH (a common table expression)", "order": "ORDER BY", "distinct": "DISTINCT", "limit": "LIMIT",
    "laterals": "LATERAL VIEW", "windows": "WINDOW", "sort": "SORT BY", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}  # fmt: skip
_FIRST_WORD = re.compile(r"\s*(\w+|\S)")


def parse_statement(plain: str, problems: ProblemList) -> exp.Select | None:
    """The file's SELECT; None where the text holds anything else, and the problems tell what."""
    first = _FIRST_WORD.match(plain)
    if first is None or first[1].upper() != "SELECT":
        _refuse_start(first, problems)
        return None
    return _only_select(_parse(plain, problems), problems)


def _refuse_start(first: re.Match[str] | None, problems: ProblemList) -> None:
    if first is None:
        problems.add(0, f"the file holds no query; expected {_SHAPE}")
    elif first[1].upper() == "WITH":
        problems.add(first.start(1), f"WITH (a common table expression) is not supported; expected {_SHAPE}")
    else:
        problems.add(first.start(1), f"the query starts with {first[1]!r}; expected {_SHAPE}")


def _parse(plain: str, problems: ProblemList) -> list[exp.Expr]:
    try:
        return [tree for tree in sqlglot.parse(plain, dialect=WindowSql) if tree is not None]
    except ParseError as error:
        _add_parse_error(error, plain, problems)
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError):
        problems.add(0, f"the text cannot be read as SQL; expected {_SHAPE}")
    return []


def _add_parse_error(error: ParseError, plain: str, problems: ProblemList) -> None:
    details = error.errors[0] if error.errors else {}
    line, column, near = details.get("line") or 1, details.get("col") or 1, details.get("highlight") or ""
    line_start = sum(len(text) + 1 for text in plain.split("\n")[: line - 1])
    offset = max(0, line_start + column - max(1, len(near)))
    problems.add(min(offset, len(plain)), f"the text cannot be read as SQL near {near!r}; expected {_SHAPE}")


def _only_select(trees: list[exp.Expr], problems: ProblemList) -> exp.Select | None:
    if len(trees) > 1:
        problems.add_node(trees[1], "a second statement; expected one query a file: move it to a file of its own")
    if not trees:
        return None
    if not isinstance(trees[0], exp.Select):
        problems.add_node(
            trees[0].args.get("expression") or trees[0],
            f"UNION and other set operations are not supported; expected {_SHAPE}",
        )
        return None
    return trees[0]


def names_are_plain(select: exp.Select, source: SourceText) -> bool:
    """Whether every name is one: Spark takes "n" for a string as it does 'n', and gives no column such a name."""
    quoted = [(node, source.literal(node.name)) for node in _names(select) if source.literal(node.name) != node.name]
    for node, name in quoted:
        source.problems.add_node(
            node, f"{name!r} is a string, not a name; write it plain or in backticks: `{name.replace('`', '``')}`"
        )
    return not quoted


def _names(select: exp.Select) -> Iterator[exp.Expr]:
    """Every name, and what stands where one should: the string behind the dot of s."n"."""
    yield from select.find_all(exp.Identifier)
    yield from (column.this for column in select.find_all(exp.Column) if isinstance(column.this, exp.Literal))


def check_clauses(select: exp.Select, problems: ProblemList) -> None:
    """Refuse every clause that a query of aggregates does not have."""
    for name, value in select.args.items():
        if not value or name in _KNOWN_ARGUMENTS:
            continue
        node = value[0] if isinstance(value, list) else value
        place = node if isinstance(node, exp.Expr) else select
        word = _WORDS.get(name, name.strip("_").upper())
        problems.add_node(place, f"{word} is not supported; expected {_SHAPE}")
    if not select.expressions:
        problems.add_node(select, f"nothing is selected; expected {_SHAPE}")


def read_stream(
    select: exp.Select, source: SourceText, schemas: Mapping[str, Mapping[str, str]], problems: ProblemList
) -> Columns | None:
    """The stream in FROM with its columns, once its window stands where it should."""
    clause = select.args.get("from_")
    table = stream_table(clause.this if clause else None, select, problems)
    if table is None:
        return None
    _check_bracket_place(table, source.brackets, source.plain, problems)
    name = known_stream(table, schemas, problems)
    # As in Spark, an alias hides the stream's own name.
    return None if name is None else Columns(name, schemas[name], (table.alias or name,))


def stream_table(table: exp.Expr | None, select: exp.Select, problems: ProblemList) -> exp.Table | None:
    """What FROM names, if it is a plain name with or without an alias."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        problems.add_node(table or select, f"FROM must name one stream; expected {_SHAPE}")
        return None
    extras = [name for name, value in table.args.items() if value and name not in ("this", "alias")]
    if extras or (table.args.get("alias") and table.args["alias"].columns):
        problems.add_node(table, f"only a stream's name and an alias may stand in FROM; expected {_SHAPE}")
        return None
    return table


def _check_bracket_place(table: exp.Table, brackets: list[Bracket], plain: str, problems: ProblemList) -> None:
    if not brackets:
        problems.add_node(table, f"the stream {table.name!r} has no window; {WINDOW_EXPECTED} after its name")
        return
    ends = [part.meta["end"] + 1 for part in table.find_all(exp.Identifier) if "end" in part.meta]
    start = brackets[0].start
    if not any(end <= start and not plain[end:start].strip() for end in ends):
        problems.add(start, f"a window clause stands after the stream in FROM: FROM {table.name} [RANGE … SLIDE …]")


def known_stream(table: exp.Table, schemas: Mapping[str, Mapping[str, str]], problems: ProblemList) -> str | None:
    """The stream's name as declared; None where there is no such stream."""
    name = spelling_in(table.name, schemas)
    if name is None:
        near = get_close_matches(table.name, schemas, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"streams: {', '.join(schemas) or 'none'}"
        problems.add(offset_of(table), f"unknown stream {table.name!r}; {hint}")
    return name
