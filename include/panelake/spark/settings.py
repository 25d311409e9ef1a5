"""The one place of Spark's settings, for the Connect server and the classic session alike."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from panelake.errors import BadInputError
from panelake.home import home
from panelake.spark import cluster, object_store
from panelake.spark.jars import ensure_jars
from panelake.spark.package import PACKAGE_SETTING, package_digest

JAVA_OPTIONS_VARIABLE = "PANELAKE_JAVA_OPTIONS"

# What a client sets on any server, also on one that this project did not start.
CLIENT: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Instants as 8 bytes with statistics; Spark's default is an older type of 12 without.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Panes are many groups: in a task of 32 MB they fit Spark's fast hash map, if that may hold 2^18 in place of 2^16.
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "18",
    "spark.sql.files.maxPartitionBytes": "32m",
    # Tables are partitioned by date and a slice has one: without this every write is sorted by it first.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # Every row of a slice is stamped with it: asking each whether it fits the slice that is replaced tells nothing.
    "spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false",
}

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # A table's state is read in this many tasks, each of which makes its code anew: the default of 50 costs seconds.
    "spark.databricks.delta.snapshotPartitions": "1",
}

# The status store is kept in memory also without the UI, and a server lives for weeks.
_BOUNDED_MEMORY = {
    "spark.cleaner.periodicGC.interval": "5min",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
}

_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_QUIET = {
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    # The next port would be taken silently otherwise.
    "spark.connect.grpc.port.maxRetries": "0",
    # A client that was killed leaves its query and its session: neither is kept for long.
    "spark.connect.execute.manager.detachedTimeout": "1m",
    "spark.connect.session.manager.defaultSessionTimeout": "30m",
}


def server_settings(port: int, host: str = "127.0.0.1") -> dict[str, str]:
    """Settings of a Connect server that listens there."""
    master = os.environ.get("PANELAKE_SERVER_MASTER", "local[*]")
    return (
        common_settings(master, home() / "scratch" / "server")
        | _SERVER
        | {"spark.connect.grpc.binding.address": host, "spark.connect.grpc.binding.port": str(port)}
        | {"spark.master": master, PACKAGE_SETTING: package_digest()}
    )


def classic_settings(master: str) -> dict[str, str]:
    """Settings of a session inside this Python process."""
    scratch = home() / "scratch" / f"classic-{os.getpid()}"
    return common_settings(master, scratch) | {"spark.master": master, "spark.api.mode": "classic"}


def common_settings(master: str, scratch: Path) -> dict[str, str]:
    """What every session of the project shares; temporary files go to the scratch folder."""
    # Executors on other machines must reach the driver.
    where = _LOOPBACK if master.startswith("local") else cluster.settings()
    stores = object_store.settings()
    return dict(CLIENT) | _DELTA | _BOUNDED_MEMORY | _QUIET | stores | _sizes() | _places(scratch) | where


def write_properties(settings: Mapping[str, str], path: Path) -> None:
    """Write settings as the properties file that spark-submit reads."""
    lines = (f"{key}={value.replace(chr(92), chr(92) * 2)}\n" for key, value in sorted(settings.items()))
    path.write_text("".join(lines), encoding="utf-8")


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _sizes() -> dict[str, str]:
    memory = os.environ.get("PANELAKE_DRIVER_MEMORY", "4g")
    if not re.fullmatch(r"[1-9]\d*[mg]", memory):
        raise BadInputError(f"PANELAKE_DRIVER_MEMORY is {memory!r}: expected a size such as 900m or 4g")
    partitions = os.environ.get("PANELAKE_SHUFFLE_PARTITIONS", str(max(2, cores())))
    if not re.fullmatch(r"[1-9]\d*", partitions):
        raise BadInputError(f"PANELAKE_SHUFFLE_PARTITIONS is {partitions!r}: expected a whole number from 1")
    return {"spark.driver.memory": memory, "spark.sql.shuffle.partitions": partitions}


def _places(scratch: Path) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": _java_options(scratch),
        "spark.jars": ",".join(str(path) for path in ensure_jars()),
        "spark.local.dir": str(scratch),
        "spark.pyspark.python": sys.executable,
        # Tables are known by their paths: no metastore, so no database file anywhere.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(home() / "warehouse"),
    }


def _java_options(scratch: Path) -> str:
    options = [
        f'"-Djava.io.tmpdir={scratch}"',
        f'"-Dderby.system.home={scratch}"',
        "-Duser.timezone=UTC",
        # A server without memory must end, so that the next client starts another.
        "-XX:+ExitOnOutOfMemoryError",
        # Plans of many queries are deep trees.
        "-Xss4m",
        # Java would write its counters to the system's temporary folder.
        "-XX:-UsePerfData",
        # Code for many conditions is one long method that Java would only interpret: an audit took 22 s, not 8.
        "-XX:-DontCompileHugeMethods",
        # Spark compiles code for each new query: where no room is left for it, Java interprets for good.
        "-XX:ReservedCodeCacheSize=512m",
        *os.environ.get(JAVA_OPTIONS_VARIABLE, "").split(),
    ]
    return " ".join(options)
