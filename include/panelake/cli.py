"""The command line: `panelake COMMAND [--workspace DIR] [--json]`.

Exit codes: 0 done, 1 a quality gate refused a slice, 2 bad input, 3 a part is missing or down, 4 interrupted.
With --json one document goes to stdout and nothing else; logs go to stderr.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from panelake.errors import BadInputError, InterruptedRunError, PanelakeError, PartDownError, WorkspaceError
from panelake.home import example_workspace

COMMANDS = {
    "check": "read the workspace and say everything that is wrong with it",
    "plan": "explain the pane plan, or with --from/--to which slices would run",
    "run": "run the missing slices of a range through all stages",
    "repair": "join again, exactly, the slices that shed",
    "restate": "recompute slices from bronze, after a query was added or changed",
    "status": "one row a slice: what came in, what was published",
    "show": "print a query's newest answers",
    "report": "build the quality report and print its path",
    "replay": "put quarantined tuples through ingest again, after a fix",
    "maintain": "retention, compaction and vacuum of the tables",
    "forget": "delete the tuples of one key from every table, and restate what they were part of",
    "generate": "write the synthetic streams of an example world",
    "experiments": "the papers' figures, measured: tables, plots, claim against measurement",
    "bench": "the benchmarks, peers side by side in one run, as a JSON table of ratios",
    "server": "the local Spark Connect server: start, stop, status",
    "demo": "the example world end to end, through Airflow's own DAG",
}


class _Parser(argparse.ArgumentParser):
    """Bad options are bad input like any other: one message, exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise BadInputError(f"{self.prog}: {message}; see '{self.prog} --help'")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    options = argparse.Namespace(json="--json" in (sys.argv[1:] if arguments is None else arguments))
    try:
        options = _parser().parse_args(arguments)
        logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, format="%(message)s")
        code = import_module(f"panelake.commands.{options.command}").run(options)
        sys.stdout.flush()
    except PanelakeError as error:
        return _failed(error, as_json=options.json)
    except KeyboardInterrupt:
        message = "interrupted: the slice in hand is as before or as after it; run the command again to continue"
        return _failed(InterruptedRunError(message), as_json=options.json)
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python must not complain about it while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # Python's own exit code, 1, would say that a gate refused.
        logging.getLogger(__name__).info("where it happened", exc_info=error)
        return _failed(_unexpected(error), as_json=options.json)
    return int(code)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="panelake", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, does in COMMANDS.items():
        command = commands.add_parser(name, help=does, description=does)
        command.add_argument(
            "--workspace", type=Path, default=None, metavar="DIR", help="default: this folder, or traffic"
        )
        command.add_argument("--json", action="store_true", help="one machine-readable document on stdout")
        command.add_argument("--verbose", action="store_true", help="say more on stderr")
        import_module(f"panelake.commands.{name}").add_options(command)
    return parser


def workspace_folder(options: argparse.Namespace) -> Path:
    """--workspace, else the current folder if it is one, else the traffic example."""
    if options.workspace is not None:
        return Path(options.workspace)
    here = Path.cwd()
    return here if (here / "streams.yaml").is_file() else example_workspace("traffic")


def _failed(error: PanelakeError, *, as_json: bool) -> int:
    if as_json:
        print_json({"error": str(error), "exit_code": error.exit_code, **_problems(error)})
    else:
        print(f"panelake: {error}", file=sys.stderr)  # noqa: T201 - the command line's own voice
    return error.exit_code


def _unexpected(error: Exception) -> PartDownError:
    """What no command foresaw: a part that failed in a new way, or a fault of Panelake itself."""
    if os.strerror(errno.ENOSPC) in str(error):  # whoever met it tells it in a line of its own, far below the first
        return PartDownError(
            f"a disk is full ({os.strerror(errno.ENOSPC)}): the warehouse's, or that of the runtime files, where Spark"
            " has its scratch folder. Make room and run it again: nothing half-done counts"
        )
    first_line = (str(error).strip() or "no message").splitlines()[0]
    return PartDownError(
        f"{type(error).__name__}: {first_line}. Nothing half-done counts: the ledger decides. Run it again;"
        " if it stays so, --verbose shows where it happened"
    )


def _problems(error: PanelakeError) -> dict[str, Any]:
    if isinstance(error, WorkspaceError):
        return {"problems": [vars(problem) for problem in error.problems]}
    return {}


def print_json(document: Any) -> None:
    """The one document of --json."""
    print(json.dumps(document, indent=2, ensure_ascii=False, default=str))  # noqa: T201 - the command's output


if __name__ == "__main__":
    sys.exit(main())
