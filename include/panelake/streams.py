"""Streams as `streams.yaml` declares them: schema, event time, source, tolerances.

Durations are microseconds, UTC; unknown keys are errors.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from panelake.durations import DAY, parse_duration
from panelake.errors import BadInputError
from panelake.slices import Slice, to_datetime

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TYPE_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_TYPES = {
    "tinyint", "smallint", "int", "bigint", "float", "double", "string", "boolean", "binary", "date", "timestamp",
}  # fmt: skip
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_MAX_DECIMAL_DIGITS = 38
MEBIBYTE = 1 << 20

Arrival = Literal["event_time", "path", "file"]
Format = Literal["parquet", "json", "csv", "delta", "kafka", "generator"]
_FILE_KEYS = {"path", "arrival", "drift", "wait"}
_SOURCE_KEYS: dict[str, set[str]] = {
    "parquet": _FILE_KEYS,
    "json": {*_FILE_KEYS, "max_line"},
    "csv": {*_FILE_KEYS, "max_line", "header", "delimiter"},
    "delta": {"path", "drift", "wait"},
    "kafka": {"servers", "topic", "drift", "max_line", "wait"},
    "generator": {"world", "rate", "seed"},
}
_NEEDED_KEYS = {"kafka": ("servers", "topic"), "generator": ("world",)}
_TEMPLATE = re.compile(r"\{(start|end):([^{}]+)\}")
_LOGIN = re.compile(r"[^/]*://[^/]*@")
_DIRECTIVES = re.compile(r"(?:%[YmdHMSjyfs]|[\w=./-])+", re.ASCII)


def _identifier(name: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise ValueError(f"{name!r} is not a name; expected a letter, then letters, digits and underscores")
    return name


def _spark_type(text: Any) -> str:
    lower = str(text).strip().lower()
    name = _TYPE_NAMES.get(lower, lower)
    if name in _TYPES:
        return name
    match = _DECIMAL.fullmatch(name)
    if match is None:
        raise ValueError(f"{text!r} is not a supported type; expected one of {', '.join(sorted(_TYPES))}, decimal(p,s)")
    digits, scale = int(match[1] or 10), int(match[2] or 0)
    if not (1 <= digits <= _MAX_DECIMAL_DIGITS and scale <= digits):
        raise ValueError(
            f"{text!r}: a decimal has 1 to {_MAX_DECIMAL_DIGITS} digits, and no more of them behind the point"
        )
    return f"decimal({digits},{scale})"


def _duration(text: Any) -> int:
    try:
        return text if isinstance(text, int) and not isinstance(text, bool) and text == 0 else parse_duration(str(text))
    except BadInputError as error:
        raise ValueError(str(error)) from None


def _positive(microseconds: int) -> int:
    if microseconds <= 0:
        raise ValueError("must be longer than nothing")
    return microseconds


def is_template(path: str) -> bool:
    """Whether a source path names a folder per slice."""
    return "{" in path or "}" in path


def filled_template(path: str, part: Slice) -> str:
    """The path of one slice."""
    return _TEMPLATE.sub(lambda match: f"{to_datetime(getattr(part, match[1])):{match[2]}}", path)


def _check_path(path: str) -> None:
    """Refuse what may lead out of the workspace, and templates whose meaning is not plain."""
    if ".." in re.split(r"[/\\]", path):
        raise ValueError(f"path {path!r} climbs with '..'; write it relative to the workspace, or whole")
    if re.search(r"[\x00-\x1f]", path):
        raise ValueError(f"path {path!r} holds a control character")
    check_no_login(path)
    for match in _TEMPLATE.finditer(path):
        if not _DIRECTIVES.fullmatch(match[2]) or ".." in match[2].split("/"):
            raise ValueError(f"path {path!r}: {match[0]} is not a template; expected such as {{start:%Y-%m-%d/%H%M}}")
    if is_template(_TEMPLATE.sub("", path)):
        raise ValueError(f"path {path!r}: braces hold a template, such as {{start:%Y-%m-%d/%H%M}}, and nothing else")


def _check_world(world: str) -> None:
    from panelake.worlds.generate import WORLDS  # noqa: PLC0415 - loads numpy, for this one source alone

    if world not in WORLDS:
        raise ValueError(f"unknown world {world!r}; expected one of {', '.join(sorted(WORLDS))}")


def check_no_login(address: str) -> str:
    """Refuse keys in an address: addresses stand in tables, in logs and in the report."""
    if _LOGIN.match(address):
        raise ValueError("the address holds a name or key before '@'; give keys by the environment (see README)")
    return address


Identifier = Annotated[str, AfterValidator(_identifier)]
SparkType = Annotated[str, BeforeValidator(_spark_type)]
Duration = Annotated[int, BeforeValidator(_duration)]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
Share = Annotated[float, Field(ge=0, le=1)]


class StrictModel(BaseModel):
    """Immutable; a key that is not declared is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Source(StrictModel):
    """Where a stream's tuples come from, and by what rule they arrive in a slice."""

    format: Format
    path: str = ""
    arrival: Arrival | None = None
    drift: Literal["quarantine", "accept"] = "quarantine"
    max_line: Annotated[int, Field(gt=0)] = MEBIBYTE
    header: bool = True
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    topic: str = ""
    servers: str = ""
    world: str = ""
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 500.0
    seed: int = 1
    wait: Duration = 0  # how long past its end a scheduled slice waits for a source that is not there yet

    @property
    def rule(self) -> Arrival:
        """The arrival rule in force."""
        if self.format in {"kafka", "delta"}:
            return "file"
        return self.arrival or ("path" if is_template(self.path) else "event_time")

    @model_validator(mode="after")
    def _fits_its_format(self) -> Source:
        own = _SOURCE_KEYS[self.format]
        for key in sorted(self.model_fields_set - own - {"format"}):
            raise ValueError(f"{key!r} is no key of a {self.format} source; expected {', '.join(sorted(own))}")
        for key in _NEEDED_KEYS.get(self.format, ("path",)):
            if not getattr(self, key):
                raise ValueError(f"a {self.format} source needs the key {key!r}")
        if self.format == "generator":
            _check_world(self.world)
        _check_path(self.path)
        if self.arrival not in {None, "path"} and is_template(self.path):
            raise ValueError(f"arrival is {self.arrival!r}, but the path holds a template; expected 'path'")
        if self.arrival == "path" and not is_template(self.path):
            raise ValueError("arrival 'path' needs a template in the path, such as landing/{start:%Y-%m-%d/%H%M}")
        return self


