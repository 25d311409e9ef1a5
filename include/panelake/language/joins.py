"""A join's SELECT → JoinQuery: its streams and windows, its keys, what selects tuples and what selects matches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from panelake.durations import format_duration
from panelake.kernels.joins.join_spec import MOST_STREAMS
from panelake.language.columns import spelling_in
from panelake.language.dialect import render
from panelake.language.expressions import ExpressionChecker, Place, conjuncts
from panelake.language.join_columns import JoinColumns, aliases_in, columns_in
from panelake.language.join_keys import Reference, common_type, covers, equal_classes, equality
from panelake.language.join_options import JoinOptions, check_period
from panelake.language.problems import ProblemList, offset_of
from panelake.language.query import JoinQuery, JoinStream, Output, Window
from panelake.language.select_list import check_names, read_items
from panelake.language.source_text import SourceText
from panelake.language.statement import known_stream, stream_table
from panelake.language.window_clause import EXPECTED as WINDOW_EXPECTED
from panelake.language.window_clause import parse_window

SHAPE = "SELECT a.x, b.y FROM a [RANGE … SLIDE …], b [RANGE … SLIDE …] WHERE a.k = b.k WITH (…)"
_ALIAS = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KNOWN_ARGUMENTS = frozenset(("expressions", "from_", "joins", "where"))
_COMMA = frozenset(("this",))
_ADVICE = {
    "group": "GROUP BY is not supported in a join; aggregate its gold with a query of your own",
    "having": "HAVING is not supported in a join; select matches in WHERE",
}


@dataclass(frozen=True)
class _Source:
    """One stream of FROM: its node, alias, name, schema and window."""

    node: exp.Table
    alias: str
    stream: str
    schema: Mapping[str, str]
    window: Window


@dataclass(frozen=True)
class _Conditions:
    """WHERE in parts: what a stream's tuples must satisfy, the classes of equal columns, what matches must satisfy."""

    per_stream: Mapping[str, tuple[str, ...]]
    keys: tuple[tuple[Reference, ...], ...]
    filters: tuple[str, ...]
    used: frozenset[Reference]


def is_join(select: exp.Select) -> bool:
    """Whether FROM names more than one stream."""
    return bool(select.args.get("joins") and select.args.get("from_"))


def read_join(
    select: exp.Select,
    source: SourceText,
    schemas: Mapping[str, Mapping[str, str]],
    options: JoinOptions,
    problems: ProblemList,
) -> JoinQuery | None:
    """The join a SELECT means, without name and file; None where it is wrong, and the problems tell why."""
    _check_clauses(select, problems)
    sources = _read_sources(select, source, schemas, problems)
    if sources is None:
        return None
    every = check_period(options, sources[0].window.slide, problems)
    checker = ExpressionChecker(source, JoinColumns({one.alias: one.schema for one in sources}), problems)
    conditions = _read_conditions(select, sources, checker)
    outputs, selected = _read_outputs(select, checker)
    types = [_key_type(members, sources, select, problems) for members in conditions.keys]
    used = selected | conditions.used
    streams = tuple(_stream(one, conditions, used) for one in sources)
    window = sources[0].window
    return JoinQuery(
        "",
        "",
        streams,
        window.slide,
        window.offset,
        tuple(kind or "" for kind in types),
        tuple(outputs),
        conditions.filters,
        every,
        options.memory,
        options.policy,
    )


def _check_clauses(select: exp.Select, problems: ProblemList) -> None:
    for name, value in select.args.items():
        if not value or name in _KNOWN_ARGUMENTS:
            continue
        node = value[0] if isinstance(value, list) else value
        word = name.strip("_").upper()
        message = _ADVICE.get(name, f"{word} is not supported in a join; expected {SHAPE}")
        problems.add_node(node if isinstance(node, exp.Expr) else select, message)
    if not select.expressions:
        problems.add_node(select, f"nothing is selected; expected {SHAPE}")


