"""A user's own expectations, as Great Expectations takes them: checked, then validated on the slice's tables.

Tuples are validated where they are, by Spark; staged answers, which are small, in this process.
"""

from __future__ import annotations

import difflib
import json
import time
import warnings
from collections.abc import Sequence
from typing import Any

from panelake.errors import Problem, WorkspaceError
from panelake.quality.gate import Witness, load_expectations, quiet_context, unseen
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, Verdict
from panelake.quality.own_rules import OwnRule

_PLACE = "place"
_LONGEST_VALUE = 200


def rule_problems(rules: Sequence[OwnRule]) -> list[Problem]:
    """Every expectation that Great Expectations does not know, or would not take."""
    return [problem for rule in rules for problem in _problems(rule)]


def _problems(rule: OwnRule) -> list[Problem]:
    load_expectations()
    from great_expectations.compatibility.pydantic import ValidationError  # noqa: PLC0415 - takes seconds

    known = _registered()
    if rule.type not in known:
        near = ", ".join(difflib.get_close_matches(rule.type, known)) or "see the gallery of Great Expectations"
        return [rule.problem(f"there is no expectation {rule.type!r}; did you mean: {near}", "type")]
    try:
        _expectation(rule, 0)
    except ValidationError as error:
        return [_kwargs_problem(rule, detail) for detail in error.errors()]
    except (TypeError, ValueError) as error:
        return [rule.problem(f"{rule.type}: {error}", "kwargs")]
    return []


def _kwargs_problem(rule: OwnRule, detail: Any) -> Problem:
    where = [str(part) for part in detail["loc"] if part != "__root__"]
    named = f" {'.'.join(where)}" if where else ""
    return rule.problem(f"{rule.type}: kwargs{named}: {detail['msg']}", "kwargs", *where[:1])


def _registered() -> list[str]:
    from great_expectations.expectations.registry import (  # noqa: PLC0415 - takes seconds
        list_registered_expectation_implementations,
    )

    names: list[str] = list_registered_expectation_implementations()
    return names


def _expectation(rule: OwnRule, place: int) -> Any:
    from great_expectations.expectations.registry import get_expectation_impl  # noqa: PLC0415 - takes seconds

    return get_expectation_impl(rule.type)(**rule.kwargs, meta={_PLACE: place})


def require_sound(rules: Sequence[OwnRule]) -> None:
    """Refuse rules that cannot be validated, all at once."""
    problems = rule_problems(rules)
    if problems:
        raise WorkspaceError(problems)


def validated(rules: Sequence[OwnRule], frame: Any, keys: Sequence[str], witness: Witness = unseen) -> list[Verdict]:
    """A verdict on each rule over a Spark or pandas frame, failing rows with their keys; what raises has failed."""
    if not rules:
        return []
    began = time.perf_counter()
    suite = load_expectations().ExpectationSuite("own", [_expectation(rule, n) for n, rule in enumerate(rules)])
    form = {"result_format": "SUMMARY", "unexpected_index_column_names": list(keys), "partial_unexpected_count": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside Great Expectations
        result = _batch(frame).validate(suite, result_format=form)
    witness(f"own expectations of {rules[0].table}", result)
    by_place = {one.expectation_config.meta[_PLACE]: one for one in result.results}
    seconds = (time.perf_counter() - began) / len(rules)
    return [_verdict(rule, by_place.get(place), seconds) for place, rule in enumerate(rules)]


def _batch(frame: Any) -> Any:
    sources = quiet_context().data_sources
    is_spark = type(frame).__module__.startswith("pyspark.")
    source = sources.add_spark("slice", persist=False) if is_spark else sources.add_pandas("slice")
    whole = source.add_dataframe_asset("slice").add_batch_definition_whole_dataframe("slice")
    return whole.get_batch({"dataframe": frame})


def _verdict(rule: OwnRule, result: Any, seconds: float) -> Verdict:
    expected = json.dumps(dict(rule.kwargs), default=str)
    metric = Metric(rule.table, rule.name, _observed(result), 0, 0, expected, severity=rule.severity)
    success = result is not None and bool(result.success)
    return Verdict(metric, success, () if success else _sample(result), seconds)


def _observed(result: Any) -> str:
    """The value found, or how many rows were unexpected, or why nothing could be found."""
    if result is None:
        return "no result"
    found = result.result or {}
    if found.get("observed_value") is not None:
        return str(found["observed_value"])[:_LONGEST_VALUE]
    if found.get("unexpected_count") is not None:
        return f"{found['unexpected_count']} of {found.get('element_count')} unexpected"
    return _exception(result.exception_info) or "nothing"


def _exception(info: Any) -> str | None:
    """The first message of what was raised, which comes plain or by the metric that raised it."""
    if not isinstance(info, dict):
        return None
    if "exception_message" in info:
        return str(info["exception_message"])[:_LONGEST_VALUE] if info["exception_message"] else None
    return next((message for one in info.values() if (message := _exception(one))), None)


def _sample(result: Any) -> list[Row]:
    found = (result.result if result is not None else None) or {}
    rows = found.get("partial_unexpected_index_list") or found.get("unexpected_index_list")
    if rows and isinstance(rows[0], dict):
        return [dict(row) for row in rows[:SAMPLE_ROWS]]
    return [{"value": value} for value in (found.get("partial_unexpected_list") or ())[:SAMPLE_ROWS]]
