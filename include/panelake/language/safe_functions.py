"""Scalar functions that never raise, whatever their arguments' values, if these have the kinds listed.

Codes: s string, i integer, n any number (cast to double, which cannot fail), d double, b boolean, D date, T timestamp,
t date or timestamp, j a pattern literal that surely compiles, k a whole literal that fits an int, x anything,
a anything of one kind; `+` repeats the last.
"""

from __future__ import annotations

from dataclasses import dataclass

NUMBERS = ("integer", "double", "decimal")
PATTERN, WHOLE = "j", "k"
MEANINGS: dict[str, tuple[str, ...]] = {
    "s": ("string",),
    "i": ("integer",),
    "n": ("double", "integer", "decimal"),
    "d": ("double",),
    "b": ("boolean",),
    "D": ("date",),
    "T": ("timestamp",),
    "t": ("timestamp", "date"),
    "x": (*NUMBERS, "string", "boolean", "date", "timestamp", "binary"),
}

# name … name: least arguments, then optional ones, > what is given
_TABLE = """
lower upper lcase ucase trim ltrim rtrim btrim reverse initcap soundex md5 sha sha1: s > s
length char_length character_length octet_length bit_length ascii crc32: s > i
contains startswith endswith: ss > b
instr levenshtein: ss > i
left right: sk > s
substr substring: sk k > s
replace translate: sss > s
substring_index: ssk > s
concat: s+ > s
concat_ws: ss+ > s
get_json_object: ss > s
regexp_like: sj > b
regexp_count regexp_instr: sj > i
regexp_substr: sj > s
sqrt cbrt exp expm1 ln log2 log10 log1p sign signum degrees radians rint: n > d
acos asin atan cos cosh sin sinh tan tanh asinh acosh atanh: n > d
atan2 hypot pow power: nn > d
abs negative positive round: d > d
nanvl: dd > d
isnan: d > b
bit_count: i > i
coalesce: a+ > a
ifnull nvl nullif: aa > a
least greatest: aa+ > a
equal_null: aa > b
isnull isnotnull: x > b
hash xxhash64: x+ > i
year month day dayofmonth dayofweek dayofyear quarter weekday weekofyear: t > i
hour minute second unix_micros unix_millis unix_seconds: T > i
unix_date: D > i
dayname monthname: t > s
last_day: t > D
date_diff datediff: DD > i
"""


@dataclass(frozen=True)
class Signature:
    """The codes of a function's arguments: those needed, those that may follow, whether the last repeats."""

    needed: str
    optional: str
    repeats: bool
    result: str

    def takes(self, arguments: int) -> bool:
        most = 10**6 if self.repeats else len(self.needed + self.optional)
        return len(self.needed) <= arguments <= most

    def codes(self, arguments: int) -> str:
        """One code an argument."""
        known = self.needed + self.optional
        return (known + known[-1] * arguments)[:arguments]


def _parse_table() -> dict[str, Signature]:
    found = {}
    for line in _TABLE.strip().splitlines():
        names, _, rest = line.partition(":")
        codes, _, result = rest.partition(">")
        needed, _, optional = codes.strip().partition(" ")
        signature = Signature(needed.rstrip("+"), optional, needed.endswith("+"), result.strip())
        found.update(dict.fromkeys(names.split(), signature))
    return found


SIGNATURES = _parse_table()
