"""The flow: every stage once, in order, with what it reads and writes.

The command line, the jobs, the DAGs and the documentation are drawn from this list. A stage is a module of
`panelake.stages` with `run(context, slice) -> list[Entry]`; it may be run again at any time with the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING

from panelake.errors import BadInputError

if TYPE_CHECKING:
    from panelake.context import Context
    from panelake.ledger import Entry
    from panelake.slices import Slice


@dataclass(frozen=True)
class Stage:
    """One step of a slice's way."""

    name: str
    does: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    uses_spark: bool = False
    task: str = ""  # the DAG's task that runs it beside others; empty where it is one of its own

    def run(self, context: Context, part: Slice) -> list[Entry]:
        """Load the stage's module, so that whoever only asks for the list loads no Spark, and run it."""
        if self.uses_spark:
            context.open_spark()  # Spark's column functions need a session before the first is called
        entries: list[Entry] = import_module(f"panelake.stages.{self.name}").run(context, part)
        return entries


STAGES = (
    Stage(
        "ingest",
        "takes the slice's tuples, checks and numbers them",
        ("source",),
        ("bronze", "quarantine"),
        uses_spark=True,
    ),
    Stage(
        "panes", "aggregates each tuple once, for all queries", ("bronze",), ("panes",), uses_spark=True, task="answer"
    ),
    Stage(
        "windows",
        "answers every window that ends in the slice",
        ("panes",),
        ("staging",),
        uses_spark=True,
        task="answer",
    ),
    Stage(
        "join",
        "joins the slice's tuples with those of other streams",
        ("bronze", "state"),
        ("staging", "state"),
        uses_spark=True,
        task="answer",
    ),
    Stage(
        "audit",
        "checks the slice before anyone can read it",
        ("bronze", "panes", "staging"),
        ("quality",),
        uses_spark=True,
    ),
    Stage("publish", "makes audited answers readable, each table at once", ("staging", "quality"), ("gold",)),
    Stage("report", "draws the page a person reads", ("ledger", "quality", "gold"), ("report",)),
)


def dag_tasks() -> dict[str, tuple[Stage, ...]]:
    """The DAG's tasks, in order: few, since the start of each costs a scheduler and a process seconds."""
    return {name: tuple(stages) for name, stages in groupby(STAGES, lambda stage: stage.task or stage.name)}


def told(stages: Iterable[Stage]) -> str:
    """What stages do, a line each."""
    return "\n".join(f"- {stage.name}: {stage.does}" for stage in stages)


def stage_named(name: str) -> Stage:
    """The stage of that name."""
    for stage in STAGES:
        if stage.name == name:
            return stage
    raise BadInputError(f"unknown stage {name!r}; expected one of {', '.join(stage.name for stage in STAGES)}")
