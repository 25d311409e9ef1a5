"""All of maintenance, in order: panes behind every pointer, retention, compaction, vacuum.

Steps that delete wait until no stage is at work and keep others waiting meanwhile, each for itself: runs go on
between them. A step that is cut short is done by the next maintenance.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from panelake.context import Context
from panelake.maintenance.compact import compactions
from panelake.maintenance.prune import prunings
from panelake.maintenance.step import Step
from panelake.maintenance.vacuum import vacuums
from panelake.stages.pane_retention import free, obsolete


def planned(context: Context) -> Iterator[Step]:
    """What there is to do now; a step may make more files for a later one to remove."""
    yield from freeings(context)
    yield from prunings(context)
    yield from compactions(context)
    yield from vacuums(context)


def freeings(context: Context) -> Iterator[Step]:
    """Panes that no window to come can reach."""
    for stream in context.workspace.streams:
        gone = obsolete(context, stream)
        if gone:
            told = f"{len(gone)} slices' panes, behind every query's pointer"
            yield Step("free", f"panes/{stream}", told, partial(_free, context, stream), facts={"slices": len(gone)})


def _free(context: Context, stream: str) -> dict[str, Any]:
    """What is obsolete when the step begins: a run may have changed it since it was planned."""
    return {"slices": len(free(context, stream))}


def maintain(context: Context) -> Iterator[dict[str, Any]]:
    """Do every step, and tell each when it is done."""
    context.open_spark()
    for step in planned(context):
        with context.locks.maintaining() if step.alone else nullcontext():
            told = step.do()
        yield step.document() | told
