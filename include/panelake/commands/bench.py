"""`panelake bench`: the benchmarks, peers side by side in one run, as a JSON table of ratios."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from panelake.cli import print_json
from panelake.errors import BadInputError
from panelake.home import home

_PACKAGE = "panelake.benchmarks"
_NAMES = ("windows", "sharing", "queries", "ingest", "filters", "join", "shedding", "overhead", "audit", "history",
          "capacity")  # fmt: skip


def add_options(command: argparse.ArgumentParser) -> None:
    """Which, and how large."""
    command.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_NAMES)}; default: all")
    command.add_argument("--tuples", type=int, default=10_000_000, help="the stream's size (default 10,000,000)")
    command.add_argument("--data", type=Path, default=None, metavar="DIR", help="where the streams are kept")
    command.add_argument("--out", type=Path, default=None, metavar="DIR", help="where to put a file each, and a page")
    command.add_argument(
        "--rates", type=Path, default=None, metavar="FILE", help="for capacity: rates measured before, no new ones"
    )
    command.add_argument("--master", default=None, metavar="URL", help="sc://host:port, spark://host:port or local[*]")


def run(options: argparse.Namespace) -> int:
    """One document, whether asked for with --json or not; exit 1 is for gates, a missed target is only told.

    With --out each benchmark is written as soon as it is done: together they take long.
    """
    unknown = [name for name in options.names if name not in _NAMES]
    if unknown:
        raise BadInputError(f"unknown benchmark {unknown[0]!r}; expected one of {', '.join(_NAMES)}")
    if options.tuples < 1:
        raise BadInputError(f"--tuples {options.tuples} must be at least 1")
    if options.out is not None and options.out.exists() and not options.out.is_dir():
        raise BadInputError(f"--out {options.out} is a file; expected a folder, which is made if need be")
    folder = options.data or home() / "benchmarks"
    modules = {name: import_module(f"{_PACKAGE}.{name}") for name in options.names or _NAMES}
    with ExitStack() as opened:
        needed = any(_needs_spark(module, options) for module in modules.values())
        spark = _session(options, opened) if needed else None
        found = {name: _measured(name, module, spark, folder, options) for name, module in modules.items()}
    print_json(found)
    return 0


def _measured(name: str, module: ModuleType, spark: Any, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from panelake.benchmarks import page, targets  # noqa: PLC0415 - takes time that --help need not pay
    from panelake.benchmarks.timing import note  # noqa: PLC0415 - the same

    note(f"{name} …")
    if _writes_itself(module):
        own_folder = options.out / name if options.out and options.names != [name] else options.out
        own: dict[str, Any] = module.run(spark, folder, options.tuples, own_folder, options.rates)
        return own
    of = page.machine()
    found: dict[str, Any] = module.run(spark, folder, options.tuples)
    for missed in targets.missed(found["targets"]):
        note(f"{name}: missed: {missed['what']} is {missed['value']}, target {missed['target']}")
    if options.out is not None:
        page.write(options.out, name, module, of, found)
    return found


def _needs_spark(module: ModuleType, options: argparse.Namespace) -> bool:
    return bool(getattr(module, "NEEDS_SPARK", True)) and not (_writes_itself(module) and options.rates)


def _writes_itself(module: ModuleType) -> bool:
    """Whether it makes a page of its own, from rates that may be given."""
    return bool(getattr(module, "WRITES", False))


def _session(options: argparse.Namespace, opened: ExitStack) -> Any:
    from panelake.spark.session import spark_session  # noqa: PLC0415 - takes seconds that --help need not pay

    return opened.enter_context(spark_session(options.master, "panelake bench"))
