"""`panelake replay STREAM`: puts quarantined tuples through ingest again, after a fix."""

from __future__ import annotations

import argparse

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.console import say
from panelake.context import Context
from panelake.errors import BadInputError
from panelake.slices import format_instant
from panelake.sources.inputs import Inputs
from panelake.spark.session import lost_server_is_transient
from panelake.workspace import Workspace, load_workspace


def add_options(command: argparse.ArgumentParser) -> None:
    """The stream."""
    command.add_argument("stream", metavar="STREAM", help="the stream whose quarantine is looked through")
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


def run(options: argparse.Namespace) -> int:
    """Say how many tuples pass now, and which slice will bring them in."""
    from panelake.stages.replaying import replay  # noqa: PLC0415 - loads Spark

    workspace = load_workspace(workspace_folder(options))
    _require_stream(workspace, options.stream)
    context = Context(workspace, options.master)
    tables.require_writable(workspace.warehouse)
    try:
        with lost_server_is_transient():
            context.open_spark()
            passed, left = replay(context, options.stream)
    finally:
        context.close()
    if options.json:
        print_json({"stream": options.stream, "replayed": passed, "quarantined": left})
    else:
        say(f"stream {options.stream}: {passed:,} tuples pass now, {left:,} stay in quarantine")
        if passed:
            say(f"they come with the next slice: {_next_slice(context, options.stream)}")
    return 0


def _require_stream(workspace: Workspace, stream: str) -> None:
    if stream not in workspace.streams:
        raise BadInputError(f"unknown stream {stream!r}; expected one of {', '.join(workspace.streams)}")


def _next_slice(context: Context, stream: str) -> str:
    newest = max(Inputs(context.catalog, stream).recorded())
    end = newest.end + context.workspace.slice_length
    return f"panelake run --from {format_instant(newest.end)} --to {format_instant(end)}"
