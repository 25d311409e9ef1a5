"""The gate passes what lies within its bounds, fails everything else, and leaves the process as it was."""

from __future__ import annotations

import logging
import socket
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from panelake.quality.gate import judged
from panelake.quality.metric import Metric, Number, Row, at_most, equal, none


def verdicts(*metrics: Metric) -> list[bool]:
    return [verdict.success for verdict in judged(metrics)]


def test_a_metric_passes_on_its_bounds_and_between_them_and_nowhere_else() -> None:
    bounds = [Metric("t", "r", observed, 1, 3, "1 to 3") for observed in (0, 1, 2.5, 3, 3.0000001)]
    assert verdicts(*bounds) == [False, True, True, True, False]


def test_counts_beyond_what_a_double_holds_are_compared_exactly() -> None:
    assert verdicts(equal("t", "r", 2**60 + 1, 2**60), equal("t", "r", 2**60, 2**60)) == [False, True]


@pytest.mark.parametrize("observed", [None, float("nan")])
def test_what_was_not_observed_has_failed(observed: Number) -> None:
    assert verdicts(equal("t", "r", 1, 1), Metric("t", "r", observed, 0, 9, "any")) == [True, False]


def test_verdicts_keep_the_order_of_metrics_and_name_each_of_the_same_rule() -> None:
    found = verdicts(*(equal("t", "same rule", place % 3, 0) for place in range(9)))
    assert found == [True, False, False] * 3


def test_a_sample_is_asked_for_on_failure_alone() -> None:
    asked: list[str] = []

    def sample(name: str) -> list[Row]:
        asked.append(name)
        return [{"name": name}]

    passed, failed = judged([
        none("t", "good", 0, "no row", lambda: sample("good")),
        none("t", "bad", 2, "no row", lambda: sample("bad")),
    ])  # fmt: skip
    assert asked == ["bad"]
    assert (passed.sample, failed.sample) == ([], [{"name": "bad"}])
    assert str(failed) == "t: bad: observed 2, expected 0 (no row); for example {'name': 'bad'}"


def test_no_metrics_give_no_verdicts() -> None:
    assert judged([]) == []


def test_only_a_failed_blocking_rule_blocks() -> None:
    rules = [Metric("t", "r", 2, 0, 1, "at most 1", severity=severity) for severity in ("blocking", "warning")]
    assert [verdict.blocks for verdict in judged([*rules, at_most("t", "r", 1, 1)])] == [True, False, False]


def test_the_gate_opens_no_connection_and_leaves_no_files_and_no_hooks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("the gate went to the network")

    judged([equal("t", "r", 1, 1)])
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert verdicts(equal("t", "r", 1, 1)) == [True]
    assert list(tmp_path.iterdir()) == []
    assert logging._warnings_showwarning is None  # type: ignore[attr-defined]
