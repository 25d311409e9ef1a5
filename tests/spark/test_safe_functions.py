"""Every function said to be safe, on the values that break others: none may raise in ANSI mode."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.language.raising import why_raises
from panelake.language.safe_functions import SIGNATURES

pytestmark = pytest.mark.spark

TYPES = {
    "tiny": "tinyint", "a": "int", "b": "bigint", "x": "double", "y": "float", "m": "decimal(10,2)", "s": "string",
    "d": "date", "ts": "timestamp", "f": "boolean",
}  # fmt: skip
TEXTS = (None, "", "abc", "5", "-1.5e3", '{"a":', "[1", "%\\", "é漢😀", "2026-02-30", " \t\n", "x" * 3_000)
EXTREMES = """
SELECT cast(tiny AS tinyint) AS tiny, cast(a AS int) AS a, cast(b AS bigint) AS b, x, cast(x AS float) AS y,
       cast(m AS decimal(10, 2)) AS m, date_from_unix_date(cast(days AS int)) AS d,
       timestamp_micros(cast(micros AS bigint)) AS ts, f
FROM VALUES
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (0, 0, 0, 0.0D, 0, 0, 0, false),
  (-128, -2147483648, -9223372036854775808, double('-Infinity'), -99999999.99, -100000000, -9223372036854775808, true),
  (127, 2147483647, 9223372036854775807, double('Infinity'), 99999999.99, 100000000, 9223372036854775807, true),
  (1, 1, 1, double('NaN'), 1.5, 20000, 1767225600000000, false)
  AS t(tiny, a, b, x, m, days, micros, f)
"""
COLUMNS = {
    "s": ["`s`"], "i": ["`tiny`", "`b`"], "n": ["`a`", "`x`", "`m`"], "d": ["`x`", "`y`"], "b": ["`f`"], "D": ["`d`"],
    "T": ["`ts`"], "t": ["`ts`", "`d`"], "j": ["'a+'"], "k": ["-2", "3"], "x": ["`s`", "`x`", "`m`", "`ts`", "`f`"],
    "a": ["`b`", "`s`"],
}  # fmt: skip
OPERATORS = [
    "`x` * 2 + `a` - `m` > 4", "-`x` < 0", "`a` / 2 > 1", "`b` % 10 = 3", "`b` div 7 > 2", "`b` & 3 | `a` ^ ~`b` = 1",
    "`tiny` = '300'", "`b` = '999999999'", "`x` > '5'", "`m` = '-7'", "`ts` < '2026-01-01 12:30:00.5'",
    "`d` = '2026-02-28'", "`tiny` = `x`", "`m` = `b`", "`s` LIKE '%a_'", "`s` RLIKE '^[a-z]{2,3}(foo|bar)?\\\\d+$'",
    "CAST(`a` AS BIGINT) > `b`", "CAST(`ts` AS STRING) = ''", "CAST(`ts` AS DATE) = `d`", "CAST(`a` AS DOUBLE) > 1.5",
    "TRY_CAST(`s` AS INT) > 3", "TRY_CAST(`x` AS INT) > 3", "CASE WHEN `a` > 1 THEN `x` ELSE `m` END > 3",
    "CASE `s` WHEN 'a' THEN 1 END = 1", "`s` IN ('a', NULL)", "`b` IN (1, 2.5)", "`b` BETWEEN 1 AND 2.5",
]  # fmt: skip


def calls():
    """Every safe function with each number of arguments, its columns taken in turn."""
    for name, signature in SIGNATURES.items():
        for count in {len(signature.needed), len(signature.needed + signature.optional)}:
            for turn in range(5):
                arguments = [COLUMNS[code][turn % len(COLUMNS[code])] for code in signature.codes(count)]
                yield f"{name}({', '.join(arguments)})"


@pytest.fixture(scope="module")
def extremes(spark):
    texts = spark.createDataFrame([(text,) for text in TEXTS], "s string")
    return texts.crossJoin(spark.sql(EXTREMES)).localCheckpoint()


def test_nothing_said_to_be_safe_raises(extremes):
    expressions = [*dict.fromkeys(calls()), *OPERATORS]
    assert [text for text in expressions if why_raises(text, TYPES) is not None] == []
    counted = extremes.select(*[F.count(F.expr(text)) for text in expressions]).collect()
    assert len(counted[0]) == len(expressions) > 200


@pytest.mark.parametrize(
    "text",
    ["`a` + 1 > 4", "`x` / `a` > 1", "CAST(`s` AS INT) > 3", "`s` = 5", "left(`s`, `b`) = ''", "abs(`a`) > 1"],
)
def test_what_is_said_to_raise_does_on_the_same_values(extremes, text):
    assert why_raises(text, TYPES) is not None
    with pytest.raises(PySparkException):
        extremes.select(F.count(F.expr(text))).collect()
