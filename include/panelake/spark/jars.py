"""The jars Spark lacks, Delta's and object stores': resolved once by Spark's own Ivy, afterwards plain files."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from panelake.errors import PartDownError
from panelake.home import home
from panelake.spark.java import find_java
from panelake.spark.submit import environment, submit_command

_RESOLVE_SECONDS = 300
_LINES_SHOWN = 12


@dataclass(frozen=True)
class JarSet:
    """What Ivy is asked for, what it must not bring, and the jars that must be there afterwards.

    Packages and jars are `group:name:version`, exclusions `group:name` with `*` for any.
    """

    title: str
    packages: tuple[str, ...]
    jars: tuple[str, ...]
    excluded: tuple[str, ...]

    def paths(self) -> list[Path]:
        """Where the jars are, or will be."""
        return [home() / "jars" / f"{group}_{name}-{version}.jar" for group, name, version in map(_parts, self.jars)]

    def are_present(self) -> bool:
        """Whether each jar is there and whole."""
        return all(zipfile.is_zipfile(path) for path in self.paths())

    def ensure(self) -> list[Path]:
        """The jars' paths, resolved first when one is missing."""
        if not self.are_present():
            _resolve(self)
        return self.paths()


DELTA_VERSION = "4.4.0"
_DELTA_JARS = (f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}", f"io.delta:delta-storage:{DELTA_VERSION}")
DELTA = JarSet(
    f"Delta {DELTA_VERSION}",
    packages=_DELTA_JARS,
    jars=_DELTA_JARS,
    # What Delta names beyond its two jars is in Spark already, or serves Unity Catalog only.
    excluded=(
        *("org.*:*", "com.*:*", "commons-*:*", "javax.*:*"),
        *("io.airlift:*", "io.unitycatalog:*", "io.delta:delta-kernel-*"),
    ),
)

_S3A_VERSION, _SDK_VERSION = "3.5.0", "2.35.4"  # Hadoop's as in Spark, and the SDK that it was built with
_ASKED = ("s3", "s3-transfer-manager", "sts", "apache-client")
_BROUGHT = (
    *("annotations", "arns", "auth", "aws-core", "aws-query-protocol", "aws-xml-protocol", "checksums"),
    *("checksums-spi", "crt-core", "endpoints-spi", "http-auth", "http-auth-aws", "http-auth-aws-eventstream"),
    *("http-auth-spi", "http-client-spi", "identity-spi", "json-utils", "metrics-spi", "netty-nio-client"),
    *("profiles", "protocol-core", "regions", "retries", "retries-spi", "sdk-core", "third-party-jackson-core"),
    *("utils", "utils-lite"),
)
_S3A = f"org.apache.hadoop:hadoop-aws:{_S3A_VERSION}"
S3 = JarSet(
    f"S3A {_S3A_VERSION}",
    packages=(_S3A, *(f"software.amazon.awssdk:{name}:{_SDK_VERSION}" for name in _ASKED)),
    jars=(
        _S3A,
        *(f"software.amazon.awssdk:{name}:{_SDK_VERSION}" for name in (*_ASKED, *_BROUGHT)),
        "org.reactivestreams:reactive-streams:1.0.4",
        "software.amazon.eventstream:eventstream:1.0.1",
        "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
    ),
    # The bundle is the whole SDK, fifty times what is needed of it; the others are in Spark already.
    excluded=(
        *("software.amazon.awssdk:bundle", "io.netty:*", "org.slf4j:*", "org.apache.logging*:*", "commons-*:*"),
        *("org.apache.httpcomponents:*", "org.wildfly.openssl:*", "org.apache.hadoop:hadoop-c*"),
    ),
)
ALL = (DELTA, S3)


def ensure_jars() -> list[Path]:
    """The paths of all jars, resolved first where one is missing."""
    return [path for jars in ALL for path in jars.ensure()]


def _parts(coordinates: str) -> list[str]:
    return coordinates.split(":")


def _resolve(jars: JarSet) -> None:
    folder = home() / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="resolving-") as scratch:
        output = _run_ivy(jars, Path(scratch))
        for target in jars.paths():
            resolved = Path(scratch) / "jars" / target.name
            if not resolved.is_file():
                raise PartDownError(_unresolved(jars, target, output))
            # Each jar appears whole or not at all, also for a set-up running at the same time.
            resolved.replace(target)


def _run_ivy(jars: JarSet, scratch: Path) -> str:
    """Resolve into a folder of our own, so that nothing of another version is found there; return the output."""
    script = scratch / "noop.py"
    script.touch()
    arguments = ["--packages", ",".join(jars.packages), "--exclude-packages", ",".join(jars.excluded)]
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


def _unresolved(jars: JarSet, target: Path, output: str) -> str:
    said = [line.strip() for line in output.splitlines() if "unresolved" in line.lower() or "exception" in line.lower()]
    tail = "\n  ".join((said or output.splitlines())[:_LINES_SHOWN])
    return (
        f"{target.name} is not in {target.parent} and could not be resolved ({', '.join(jars.packages)}). "
        "Connect to the network and run `python -m panelake.spark.toolchain` again, "
        "name a mirror's Ivy settings file in PANELAKE_IVY_SETTINGS, or copy the jar there. "
        f"Spark's Ivy said:\n  {tail}"
    )
