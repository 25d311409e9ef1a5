"""`panelake server start|stop|status`: the local Spark Connect server."""

from __future__ import annotations

import argparse
import dataclasses

from panelake.cli import print_json
from panelake.console import say
from panelake.spark import server


def add_options(command: argparse.ArgumentParser) -> None:
    """What to do, and on which port."""
    command.add_argument("action", choices=("start", "stop", "status"))
    command.add_argument("--port", type=int, default=None, help="loopback port; default: a free one")


def run(options: argparse.Namespace) -> int:
    """`status` exits with 3 where no server answers, so that scripts can ask."""
    if options.action == "start":
        server.start(options.port)
    elif options.action == "stop":
        server.stop()
    found = server.status()
    if options.json:
        print_json(dataclasses.asdict(found))
    else:
        say(f"server {found.state}" + (f" at {found.url}, pid {found.pid}, log {found.log}" if found.url else ""))
    return 3 if options.action == "status" and not found.healthy else 0
