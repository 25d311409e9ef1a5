"""`panelake demo`: the traffic world end to end, through Airflow's own DAG."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from panelake.catalog import Catalog
from panelake.cli import print_json
from panelake.console import print_table, progress_bar, say
from panelake.errors import BadInputError, GateRefusedError, PanelakeError, PartDownError
from panelake.flow import STAGES, dag_tasks
from panelake.gold import REVISION, SLICE
from panelake.ledger import Entry, Ledger
from panelake.orchestration.airflow_home import private_airflow
from panelake.orchestration.driver import drive
from panelake.orchestration.run_events import TaskEvent
from panelake.report.answers import newest_rows
from panelake.slices import format_instant
from panelake.spark import probe, server
from panelake.spark.session import MASTER_VARIABLE
from panelake.workspace import Workspace, load_workspace
from panelake.worlds.demo import SLICES, DemoWorld, demo_folder
from panelake.worlds.generate import require_sound

_ANSWERS_SHOWN = 6
_PREPARATIONS = 3
_ERRORS: dict[int, type[PanelakeError]] = {error.exit_code: error for error in (GateRefusedError, PartDownError)}


def add_options(command: argparse.ArgumentParser) -> None:
    """How much, and where to."""
    command.add_argument("--tuples", type=int, default=300_000, help="how many, over all slices (default 300,000)")
    command.add_argument("--slices", type=int, default=SLICES, help=f"how many slices (default {SLICES})")
    command.add_argument("--seed", type=int, default=1, help="the same seed gives the same tuples")
    command.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="a new folder; default: the demo's own, made anew"
    )


def run(options: argparse.Namespace) -> int:
    """Exit 1 where a gate refused a slice; what was published is shown all the same."""
    if options.workspace is not None:
        raise BadInputError(f"--workspace {options.workspace}: the demo makes a workspace of its own; --out says where")
    if options.slices < 1:
        raise BadInputError(f"--slices {options.slices}: expected how many slices to run, at least 1")
    require_sound(options.tuples, options.seed)
    with demo_folder(options.out) as folder:
        world = DemoWorld(folder, options.tuples, options.seed, options.slices)
        refused = _drive(world, quiet=options.json)
        workspace = load_workspace(world.workspace)
        entries = Ledger(Catalog(workspace.warehouse)).entries()
        if options.json:
            print_json(_document(world, workspace, entries, refused))
        else:
            _tell(world, workspace, entries, refused)
    return GateRefusedError.exit_code if refused else 0


def _drive(world: DemoWorld, *, quiet: bool) -> list[TaskEvent]:
    """Make the world and run its slices; give what a gate refused."""
    total = _PREPARATIONS + len(world.slices) * len(dag_tasks())
    with progress_bar(total, quiet=quiet) as bar, ThreadPoolExecutor(1) as beside:
        server_reached = beside.submit(_reach_server)  # a fresh one takes as long to start as all else to prepare
        bar.step(f"generating {world.tuples:,} tuples")
        world.make()
        bar.step("preparing Airflow")
        airflow = private_airflow(world.folder / "airflow")
        bar.step("starting the Spark server")
        server_reached.result()
        failures = []
        for event in drive(world.workspace, world.slices, airflow, world.log):
            if event.state == "running":
                bar.step(f"{format_instant(event.slice_start)} {event.stage}")
            elif event.state == "failed":
                failures.append(event)
    return _only_refusals(world, failures)


def _reach_server() -> None:
    """Find out now, rather than by a task's retries, that there is a server."""
    given = os.environ.get(MASTER_VARIABLE, "")
    if not given:
        server.ensure()
    elif given.startswith("sc://"):
        probe.ask(given)


def _only_refusals(world: DemoWorld, failures: list[TaskEvent]) -> list[TaskEvent]:
    """The refusals of the gate; any other failure is raised, the first one first."""
    for failure in failures:
        if failure.exit_code != GateRefusedError.exit_code:
            where = f"{format_instant(failure.slice_start)} {failure.stage}: " if failure.stage else ""
            error = _ERRORS.get(failure.exit_code, BadInputError)
            raise error(f"{where}{failure.why} (all that Airflow said: {world.log})")
    return failures


def _document(world: DemoWorld, workspace: Workspace, entries: list[Entry], refused: list[TaskEvent]) -> dict[str, Any]:
    return {
        "workspace": str(workspace.root),
        "tuples": world.tuples,
        "slices": [{"slice": part.name, "seconds": _seconds(entries, part.start)} for part in world.slices],
        "answers": {name: _answers(workspace, name) for name in workspace.all_queries},
        "refused": [{"slice": format_instant(event.slice_start), "why": event.why} for event in refused],
        "report": _report(entries),
        "log": str(world.log),
    }


def _tell(world: DemoWorld, workspace: Workspace, entries: list[Entry], refused: list[TaskEvent]) -> None:
    for name in workspace.all_queries:
        rows = _answers(workspace, name)
        values = [list(row.values()) for row in rows]
        print_table(list(rows[0]) if rows else [], values, title=f"{name}: the newest answers")
    stages = [stage.name for stage in STAGES]
    seconds = {part.name: _seconds(entries, part.start) for part in world.slices}
    lines = [[name, *(taken.get(stage) for stage in stages)] for name, taken in seconds.items()]
    print_table(["slice", *stages], lines, title=f"{world.tuples:,} tuples: seconds by slice and stage")
    for event in refused:
        say(f"refused: {event.why}")
    say(f"workspace: {workspace.root}")
    say(f"Airflow's log: {world.log}")
    say(f"report: {_report(entries)}")


def _answers(workspace: Workspace, query: str) -> list[dict[str, Any]]:
    """The newest answers without the columns that tell where they come from; none where all slices were refused."""
    rows = newest_rows(Catalog(workspace.warehouse).gold(query), workspace.all_queries[query], _ANSWERS_SHOWN)
    return [] if rows is None else rows.drop_columns([SLICE, REVISION]).to_pylist()


def _seconds(entries: list[Entry], start: int) -> dict[str, float]:
    mine = [entry for entry in entries if entry.slice.start == start and not entry.subject]
    return {entry.stage: round(entry.seconds, 2) for entry in mine}


def _report(entries: list[Entry]) -> str | None:
    """The path that the newest report was written to."""
    paths = [entry.details["path"] for entry in entries if entry.stage == "report" and "path" in entry.details]
    return paths[-1] if paths else None
