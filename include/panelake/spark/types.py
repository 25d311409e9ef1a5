"""Spark SQL type names as Arrow types, without a session."""

from __future__ import annotations

import pyarrow as pa

from panelake.tables import timestamp_type

_PLAIN = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": timestamp_type(),
}


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a scalar Spark type."""
    if name.startswith("decimal("):
        digits, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
        return pa.decimal128(int(digits), int(scale))
    return _PLAIN[name]
