"""Opens Spark sessions: clients of a Connect server, or classic ones inside this process."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from panelake.errors import BadInputError, TransientError
from panelake.home import home
from panelake.spark import probe, server
from panelake.spark.cluster import secret_settings
from panelake.spark.java import find_java
from panelake.spark.package import ship
from panelake.spark.settings import CLIENT, classic_settings
from panelake.spark.shown import shown
from panelake.spark.submit import spark_variables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER_VARIABLE = "PANELAKE_MASTER"

_CLASSIC = ("local", "spark://", "yarn", "k8s://")
# Waits of 0.05, 0.2, 0.8, 3.2 and 12.8 s; pyspark's own 15 go on for ten minutes after a server died.
_RETRIES = 5
# Nobody answers, or a server that was started anew does, which knows nothing of this session.
_GONE = ("UNAVAILABLE", "SESSION_NOT_FOUND", "SESSION_CHANGED", "OPERATION_NOT_FOUND")


def open_session(master: str | None = None, name: str = "panelake") -> SparkSession:
    """A session that the caller stops (`spark_session` does so by itself); `name` is shown for classic ones.

    Without a master: PANELAKE_MASTER, else the local server, started when none answers.
    """
    use_utc()
    target = master or os.environ.get(MASTER_VARIABLE)
    if not target:
        return _connected(server.ensure())
    if target.startswith("sc://"):
        probe.ask(target)
        spark = _connected(target)
        ship(spark)
        return spark
    require_known(target)
    return _classic(target, name)


def require_known(master: str) -> None:
    """Refuse what is no form of a master."""
    if master.startswith("sc://"):
        probe.address(master)
    elif not master.startswith(_CLASSIC):
        raise BadInputError(
            f"the Spark master is {shown(master)!r}: expected sc://host:port (Spark Connect), local[*] or"
            " spark://host:port"
        )


@contextmanager
def spark_session(master: str | None = None, name: str = "panelake") -> Iterator[SparkSession]:
    """A session for a block of work, stopped at its end; a server lost meanwhile is a TransientError."""
    spark = open_session(master, name)
    try:
        with lost_server_is_transient():
            yield spark
    finally:
        spark.stop()


@contextmanager
def lost_server_is_transient() -> Iterator[None]:
    """Turn what pyspark raises when the server is gone into a TransientError."""
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException  # noqa: PLC0415 - takes two seconds

    try:
        yield
    except SparkConnectGrpcException as error:
        if not any(sign in str(error) for sign in _GONE):
            raise
        raise TransientError(
            "the Spark Connect server went away during the work: run it again, a local server is started anew"
        ) from error


def use_utc() -> None:
    """Make this process's local time UTC: timestamps that Spark hands to Python come in local time."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def _connected(url: str) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes two seconds

    from panelake.spark.patience import WhileItListens  # noqa: PLC0415 - the same

    spark = SparkSession.builder.config(map=dict(CLIENT)).remote(url).create()
    spark.client.set_retry_policies([WhileItListens(*probe.address(url), _RETRIES)])
    return spark


def _classic(master: str, name: str) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes two seconds

    _leave_connect_mode()
    _remove_dead_scratch()
    os.environ.update(spark_variables(find_java().home, master))
    settings = classic_settings(master)
    Path(settings["spark.local.dir"]).mkdir(parents=True, exist_ok=True)
    return SparkSession.builder.config(map=settings | secret_settings()).appName(name).getOrCreate()


def _leave_connect_mode() -> None:
    """Forget a Connect mode inherited from a parent process; refuse one that is in use here."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession  # noqa: PLC0415 - takes two seconds

    if ConnectSession.getActiveSession() is not None:
        raise BadInputError(
            "this process has a Spark Connect session open, and a classic one cannot live beside it: "
            "stop that session first, or use another process"
        )
    for variable in ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"):
        os.environ.pop(variable, None)


def _remove_dead_scratch() -> None:
    """Remove what classic sessions left that were killed."""
    for folder in (home() / "scratch").glob("classic-*"):
        if not psutil.pid_exists(int(folder.name.removeprefix("classic-"))):
            shutil.rmtree(folder, ignore_errors=True)
