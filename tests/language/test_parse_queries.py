"""What correct queries become."""

from __future__ import annotations

import dataclasses

import pytest

from panelake.durations import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND, WEEK
from panelake.language.parser import parse_query
from panelake.language.query import AggregateCall, AggregateQuery, GroupKey, Output, Window

SCHEMAS = {
    "traffic": {
        "area_id": "int",
        "car_id": "int",
        "speed": "double",
        "name": "string",
        "ts": "timestamp",
        "Odd Name": "int",
    }
}
WINDOW = "[RANGE 180 SECONDS SLIDE 60 SECONDS]"
COUNT = "SELECT count(*) AS n FROM traffic "
FROM = f"FROM traffic {WINDOW}"


def parse(text: str) -> AggregateQuery:
    return parse_query("q", "queries/q.sql", text, SCHEMAS)


def window_of(clause: str) -> Window:
    return parse(COUNT + clause).window


def condition(text: str) -> str:
    (only,) = parse(f"SELECT count(*) AS n {FROM} WHERE {text}").conditions
    return only


def test_time_query_of_the_specification() -> None:
    query = parse(
        "-- slowest and fastest\n"
        "SELECT area_id, min(speed) AS slowest, max(speed) AS fastest\n"
        "FROM traffic [RANGE 180 SECONDS SLIDE 60 SECONDS]\n"
        "WHERE speed >= 0 AND car_id IS NOT NULL\n"
        "GROUP BY area_id"
    )
    expected = AggregateQuery(
        name="q",
        file="queries/q.sql",
        stream="traffic",
        window=Window("TS", 180 * SECOND, 60 * SECOND),
        keys=(GroupKey("area_id", "`area_id`"),),
        calls=(AggregateCall("min", "`speed`"), AggregateCall("max", "`speed`")),
        outputs=(Output("slowest", "`_a0`"), Output("fastest", "`_a1`")),
        conditions=("`speed` >= 0", "NOT `car_id` IS NULL"),
        having=None,
        fingerprint=query.fingerprint,
    )
    assert query == expected


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("[RANGE 200 SLIDE 50 WATTR ROW]", Window("ROW", 200, 50)),
        ("[RANGE 200 SLIDE 50 WATTR ROWS]", Window("ROW", 200, 50)),
        ("[RANGE 200 ROWS SLIDE 50 ROWS]", Window("ROW", 200, 50)),
        ("[RANGE 200 ROW SLIDE 50 ROW WATTR ROW]", Window("ROW", 200, 50)),
        ("[RANGE 200 ROWS SLIDE 50 WATTR ROW]", Window("ROW", 200, 50)),
        ("[RANGE 180 SLIDE 60 WATTR TS]", Window("TS", 180 * SECOND, 60 * SECOND)),
        ("[range 3 minutes slide 60 WATTR ts]", Window("TS", 180 * SECOND, 60 * SECOND)),
        ("[SLIDE 1 minute RANGE 90s]", Window("TS", 90 * SECOND, MINUTE)),
        ("[RANGE 7 MICROSECONDS SLIDE 1 MILLISECOND]", Window("TS", 7 * MICROSECOND, MILLISECOND)),
        ("[RANGE 2 DAYS SLIDE 1 HOUR]", Window("TS", 2 * DAY, HOUR)),
        ("[RANGE 1 WEEK SLIDE 1 WEEK OFFSET 3 HOURS]", Window("TS", WEEK, WEEK, 3 * HOUR)),
        ("[RANGE 1 HOUR SLIDE 1 HOUR OFFSET 90 MINUTES]", Window("TS", HOUR, HOUR, 30 * MINUTE)),
        ("[RANGE 1 HOUR -- a comment\n SLIDE /* another */ 1 DAY]", Window("TS", HOUR, DAY)),
    ],
)
def test_window_clauses(clause: str, expected: Window) -> None:
    assert window_of(clause) == expected


