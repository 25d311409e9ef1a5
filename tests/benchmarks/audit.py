"""What the default audit costs of a slice's total time, as a JSON table of shares.

Run: python tests/benchmarks/audit.py [TUPLES_PER_SLICE [SLICES]] (1,000,000 and 4 unless told). A traffic world is
generated and run slice by slice on the local server; the first slice warms it up and is left out. `share` is the
audit's seconds over those of all stages, summed over the other slices. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from panelake.context import Context
from panelake.flow import STAGES
from panelake.home import example_workspace
from panelake.runner import run_slice
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

TUPLES, SLICES = 1_000_000, 4
TARGET = 0.25
START = parse_instant("2026-01-01T00:00:00Z")
TEN_QUERIES = {
    f"speeds_{seconds}": f"""SELECT area_id, count(*) AS cars, min(speed) AS slowest, avg(speed) AS mean,
        max(speed) AS fastest FROM traffic [RANGE {seconds} SECONDS SLIDE 60 SECONDS] GROUP BY area_id"""  # noqa: S608 - the benchmark's own numbers
    for seconds in (60, 120, 180, 240, 300, 360, 420, 480, 540, 600)
}


def main(tuples: int = TUPLES, slices: int = SLICES) -> int:
    """Measure one query and ten."""
    with tempfile.TemporaryDirectory() as folder:
        shares = {
            "one query": measured(Path(folder) / "one", {}, tuples, slices),
            "ten queries": measured(Path(folder) / "ten", TEN_QUERIES, tuples, slices),
        }
    print(json.dumps({"tuples_per_slice": tuples, "target": TARGET, **shares}, indent=2))  # noqa: T201 - the table
    return int(any(share["share"] > TARGET for share in shares.values()))


def measured(root: Path, queries: dict[str, str], tuples: int, slices: int) -> dict[str, float]:
    """Seconds of each stage, summed over the slices after the first, and the audit's share of them."""
    shutil.copytree(example_workspace("traffic"), root, ignore=shutil.ignore_patterns("warehouse", "landing"))
    for name, text in queries.items():
        (root / "queries" / f"{name}.sql").write_text(text)
    workspace = load_workspace(root)
    rate = tuples * 1_000_000 / workspace.slice_length
    generate("traffic", tuples * slices, rate, 1, START, root / "landing" / "traffic", lambda _: None)
    context = Context(workspace)
    seconds = dict.fromkeys((stage.name for stage in STAGES), 0.0)
    try:
        for number in range(slices):
            for entry in run_slice(context, slice_at(number, workspace.slice_length), lambda *_: None):
                if number and not entry.subject:
                    seconds[entry.stage] += entry.seconds
                if entry.status == "refused":
                    raise SystemExit(f"{entry.slice} {entry.subject}: {entry.details.get('why')}")
    finally:
        context.close()
    shown = {stage: round(value, 2) for stage, value in seconds.items()}
    return {**shown, "share": round(seconds["audit"] / sum(seconds.values()), 3)}


def slice_at(number: int, length: int) -> Slice:
    return Slice(START + number * length, START + (number + 1) * length)


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
