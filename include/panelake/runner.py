"""Runs slices through the flow, one stage after another, and enters each into the ledger when it is done.

Slices may be run by several commands and tasks at once. Stages of one slice exclude each other. Answers are made
from the panes of many slices, and made again when another slice brings tuples; so before it publishes, a slice is
compared with what others recorded since its windows were answered, and answered and audited anew where they did.
On one machine a lock lets them publish one after another; between machines the ledger does: a slice during whose
publishing another was published is not entered, and publishes once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from panelake.context import Context
from panelake.errors import TransientError
from panelake.flow import STAGES, Stage, stage_named
from panelake.ledger import Entry, Status
from panelake.slices import Slice

Progress = Callable[[Slice, Stage], None]
_ANSWERS, _JOINS, _CHECKS, _PUBLISHES = "windows", "join", "audit", "publish"
# What another slice does that may change this one's answers, or the verdict on them: bring tuples, pass its own audit,
# or answer windows they reach into.
_DISTURBS = ("panes", _CHECKS, _PUBLISHES)
_OTHERS_SEEN = "others_seen"
_TIMES_OVERTAKEN = 3


def run_stage(context: Context, part: Slice, stage: Stage) -> list[Entry]:
    """Run one stage of one slice; its ledger entries come last, so that a crash leaves it simply not done."""
    with context.locks.working(), context.locks.slice(part):
        if stage.name != _PUBLISHES:
            return _run(context, part, stage)
        with context.locks.publishing():
            return _published(context, part, stage)


def _published(context: Context, part: Slice, stage: Stage) -> list[Entry]:
    """Publish answers that know all others, those published meanwhile too."""
    for _ in range(_TIMES_OVERTAKEN):
        others = context.ledger.times_recorded((_PUBLISHES,), apart_from=part)
        if _is_outdated(context, part):
            for name in (_ANSWERS, _JOINS, _CHECKS):
                _run(context, part, stage_named(name))
        entries = _timed(context, part, stage)
        if context.ledger.record_unless_overtaken(entries, (_PUBLISHES,), part, others):
            return entries
    raise TransientError(f"slice {part}: others were published {_TIMES_OVERTAKEN} times meanwhile; run it again")


def run_slice(context: Context, part: Slice, progress: Progress, stages: Sequence[Stage] = STAGES) -> list[Entry]:
    """Run all stages of a slice."""
    entries: list[Entry] = []
    for stage in stages:
        progress(part, stage)
        entries += run_stage(context, part, stage)
    return entries


def ordered(parts: Sequence[Slice], ingested: Sequence[Slice]) -> list[Slice]:
    """The order that numbering needs: history before what exists newest first, then everything else upwards."""
    if not ingested:
        return sorted(parts)
    first = min(ingested).start
    history = sorted((part for part in parts if part.end <= first), reverse=True)
    return history + sorted(part for part in parts if part.end > first)


def _run(context: Context, part: Slice, stage: Stage) -> list[Entry]:
    entries = _timed(context, part, stage)
    context.ledger.record(entries)
    return entries


def _timed(context: Context, part: Slice, stage: Stage) -> list[Entry]:
    """Run the stage; give its entries, and that of the stage as a whole."""
    began = time.perf_counter()
    details = _seen_before(context, part, stage)
    entries = stage.run(context, part)
    seconds = time.perf_counter() - began
    status: Status = "refused" if any(entry.status == "refused" for entry in entries) else "done"
    whole = Entry(part, stage.name, "", status, sum(entry.rows for entry in entries), seconds, details)
    timed = [replace(entry, seconds=entry.seconds or seconds / len(entries)) for entry in entries]
    return [*timed, whole]


def _seen_before(context: Context, part: Slice, stage: Stage) -> dict[str, Any]:
    return {_OTHERS_SEEN: _others(context, part)} if stage.name == _ANSWERS else {}


def _is_outdated(context: Context, part: Slice) -> bool:
    """Whether another slice brought panes or was published since this one's windows were answered."""
    answered = context.ledger.of_slice(part).get((_ANSWERS, ""))
    return answered is not None and answered.details[_OTHERS_SEEN] != _others(context, part)


def _others(context: Context, part: Slice) -> int:
    return context.ledger.times_recorded(_DISTURBS, apart_from=part)
