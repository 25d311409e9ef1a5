"""`panelake generate WORLD`: the synthetic streams of the example worlds."""

from __future__ import annotations

import argparse
from pathlib import Path

from panelake.cli import print_json
from panelake.console import say
from panelake.slices import parse_instant
from panelake.worlds.generate import WORLDS, generate


def add_options(command: argparse.ArgumentParser) -> None:
    """How much, how fast, from when, where to."""
    command.add_argument("world", metavar="WORLD", help=f"one of {', '.join(sorted(WORLDS))}")
    command.add_argument("--tuples", type=int, default=300_000, help="how many (default 300,000)")
    command.add_argument("--rate", type=float, default=500.0, help="tuples a second of event time (default 500)")
    command.add_argument("--seed", type=int, default=1, help="the same seed gives the same tuples")
    command.add_argument("--start", default="2026-01-01T00:00:00Z", help="event time of the first tuple")
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder that holds no files yet")


def run(options: argparse.Namespace) -> int:
    """Write the files and name them."""
    start = parse_instant(options.start)
    files = generate(options.world, options.tuples, options.rate, options.seed, start, options.out, lambda _: None)
    if options.json:
        print_json({"tuples": options.tuples, "files": [str(path) for path in files]})
    else:
        say(f"{options.tuples:,} tuples in {len(files)} files below {options.out}")
    return 0
