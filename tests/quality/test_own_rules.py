"""A user's own expectations: read with the workspace, checked by file and line, validated on frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from panelake.cli import main
from panelake.errors import WorkspaceError
from panelake.quality.own_checks import rule_problems, validated
from panelake.quality.own_rules import OwnRule
from panelake.workspace import load_workspace

STREAMS = """\
slice: 5 minutes
streams:
  traffic:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERY = "SELECT area AS zone, avg(speed) AS mean FROM traffic [RANGE 60 SLIDE 60 WATTR TS] GROUP BY area"
GOOD = """\
stream: traffic
expectations:
  - type: expect_column_values_to_be_between
    kwargs: {column: speed, min_value: 0, max_value: 300}
  - type: expect_column_values_to_not_be_null
    name: cars have areas
    kwargs:
      column: area
      mostly: 0.5
    severity: warning
  - type: expect_table_row_count_to_be_between
    kwargs: {min_value: 2}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "expectations").mkdir()
    (tmp_path / "landing").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    (tmp_path / "queries" / "means.sql").write_text(QUERY)
    return tmp_path


def rules(root: Path, text: str, name: str = "own.yaml") -> tuple[OwnRule, ...]:
    (root / "expectations" / name).write_text(text)
    return load_workspace(root).own_rules


def problems(root: Path, text: str) -> list[str]:
    """What reading, and then Great Expectations, has to say."""
    try:
        return [str(problem) for problem in rule_problems(rules(root, text))]
    except WorkspaceError as error:
        return [str(problem) for problem in error.problems]


def one_rule(kind: str, kwargs: str, table: str = "stream: traffic") -> str:
    return f"{table}\nexpectations:\n  - type: {kind}\n    kwargs: {kwargs}\n"


def test_rules_are_read_with_table_name_and_severity(root: Path) -> None:
    found = rules(root, GOOD)
    assert [(rule.table, rule.name, rule.severity) for rule in found] == [
        ("bronze/traffic", "expect_column_values_to_be_between(speed)", "blocking"),
        ("bronze/traffic", "cars have areas", "warning"),
        ("bronze/traffic", "expect_table_row_count_to_be_between", "blocking"),
    ]
    assert rule_problems(found) == []


def test_a_query_has_its_gold_columns(root: Path) -> None:
    text = one_rule(
        "expect_column_pair_values_a_to_be_greater_than_b", "{column_A: mean, column_B: zone}", "query: means"
    )
    (rule,) = rules(root, text)
    assert (rule.table, rule.name) == (
        "gold/means", "expect_column_pair_values_a_to_be_greater_than_b(mean, zone)"
    )  # fmt: skip
    assert rule_problems([rule]) == []


def test_a_workspace_without_expectations_has_none(root: Path) -> None:
    assert load_workspace(root).own_rules == ()


WRONG = [
    ("stream: cars\nexpectations: [{type: a}]", "own.yaml:1: there is no stream 'cars'; expected one of traffic"),
    ("query: traffic\nexpectations: [{type: a}]", "own.yaml:1: there is no query 'traffic'; expected one of means"),
    ("expectations: [{type: a}]", "own.yaml:1: name one table: either stream: NAME or query: NAME"),
    ("stream: traffic\nquery: means\nexpectations: [{type: a}]", "own.yaml:1: name one table"),
    ("stream: traffic\nexpectations: []", "own.yaml:2: expectations: Tuple should have at least 1 item"),
    ("stream: traffic\nexpectations: []", "got []; expected stream: NAME or query: NAME"),
    ("stream: traffic\nrules: []", "own.yaml:2: unknown key 'rules'; expected stream: NAME or query: NAME"),
    ("", "own.yaml:1: key 'expectations' is missing; expected stream: NAME"),
    (GOOD.replace("severity: warning", "severity: fatal"), "own.yaml:10: expectations.1.severity: Input should be"),
    (GOOD.replace("severity: warning", "severity: fatal"), "'blocking' or 'warning', got 'fatal'; expected stream:"),
    (GOOD.replace("column: speed", "column: sped"), "own.yaml:4: bronze/traffic has no column 'sped'; expected one of"),
    (
        one_rule("expect_column_to_be_nice", "{column: speed}"),
        "own.yaml:3: there is no expectation 'expect_column_to_be",
    ),
    (GOOD.replace("not_be_null", "not_be_nul"), "did you mean: expect_column_values_to_not_be_null"),
    (GOOD.replace("mostly: 0.5", "mostly: 5"), "own.yaml:9: expect_column_values_to_not_be_null: kwargs mostly"),
    (GOOD.replace("min_value: 0,", "least: 0,"), "kwargs least: extra fields not permitted"),
    (GOOD.replace("min_value: 0, max_value: 300", "min_value: x"), "own.yaml:4: expect_column_values_to_be_between"),
    (one_rule("expect_column_max_to_be_between", "{min_value: 1}"), "kwargs column: field required"),
    ("stream: [", "own.yaml:1:10: not YAML"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=[expected for _, expected in WRONG])
def test_what_is_wrong_is_told_with_file_and_line(root: Path, text: str, expected: str) -> None:
    found = problems(root, text)
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith("expectations/own.yaml:") for problem in found)


def test_all_files_and_queries_are_told_of_at_once(root: Path) -> None:
    (root / "expectations" / "a.yaml").write_text("stream: x\nexpectations: [{type: a}]")
    (root / "queries" / "bad.sql").write_text("SELECT")
    with pytest.raises(WorkspaceError) as caught:
        rules(root, "query: y\nexpectations: [{type: a}]", "b.yml")
    assert {problem.file for problem in caught.value.problems} == {
        "queries/bad.sql", "expectations/a.yaml", "expectations/b.yml"
    }  # fmt: skip


def test_check_asks_great_expectations(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules(root, one_rule("expect_column_to_be_nice", "{column: speed}"))
    assert main(["check", "--workspace", str(root)]) == 2
    assert "expectations/own.yaml:3: there is no expectation 'expect_column_to_be_nice'" in capsys.readouterr().err


def frame(**columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_verdicts_come_in_order_with_what_was_observed_and_failing_rows_by_key(root: Path) -> None:
    found = validated(rules(root, GOOD), frame(_seq=[7, 8, 9], speed=[1.0, 400.0, -3.0], area=[1, 2, None]), ["_seq"])
    assert [verdict.success for verdict in found] == [False, True, True]
    assert found[0].blocks
    assert found[0].metric.observed == "2 of 3 unexpected"
    assert [row["_seq"] for row in found[0].sample] == [8, 9]
    assert found[0].metric.expected == '{"column": "speed", "min_value": 0, "max_value": 300}'
    assert found[2].metric.observed == "3"


def test_a_warning_that_fails_does_not_block(root: Path) -> None:
    found = validated(rules(root, GOOD), frame(_seq=[1, 2], speed=[1.0, 1.0], area=[None, None]), ["_seq"])
    assert [(verdict.success, verdict.blocks) for verdict in found] == [(True, False), (False, False), (True, False)]


def test_an_expectation_that_cannot_be_computed_has_failed(root: Path) -> None:
    found = validated(rules(root, GOOD), frame(_seq=[1, 2], area=[1, 2]), ["_seq"])
    assert [verdict.success for verdict in found] == [False, True, True]
    assert "speed" in str(found[0].metric.observed)
