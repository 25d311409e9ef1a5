"""The hook is called on a refused slice and on no other failure, and its own failure changes nothing."""

from __future__ import annotations

import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from panelake.errors import BadInputError, GateRefusedError, TransientError
from panelake.orchestration.refusals import HOOK_VARIABLE, hook_named, tell_refusal

RUN = SimpleNamespace(dag_id="slices", run_id="r1", data_interval_start="from", data_interval_end="to")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a team's own module was told."""
    messages: list[dict[str, Any]] = []
    team = ModuleType("team_hooks")
    vars(team)["tell"] = messages.append
    vars(team)["fail"] = lambda message: message["nothing of that name"]
    monkeypatch.setitem(sys.modules, "team_hooks", team)
    monkeypatch.setenv(HOOK_VARIABLE, "team_hooks:tell")
    return messages


def wrapped(error: Exception) -> Exception:
    """As tasks hand it to Airflow."""
    outer = RuntimeError(str(error))
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize("wrap", [wrapped, lambda error: error], ids=["as tasks raise it", "plain"])
def test_a_refusal_is_told_with_slice_and_reason(told: list[dict[str, Any]], wrap: Any) -> None:
    tell_refusal({"exception": wrap(GateRefusedError("gold/q: observed 1")), "dag_run": RUN})
    about = {"dag_id": "slices", "run_id": "r1", "slice_start": "from", "slice_end": "to"}
    assert told == [{**about, "why": "gold/q: observed 1"}]


@pytest.mark.parametrize("error", [TransientError("down"), wrapped(BadInputError("bad")), None])
def test_other_failures_are_not_told(told: list[dict[str, Any]], error: Exception | None) -> None:
    tell_refusal({"exception": error, "dag_run": RUN})
    assert told == []


def test_without_a_hook_nothing_happens(told: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOOK_VARIABLE)
    tell_refusal({"exception": GateRefusedError("no"), "dag_run": RUN})
    assert told == []


@pytest.mark.parametrize("hook", ["team_hooks:fail", "team_hooks:missing", "no.such.module:tell", ""])
def test_a_hook_that_fails_is_logged(
    told: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, hook: str
) -> None:
    monkeypatch.setenv(HOOK_VARIABLE, hook)
    with caplog.at_level(logging.ERROR):
        tell_refusal({"exception": GateRefusedError("no"), "dag_run": RUN})
    assert told == []
    assert bool(caplog.records) == bool(hook)


def test_a_name_that_is_none_says_what_was_expected() -> None:
    with pytest.raises(BadInputError, match=r"PANELAKE_ON_REFUSAL is 'nothing'.*expected package.module:function"):
        hook_named("nothing")
