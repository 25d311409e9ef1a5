"""What spark-submit runs to be the local Connect server: a plain Spark application with the Connect plug-in.

Spark's own server class isolates the artifacts of every client: each session then starts Python workers of its own,
which takes seconds, in a folder that Spark removes when more than a few sessions were seen while workers still stand
in it. Our clients bring no artifacts; in a plain application they share the workers, which stay in the server's folder.
"""

from __future__ import annotations

import os
import signal
import threading

_POLL_SECONDS = 1.0
_SECRET = "_SPARK_AUTH_SECRET"  # noqa: S105 - Spark's own name for it


def main() -> None:
    """Start Spark, and end with it: asked to, or because the JVM is gone."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes a second; an import of this module needs none of it

    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    builder = SparkSession.builder
    if os.environ.get(_SECRET):
        # Spark asks a driver for it here, and nowhere else: so it stands in no file and in no command line.
        builder = builder.config("spark.authenticate.secret", os.environ[_SECRET])
    spark = builder.getOrCreate()
    jvm = os.getppid()
    while not asked.wait(_POLL_SECONDS) and os.getppid() == jvm:
        continue
    spark.stop()


if __name__ == "__main__":
    main()
