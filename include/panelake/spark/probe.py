"""Asks a Connect server a query with a deadline: no session is opened, no call is tried again."""

from __future__ import annotations

import socket
import uuid
from typing import Any
from urllib.parse import urlsplit

import grpc

from panelake.errors import BadInputError, PartDownError, TransientError
from panelake.spark.shown import shown

DEFAULT_PORT = 15002
_TRIVIAL = "SELECT 1"
_CONNECT_SECONDS = 5.0


def address(url: str) -> tuple[str, int]:
    """Host and port of a Connect URL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host = None
    if not url.startswith("sc://") or host is None:
        raise BadInputError(f"the Spark Connect URL is {shown(url)!r}: expected sc://host:port")
    return host, port


def port_open(host: str, port: int, seconds: float = _CONNECT_SECONDS) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=seconds).close()
    except OSError:
        return False
    return True


def ask(url: str, sql: str = _TRIVIAL, seconds: float = 60.0) -> None:
    """Run one statement on the server and forget its rows; TransientError when it cannot be reached in time."""
    host, port = address(url)
    if not port_open(host, port):
        raise TransientError(_unanswered(url, f"nothing listens at {host}:{port}"))
    try:
        _execute(url, sql, seconds)
    except grpc.RpcError as error:
        raise _failure(url, error) from error


def answers(url: str, seconds: float = 60.0) -> bool:
    """Whether the server answers a trivial query in time."""
    try:
        ask(url, seconds=seconds)
    except PartDownError:
        return False
    return True


def _execute(url: str, sql: str, seconds: float) -> None:
    # Importing pyspark takes two seconds: only callers who reach a server pay them.
    from pyspark.sql.connect import proto  # noqa: PLC0415
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415

    builder = DefaultChannelBuilder(url)
    who: dict[str, Any] = {
        "session_id": str(uuid.uuid4()),
        "user_context": proto.UserContext(user_id="panelake-probe"),
    }
    plan = proto.Plan(root=proto.Relation(sql=proto.SQL(query=sql)))
    with builder.toChannel() as channel:
        stub = proto.SparkConnectServiceStub(channel)
        call = {"metadata": builder.metadata(), "timeout": seconds}
        for _ in stub.ExecutePlan(proto.ExecutePlanRequest(plan=plan, **who), **call):
            pass
        stub.ReleaseSession(proto.ReleaseSessionRequest(**who), **call)


def _failure(url: str, error: grpc.RpcError) -> PartDownError:
    # A failed call carries its code and details; the base class alone declares neither.
    code, details = (error.code(), error.details()) if isinstance(error, grpc.Call) else (None, str(error))
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return TransientError(_unanswered(url, f"{code.name}: {details}"))
    return PartDownError(f"the Spark Connect server at {shown(url)} failed a query: {details}")


def _unanswered(url: str, reason: str) -> str:
    return (
        f"the Spark Connect server at {shown(url)} does not answer ({reason}). Start it, or correct PANELAKE_MASTER; "
        "without PANELAKE_MASTER a local server is started (`panelake server status` shows it)"
    )
