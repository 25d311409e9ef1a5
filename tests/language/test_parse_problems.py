"""What wrong queries are told: the place, what was got, what is expected."""

from __future__ import annotations

import pytest

from panelake.errors import Problem, WorkspaceError
from panelake.language.parser import parse_query

SCHEMAS = {"traffic": {"area_id": "int", "car_id": "int", "speed": "double", "name": "string", "ts": "timestamp"}}
WINDOW = "[RANGE 180 SECONDS SLIDE 60 SECONDS]"
COUNT = "SELECT count(*) AS n"
FROM = f"FROM traffic {WINDOW}"


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(WorkspaceError) as caught:
        parse_query("q", "queries/q.sql", text, SCHEMAS)
    return caught.value.problems


def only_problem(text: str) -> Problem:
    (problem,) = problems_of(text)
    return problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count(DISTINCT car_id) AS n", "count(DISTINCT …) is not mergeable; use approx_count_distinct(x)"),
        ("sum(DISTINCT car_id) AS n", "sum(DISTINCT …) is not mergeable"),
        (
            "median(speed) AS n",
            "median() is not mergeable: panes cannot be combined into its answer; supported: count(*),",
        ),
        ("first(speed) AS n", "first() is not mergeable"),
        ("last(speed) AS n", "last() is not mergeable"),
        ("collect_list(speed) AS n", "collect_list() is not mergeable"),
        ("percentile(speed, 0.5) AS n", "percentile() is not mergeable"),
        ("var_pop(speed) AS n", "var_pop() is not among the mergeable aggregates that panes keep; supported:"),
        ("sum(sum(speed)) AS n", "the aggregate sum() cannot stand in an aggregate"),
        ("sum(speed) OVER (PARTITION BY area_id) AS n", "a window function (OVER) is not supported here"),
        ("sum(speed) FILTER (WHERE speed > 1) AS n", "FILTER is not supported here; write the condition inside"),
        ("sum(*) AS n", "sum(*) has no argument; expected sum(x)"),
        ("sum() AS n", "sum() has 0 arguments; expected one"),
        ("count(speed, car_id) AS n", "count() has 2 arguments; expected one"),
        ("approx_percentile(speed) AS n", "expects a value and one number from 0 to 1"),
        ("approx_percentile(speed, 1.5) AS n", "expects a value and one number from 0 to 1"),
        ("approx_percentile(speed, array(0.5)) AS n", "expects a value and one number from 0 to 1"),
        ("approx_percentile(speed, 0.5, 100) AS n", "expects a value and one number from 0 to 1"),
        ("sum(speed)", "sum(`speed`) has no name; give it one: sum(`speed`) AS name"),
        ("*", "* is not supported here"),
        ("traffic.*, count(*) AS n", "* is not supported in a query of aggregates"),
        ("speed, count(*) AS n", "'speed' is not a group key; add it to GROUP BY, or aggregate it: max(speed)"),
        ("max(sped) AS n", "stream 'traffic' has no column 'sped'; did you mean 'speed'?"),
        ("max(other.speed) AS n", "'other.speed' is not a column of 'traffic'; expected traffic.speed"),
        ("max(a.b.c.d.e) AS n", "is not supported here"),
        ("max(abz(speed)) AS n", "unknown function abz(); did you mean abs()?"),
        (
            "max(zzzzzz(speed)) AS n",
            "unknown function zzzzzz(); expected a deterministic scalar function of Spark",
        ),
        ("max(abs(speed, 1)) AS n", "abs() has 2 arguments; expected 1"),
        ("max(round()) AS n", "round() has 0 arguments; expected 1 to 2"),
        ("max(coalesce()) AS n", "coalesce() has 0 arguments; expected 1 or more"),
        ("max(speed * rand()) AS n", "rand() is not deterministic"),
        ("max(uuid()) AS n", "uuid() is not deterministic"),
        ("max(now()) AS n", "now() is not deterministic"),
        ("max(unix_timestamp()) AS n", "unix_timestamp() has 0 arguments; expected 1 to 2"),
        ("max(current_timestamp) AS n", "current_timestamp is not deterministic"),
        ("max(CAST('now' AS TIMESTAMP)) AS n", "'now' as a time depends on the clock; write a date"),
        ("max(java_method('java.lang.System', 'exit')) AS n", "java_method() reaches outside the query"),
        ("max(reflect('a', 'b')) AS n", "reflect() reaches outside the query"),
        ("max((SELECT 1)) AS n", "a subquery is not supported here"),
        ("max(CAST(name AS ARRAY<INT>)) AS n", "CAST to ARRAY<INT> is not supported"),
        ("max(INTERVAL '5 minutes') AS n", "INTERVAL expects a whole number and a unit"),
        ("max(speed << 2) AS n", "BITWISELEFTSHIFT is not supported here"),
        ("max('a' 'b') AS n", "adjacent strings is not supported here; join strings with ||"),
        ("max(:p) AS n", "a parameter is not supported here"),
        ("max(x'1F') AS n", "x'…' is not supported"),
        ("max(name COLLATE UTF8_LCASE) AS n", "COLLATE is not supported here"),
        ("max('\\U00110000') AS n", "an escape in this string is not a character"),
        ("count(*) AS window_start", "'window_start' is kept for Panelake's own columns"),
        ("count(*) AS WINDOW_END", "'WINDOW_END' is kept for Panelake's own columns"),
        ("count(*) AS _slice", "'_slice' is kept for Panelake's own columns"),
        ("count(*) AS _anything", "'_anything' is kept for Panelake's own columns"),
        ("count(*) AS `a b`", "'a b' cannot be a column of a Delta table"),
        ("count(*) AS n, max(speed) AS N", "two columns are named 'N'"),
        ('count(*) AS "n"', "'n' is a string, not a name; write it plain or in backticks: `n`"),
        ("count(*) AS 'many cars'", "'many cars' is a string, not a name; write it plain"),
        ('max(traffic."speed") AS n', "'speed' is a string, not a name"),
        ("DISTINCT count(*) AS n", "DISTINCT is not supported"),
        ("1 AS one", "the query has no aggregate; expected at least one of: count(*)"),
    ],
)
def test_select_list(text: str, said: str) -> None:
    assert said in problems_of(f"SELECT {text} {FROM}")[0].message


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("WHERE sum(speed) > 1", "the aggregate sum() cannot stand in WHERE; use HAVING"),
        ("WHERE speed IN (SELECT 1)", "a subquery is not supported here"),
        ("WHERE EXISTS (SELECT 1)", "a subquery is not supported here"),
        ("WHERE (speed, car_id) IN ((1, 2))", "a list of values is not supported here"),
        ("WHERE name LIKE ANY ('a', 'b')", "is not supported here"),
        ("WHERE speed BETWEEN SYMMETRIC 2 AND 1", "BETWEEN SYMMETRIC is not supported"),
        ("WHERE n > 1", "stream 'traffic' has no column 'n'"),
        ("WHERE speed", "speed in WHERE is a double, not a condition; compare it: speed > 0"),
        ("WHERE speed > 1 AND NOT (car_id + 1)", "car_id + 1 in WHERE is a value, not a condition"),
        ("WHERE speed > 1 OR 'text'", "'text' in WHERE is a text, not a condition"),
        ("WHERE CAST(speed AS INT)", "CAST(speed AS INT) in WHERE is an int, not a condition"),
        ("HAVING count(*)", "count(*) in HAVING is a number, not a condition"),
        ("GROUP BY count(car_id)", "the aggregate count() cannot stand in GROUP BY"),
        ("GROUP BY n", "GROUP BY n: an aggregate cannot stand in GROUP BY"),
        ("GROUP BY 1", "GROUP BY 1: a position is not supported"),
        ("GROUP BY ALL", "GROUP BY ALL is not supported"),
        ("GROUP BY ROLLUP(area_id)", "GROUP BY ROLLUP is not supported"),
        ("GROUP BY CUBE(area_id)", "GROUP BY CUBE is not supported"),
        ("GROUP BY GROUPING SETS ((area_id))", "GROUP BY GROUPING SETS is not supported"),
        ("GROUP BY area_id % 2", "the group key `area_id` % 2 has no name; select it with one"),
        ("GROUP BY area_id, AREA_ID", "two columns are named 'area_id'"),
        ('GROUP BY traffic."area_id"', "'area_id' is a string, not a name"),
        ("HAVING speed > 1", "'speed' is not a group key"),
        ("HAVING sum(rand()) > 1", "rand() is not deterministic"),
        ("ORDER BY n", "ORDER BY is not supported"),
        ("LIMIT 3", "LIMIT is not supported"),
        ("LATERAL VIEW explode(name) t AS x", "LATERAL VIEW is not supported"),
        ("UNION ALL SELECT 1", "UNION and other set operations are not supported"),
        ("|> WHERE speed > 1", "the |> operator is not supported"),
        ("; SELECT 1", "a second statement; expected one query a file"),
        ("JOIN other ON true", "JOIN … ON is not supported; name the streams with commas between: SELECT a.x, b.y"),
        (", other", "the stream 'other' has no window"),
        (", other [RANGE 1 DAY SLIDE 1 DAY]", "unknown stream 'other'; streams: traffic"),
        ("WHERE", "the text cannot be read as SQL near 'WHERE'"),
        ("WHERE {{ 2BD", "the text cannot be read as SQL"),
        ("WHERE speed >", "the text cannot be read as SQL near '>'"),
        ("WHERE name = 'abc", "this string is never closed"),
        ("WHERE `name = 1", "this ` is never closed"),
        ("/* abc", "this comment is never closed; expected */"),
        ("]", "this ] closes nothing"),
    ],
)
def test_clauses(tail: str, said: str) -> None:
    assert any(said in problem.message for problem in problems_of(f"SELECT count(*) AS n {FROM} {tail}"))


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("", "the stream 'traffic' has no window; expected [RANGE 180 SECONDS SLIDE 60 SECONDS]"),
        ("[]", "the window has no RANGE"),
        ("[RANGE 1 DAY]", "the window has no SLIDE"),
        ("[SLIDE 1 DAY]", "the window has no RANGE"),
        ("[RANGE 1 MONTH SLIDE 1 DAY]", "RANGE 1 MONTH: months and years vary in length; use days or weeks"),
        ("[RANGE 1 DAY SLIDE 1 YEAR]", "SLIDE 1 YEAR: months and years vary"),
        (
            "[RANGE 1 DAY SLIDE 1 FORTNIGHT]",
            "SLIDE 1 FORTNIGHT: unknown unit; expected ROWS or a unit from MICROSECONDS",
        ),
        ("[RANGE 1 DAY SLIDE 0 DAYS]", "SLIDE 0 makes no window; expected at least 1"),
        ("[RANGE 0 ROWS SLIDE 1 ROW]", "RANGE 0 makes no window"),
        ("[RANGE 10 SLIDE 5]", "the window has bare numbers; add WATTR ROW"),
        ("[RANGE 10 ROWS SLIDE 5]", "SLIDE 5 has no unit"),
        ("[RANGE 10 ROWS SLIDE 5 SECONDS]", "SLIDE does not agree with the window's kind ROW"),
        ("[RANGE 10 SECONDS SLIDE 5 ROWS WATTR TS]", "SLIDE does not agree with the window's kind TS"),
        ("[RANGE 10 SLIDE 5 WATTR TIME]", "WATTR TIME is unknown; expected WATTR TS (time) or WATTR ROW"),
        ("[RANGE 10 SLIDE 5 WATTR ROW OFFSET 3]", "OFFSET moves a time window's grid"),
        ("[RANGE 10 ROWS SLIDE 5 ROWS OFFSET 3 HOURS]", "OFFSET moves a time window's grid"),
        ("[RANGE 10 ROWS SLIDE 5 ROWS OFFSET 3]", "OFFSET moves a time window's grid"),
        ("[RANGE 1.5 DAYS SLIDE 1 DAY]", "RANGE 1.5 DAYS is not a whole number"),
        ("[RANGE -1 DAYS SLIDE 1 DAY]", "RANGE -1 DAYS is not a whole number"),
        ("[RANGE 1 DAY 2 HOURS SLIDE 1 DAY]", "RANGE 1 DAY 2 HOURS is not a whole number"),
        ("[RANGE 1 DAY SLIDE 1 DAY RANGE 2 DAYS]", "RANGE is given twice"),
        ("[RANGE 99999999999 WEEKS SLIDE 1 DAY]", "is too large"),
        ("[1]", "[1] is not a window clause"),
        ("[EVERY 3 DAYS]", "is not a window clause"),
        ("[RANGE 1 DAY SLIDE [1 DAY]", "a [ inside a window clause"),
        ("[RANGE 1 DAY SLIDE 1 DAY", "this [ is never closed"),
    ],
)
def test_window_clause(clause: str, said: str) -> None:
    found = problems_of(f"{COUNT} FROM traffic {clause}")
    assert any(said in problem.message for problem in found), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file holds no query"),
        ("-- only a comment", "the file holds no query"),
        ("DROP TABLE traffic", "the query starts with 'DROP'; expected SELECT"),
        (f"WITH t AS (SELECT 1) SELECT count(*) AS n {FROM}", "WITH (a common table expression) is not supported"),
        (f"(SELECT count(*) AS n {FROM})", "the query starts with '('"),
        ("SELECT count(*) AS n", "FROM must name one stream"),
        (f"SELECT {FROM}", "nothing is selected"),
        (f"{COUNT} FROM (SELECT 1) {WINDOW}", "FROM must name one stream"),
        (f"{COUNT} FROM range(3) {WINDOW}", "FROM must name one stream"),
        (f"{COUNT} FROM db.traffic {WINDOW}", "only a stream's name and an alias may stand in FROM"),
        (f"{COUNT} FROM traffic {WINDOW} TABLESAMPLE (1 PERCENT)", "only a stream's name and an alias"),
        (f"{COUNT} FROM traffic {WINDOW} t(a)", "only a stream's name and an alias"),
        (f"{COUNT} FROM trafic {WINDOW}", "unknown stream 'trafic'; did you mean 'traffic'?"),
        (f"{COUNT} FROM zzz {WINDOW}", "unknown stream 'zzz'; streams: traffic"),
        (f'{COUNT} FROM "traffic" {WINDOW}', "'traffic' is a string, not a name"),
        (f'{COUNT} FROM traffic AS "t" {WINDOW}', "'t' is a string, not a name"),
        (f"SELECT area_id, area_id + 1 AS next, count(*) AS n {FROM} GROUP BY area_id, area_id", "is given twice"),
        (f"SELECT area_id AS a, count(*) AS n {FROM} GROUP BY area_id, a", "group key 'a' is given twice; keep one"),
        (
            "SELECT count(*) [RANGE 1 DAY SLIDE 1 DAY] AS n FROM traffic",
            "a window clause stands after the stream in FROM",
        ),
        (f"{COUNT} FROM traffic AS t {WINDOW} WHERE traffic.speed > 1", "expected t.speed"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000 + f" AS n {FROM}", "nested too deeply"),
        (f"SELECT count(*) AS n {FROM} WHERE name = '\ud800'", "lone surrogate"),
    ],
)
def test_statements(text: str, said: str) -> None:
    found = problems_of(text)
    assert any(said in problem.message for problem in found), found


