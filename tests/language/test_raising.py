from __future__ import annotations

import pytest

from panelake.language.raising import Placed, placed, why_raises
from panelake.language.safe_functions import SIGNATURES, Signature

TYPES = {
    "tiny": "tinyint", "a": "int", "b": "bigint", "x": "double", "y": "float", "m": "decimal(10,2)", "s": "string",
    "d": "date", "ts": "timestamp", "f": "boolean",
}  # fmt: skip

SAFE = [
    "`a` > 5", "`a` = `b`", "`a` < `x`", "`m` >= 1.5", "`a` > -3", "`s` = '5'", "`s` <=> NULL", "`a` = '5'",
    "`ts` >= '2026-01-01'", "`ts` < '2026-01-01 12:30:00.5'", "`d` = '2026-02-28'", "`f`", "NOT `f` OR `a` IS NULL",
    "`f` IS TRUE", "`a` BETWEEN 1 AND 2.5", "NOT `s` IN ('a', 'b')", "`a` IN (1, 2, NULL)", "`s` LIKE '%a_'",
    "`s` RLIKE '^[a-z]{2,3}(foo|bar)?\\\\d+$'", "`x` * 2 + `a` > 4", "-`x` < 0", "`a` / 2 > 1", "`b` % 10 = 3",
    "`b` div 7 > 2", "`a` & 3 = 1", "`s` || 'x' = 'y'", "CAST(`a` AS BIGINT) > 3", "CAST(`a` AS STRING) = '3'",
    "CAST(`ts` AS DATE) = '2026-01-01'", "TRY_CAST(`s` AS INT) > 3", "CASE WHEN `a` > 1 THEN `x` ELSE `m` END > 3",
    "CASE `s` WHEN 'a' THEN 1 WHEN 'b' THEN 2 END = 1", "length(trim(`s`)) > 3", "coalesce(`s`, '') <> ''",
    "get_json_object(`s`, '$.a') = 'x'", "xxhash64(`s`, `a`) % 10 = 3", "year(`ts`) = 2026", "abs(`x`) > 1",
    "regexp_like(`s`, 'a+')", "least(`a`, `b`, 3) = 1", "concat(`s`, 'x', `s`) = ''", "sqrt(`a`) > 2",
    "`tiny` = '300'", "`b` = '999999999'", "`x` > '5'", "`m` = '-7'", "substring(`s`, -3, 2) = 'ab'",
]  # fmt: skip
RAISING = {
    "`a` / `b` > 1": "`a` / `b` may divide by zero",
    "`x` / 0 > 1": "`x` / 0 may divide by zero",
    "`x` / 0.5 > 1": "`x` / 0.5 may divide by zero",
    "`b` % `a` = 1": "`b` % `a` may divide by zero",
    "`m` / 3 > 1": "`m` / 3 may overflow",
    "`a` + 1 > 4": "`a` + 1 may overflow",
    "`m` * `m` > 4": "`m` * `m` may overflow",
    "-`a` > 4": "-`a` may overflow",
    "CAST(`s` AS INT) > 3": "CAST(`s` AS INT) may fail",
    "CAST(`x` AS INT) > 3": "CAST(`x` AS INT) may fail",
    "CAST(`b` AS INT) > 3": "CAST(`b` AS INT) may fail",
    "`s` = 5": "`s` = 5 takes string and integer together, which casts and may fail",
    "`d` = `ts`": "`d` = `ts` takes date and timestamp together, which casts and may fail",
    "`a` = 'five'": "`a` = 'five' casts 'five' to integer, which may fail",
    "`ts` >= '2026-02-30'": "`ts` >= '2026-02-30' casts '2026-02-30' to timestamp, which may fail",
    "`a` IN (1, 'x')": "`a` IN (1, 'x') casts 'x' to integer, which may fail",
    "coalesce(`a`, `s`) = 1": "coalesce(`a`, `s`) takes integer and string together, which casts and may fail",
    "`s` RLIKE `s`": "the pattern `s` may be malformed",
    "`s` RLIKE '['": "the pattern '[' may be malformed",
    "`s` RLIKE '(a|b)*'": "the pattern '(a|b)*' may be malformed",
    "`s` RLIKE '{2}'": "the pattern '{2}' may be malformed",
    "`s` RLIKE '(?P<n>a)'": "the pattern '(?P<n>a)' may be malformed",
    "`s` LIKE 'a\\\\'": "`s` LIKE 'a\\\\' has a pattern that may be malformed",
    "abs(`a`) > 1": "`a` is integer where only double is known to be safe",
    "year(`s`) = 2026": "`s` is string where only timestamp or date is known to be safe",
    "to_date(`s`) = '2026-01-01'": "to_date(`s`) may raise",
    "substring(`s`) = ''": "substring(`s`) may raise",
    "`s` AND `f`": "`s` is string where only boolean is known to be safe",
    "`unknown` = 1": "the type of `unknown` is not known",
    "`ts` + INTERVAL '1' DAY > `ts`": "`ts` is timestamp where only integer or double or decimal is known to be safe",
    "`ts` > INTERVAL '1' DAY": "INTERVAL '1' DAY is not known to be safe",
    "left(`s`, `b`) = ''": "`b` may not fit an int",
    "NOT (`a` > 1 AND `b` / `a` > 2)": "`b` / `a` may divide by zero",
}


@pytest.mark.parametrize("condition", SAFE)
def test_what_cannot_raise_is_known(condition):
    assert why_raises(condition, TYPES) is None


@pytest.mark.parametrize(("condition", "reason"), RAISING.items(), ids=list(RAISING))
def test_what_can_raise_is_named(condition, reason):
    assert why_raises(condition, TYPES) == reason


def test_conditions_that_cannot_raise_share_a_segment():
    chain = placed(["`a` > 1", "`s` = ''", "`f`"], TYPES)
    assert chain == tuple(Placed(text, 0) for text in ("`a` > 1", "`s` = ''", "`f`"))


def test_a_condition_that_can_raise_is_a_border():
    """What is written before it may guard it; what is written behind it would spare it tuples it raises on."""
    chain = placed(["`b` <> 0", "`f`", "`a` / `b` > 1", "`s` = ''", "`x` > 2"], TYPES)
    assert [one.segment for one in chain] == [0, 0, 1, 2, 2]
    assert [one.fixed for one in chain] == [None, None, "`a` / `b` may divide by zero", None, None]


@pytest.mark.parametrize(
    ("raising", "segments"),
    [("rr", [0, 1]), ("rs", [0, 1]), ("rrs", [0, 1, 2]), ("srsr", [0, 1, 2, 3]), ("ssrrss", [0, 0, 1, 2, 3, 3])],
)
def test_each_border_is_a_segment_of_its_own(raising, segments):
    conditions = ["`a` / `b` > 1" if letter == "r" else "`f`" for letter in raising]
    assert [one.segment for one in placed(conditions, TYPES)] == segments


def test_conditions_declared_commutative_have_no_borders():
    chain = placed(["`b` <> 0", "`a` / `b` > 1"], TYPES, commutative=True)
    assert [(one.segment, one.fixed) for one in chain] == [(0, None), (0, None)]


def test_a_safe_functions_arguments_are_counted():
    assert SIGNATURES["substring"] == Signature("sk", "k", repeats=False, result="s")
    assert SIGNATURES["substring"].codes(3) == "skk"
    assert [SIGNATURES["concat_ws"].takes(count) for count in (1, 2, 9)] == [False, True, True]
    assert SIGNATURES["least"].codes(4) == "aaaa"
