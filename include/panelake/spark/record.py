"""The record of the local server: which process it is, where it listens, what it was started with."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from panelake.home import home
from panelake.processes import ProcessId
from panelake.spark.jars import DELTA_VERSION


@dataclass(frozen=True)
class ServerRecord:
    """One started server; `versions` must match a client's, `fingerprint` says with which settings it runs."""

    pid: int
    started: float
    port: int
    versions: str
    fingerprint: str
    log: str

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def process(self) -> ProcessId:
        return ProcessId(self.pid, self.started)

    def save(self) -> None:
        """Write the record: readers see the old one or the new one, never a part."""
        draft = record_path().with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        draft.replace(record_path())


def record_path() -> Path:
    """Where the record is kept."""
    return home() / "server.json"


def load_record() -> ServerRecord | None:
    """The recorded server, or None when there is none or the file is of another format."""
    try:
        return ServerRecord(**json.loads(record_path().read_text(encoding="utf-8")))
    except (FileNotFoundError, TypeError, ValueError):
        return None


def forget_record() -> None:
    """Remove the record."""
    record_path().unlink(missing_ok=True)


def current_versions() -> str:
    """What server and client must have in common: a worker of one cannot serve the JVM of another."""
    return f"pyspark {version('pyspark')}, delta {DELTA_VERSION}, {sys.executable}"


def settings_fingerprint(settings: Mapping[str, str]) -> str:
    """A short digest of settings, the port apart: that differs at every start."""
    kept = {key: value for key, value in settings.items() if key != "spark.connect.grpc.binding.port"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]