def test_places_are_those_of_the_users_text() -> None:
    text = (
        "-- a comment\nSELECT /* 'two' */ median(speed) AS m,\n  max(sped) AS n\n"
        f"{FROM} -- more\nWHERE 'long text [x]' = name AND rand() > 1\n"
    )
    places = [(problem.file, problem.line, problem.column) for problem in problems_of(text)]
    assert places == [("queries/q.sql", 2, 20), ("queries/q.sql", 3, 7), ("queries/q.sql", 5, 34)]


def test_place_inside_a_window_clause_of_several_lines() -> None:
    problem = only_problem("SELECT count(*) AS n\r\nFROM traffic [RANGE 1 DAY\r\n  SLIDE 1 MONTH]")
    assert (problem.line, problem.column) == (3, 9)


def test_place_of_a_syntax_error() -> None:
    problem = only_problem(f"SELECT count(*) AS n\n{FROM}\nWHERE speed >> > 3")
    assert (problem.line, problem.column) == (3, 16)


def test_window_and_expressions_are_reported_together() -> None:
    found = problems_of("SELECT median(speed) AS m FROM traffic [RANGE 1 MONTH SLIDE 0 DAYS] ORDER BY m")
    assert [problem.column for problem in found] == [8, 47, 61, 78]


@pytest.mark.parametrize("call", ["sum(name)", "avg(ts)", "stddev((name))", "approx_percentile(ts, 0.5)"])
def test_an_aggregate_of_numbers_refuses_a_column_of_another_type(call: str) -> None:
    text = f"SELECT\n{call} AS x FROM traffic [RANGE 1 DAY SLIDE 1 DAY]"
    with pytest.raises(WorkspaceError, match=r"needs a number, and '(name|ts)' is a (string|timestamp)") as caught:
        parse_query("q", "queries/q.sql", text, SCHEMAS)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 1)


@pytest.mark.parametrize("call", ["min(name)", "max(ts)", "count(name)", "sum(CAST(name AS INT))", "sum(speed)"])
def test_other_aggregates_take_any_column(call: str) -> None:
    assert parse_query("q", "q.sql", f"SELECT {call} AS x\nFROM traffic [RANGE 1 DAY SLIDE 1 DAY]", SCHEMAS).calls
