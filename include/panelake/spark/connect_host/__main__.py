"""A Connect server in the foreground, as a container runs it: `python -m panelake.spark.connect_host --port 15002`.

It drives the cluster of PANELAKE_SERVER_MASTER, else this machine's cores.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from panelake.errors import PanelakeError
from panelake.spark.connect_host import serve
from panelake.spark.java import find_java
from panelake.spark.probe import DEFAULT_PORT
from panelake.spark.settings import server_settings, write_properties
from panelake.spark.submit import environment, submit_command


def main(arguments: Sequence[str]) -> int:
    """Become the server; only a failure to start it comes back."""
    parser = argparse.ArgumentParser(prog="connect_host", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at; default: loopback alone")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    options = parser.parse_args(arguments)
    try:
        settings = server_settings(options.port, options.host)
        folder = Path(settings["spark.local.dir"])
        folder.mkdir(parents=True, exist_ok=True)
        properties = folder / "server.properties"
        write_properties(settings, properties)
        command = submit_command("--properties-file", str(properties), serve.__file__)
        os.chdir(folder)
        os.execve(command[0], command, environment(find_java().home, settings["spark.master"]))  # noqa: S606 - the same
    except PanelakeError as error:
        print(f"panelake: {error}", file=sys.stderr)  # noqa: T201 - the command's own voice
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
