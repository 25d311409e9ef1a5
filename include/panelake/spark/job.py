"""spark-submit with the project's own Spark, Java, jars and settings.

`python -m panelake.spark.job [--master URL] jobs/run_stage.py …` takes spark-submit's own arguments; the master is
PANELAKE_MASTER where none is given, else local[*].
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from panelake.errors import PanelakeError
from panelake.spark.java import find_java
from panelake.spark.settings import classic_settings, write_properties
from panelake.spark.submit import environment, submit_command


def main(arguments: Sequence[str]) -> int:
    """Become spark-submit; only a failure to start it comes back."""
    try:
        master = _master(arguments)
        settings = classic_settings(master)
        # Left behind by exec; removed with the scratch folder once this process is gone.
        properties = Path(settings["spark.local.dir"]) / "job.properties"
        properties.parent.mkdir(parents=True, exist_ok=True)
        write_properties(settings, properties)
        command = submit_command("--properties-file", str(properties), *arguments)
        os.execve(command[0], command, environment(find_java().home, master))  # noqa: S606 - Spark's own script
    except PanelakeError as error:
        print(f"panelake: {error}", file=sys.stderr)  # noqa: T201 - the command's own voice
        return error.exit_code


def _master(arguments: Sequence[str]) -> str:
    """The master that spark-submit will be told of."""
    if "--master" in arguments[:-1]:
        return arguments[arguments.index("--master") + 1]
    return os.environ.get("PANELAKE_MASTER", "local[*]")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
