"""What a session on a cluster is told beyond a local one: the package travels with it, and who may join.

Executors need a Python with the packages of requirements.lock, under a name that is the same on every machine; the
package itself comes with each session, and stands before one that a worker may have installed.
"""

from __future__ import annotations

import os
import re
import sys

from panelake.errors import BadInputError
from panelake.spark.package import shipped_as

PYTHON_VARIABLE = "PANELAKE_WORKER_PYTHON"
MEMORY_VARIABLE = "PANELAKE_EXECUTOR_MEMORY"
# Spark's own name: its processes read it themselves, so it stands in no settings and in no command line.
SECRET_VARIABLE = "_SPARK_AUTH_SECRET"  # noqa: S105 - a name, not a secret


def worker_python() -> str:
    """The Python that executors start, by path or by name."""
    return os.environ.get(PYTHON_VARIABLE) or sys.executable


def settings() -> dict[str, str]:
    """Settings of a session whose executors are other processes, maybe on other machines."""
    values = {
        # Unpacked in the folder an executor works in.
        "spark.archives": shipped_as(),
        "spark.executorEnv.PYTHONPATH": ".",
        "spark.executorEnv.TZ": "UTC",
        "spark.pyspark.python": worker_python(),
        "spark.pyspark.driver.python": sys.executable,
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC -Xss4m -XX:-UsePerfData",
    }
    memory = os.environ.get(MEMORY_VARIABLE)
    if memory:
        values["spark.executor.memory"] = _checked(memory)
    if os.environ.get(SECRET_VARIABLE):
        values["spark.authenticate"] = "true"
    return values


def secret_settings() -> dict[str, str]:
    """What Spark asks a driver for besides, and what must stand in no file: for a session inside this process."""
    secret = os.environ.get(SECRET_VARIABLE)
    return {"spark.authenticate.secret": secret} if secret else {}


def _checked(memory: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[mg]", memory):
        raise BadInputError(f"{MEMORY_VARIABLE} is {memory!r}: expected a size such as 900m or 4g")
    return memory
