"""The package as one archive, which Spark gives to executors: what their own Python has installed does not matter."""

from __future__ import annotations

import hashlib
import os
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from panelake.home import home, import_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How a server of ours tells its clients which package its workers import.
PACKAGE_SETTING = "spark.panelake.package"

_NAME = "panelake"
_LEFT_OUT = {"__pycache__"}
# The earliest date a zip file can hold: the same package gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def package_archive() -> Path:
    """The archive of this process's package, made where it is not there yet; its name holds its content's digest."""
    target = home() / "package" / f"{_NAME}-{package_digest()}.zip"
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}")
        _write(draft)
        draft.replace(target)
    return target


def shipped_as() -> str:
    """The archive as Spark unpacks it: a folder `panelake` beside the executor's work."""
    return f"{package_archive().as_uri()}#{_NAME}"


def ship(spark: SparkSession) -> None:
    """Give the package to a Connect session whose server's workers have none, or another."""
    if spark.conf.get(PACKAGE_SETTING, None) != package_digest():
        spark.addArtifacts(f"{package_archive()}#{_NAME}", archive=True)


@cache
def package_digest() -> str:
    """What tells this process's package from another version."""
    digest = hashlib.sha256()
    for path in _files():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(import_root())}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _files() -> list[Path]:
    root = import_root() / _NAME
    inner = (path for path in root.rglob("*") if not _LEFT_OUT.intersection(path.relative_to(root).parts))
    return sorted(path for path in inner if path.is_file())


def _write(target: Path) -> None:
    root = import_root() / _NAME
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files():
            archive.writestr(zipfile.ZipInfo(str(path.relative_to(root)), _DATE), path.read_bytes())