class Condition(StrictModel):
    """One filter of `where`: a condition in SQL, or a function of filters.py; a commutative one never needs a guard."""

    sql: str | None = None
    python: str | None = None
    commutative: bool = False

    @property
    def text(self) -> str:
        """As it is counted and shown."""
        return f"{self.python}()" if self.sql is None else self.sql

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Condition:
        if (self.sql is None) == (self.python is None):
            raise ValueError("a filter is either SQL or Python; expected sql: CONDITION or python: FUNCTION")
        return self


def _condition(value: Any) -> Any:
    return {"sql": value} if isinstance(value, str) else value


Schema = Annotated[dict[Identifier, SparkType], Field(min_length=1)]
Filters = tuple[Annotated[Condition, BeforeValidator(_condition)], ...]


class Stream(StrictModel):
    """One stream: what its tuples look like and which of them are taken."""

    columns: Annotated[Schema, Field(alias="schema")]
    event_time: str
    source: Source
    lateness: Duration = 0
    future: Duration = DAY
    where: Filters = ()
    unique: tuple[str, ...] = ()
    max_quarantined: Share = 0.05
    max_late: Annotated[int, Field(gt=0)] = 1_000_000

    @model_validator(mode="after")
    def _event_time_is_a_timestamp(self) -> Stream:
        if self.columns.get(self.event_time) != "timestamp":
            found = self.columns.get(self.event_time, "no such column")
            raise ValueError(
                f"event_time names {self.event_time!r} ({found}); expected a timestamp column of the schema"
            )
        return self

    @model_validator(mode="after")
    def _columns_differ_in_more_than_case(self) -> Stream:
        lower = [name.lower() for name in self.columns]
        for name in self.columns:
            if lower.count(name.lower()) > 1:
                raise ValueError(f"column {name!r} is there twice, but for upper and lower case; rename one")
        return self

    @model_validator(mode="after")
    def _unique_names_columns(self) -> Stream:
        for name in self.unique:
            if name not in self.columns:
                raise ValueError(f"unique names {name!r}; expected columns of the schema: {', '.join(self.columns)}")
        return self