def test_synonyms_and_repeats_share_one_call() -> None:
    query = parse(f"SELECT stddev(speed * 2) AS a, std(speed*2) AS b, variance(speed) AS c, mean(speed) AS d {FROM}")
    assert query.calls == (
        AggregateCall("stddev_samp", "`speed` * 2"),
        AggregateCall("var_samp", "`speed`"),
        AggregateCall("avg", "`speed`"),
    )
    assert [output.expression for output in query.outputs] == ["`_a0`", "`_a0`", "`_a1`", "`_a2`"]


def test_sketches_carry_their_parameters() -> None:
    query = parse(f"SELECT approx_percentile(speed, 0.95) AS p, approx_count_distinct(car_id) AS d {FROM}")
    assert query.calls == (
        AggregateCall("approx_percentile", "`speed`", (0.95,)),
        AggregateCall("approx_count_distinct", "`car_id`"),
    )


def test_expressions_over_aggregates_and_having() -> None:
    query = parse(
        f"SELECT max(speed) - min(speed) AS spread, sum(speed) / count(*) AS mean {FROM}"
        " HAVING spread > 3 OR count(car_id) < 2"
    )
    assert query.outputs == (Output("spread", "`_a0` - `_a1`"), Output("mean", "`_a2` / `_a3`"))
    assert query.having == "(`_a0` - `_a1`) > 3 OR `_a4` < 2"
    assert query.calls[3:] == (AggregateCall("count", None), AggregateCall("count", "`car_id`"))


def test_having_reads_columns_inside_aggregates_and_aliases_outside() -> None:
    query = parse(f"SELECT max(speed) AS speed {FROM} HAVING speed > 3 AND min(speed) > 1")
    assert query.having == "`_a0` > 3 AND `_a1` > 1"
    assert query.calls == (AggregateCall("max", "`speed`"), AggregateCall("min", "`speed`"))


@pytest.mark.parametrize("group", ["bucket", "BUCKET", "floor(speed / 10)", "FLOOR( speed/10 )", "(floor(speed / 10))"])
def test_expression_key_takes_its_select_alias(group: str) -> None:
    query = parse(
        f"SELECT floor(speed / 10) AS bucket, area_id AS area, count(*) AS n {FROM} GROUP BY {group}, area_id"
    )
    assert query.keys == (GroupKey("bucket", "floor(`speed` / 10)"), GroupKey("area", "`area_id`"))
    assert query.outputs == (Output("n", "`_a0`"),)


def test_keys_are_columns_of_gold_even_if_not_selected() -> None:
    query = parse(f"SELECT count(*) AS n {FROM} GROUP BY area_id, car_id")
    assert query.keys == (GroupKey("area_id", "`area_id`"), GroupKey("car_id", "`car_id`"))


def test_outputs_may_use_keys() -> None:
    query = parse(f"SELECT area_id AS area, area_id + max(speed) AS x, area_id * 2 AS y {FROM} GROUP BY area_id")
    assert query.outputs == (Output("x", "`area` + `_a0`"), Output("y", "`area` * 2"))


def test_a_column_of_the_stream_comes_before_an_alias_in_group_by() -> None:
    query = parse(f"SELECT floor(speed) AS whole, speed AS ts, count(*) AS n {FROM} GROUP BY speed")
    assert query.keys == (GroupKey("ts", "`speed`"),)
    assert query.outputs[0] == Output("whole", "floor(`ts`)")


def test_conjuncts_keep_the_written_order_through_brackets() -> None:
    query = parse(
        f"SELECT count(*) AS n {FROM}"
        " WHERE (speed > 1 AND (car_id = 2 AND speed < 9)) AND (car_id = 1 OR area_id = 3)"
        " AND NOT (speed = 3 AND car_id = 4)"
        " AND area_id BETWEEN 1 AND 2"
    )
    assert query.conditions == (
        "`speed` > 1",
        "`car_id` = 2",
        "`speed` < 9",
        "(`car_id` = 1 OR `area_id` = 3)",
        "NOT (`speed` = 3 AND `car_id` = 4)",
        "`area_id` BETWEEN 1 AND 2",
    )