def _read_sources(
    select: exp.Select, source: SourceText, schemas: Mapping[str, Mapping[str, str]], problems: ProblemList
) -> list[_Source] | None:
    before = problems.count
    nodes = [select.args["from_"].this, *(_joined(join, problems) for join in select.args["joins"])]
    if len(nodes) > MOST_STREAMS:
        problems.add_node(nodes[MOST_STREAMS], f"{len(nodes)} streams; expected at most {MOST_STREAMS} in a join")
    tables = [stream_table(node, select, problems) for node in nodes]
    if problems.count > before:
        return None
    windows = _windows_of([table for table in tables if table is not None], source, problems)
    found = [
        _read_source(table, window, schemas, problems)
        for table, window in zip(tables, windows, strict=True)
        if table is not None
    ]
    sources = [one for one in found if one is not None]
    _check_aliases(sources, problems)
    _check_windows(sources, problems)
    return None if problems.count > before else sources


def _joined(join: exp.Join, problems: ProblemList) -> exp.Expr:
    written = {name for name, value in join.args.items() if value and (name, value) != ("kind", "CROSS")}
    if written - _COMMA:
        problems.add_node(join, f"JOIN … ON is not supported; name the streams with commas between: {SHAPE}")
    node: exp.Expr = join.this
    return node


def _windows_of(tables: Sequence[exp.Table], source: SourceText, problems: ProblemList) -> list[Window | None]:
    """The window that stands after each table; one that stands elsewhere is a problem."""
    starts = [offset_of(table) for table in tables] + [len(source.text)]
    windows: list[Window | None] = []
    placed = []
    for number, table in enumerate(tables):
        ends = [part.meta["end"] + 1 for part in table.find_all(exp.Identifier) if "end" in part.meta]
        mine = [one for one in source.brackets if starts[number] <= one.start < starts[number + 1]]
        near = [one for one in mine if any(e <= one.start and not source.plain[e : one.start].strip() for e in ends)]
        if not near:
            problems.add_node(table, f"the stream {table.name!r} has no window; {WINDOW_EXPECTED} after its name")
        windows.append(parse_window(near[0], problems) if near else None)
        placed += near[:1]
    for bracket in source.brackets:
        if bracket not in placed:
            problems.add(bracket.start, "a window clause stands after its stream in FROM: FROM a [RANGE … SLIDE …], …")
    return windows


def _read_source(
    table: exp.Table, window: Window | None, schemas: Mapping[str, Mapping[str, str]], problems: ProblemList
) -> _Source | None:
    name = known_stream(table, schemas, problems)
    if window is not None and window.kind == "ROW":
        problems.add_node(table, f"{table.name}: a join has windows over time; expected [RANGE 5 MINUTES SLIDE …]")
    if name is None or window is None or window.kind == "ROW":
        return None
    alias = table.alias or name
    if not _ALIAS.fullmatch(alias):
        problems.add_node(table, f"the alias {alias!r} names a column; expected a letter, then letters, digits and _")
    return _Source(table, alias, name, schemas[name], window)


def _check_aliases(sources: Sequence[_Source], problems: ProblemList) -> None:
    seen: list[str] = []
    for one in sources:
        if spelling_in(one.alias, tuple(seen)) is not None:
            problems.add_node(
                one.node, f"{one.alias!r} stands twice in FROM; give each its own alias: {one.stream} AS b"
            )
        seen.append(one.alias)


def _check_windows(sources: Sequence[_Source], problems: ProblemList) -> None:
    for one in sources[1:]:
        first = sources[0].window
        if one.window.slide != first.slide:
            slides = f"{format_duration(one.window.slide)} and {format_duration(first.slide)}"
            problems.add_node(one.node, f"{one.alias} slides by another step ({slides}); a join has one SLIDE for all")
        elif one.window.offset != first.offset:
            problems.add_node(one.node, f"{one.alias} has another OFFSET; a join has one grid for all its windows")


