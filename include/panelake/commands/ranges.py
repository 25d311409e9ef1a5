"""--from, --to and --slice: the slices a command is about."""

from __future__ import annotations

import argparse

from panelake.durations import parse_duration
from panelake.errors import BadInputError
from panelake.slices import Slice, parse_instant, require_on_grid, slices_between
from panelake.workspace import Workspace


def add_range_options(command: argparse.ArgumentParser) -> None:
    """The options every command over a range takes."""
    command.add_argument("--from", dest="since", metavar="T", help="start of the range, ISO 8601 in UTC")
    command.add_argument("--to", dest="until", metavar="T", help="end of the range, not included")


def chosen_slices(options: argparse.Namespace, workspace: Workspace, length: int | None = None) -> list[Slice]:
    """The slices of [--from, --to)."""
    if not options.since or not options.until:
        raise BadInputError(
            "--from T and --to T are needed, such as --from 2026-01-01T00:00:00Z --to 2026-01-01T01:00:00Z"
        )
    start, end = parse_instant(options.since), parse_instant(options.until)
    return list(slices_between(start, end, length or workspace.slice_length))


def slice_length(text: str | None, workspace: Workspace) -> int:
    """--slice as a length, the workspace's own where none is given."""
    length = parse_duration(text) if text else workspace.slice_length
    if length <= 0:
        raise BadInputError(f"--slice {text!r} must be longer than nothing")
    return length


def one_slice(text: str, workspace: Workspace) -> Slice:
    """The slice that starts at T."""
    start = parse_instant(text)
    require_on_grid(start, workspace.slice_length, "--slice")
    return Slice(start, start + workspace.slice_length)