def test_names_are_spelled_as_the_schema_does() -> None:
    query = parse(
        "select MAX(T.Speed) as Top, Area_Id from TRAFFIC [RANGE 1 DAY SLIDE 1 DAY] as t"
        " where CAR_ID = 1 group by AREA_ID"
    )
    assert query.stream == "traffic"
    assert query.calls == (AggregateCall("max", "`speed`"),)
    assert query.keys == (GroupKey("area_id", "`area_id`"),)
    assert query.outputs == (Output("Top", "`_a0`"),)
    assert query.conditions == ("`car_id` = 1",)


def test_alias_may_stand_before_the_window() -> None:
    assert parse("SELECT max(t.speed) AS m FROM traffic AS t [RANGE 1 DAY SLIDE 1 DAY]").calls == (
        AggregateCall("max", "`speed`"),
    )


def test_backtick_names_are_safe() -> None:
    assert condition("`odd name` > 1") == "`Odd Name` > 1"


@pytest.mark.parametrize(
    ("written", "generated"),
    [
        ("name = 'it''s'", r"`name` = 'it\'s'"),
        (r"name = 'it\'s'", r"`name` = 'it\'s'"),
        ('name = "it\'s"', r"`name` = 'it\'s'"),
        ('name = "a""b"', "`name` = 'a\"b'"),
        (r"name = '\d'", "`name` = 'd'"),
        (r"name RLIKE '\\d+'", r"`name` RLIKE '\\d+'"),
        (r"name REGEXP r'\d+'", r"`name` RLIKE '\\d+'"),
        (r"name LIKE '10\%'", r"`name` LIKE '10\\%'"),
        (r"name LIKE 'a/_' ESCAPE '/'", r"`name` LIKE 'a/_' ESCAPE '/'"),
        ("name NOT ILIKE 'a%'", "`name` NOT ILIKE 'a%'"),
        (r"name = 'tab\tline\nend'", r"`name` = 'tab\tline\nend'"),
        (r"name = '\u00e9\101'", "`name` = 'éA'"),
        ("name = ''", "`name` = ''"),
        ("name = '${spark.app.id}'", r"`name` = '\u0024{spark.app.id}'"),
        ("name = '[RANGE 1] -- no comment'", "`name` = '[RANGE 1] -- no comment'"),
        ("name = 'a' /* a ' in /* nested */ comment */", "`name` = 'a'"),
        ("speed / 2 > 1", "`speed` / 2 > 1"),
        ("car_id DIV 2 = 1", "`car_id` DIV 2 = 1"),
        ("car_id % 2 = 1", "`car_id` % 2 = 1"),
        ("mod(car_id, 2) = 1", "mod(`car_id`, 2) = 1"),
        ("speed > -5", "`speed` > -5"),
        ("speed > - -5", "`speed` > - -5"),
        ("speed - -5 > 1e3", "`speed` - -5 > 1e3"),
        ("speed = 1.5BD", "`speed` = CAST('1.5' AS DECIMAL(2, 1))"),
        ("car_id = 5L", "`car_id` = CAST(5 AS BIGINT)"),
        ("CAST(name AS int) = 1", "CAST(`name` AS INT) = 1"),
        ("name::long = 1", "CAST(`name` AS BIGINT) = 1"),
        ("TRY_CAST(name AS DECIMAL(10,2)) = 1", "TRY_CAST(`name` AS DECIMAL(10, 2)) = 1"),
        (
            "CASE WHEN speed IS NOT NULL THEN true ELSE false END",
            "CASE WHEN NOT `speed` IS NULL THEN TRUE ELSE FALSE END",
        ),
        ("CASE car_id WHEN 1 THEN true END", "CASE `car_id` WHEN 1 THEN TRUE END"),
        ("car_id NOT IN (1, 2)", "NOT `car_id` IN (1, 2)"),
        ("speed NOT BETWEEN 1 AND 2", "NOT `speed` BETWEEN 1 AND 2"),
        ("(speed IS NULL) = true", "(`speed` IS NULL) = TRUE"),
        ("speed <=> 3", "`speed` IS NOT DISTINCT FROM 3"),
        ("speed == 3", "`speed` = 3"),
        ("speed <> 3", "`speed` <> 3"),
        ("speed != 3", "`speed` <> 3"),
        ("name || 'x' = 'yx'", "`name` || 'x' = 'yx'"),
        ("car_id & 1 = 1", "`car_id` & 1 = 1"),
        ("ts > TIMESTAMP '2026-01-01 00:00:00'", "`ts` > CAST('2026-01-01 00:00:00' AS TIMESTAMP)"),
        ("ts > DATE'2026-01-01'", "`ts` > CAST('2026-01-01' AS DATE)"),
        ("ts + INTERVAL 5 MINUTES > ts", "`ts` + INTERVAL '5' MINUTES > `ts`"),
        ("ts + INTERVAL '5' MINUTE > ts", "`ts` + INTERVAL '5' MINUTE > `ts`"),
        ("date_format(ts, 'yyyy-MM-dd') = '2026-01-01'", "date_format(`ts`, 'yyyy-MM-dd') = '2026-01-01'"),
        ("to_date(name, 'dd.MM.yyyy') = ts", "to_date(`name`, 'dd.MM.yyyy') = `ts`"),
        ("if(speed > 1, true, false)", "if(`speed` > 1, TRUE, FALSE)"),
        ("`abs`(speed) > 1", "abs(`speed`) > 1"),
    ],
)
def test_expressions_keep_their_meaning(written: str, generated: str) -> None:
    assert condition(written) == generated


