"""What joins become, and what wrong ones are told."""
# ruff: noqa: S608 - windows are put into the text of queries that are only read

from __future__ import annotations

import pytest

from panelake.durations import MINUTE, SECOND
from panelake.errors import WorkspaceError
from panelake.language.parser import parse_any_query
from panelake.language.query import JoinQuery, JoinStream, Output

SCHEMAS = {
    "r1": {"pid": "int", "name": "string", "price": "decimal(10,2)", "size": "double", "ts": "timestamp"},
    "r2": {"pid": "bigint", "label": "string", "price": "decimal(12,4)", "ts": "timestamp"},
    "r3": {"pid": "int", "day": "date", "ts": "timestamp"},
}
W = "[RANGE 5 MINUTES SLIDE 1 MINUTE]"
PAIR = f"FROM r1 {W}, r2 {W} WHERE r1.pid = r2.pid"


def parse(text: str) -> JoinQuery:
    query = parse_any_query("q", "queries/q.sql", text, SCHEMAS)
    assert isinstance(query, JoinQuery)
    return query


def problems_of(text: str) -> list[str]:
    with pytest.raises(WorkspaceError) as caught:
        parse(text)
    assert all(problem.file == "queries/q.sql" and problem.line and problem.column for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


def test_the_join_of_the_specification() -> None:
    query = parse(
        "-- packets on their way\n"
        "SELECT r1.pid, r1.ts AS t1, r2.ts AS t2, r3.ts AS t3\n"
        f"FROM r1 {W}, r2 {W}, r3 [RANGE 3 MINUTES SLIDE 1 MINUTE]\n"
        "WHERE r1.pid = r2.pid AND r2.pid = r3.pid\n"
        "WITH (EVERY 30 SECONDS, MEMORY 15000 ROWS, SHED BY arrival_order)"
    )
    assert query == JoinQuery(
        name="q",
        file="queries/q.sql",
        streams=(
            JoinStream("r1", "r1", 5 * MINUTE, ("pid",), ("pid", "ts")),
            JoinStream("r2", "r2", 5 * MINUTE, ("pid",), ("ts",)),
            JoinStream("r3", "r3", 3 * MINUTE, ("pid",), ("ts",)),
        ),
        slide=MINUTE,
        offset=0,
        key_types=("bigint",),
        outputs=(
            Output("pid", "`r1/pid`"), Output("t1", "`r1/ts`"), Output("t2", "`r2/ts`"), Output("t3", "`r3/ts`"),
        ),
        filters=(),
        every=30 * SECOND,
        memory=15_000,
        policy="arrival_order",
        fingerprint=query.fingerprint,
    )  # fmt: skip


def test_conditions_go_to_their_stream_and_the_rest_filters_matches() -> None:
    query = parse(f"SELECT name {PAIR} AND r1.name LIKE 'a%' AND r1.size < 2 AND r1.name <> label AND r1.ts <= r2.ts")
    assert query.streams[0].conditions == ("`r1/name` LIKE 'a%'", "`r1/size` < 2")
    assert query.streams[1].conditions == ()
    assert query.filters == ("`r1/name` <> `r2/label`", "`r1/ts` <= `r2/ts`")
    assert query.streams[1].columns == ("label", "ts"), "filters read them, SELECT does not"


def test_self_join_by_aliases_on_several_columns() -> None:
    query = parse(
        f"SELECT a.pid, b.ts AS t FROM r1 {W} a, r1 AS b {W} WHERE a.pid = b.pid AND a.name = b.name AND a.ts < b.ts"
    )
    assert [(one.alias, one.stream, one.keys) for one in query.streams] == [
        ("a", "r1", ("pid", "name")),
        ("b", "r1", ("pid", "name")),
    ]
    assert query.key_types == ("bigint", "string")
    assert query.reads == ("r1",)


def test_an_equality_of_some_streams_alone_filters_matches() -> None:
    query = parse(
        f"SELECT day FROM r1 {W}, r2 {W}, r3 {W} WHERE r1.pid = r2.pid AND r3.pid = r1.pid AND r1.name = r2.label"
    )
    assert query.filters == ("`r1/name` = `r2/label`",)


def test_two_columns_of_one_stream_in_a_class_are_equal_to_each_other() -> None:
    schemas = {"s": {"x": "int", "y": "int", "ts": "timestamp"}}
    twice = parse_any_query("q", "q.sql", f"SELECT a.x FROM s {W} a, s {W} b WHERE a.x = b.x AND a.y = b.x", schemas)
    assert isinstance(twice, JoinQuery)
    assert twice.streams[0].conditions == ("`a/y` = `a/x`",)


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("r1.pid = r2.pid", "bigint"),
        ("r1.name = r2.label", "string"),
        ("r1.price = r2.price", "decimal(12,4)"),
        ("r1.pid = r2.price", "decimal(23,4)"),
        ("r1.ts = r2.ts", "timestamp"),
    ],
)
def test_keys_are_compared_in_a_type_that_loses_nothing(where: str, kind: str) -> None:
    assert parse(f"SELECT name FROM r1 {W}, r2 {W} WHERE {where}").key_types == (kind,)


