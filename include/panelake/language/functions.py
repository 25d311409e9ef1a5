"""The scalar functions a query may call: deterministic, free of side effects, one value a tuple.

A function belongs here only if Spark always gives the same value for the same arguments.
"""

from __future__ import annotations

from difflib import get_close_matches

_ANY = 99
# name:least-most arguments (… for any number); a plain name takes one.
_TABLE = """
abs sqrt cbrt exp expm1 ln log2 log10 log1p sign signum rint factorial degrees radians negative positive isnan
bit_count acos acosh asin asinh atan atanh cos cosh cot csc sec sin sinh tan tanh hex unhex bin ceil:1-2 ceiling:1-2
floor:1-2 round:1-2 bround:1-2 log:1-2 pi:0 e:0 atan2:2 hypot:2 pow:2 power:2 mod:2 pmod:2 nanvl:2 shiftleft:2
shiftright:2 shiftrightunsigned:2 conv:3 width_bucket:4 try_add:2 try_subtract:2 try_multiply:2 try_divide:2

coalesce:1-… ifnull:2 nvl:2 nvl2:3 nullif:2 zeroifnull nullifzero if:3 least:2-… greatest:2-… isnull isnotnull
equal_null:2

ascii btrim:1-2 char chr char_length character_length length octet_length bit_length concat:1-… concat_ws:1-…
contains:2 endswith:2 startswith:2 initcap instr:2 lcase lower left:2 right:2 levenshtein:2-3 locate:2-3 lpad:2-3
rpad:2-3 ltrim rtrim trim upper ucase position:2-3 regexp_count:2 regexp_extract:2-3 regexp_instr:2-3 regexp_like:2
regexp_replace:3-4 regexp_substr:2 repeat:2 replace:2-3 reverse soundex space split_part:3 substr:2-3 substring:2-3
substring_index:3 translate:3 overlay:3-4 format_number:2 to_number:2 try_to_number:2

base64 unbase64 crc32 md5 sha sha1 sha2:2 hash:1-… xxhash64:1-… get_json_object:2 parse_url:2-3 url_decode
url_encode

add_months:2 date_add:2 date_sub:2 date_diff:2 datediff:2 date_format:2 date_from_unix_date date_part:2 date_trunc:2
day dayofmonth dayofweek dayofyear dayname from_unixtime:1-2 from_utc_timestamp:2 hour last_day make_date:3 minute
month monthname months_between:2-3 next_day:2 quarter second timestamp_micros timestamp_millis timestamp_seconds
to_date:1-2 to_timestamp:1-2 to_unix_timestamp:1-2 to_utc_timestamp:2 trunc:2 try_to_timestamp:1-2 unix_date
unix_micros unix_millis unix_seconds unix_timestamp:1-2 weekday weekofyear year

element_at:2 get:2 try_element_at:2 size cardinality array_contains:2 array_max array_min array_position:2
map_contains_key:2
"""

_NONDETERMINISTIC = """
rand random randn randstr uniform shuffle uuid now current_timestamp current_date current_time curdate
localtimestamp current_timezone monotonically_increasing_id spark_partition_id input_file_name
input_file_block_start input_file_block_length current_user current_role session_user user current_catalog
current_database current_schema version
"""
_EXTERNAL = """
java_method reflect try_reflect java_function assert_true raise_error from_avro from_protobuf read_files ai_query
http_request
"""


def _parse_table() -> dict[str, tuple[int, int]]:
    arities = {}
    for entry in _TABLE.split():
        name, _, arity = entry.partition(":")
        least, _, most = (arity or "1").partition("-")
        arities[name] = (int(least), _ANY if most == "…" else int(most or least))
    return arities


SCALAR_FUNCTIONS = _parse_table()


def is_nondeterministic(name: str) -> bool:
    """Whether Spark may answer the same call differently."""
    return name.lower() in _NONDETERMINISTIC.split()


def call_problem(name: str, arguments: int) -> str | None:
    """What is wrong with calling this scalar function with so many arguments; None if nothing."""
    arity = SCALAR_FUNCTIONS.get(name)
    if arity is None:
        return _unknown(name)
    least, most = arity
    if least <= arguments <= most:
        return None
    wanted = str(least) if least == most else f"{least} or more" if most == _ANY else f"{least} to {most}"
    return f"{name}() has {arguments} argument{'' if arguments == 1 else 's'}; expected {wanted}"


def _unknown(name: str) -> str:
    if name in _NONDETERMINISTIC.split():
        return f"{name}() is not deterministic: running a slice again would change its answer; use the stream's columns"
    if name in _EXTERNAL.split():
        return f"{name}() reaches outside the query and is not allowed; use the stream's columns and plain functions"
    near = get_close_matches(name, SCALAR_FUNCTIONS, n=1)
    hint = f"; did you mean {near[0]}()?" if near else "; expected a deterministic scalar function of Spark"
    return f"unknown function {name}(){hint}"
