"""The chart library's files, fetched anew from its packages and compared with what `vendor/packages.json` pins.

Run: `make vendor` (needs npm). A version is changed in packages.json; the command then tells the new checksums.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).with_name("vendor")


@dataclass(frozen=True)
class VendoredFile:
    """A file taken as it is from a package."""

    package: str
    version: str
    path: str
    name: str
    sha256: str

    @property
    def target(self) -> Path:
        return VENDOR / self.name


def vendored_files() -> list[VendoredFile]:
    """All files that `vendor/packages.json` names."""
    packages = json.loads((VENDOR / "packages.json").read_text(encoding="utf-8"))
    return [
        VendoredFile(one["package"], one["version"], path, file["as"], file["sha256"])
        for one in packages
        for path, file in one["files"].items()
    ]


def sha256_of(content: bytes) -> str:
    """The checksum as packages.json writes it."""
    return hashlib.sha256(content).hexdigest()


def fetch() -> list[str]:
    """Write the files whose checksum is the pinned one; give what is wrong with the others."""
    wrong = []
    for file, content in _fetched():
        found = sha256_of(content)
        if found == file.sha256:
            file.target.write_bytes(content)
        else:
            wrong.append(f"{file.package}@{file.version} {file.path}: sha256 {found}, pinned is {file.sha256}")
    return wrong


def _fetched() -> Iterator[tuple[VendoredFile, bytes]]:
    packed: dict[str, bytes] = {}
    for file in vendored_files():
        name = f"{file.package}@{file.version}"
        packed[name] = packed.get(name) or _packed(name)
        with tarfile.open(fileobj=io.BytesIO(packed[name])) as archive:
            member = archive.extractfile(f"package/{file.path}")
            yield file, member.read() if member else b""


def _packed(name: str) -> bytes:
    """The package as npm gives it, unpacked nowhere: nothing of it is run."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - names that packages.json pins
        (archive,) = Path(folder).glob("*.tgz")
        return archive.read_bytes()


if __name__ == "__main__":
    sys.exit("\n".join(fetch()) or 0)
