"""A node of a standalone Spark cluster, in the foreground; it needs pyspark and Java, and nothing of Panelake.

    python docker/spark_node.py master --host HOST [--port 7077] …
    python docker/spark_node.py worker spark://HOST:7077 --cores 2 --memory 4g --work-dir DIR …

takes the options of Spark's own classes. Where the environment holds _SPARK_AUTH_SECRET, only who knows it is let in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution

PARTS = {
    "master": "org.apache.spark.deploy.master.Master",
    "worker": "org.apache.spark.deploy.worker.Worker",
}
SECRET = "_SPARK_AUTH_SECRET"  # noqa: S105 - Spark's own name for it


def node_command(arguments: Sequence[str]) -> list[str]:
    """Spark's start script with the part's class."""
    if not arguments or arguments[0] not in PARTS:
        raise SystemExit(f"usage: spark_node.py {'|'.join(PARTS)} [options of Spark's class]")
    script = distribution("pyspark").locate_file("pyspark/bin/spark-class")
    return [str(script), PARTS[arguments[0]], *arguments[1:]]


def node_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What Spark and the executors that a worker starts find: no PYTHONPATH, so nothing but what drivers send."""
    variables = {name: value for name, value in given.items() if name != "PYTHONPATH"}
    variables["SPARK_HOME"] = str(distribution("pyspark").locate_file("pyspark"))
    variables["SPARK_NO_DAEMONIZE"] = "1"
    variables["TZ"] = "UTC"
    options = [variables.get("SPARK_DAEMON_JAVA_OPTS", ""), "-Duser.timezone=UTC", "-XX:-UsePerfData"]
    if variables.get(SECRET):
        options.append("-Dspark.authenticate=true")
    variables["SPARK_DAEMON_JAVA_OPTS"] = " ".join(filter(None, options))
    return variables


if __name__ == "__main__":
    command = node_command(sys.argv[1:])
    os.execve(command[0], command, node_environment(os.environ))  # noqa: S606 - Spark's own script
