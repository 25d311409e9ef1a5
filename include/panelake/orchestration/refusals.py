"""The hook for a refused slice: what a team wants to happen then, such as a message to those on call.

PANELAKE_ON_REFUSAL names a function as `package.module:function`. It is called once a run with one argument, a dict
of dag_id, run_id, slice_start, slice_end and why. What it raises is logged and changes nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from panelake.errors import BadInputError, GateRefusedError

HOOK_VARIABLE = "PANELAKE_ON_REFUSAL"
Hook = Callable[[dict[str, Any]], object]

log = logging.getLogger(__name__)


def tell_refusal(context: Mapping[str, Any]) -> None:
    """Airflow's `on_failure_callback`: call the hook where a gate refused the slice, and nothing on other failures."""
    error = context.get("exception")
    refusal = error if isinstance(error, GateRefusedError) else getattr(error, "__cause__", None)
    given = os.environ.get(HOOK_VARIABLE)
    if not isinstance(refusal, GateRefusedError) or not given:
        return
    try:
        hook_named(given)(_message(context, refusal))
    except Exception:
        log.exception("%s=%s failed; the slice stays refused all the same", HOOK_VARIABLE, given)


def hook_named(given: str) -> Hook:
    """The function that `package.module:function` names."""
    module, _, function = given.partition(":")
    try:
        hook: Hook = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadInputError(
            f"{HOOK_VARIABLE} is {given!r} ({error}); expected package.module:function on Airflow's PYTHONPATH"
        ) from error
    return hook


def _message(context: Mapping[str, Any], refusal: GateRefusedError) -> dict[str, Any]:
    run = context["dag_run"]
    return {
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "slice_start": run.data_interval_start,
        "slice_end": run.data_interval_end,
        "why": str(refusal),
    }
