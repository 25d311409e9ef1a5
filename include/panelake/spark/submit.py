"""Spark's own start script, `spark-submit`, with an environment in which nothing of the user's leaks in."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from panelake.errors import PartDownError
from panelake.home import home, import_root
from panelake.spark.cluster import worker_python

# SPARK_DAEMON_MEMORY breaks the server, SPARK_REMOTE turns a server into a client: none is passed on.
_FOREIGN = ("SPARK_", "PYSPARK_", "HADOOP_")


def spark_home() -> Path:
    """The Spark that the installed pyspark package holds, also where spark-submit put its own copy first."""
    try:
        folder = Path(str(distribution("pyspark").locate_file("pyspark")))
    except PackageNotFoundError:
        folder = Path()
    if not (folder / "bin" / "spark-submit").is_file():
        raise PartDownError("pyspark with its jars is not installed: run `make setup`")
    return folder


def environment(java_home: Path, master: str = "local") -> dict[str, str]:
    """The environment of a Spark process: our Python for workers, UTC, caches in home."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    return kept | spark_variables(java_home, master)


def spark_variables(java_home: Path, master: str) -> dict[str, str]:
    """What Spark and its Python workers read from the environment."""
    # Executors on other machines must reach the driver.
    loopback = {"SPARK_LOCAL_IP": "127.0.0.1"} if master.startswith("local") else {}
    return loopback | {
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": sys.executable if master.startswith("local") else worker_python(),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(import_root()),
        # Compiled kernels are kept between workers, and out of the source tree.
        "NUMBA_CACHE_DIR": str(home() / "numba"),
        "TZ": "UTC",
    }


def submit_command(*arguments: str) -> list[str]:
    """The command line of spark-submit with these arguments."""
    return [str(spark_home() / "bin" / "spark-submit"), *arguments]