def test_generated_text_is_a_fixed_point() -> None:
    text = r"name RLIKE '\\d\'' OR NOT speed - -5 > 1.5e3 AND `Odd Name` IN (1, 2) AND ts + INTERVAL 5 DAYS > ts"
    once = condition(f"({text})")
    assert condition(once) == once


class TestFingerprint:
    TEXT = f"SELECT area_id, stddev(speed) AS s {FROM} WHERE speed > 1 AND car_id = 2 GROUP BY area_id"

    @pytest.mark.parametrize(
        "same",
        [
            TEXT.lower().replace(" ", "\n  "),
            TEXT + " -- a comment",
            TEXT.replace("180 SECONDS", "3 MINUTES"),
            TEXT.replace("stddev(", "stddev_samp("),
            TEXT.replace("speed > 1 AND car_id = 2", "traffic.CAR_ID = 2 AND (speed > 1)"),
        ],
    )
    def test_does_not_see_spelling(self, same: str) -> None:
        assert parse(same).fingerprint == parse(self.TEXT).fingerprint

    @pytest.mark.parametrize(
        "other",
        [
            TEXT.replace("180", "240"),
            TEXT.replace("> 1", ">= 1"),
            TEXT.replace("AS s", "AS t"),
            TEXT.replace("stddev(", "avg("),
            TEXT.replace("GROUP BY area_id", "GROUP BY area_id, car_id"),
            TEXT + " HAVING s > 1",
        ],
    )
    def test_sees_meaning(self, other: str) -> None:
        assert parse(other).fingerprint != parse(self.TEXT).fingerprint

    def test_ignores_name_and_file_and_stays_the_same_over_releases(self) -> None:
        query = parse(self.TEXT)
        moved = parse_query("other", "elsewhere.sql", self.TEXT, SCHEMAS)
        assert dataclasses.replace(moved, name=query.name, file=query.file) == query
        assert query.fingerprint == "e9ad8391adcc4da8784453dd96abddd10788ea42109ef6dba1eb72c0d6da64db"
