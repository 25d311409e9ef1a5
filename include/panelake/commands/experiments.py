"""`panelake experiments`: the papers' figures, measured: tables (CSV), plots (PNG), claim against measurement."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from panelake.cli import print_json
from panelake.console import progress_bar, say
from panelake.errors import BadInputError
from panelake.experiments.figure import FULL, QUICK, Figure
from panelake.home import home


def add_options(command: argparse.ArgumentParser) -> None:
    """Which figures, how large, where to."""
    command.add_argument("figures", nargs="*", metavar="FIGURE", help="such as wt-4 or ep-7; default: all; see --list")
    command.add_argument("--quick", action="store_true", help="smaller and fewer runs: minutes instead of half an hour")
    command.add_argument(
        "--list", action="store_true", help="name the figures and what each shows, and measure nothing"
    )
    command.add_argument("--out", type=Path, default=None, metavar="DIR", help="where CSV, PNG and the page go")


def run(options: argparse.Namespace) -> int:
    """Measure, write, judge; a claim that does not hold is a finding, not a failure."""
    from panelake.experiments import run as runner  # noqa: PLC0415 - takes seconds that --help need not pay
    from panelake.experiments.catalog import FIGURES  # noqa: PLC0415 - the same

    chosen = _chosen(options.figures, FIGURES)
    if options.list:
        return _list(chosen, as_json=options.json)
    folder = options.out or home() / "experiments"
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"--out {folder} is a file; expected a folder, which is made if need be")
    with progress_bar(len(chosen), quiet=options.json) as bar:

        def begins(figure: Figure) -> None:
            bar.step(figure.name)
            if not sys.stderr.isatty():
                print(f"measuring {figure.name}: {figure.title}", file=sys.stderr)  # noqa: T201 - progress in a log

        results = runner.run(chosen, QUICK if options.quick else FULL, folder, begins)
    if options.json:
        print_json({"folder": str(folder), "figures": [result.as_document() for result in results]})
        return 0
    for result in results:
        say(f"{result.figure.name}: {result.verdict.outcome} ({result.seconds:.1f} s)")
        say(f"  claimed:  {result.figure.claim}")
        say(f"  measured: {result.verdict.measured}")
        say(f"  why:      {result.verdict.why}")
        say(f"  ours:     {result.ours}")
    say(f"tables, plots and the page are in {folder}")
    return 0


def _chosen(names: list[str], figures: tuple[Figure, ...]) -> list[Figure]:
    known = {figure.name: figure for figure in figures}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadInputError(f"unknown figure {unknown[0]!r}; expected one of {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] if names else list(figures)


def _list(figures: list[Figure], *, as_json: bool) -> int:
    if as_json:
        print_json([{"figure": f.name, "paper": f.paper, "title": f.title, "claim": f.claim} for f in figures])
        return 0
    for figure in figures:
        say(f"{figure.name:14} {figure.title}")
    return 0
