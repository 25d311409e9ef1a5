"""An object store that speaks S3, as source or warehouse: where it is and who asks, by AWS's own variables.

`s3a://bucket/…` and `s3://bucket/…` mean the same. AWS_ENDPOINT_URL, AWS_REGION and the keys come from the environment,
for Spark, delta-rs and Arrow alike; keys stand in no settings file.
"""

from __future__ import annotations

import os

from pyarrow import fs

SCHEMES = ("s3a", "s3")
_FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_NEAREST_REGION = "us-east-1"


def settings() -> dict[str, str]:
    """Spark's settings: the store that AWS_ENDPOINT_URL names, else Amazon's own."""
    found = {"spark.hadoop.fs.s3.impl": _FILE_SYSTEM}
    if endpoint():
        found["spark.hadoop.fs.s3a.endpoint"] = endpoint()
        # Names of buckets are no names of hosts there.
        found["spark.hadoop.fs.s3a.path.style.access"] = "true"
    if endpoint() or _region():
        found["spark.hadoop.fs.s3a.endpoint.region"] = _region() or _NEAREST_REGION
    return found


def endpoint() -> str:
    """The store's address; empty for Amazon's own."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def file_system(bucket: str) -> fs.FileSystem:
    """The store as Arrow reads it, which finds the region of Amazon's buckets by itself."""
    if endpoint():
        return fs.S3FileSystem(endpoint_override=endpoint(), region=_region() or _NEAREST_REGION)
    return fs.FileSystem.from_uri(f"s3://{bucket}/")[0]


def open_store(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of a folder, in whatever store or on this machine, and its path in it."""
    scheme, mark, rest = address.partition("://")
    if scheme in SCHEMES and mark:
        return file_system(rest.partition("/")[0]), rest.rstrip("/")
    if mark and scheme != "file":
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(address)
        return found
    return fs.LocalFileSystem(), address.removeprefix("file://")


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
