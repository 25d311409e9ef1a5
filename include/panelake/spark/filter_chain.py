"""A WHERE in a learned order: Spark evaluates the conditions as told, a sample tells what each drops and costs.

Spark keeps the order of a conjunction as it is written, and stops at the first condition that is not TRUE, inside its
generated code. So an order costs nothing to follow, and only sampled tuples are evaluated for learning's sake. A tuple
is sampled by a hash of its source position: the same ones in every run. Measured costs differ from run to run, and so
may orders; the rows kept never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.filters.chain import Placed
from panelake.filters.statistics import FilterStatistics, Integers
from panelake.kernels.filter_order import profile as profiles
from panelake.spark.conjunction import conjunction

SAMPLED_EVERY = 100
_OUTCOME, _TUPLES = "_outcome", "_tuples"
_HASHES, _TRUE = 2**64, True


def kept(statistics: FilterStatistics) -> Column:
    """The conjunction in the order in force: TRUE for the tuples kept."""
    return conjunction([statistics.conditions[number] for number in statistics.order])


def filtered(frame: DataFrame, statistics: FilterStatistics) -> DataFrame:
    """The tuples for which every condition is TRUE."""
    return frame.where(kept(statistics)) if statistics.conditions else frame


def sampling(tuples: int, known: float = 0.0) -> int:
    """One tuple in how many to sample: a hundred, more where that would be more than a profile remembers.

    Where as many tuples are `known` as it remembers, a fifth of that is enough to notice a change.
    """
    wanted = profiles.LIMIT // 5 if known >= profiles.LIMIT / 2 else profiles.LIMIT
    return max(SAMPLED_EVERY, tuples // wanted)


def sampled(frame: DataFrame, position: Sequence[str], every: int = SAMPLED_EVERY, seed: int = 0) -> DataFrame:
    """About one tuple in `every`, chosen by the columns that say where it came from."""
    if every < 1:
        raise ValueError(f"one tuple in {every} cannot be sampled; expected 1 or more")
    return frame.where(is_sampled([F.col(name) for name in position], every, seed))


def is_sampled(position: Sequence[Column], every: int, seed: int = 0) -> Column:
    """Whether a tuple is one in `every`, by a hash of where it came from: compared, as a remainder costs a division."""
    if every == 1:
        return F.lit(_TRUE)
    return F.xxhash64(*position, F.lit(seed)) < F.lit(_HASHES // every - _HASHES // 2)


def observe(sample: DataFrame, chain: Sequence[Placed]) -> tuple[Integers, Integers]:
    """Distinct outcomes of a sample and their tuples: bit i of an outcome says that condition i is TRUE.

    One job. A tuple that does not pass a segment is not evaluated further, as what can raise may be guarded by it.
    """
    rows = sample.groupBy(outcome_of(chain).alias(_OUTCOME)).agg(F.count(F.lit(1)).alias(_TUPLES)).collect()
    pairs = sorted((row[_OUTCOME], row[_TUPLES]) for row in rows)
    outcomes, tuples = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return outcomes, tuples


def outcome_of(chain: Sequence[Placed], conditions: Sequence[Column] | None = None) -> Column:
    """The bits of one segment, and behind it, where all of it is TRUE, those of the rest.

    Conditions are what the chain says they are, unless given as columns.
    """
    told = conditions if conditions is not None else [F.expr(placed.condition) for placed in chain]
    outcome = F.lit(0).cast("bigint")
    for segment in sorted({placed.segment for placed in chain}, reverse=True):
        own = [number for number, placed in enumerate(chain) if placed.segment == segment]
        bits = [F.when(told[number], F.lit(1 << number)).otherwise(F.lit(0)) for number in own]
        rest = F.when(reduce(and_, [told[number] for number in own]), outcome).otherwise(F.lit(0))
        outcome = reduce(lambda one, other: one.bitwiseOR(other), [rest, *bits])
    return outcome