def test_the_period_does_not_change_the_meaning_and_the_memory_does() -> None:
    plain, often = parse(f"SELECT name {PAIR}"), parse(f"SELECT name {PAIR} WITH (EVERY 10 SECONDS)")
    limited = parse(f"SELECT name {PAIR} WITH (memory 5 rows)")
    assert (plain.every, often.every) == (MINUTE, 10 * SECOND)
    assert plain.fingerprint == often.fingerprint != limited.fingerprint
    assert limited.policy == "existence_growth"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"SELECT name {PAIR} WITH (EVERY 2 MINUTES)", "1:119: EVERY 2 minutes is longer than SLIDE 1 minute"),
        (f"SELECT name {PAIR} WITH (EVERY 7 SECONDS)", "EVERY 7 seconds does not divide SLIDE 1 minute"),
        (f"SELECT name {PAIR} WITH (EVERY 1 MONTH)", "months and years vary in length"),
        (f"SELECT name {PAIR} WITH (EVERY 0 SECONDS)", "expected a whole number and a unit"),
        (
            f"SELECT name {PAIR} WITH (MEMORY 5 ROWS, SHED BY oldst)",
            "unknown policy, did you mean oldest?; expected one",
        ),
        (f"SELECT name {PAIR} WITH (SHED BY oldest)", "SHED BY without MEMORY"),
        (f"SELECT name {PAIR} WITH (MEMORY 0 ROWS)", "MEMORY 0 ROWS: expected rows a stream from 1"),
        (f"SELECT name {PAIR} WITH (MEMORY 5 MB)", "MEMORY 5 MB: expected rows a stream from 1"),
        (f"SELECT name {PAIR} WITH (EVERY 1 MINUTE, EVERY 1 MINUTE)", "EVERY is given twice"),
        (f"SELECT name {PAIR} WITH (FOO 1)", "'FOO 1' is not an option of a join"),
        (f"SELECT name FROM r1 {W}, r2 {W}", "no chain of equal columns joins all streams: r2 is not tied to r1"),
        (f"SELECT name FROM r1 {W}, r2 {W} WHERE r1.pid < r2.pid", "no chain of equal columns joins all streams"),
        (
            f"SELECT day FROM r1 {W}, r2 {W}, r3 {W} WHERE r1.name = r2.label AND r1.pid = r3.pid",
            "no chain of equal columns joins all streams: r3 is not tied to r1, r2",
        ),
        (
            f"SELECT name FROM r1 {W}, r2 {W} WHERE r1.size = r2.pid",
            "r1.size double, r2.pid bigint have none in common",
        ),
        (f"SELECT name FROM r1 {W}, r2 {W} WHERE r1.name = r2.pid", "have none in common without loss"),
        (
            f"SELECT name FROM r1 {W}, r2 [RANGE 5 MINUTES SLIDE 2 MINUTES] WHERE r1.pid = r2.pid",
            "r2 slides by another step (2 minutes and 1 minute); a join has one SLIDE for all",
        ),
        (
            f"SELECT name FROM r1 {W}, r2 [RANGE 5 ROWS SLIDE 2 ROWS] WHERE r1.pid = r2.pid",
            "r2: a join has windows over time",
        ),
        (f"SELECT name FROM r1 {W}, r2 WHERE r1.pid = r2.pid", "the stream 'r2' has no window"),
        (
            f"SELECT name FROM r1 {W}, r1 {W} WHERE r1.pid = r1.pid",
            "'r1' stands twice in FROM; give each its own alias",
        ),
        (f"SELECT name FROM r1 {W}, other {W} WHERE r1.pid = r1.pid", "unknown stream 'other'"),
        (f"SELECT pid {PAIR}", "'pid' is a column of r1 and r2; say which: r1.pid"),
        (f"SELECT r3.pid {PAIR}", "'r3.pid': FROM has no stream 'r3'; expected one of r1, r2"),
        (f"SELECT r2.labl {PAIR}", "stream 'r2' has no column 'labl'; did you mean 'label'?"),
        (f"SELECT nothing {PAIR}", "no stream of the join has a column 'nothing'"),
        (f"SELECT r1.* {PAIR}", "* is not supported"),
        (f"SELECT r1.ts, r2.ts {PAIR}", "two columns are named 'ts'"),
        (f"SELECT r1.pid + 1 {PAIR}", "has no name; give it one"),
        (f"SELECT r1.pid AS _seq_r1 {PAIR}", "is kept for Panelake's own columns"),
        (f"SELECT count(*) AS n {PAIR}", "the aggregate count() cannot stand in a join's SELECT"),
        (f"SELECT r1.pid {PAIR} GROUP BY r1.pid", "GROUP BY is not supported in a join"),
        (f"SELECT r1.pid {PAIR} ORDER BY r1.pid", "ORDER is not supported in a join"),
        (f"SELECT r1.pid FROM r1 {W} JOIN r2 {W} ON r1.pid = r2.pid", "JOIN … ON is not supported"),
        (
            "SELECT a1.pid FROM " + ", ".join(f"r1 {W} AS a{n}" for n in range(9)) + " WHERE a1.pid = a2.pid",
            "9 streams; expected at most 8 in a join",
        ),
        (f"SELECT count(*) AS n FROM r1 {W} WITH (EVERY 1 MINUTE)", "WITH (…) is for joins, and FROM names one stream"),
    ],
)
def test_wrong_joins(text: str, said: str) -> None:
    assert any(said in problem for problem in problems_of(text)), problems_of(text)
