"""Delta's two jars: resolved once by Spark's own Ivy, afterwards plain files."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from panelake.errors import PartDownError
from panelake.home import home
from panelake.spark.java import find_java
from panelake.spark.submit import environment, submit_command

DELTA_VERSION = "4.4.0"
PACKAGES = (f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}", f"io.delta:delta-storage:{DELTA_VERSION}")

# What Delta names beyond its two jars is in Spark already, or serves Unity Catalog only.
_NOT_NEEDED = "org.*:*,com.*:*,commons-*:*,javax.*:*,io.airlift:*,io.unitycatalog:*,io.delta:delta-kernel-*"
_RESOLVE_SECONDS = 300
_LINES_SHOWN = 12


def jar_paths() -> list[Path]:
    """Where the jars are, or will be."""
    return [home() / "jars" / f"{group}_{name}-{version}.jar" for group, name, version in _coordinates()]


def jars_present() -> bool:
    """Whether each jar is there and whole."""
    return all(zipfile.is_zipfile(path) for path in jar_paths())


def ensure_jars() -> list[Path]:
    """The jars' paths, resolved first when one is missing."""
    if not jars_present():
        _resolve()
    return jar_paths()


def _coordinates() -> list[list[str]]:
    return [package.split(":") for package in PACKAGES]


def _resolve() -> None:
    folder = home() / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="resolving-") as scratch:
        output = _run_ivy(Path(scratch))
        for target in jar_paths():
            resolved = Path(scratch) / "jars" / target.name
            if not resolved.is_file():
                raise PartDownError(_unresolved(target, output))
            # Each jar appears whole or not at all, also for a set-up running at the same time.
            resolved.replace(target)


def _run_ivy(scratch: Path) -> str:
    """Resolve into a folder of our own, so that nothing of another version is found there; return the output."""
    script = scratch / "noop.py"
    script.touch()
    arguments = ["--packages", ",".join(PACKAGES), "--exclude-packages", _NOT_NEEDED]
    arguments += ["--conf", f"spark.jars.ivy={scratch}"]
    ivy_settings = os.environ.get("PANELAKE_IVY_SETTINGS")
    if ivy_settings:
        arguments += ["--conf", f"spark.jars.ivySettings={ivy_settings}"]
    command = submit_command(*arguments, str(script))
    try:
        done = subprocess.run(  # noqa: S603 - spark-submit with the arguments above
            command,
            env=environment(find_java().home),
            cwd=scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_RESOLVE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_RESOLVE_SECONDS} s"
    return done.stdout


def _unresolved(target: Path, output: str) -> str:
    said = [line.strip() for line in output.splitlines() if "unresolved" in line.lower() or "exception" in line.lower()]
    tail = "\n  ".join((said or output.splitlines())[:_LINES_SHOWN])
    return (
        f"{target.name} is not in {target.parent} and could not be resolved ({', '.join(PACKAGES)}). "
        "Connect to the network and run `python -m panelake.spark.toolchain` again, "
        "name a mirror's Ivy settings file in PANELAKE_IVY_SETTINGS, or copy the jar there. "
        f"Spark's Ivy said:\n  {tail}"
    )
