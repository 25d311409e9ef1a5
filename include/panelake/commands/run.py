"""`panelake run`: the missing slices of a range through all stages, or one stage of one slice."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from panelake import tables
from panelake.cli import print_json, workspace_folder
from panelake.commands.check import require_sound_rules
from panelake.commands.ranges import add_range_options, chosen_slices, one_slice, slice_length
from panelake.console import progress_bar, say
from panelake.context import Context
from panelake.errors import BadInputError
from panelake.flow import STAGES, stage_named
from panelake.ledger import Entry
from panelake.runner import ordered, run_slice, run_stage
from panelake.slices import Slice
from panelake.spark.session import lost_server_is_transient
from panelake.workspace import Workspace, load_workspace

_LISTED = 5
_REPORTS = STAGES[-1]


def add_options(command: argparse.ArgumentParser) -> None:
    """A range, or one stage of one slice."""
    add_range_options(command)
    command.add_argument("--slice", metavar="LENGTH|T", help="slice length; with --stage the slice's start")
    command.add_argument("--again", action="store_true", help="also slices already done; the result is identical")
    command.add_argument(
        "--stage", choices=[stage.name for stage in STAGES], help="one stage, of the slice at --slice T"
    )
    command.add_argument("--allow-gap", action="store_true", help="skip slices; they may be filled later")
    command.add_argument("--refresh", action="store_true", help="take what the source holds now, not what was recorded")
    command.add_argument("--restate", action="store_true", help="give new numbers where a slice's count changed")
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


def run(options: argparse.Namespace) -> int:
    """Exit 1 where a gate refused a slice; the others are published all the same."""
    workspace = load_workspace(workspace_folder(options))
    require_sound_rules(workspace)
    parts = _asked_for(workspace, options)
    asked = {"allow_gap": options.allow_gap, "refresh": options.refresh, "restate": options.restate}
    with _session_of(Context(workspace, options.master, **asked)) as context:
        tables.require_writable(workspace.warehouse)
        if options.stage:
            entries = run_stage(context, parts[0], stage_named(options.stage))
        else:
            entries = _run_missing(context, parts, again=options.again, quiet=options.json)
    refused = [entry for entry in entries if entry.status == "refused" and entry.subject]
    if options.json:
        document = {"slices": _summary(entries), "refused": [_refusal(entry) for entry in refused]}
        print_json({**document, "refreshed": _refreshed(entries)})
    else:
        _tell(entries, refused)
    return 1 if refused else 0


@contextmanager
def _session_of(context: Context) -> Iterator[Context]:
    """The context, its session ended with the block; work under way on the server is stopped with the command."""
    try:
        with lost_server_is_transient():
            yield context
    except KeyboardInterrupt:
        context.interrupt()
        raise
    finally:
        context.close()


def _asked_for(workspace: Workspace, options: argparse.Namespace) -> list[Slice]:
    """The slices the options name; everything wrong with them is found before anything is written."""
    if not options.stage:
        return chosen_slices(options, workspace, slice_length(options.slice, workspace))
    if not options.slice:
        raise BadInputError("--stage needs --slice T, the start of the slice, such as --slice 2026-01-01T00:00:00Z")
    return [one_slice(options.slice, workspace)]


def _run_missing(context: Context, parts: list[Slice], *, again: bool, quiet: bool) -> list[Entry]:
    """What is not published goes through all stages; what is, and was cut short before its report, is reported."""
    done = set() if again else context.ledger.done("publish")
    ingested = [entry.slice for entry in context.ledger.entries(stage="ingest", subject="")]
    wanted = ordered([part for part in parts if part not in done], ingested)
    cut_short = done - context.ledger.done(_REPORTS.name)
    unreported = [part for part in parts if part in cut_short]
    work = [*((part, STAGES) for part in wanted), *((part, (_REPORTS,)) for part in unreported)]
    entries: list[Entry] = []
    with progress_bar(sum(len(stages) for _, stages in work), quiet=quiet) as bar:
        for part, stages in work:
            entries += run_slice(context, part, lambda part, stage: bar.step(f"{part.name} {stage.name}"), stages)
    return entries


def _summary(entries: list[Entry]) -> list[dict[str, object]]:
    parts = sorted({entry.slice for entry in entries})
    return [{"slice": part.name, "seconds": _seconds(entries, part)} for part in parts]


def _seconds(entries: list[Entry], part: Slice) -> dict[str, float]:
    return {entry.stage: round(entry.seconds, 3) for entry in entries if entry.slice == part and not entry.subject}


def _refusal(entry: Entry) -> dict[str, object]:
    return {"slice": entry.slice.name, "stage": entry.stage, "subject": entry.subject, **entry.details}


def _refreshed(entries: list[Entry]) -> list[dict[str, Any]]:
    """What the sources of slices taken anew held that was not recorded of them, and the other way round."""
    anew = [entry for entry in entries if "refreshed" in entry.details]
    return [{"slice": entry.slice.name, "stream": entry.subject, **entry.details["refreshed"]} for entry in anew]


def _tell(entries: list[Entry], refused: list[Entry]) -> None:
    parts = {entry.slice for entry in entries}
    if not parts:
        say("nothing to do: every slice of the range is done (--again runs them once more)")
    for part in sorted(parts):
        seconds = _seconds(entries, part)
        say(f"{part.name}  {sum(seconds.values()):6.1f} s  " + "  ".join(f"{k} {v:.1f}" for k, v in seconds.items()))
    for entry in refused:
        say(f"refused: {entry.slice.name} {entry.stage} {entry.subject}: {entry.details.get('why', '')}")
    for one in _refreshed(entries):
        told = [f"{len(one[kind])} {kind}: {_listed(one[kind])}" for kind in ("added", "gone", "changed") if one[kind]]
        say(f"refreshed: {one['slice']} {one['stream']}: {'; '.join(told) or 'the source is as it was'}")


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _LISTED:,} more" if len(paths) > _LISTED else ""
    return f"{', '.join(paths[:_LISTED])}{more}"