def _read_conditions(select: exp.Select, sources: Sequence[_Source], checker: ExpressionChecker) -> _Conditions:
    where = select.args.get("where")
    aliases = [one.alias for one in sources]
    if where is None or not checker.check(where.this, Place("WHERE")):
        if where is None:
            _no_chain([], aliases, select, checker.problems)
        return _Conditions({}, (), (), frozenset())
    parts = conjuncts(where.this)
    pairs = {id(part): equality(part) for part in parts}
    classes = equal_classes(pair for pair in pairs.values() if pair is not None)
    keys = [members for members in classes if covers(members, aliases)]
    if not keys:
        _no_chain(classes, aliases, where, checker.problems)
    return _split(parts, pairs, keys, aliases)


def _split(
    parts: Sequence[exp.Expr],
    pairs: Mapping[int, tuple[Reference, Reference] | None],
    keys: Sequence[list[Reference]],
    aliases: Sequence[str],
) -> _Conditions:
    per_stream: dict[str, tuple[str, ...]] = dict.fromkeys(aliases, ())
    filters: list[str] = []
    used: set[Reference] = set()
    for part in parts:
        pair, read = pairs[id(part)], aliases_in(part)
        if pair is not None and any(pair[0] in members for members in keys):
            continue
        if len(read) == 1:
            per_stream[read.pop()] += (render(part),)
        else:
            filters.append(render(part))
            used |= set(columns_in(part))
    firsts = []
    for members in keys:
        first = {alias: next(one for one in members if one[0] == alias) for alias in aliases}
        for alias, name in members:
            if (alias, name) != first[alias]:  # two columns of a stream in one class are equal to each other
                per_stream[alias] += (f"`{alias}/{name}` = `{alias}/{first[alias][1]}`",)
        firsts.append(tuple(first[alias] for alias in aliases))
    return _Conditions(per_stream, tuple(firsts), tuple(filters), frozenset(used))


def _no_chain(
    classes: Sequence[Sequence[Reference]], aliases: Sequence[str], place: exp.Expr, problems: ProblemList
) -> None:
    widest = max(({alias for alias, _ in members} for members in classes), key=len, default={aliases[0]})
    apart = [alias for alias in aliases if alias not in widest] or aliases[1:]
    example = f"{aliases[0]}.k = {apart[0]}.k"
    problems.add_node(
        place,
        f"no chain of equal columns joins all streams: {', '.join(apart)} is not tied to {', '.join(sorted(widest))};"
        f" expected equalities of plain columns such as {example} that reach every stream",
    )


def _read_outputs(select: exp.Select, checker: ExpressionChecker) -> tuple[list[Output], set[Reference]]:
    outputs, used = [], set()
    items = read_items(select, checker, Place("a join's SELECT"))
    for item in items:
        if not item.is_right:
            continue
        used |= set(columns_in(item.expression))
        alias = item.alias
        if alias is None:
            written = render(item.expression)
            checker.problems.add_node(item.node, f"{written} has no name; give it one: {written} AS name")
        else:
            outputs.append(Output(alias, render(item.expression)))
    check_names([(item.node, item.alias) for item in items if item.alias], checker.problems)
    return outputs, used


def _key_type(
    members: Sequence[Reference], sources: Sequence[_Source], select: exp.Select, problems: ProblemList
) -> str | None:
    schemas = {one.alias: one.schema for one in sources}
    kind = common_type(members, schemas)
    if kind is None:
        types = ", ".join(f"{alias}.{name} {schemas[alias][name]}" for alias, name in members)
        problems.add_node(
            select.args["where"],
            f"a key is compared in one type, and {types} have none in common without loss; expected whole numbers,"
            " decimals, strings, dates, timestamps or booleans of one kind",
        )
    return kind


def _stream(one: _Source, conditions: _Conditions, used: set[Reference]) -> JoinStream:
    keys = tuple(name for members in conditions.keys for alias, name in members if alias == one.alias)
    columns = tuple(sorted(name for alias, name in used if alias == one.alias))
    return JoinStream(one.alias, one.stream, one.window.range, keys, columns, conditions.per_stream.get(one.alias, ()))
