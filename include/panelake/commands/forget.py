"""`panelake forget STREAM COLUMN=VALUE …`: deletes the tuples of a key and restates what they were part of."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.console import say
from panelake.context import Context
from panelake.durations import format_duration
from panelake.errors import BadInputError
from panelake.spark.session import lost_server_is_transient
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from panelake.maintenance.forget import Found


def add_options(command: argparse.ArgumentParser) -> None:
    """Whose tuples, and how thoroughly."""
    command.add_argument("stream", metavar="STREAM", help="the stream that holds them")
    command.add_argument("key", nargs="+", metavar="COLUMN=VALUE", help="all of them must hold")
    command.add_argument("--dry-run", action="store_true", help="say what would be deleted, and delete nothing")
    command.add_argument(
        "--purge", action="store_true", help="delete the tables' old versions too, which still hold them otherwise"
    )
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


def run(options: argparse.Namespace) -> int:
    """Exit 1 where a gate refused what was made anew."""
    from panelake.maintenance.forget import Person, find, forget  # noqa: PLC0415 - loads Spark

    person = Person(options.stream, _values(options.key))
    workspace = load_workspace(workspace_folder(options))
    context = Context(workspace, options.master)
    person.check(context)
    tables.require_writable(workspace.warehouse)
    try:
        with lost_server_is_transient():
            found, left, entries = (
                (find(context, person), [], []) if options.dry_run else forget(context, person, purge=options.purge)
            )
    finally:
        context.close()
    refused = [entry for entry in entries if entry.status == "refused" and entry.subject]
    document = _document(found) | {
        "dry_run": options.dry_run,
        "not_restated": [part.name for part in left],
        "refused": [{"slice": entry.slice.name, "subject": entry.subject, **entry.details} for entry in refused],
    }
    if options.json:
        print_json(document)
    else:
        _tell(document, options.purge, format_duration(workspace.retention.versions))
    return 1 if refused else 0


def _values(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for text, (name, sign, _) in zip(given, pairs, strict=True):
        if not (name and sign):
            raise BadInputError(f"{text!r} names no key; expected COLUMN=VALUE, such as car_id=17")
    return {name: value for name, _, value in pairs}


def _document(found: Found) -> dict[str, Any]:
    return {
        "bronze": found.tuples,
        "slices": [part.name for part in sorted(found.bronze)],
        "quarantine": sum(found.quarantine.values()),
        "held": found.held,
    }


def _tell(document: dict[str, Any], purge: bool, versions: str) -> None:  # noqa: FBT001 - an option as it came
    verb = "would be deleted" if document["dry_run"] else "deleted"
    say(
        f"{verb}: {document['bronze']:,} tuples in {len(document['slices'])} slices of bronze,"
        f" {document['quarantine']:,} in quarantine, {document['held']:,} held"
    )
    for entry in document["refused"]:
        say(f"refused: {entry['slice']} {entry['subject']}: {entry.get('why', '')}")
    for name in document["not_restated"]:
        say(f"not restated: {name}: its windows reach into pruned slices; its aggregates still count the tuples")
    if not (purge or document["dry_run"]):
        say(f"old versions of the tables hold them for {versions}, until 'panelake maintain' vacuums them; or --purge")
    say("the source is not touched: delete them there too, or a slice taken anew will find them")
