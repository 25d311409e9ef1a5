"""`panelake restate`: recomputes slices from bronze, after a query was added or changed, or for any other reason."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.commands.ranges import add_range_options, chosen_slices
from panelake.console import progress_bar, say
from panelake.context import Context
from panelake.errors import BadInputError
from panelake.flow import STAGES, stage_named
from panelake.gold import gold_schema
from panelake.language.parser import Query
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.repairs import begin_anew
from panelake.runner import run_slice, run_stage
from panelake.slices import Slice, format_instant
from panelake.spark.session import lost_server_is_transient
from panelake.spark.types import arrow_type
from panelake.stages.due import answered_slices
from panelake.stages.publish_joins import gold_join_schema
from panelake.stages.registry import changed_queries, register_changed
from panelake.workspace import Workspace, load_workspace

_STAGES = tuple(stage for stage in STAGES if stage.name != "ingest")


def add_options(command: argparse.ArgumentParser) -> None:
    """A range, which query it is about, and whether only to say what would be done."""
    add_range_options(command)
    command.add_argument("--query", default=None, metavar="NAME", help="the one query that may change its meaning")
    command.add_argument("--dry-run", action="store_true", help="say what would be touched, and touch nothing")
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


@dataclass(frozen=True)
class Restatement:
    """What a restatement touches: the slices, the queries made anew in a changed meaning, and all that are answered."""

    slices: tuple[Slice, ...]
    changed: tuple[str, ...]
    queries: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        return {
            "slices": [part.name for part in self.slices],
            "changed": list(self.changed),
            "tables": [f"gold/{name}" for name in self.queries],
        }


def run(options: argparse.Namespace) -> int:
    """Exit 1 where a gate refused a slice."""
    workspace = load_workspace(workspace_folder(options))
    context = Context(workspace, options.master)
    wanted = restatement(context, _asked_for(options, workspace), options.query)
    if not options.json:
        _tell(wanted)
    if options.dry_run:
        return _finished(options, wanted, [])
    tables.require_writable(workspace.warehouse)
    try:
        with lost_server_is_transient():
            return _finished(options, wanted, restate(context, wanted, quiet=options.json))
    finally:
        context.close()


def _asked_for(options: argparse.Namespace, workspace: Workspace) -> list[Slice]:
    if options.query and options.query not in workspace.all_queries:
        known = ", ".join(workspace.all_queries) or "none"
        raise BadInputError(f"--query {options.query!r}: no such query in {workspace.root}; there are: {known}")
    return chosen_slices(options, workspace)


def restatement(context: Context, parts: list[Slice], query: str | None) -> Restatement:
    """The ingested slices of the range, and the changed queries that are asked for."""
    ingested = context.ledger.done("ingest")
    slices = tuple(part for part in parts if part in ingested)
    if not slices:
        raise BadInputError(
            f"no slice of [{format_instant(parts[0].start)}, {format_instant(parts[-1].end)}) is ingested; run it first"
        )
    changed = sorted(name for name in changed_queries(context) if query in (None, name))
    for name in changed:
        _require_all(context, name, slices)
    others = set(changed_queries(context)) - set(changed)
    return Restatement(slices, tuple(changed), tuple(n for n in context.workspace.all_queries if n not in others))


def _require_all(context: Context, query: str, slices: tuple[Slice, ...]) -> None:
    """A changed query is made anew as a whole: a part would leave both meanings in one table."""
    answered = answered_slices(context.ledger.entries(stage="publish", subject=query), query)
    left = [part for part in answered if part not in slices]
    if left:
        raise BadInputError(
            f"query {query} changed its meaning, and its slice {left[0]} is outside the range: all its slices must be"
            f" restated, --from {format_instant(answered[0].start)} --to {format_instant(answered[-1].end)}"
        )


def restate(context: Context, wanted: Restatement, *, quiet: bool = True) -> list[Entry]:
    """Make the slices anew from bronze, oldest first; later windows that reach into them follow by themselves."""
    for name in wanted.changed:
        _begin_anew(context, name)
    for stage in ("windows", "join"):
        for entry in run_stage(context, wanted.slices[0], stage_named(stage)):
            if entry.status == "done" and entry.subject:
                _fit_columns(context, entry)
    entries: list[Entry] = []
    with progress_bar(len(wanted.slices) * len(_STAGES), quiet=quiet) as bar:
        for part in wanted.slices:
            entries += run_slice(context, part, lambda part, stage: bar.step(f"{part.name} {stage.name}"), _STAGES)
    return entries


def _begin_anew(context: Context, name: str) -> None:
    """Withdraw a changed query's answers, then register its new meaning: an interruption leaves none of the old."""
    answered = answered_slices(context.ledger.entries(stage="publish", subject=name), name)
    withdrawn = {"why": "withdrawn: the query changed its meaning and is being restated"}
    context.ledger.record([Entry(part, "publish", name, "refused", 0, details=withdrawn) for part in answered])
    table = tables.open_table(context.catalog.gold(name))
    if table is not None:
        table.delete()
    query = context.workspace.all_queries[name]
    if isinstance(query, JoinQuery):
        begin_anew(context, query)
    register_changed(context, query)


def _fit_columns(context: Context, entry: Entry) -> None:
    """Give an emptied gold table the columns that its query has now."""
    query, address = context.workspace.all_queries[entry.subject], context.catalog.gold(entry.subject)
    table = tables.open_table(address)
    schema = _gold_columns(query, entry)
    if table is not None and pa.schema(table.schema().to_arrow()).names != schema.names and not _rows(table):
        write_deltalake(table, schema.empty_table(), mode="overwrite", schema_mode="overwrite")


def _gold_columns(query: Query, entry: Entry) -> pa.Schema:
    if isinstance(query, JoinQuery):
        return gold_join_schema(query, entry)
    columns = pa.schema([(name, arrow_type(kind)) for name, kind in entry.details["types"].items()])
    return gold_schema(columns, query.window.kind)


def _rows(table: DeltaTable) -> int:
    return int(tables.dataset(table).count_rows())


def _tell(wanted: Restatement) -> None:
    say(f"slices {wanted.slices[0].name} to {wanted.slices[-1].name}: {len(wanted.slices)} made anew from bronze")
    say(f"tables {', '.join(f'gold/{name}' for name in wanted.queries)}")
    for name in wanted.changed:
        say(f"gold/{name} is made anew as a whole: the query changed its meaning")


def _finished(options: argparse.Namespace, wanted: Restatement, entries: list[Entry]) -> int:
    refused = [entry for entry in entries if entry.status == "refused" and entry.subject]
    if options.json:
        shown = [{"slice": e.slice.name, "stage": e.stage, "subject": e.subject, **e.details} for e in refused]
        print_json({**wanted.document(), "dry_run": options.dry_run, "refused": shown})
    else:
        for entry in refused:
            say(f"refused: {entry.slice.name} {entry.stage} {entry.subject}: {entry.details.get('why', '')}")
    return 1 if refused else 0
