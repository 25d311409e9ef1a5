"""`panelake status`: one row a slice: what came in, what was published, and why a slice was refused."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from panelake.catalog import Catalog
from panelake.cli import print_json, workspace_folder
from panelake.console import plain, print_table, say
from panelake.durations import SECOND
from panelake.errors import BadInputError
from panelake.orchestration.known_runs import disagreements
from panelake.report import words
from panelake.report.history import SliceFacts, missing_between, read_history
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.workspace import Workspace, load_workspace

_SHEDDING = ("shed", "estimated accuracy", "measured accuracy")


def add_options(command: argparse.ArgumentParser) -> None:
    """How much of the history."""
    command.add_argument("--last", type=int, default=None, metavar="N", help="the newest N slices (default: all)")


def run(options: argparse.Namespace) -> int:
    """Print the rows, oldest first; exit 0 whatever they say."""
    workspace = load_workspace(workspace_folder(options))
    if options.last is not None and options.last < 1:
        raise BadInputError(f"--last {options.last}: expected how many slices to show, at least 1")
    history = read_history(Catalog(workspace.warehouse))
    shown = history[-options.last :] if options.last else history
    gaps = missing_between([facts.slice for facts in shown])
    airflow = _airflow(workspace, shown, since=shown[0].slice.start if options.last and shown else None)
    if options.json:
        found = {"slices": [_document(facts) for facts in shown], "missing": [_gap(gap, workspace) for gap in gaps]}
        print_json({**found, "freshness": _freshness(history), "airflow": airflow})
    else:
        _tell(shown, gaps, workspace)
        for finding in airflow:
            say(f"airflow: {finding['slice']}: {finding['finding']}")
        _tell_freshness(_freshness(history))
    return 0


def _airflow(workspace: Workspace, shown: Sequence[SliceFacts], since: int | None) -> list[dict[str, str]]:
    """Where Airflow's runs and the ledger disagree; nothing where no Airflow can be asked."""
    published = {facts.slice for facts in shown if (whole := facts.whole("publish")) and not whole.refused}
    return disagreements(workspace, published, since)


def _freshness(history: Sequence[SliceFacts]) -> dict[str, Any] | None:
    """Until when answers reach, and how long ago that is by the clock; None where nothing is published."""
    newest = max((facts.slice.end for facts in history if facts.published is not None), default=None)
    if newest is None:
        return None
    age = to_microseconds(datetime.now(UTC)) - newest
    return {"answers_until": format_instant(newest), "age_seconds": round(age / SECOND, 3)}


def _tell_freshness(found: dict[str, Any] | None) -> None:
    if found is not None:
        say(f"answers reach to {found['answers_until']}, {words.seconds(found['age_seconds'])} ago")


def _document(facts: SliceFacts) -> dict[str, Any]:
    return {
        "slice": facts.slice.name,
        "end": format_instant(facts.slice.end),
        "ingested": facts.counted("read"),
        "accepted": facts.counted("accepted"),
        "quarantined": facts.counted("quarantined"),
        "late": facts.counted("late"),
        "published": facts.published,
        "quality": facts.quality,
        "shed": facts.shed,
        "estimated_accuracy": facts.estimated_accuracy,
        "measured_accuracy": facts.measured_accuracy,
        "seconds": round(facts.total_seconds, 3),
        "refused": [vars(refusal) for refusal in facts.refusals],
    }


def _gap(gap: Slice, workspace: Workspace) -> dict[str, Any]:
    return {"from": gap.name, "to": format_instant(gap.end), "slices": slices_in(gap, workspace)}


def slices_in(gap: Slice, workspace: Workspace) -> int:
    """How many of the workspace's slices a stretch holds."""
    return -(-gap.length // workspace.slice_length)


def _tell(shown: Sequence[SliceFacts], gaps: Sequence[Slice], workspace: Workspace) -> None:
    if not shown:
        say(f"{workspace.root}: no slice was run yet; run some with 'panelake run --from T --to T'")
        return
    sheds = any(facts.shed is not None or facts.measured_accuracy is not None for facts in shown)
    columns = ["slice", "ingested", "accepted", "quarantined", "late", "published", "quality"]
    columns += [*(_SHEDDING if sheds else ()), "seconds"]
    rows = [(facts.slice, _cells(facts, sheds=sheds)) for facts in shown]
    rows += [(gap, _missing_cells(gap, workspace, len(columns))) for gap in gaps]
    print_table(columns, [cells for _, cells in sorted(rows, key=lambda row: row[0])])
    for facts in shown:
        for refusal in facts.refusals:
            say(f"refused: {facts.slice.name} {refusal.subject}: {plain(refusal.why)}")
    for gap in gaps:
        say(f"missing: panelake run --from {gap.name} --to {format_instant(gap.end)}")


def _cells(facts: SliceFacts, *, sheds: bool) -> list[Any]:
    counts = [facts.counted(name) for name in ("read", "accepted", "quarantined", "late")]
    accuracies = (words.share(facts.estimated_accuracy), words.share(facts.measured_accuracy))
    shedding = [facts.shed, *accuracies] if sheds else []
    quality = facts.quality or "not audited"
    return [words.instant(facts.slice.start), *counts, facts.published, quality, *shedding, facts.total_seconds]


def _missing_cells(gap: Slice, workspace: Workspace, width: int) -> list[Any]:
    count = slices_in(gap, workspace)
    label = "missing" if count == 1 else f"{count:,} missing"
    return [words.instant(gap.start), *[None] * 5, label, *[None] * (width - 7)]
