"""No text makes the parser fail in any way but with a list of problems."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.errors import Problem, WorkspaceError
from panelake.language.parser import parse_any_query, parse_query
from panelake.language.string_literals import decode_string, encode_string

SCHEMAS = {"traffic": {"area_id": "int", "speed": "double", "name": "string"}}
COUNT = "SELECT count(*) AS n FROM traffic"
FROM = "FROM traffic [RANGE 3 ROWS SLIDE 1 ROWS]"
_WORDS = """
SELECT FROM WHERE GROUP BY HAVING traffic area_id speed name [RANGE 3 ROWS SLIDE 1 ROWS] [ ] ( ) , ; . :: * + - / %
AND OR NOT IN BETWEEN LIKE IS NULL CASE WHEN THEN ELSE END CAST AS INT count( sum( max( rand() 'a' "b" `c` r'd' x'1'
-- /* */ = < > <=> || |> 1 1.5 1L 2BD 1e3 .5 INTERVAL DAY DATE OVER DISTINCT UNION JOIN ON ORDER LIMIT WITH EXISTS ANY
ALL -> => : ? @ $ { } {{ }} ! ~ & ^ << \\ ' " ` LATERAL VIEW VALUES PIVOT WINDOW QUALIFY IGNORE NULLS ESCAPE COLLATE
"""
WORDS = _WORDS.split()


def parse_or_refuse(text: str) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        assert parse_query("q", "q.sql", text, SCHEMAS).calls
    except WorkspaceError as error:
        problems = error.problems or (Problem("q.sql", "nothing was said"),)
    assert all(problem.line and problem.column for problem in problems)


@given(st.text())
def test_any_text(text: str) -> None:
    parse_or_refuse(text)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_any_words(text: str) -> None:
    parse_or_refuse(f"SELECT {text}")


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.sampled_from(["SELECT", "WHERE", "GROUP BY", "HAVING"]),
)
def test_any_words_in_a_clause_of_a_query(text: str, clause: str) -> None:
    selected = text if clause == "SELECT" else "count(*) AS n"
    tail = "" if clause == "SELECT" else f"{clause} {text}"
    parse_or_refuse(f"SELECT {selected} {FROM} {tail}")


@given(st.text())
def test_any_window_clause(text: str) -> None:
    parse_or_refuse(f"{COUNT} [{text}]")


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([*WORDS, "t.area_id", "= t.area_id", "EVERY 1 SECOND", "MEMORY 5 ROWS"]), max_size=12),
    st.sampled_from(["SELECT", "FROM", "WHERE", "WITH"]),
)
def test_any_words_in_a_clause_of_a_join(words: list[str], clause: str) -> None:
    text = " ".join(words)
    window = "[RANGE 3 SECONDS SLIDE 1 SECOND]"
    selected, tables = text if clause == "SELECT" else "t.name", f"traffic {window}, traffic {window} AS t"
    tables = f"{tables} {text}" if clause == "FROM" else tables
    where = f" AND {text}" if clause == "WHERE" else ""
    options = f" WITH ({text})" if clause == "WITH" else ""
    problems: tuple[Problem, ...] = ()
    try:
        query = f"SELECT {selected} {'FROM'} {tables} WHERE traffic.area_id = t.area_id{where}{options}"
        assert parse_any_query("q", "q.sql", query, SCHEMAS).outputs
    except WorkspaceError as error:
        problems = error.problems or (Problem("q.sql", "nothing was said"),)
    assert all(problem.line and problem.column for problem in problems)


@given(st.text())
def test_any_string_survives_writing_and_reading(value: str) -> None:
    literal = encode_string(value)
    assert decode_string(literal[1:-1], "'") == value


@given(st.text(st.characters(exclude_characters="'\"\\", exclude_categories=("Cs",))))
def test_any_string_reaches_the_condition(value: str) -> None:
    text = f"SELECT count(*) AS n {FROM} WHERE name = '{value}'"
    (condition,) = parse_query("q", "q.sql", text, SCHEMAS).conditions
    assert condition == f"`name` = {encode_string(value)}"
