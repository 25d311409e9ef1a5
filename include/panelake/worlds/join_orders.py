"""The workloads on which shedding is compared: the order in which five streams bring their keys.

Source: the experiments of the shedding paper (권태형 외, 2010), made definite. Every workload gives streams and keys in
arrival order; `length` is the number of keys (unique) or tuples a stream (the others), by which memory is measured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

STREAMS = 5


class JoinOrder(NamedTuple):
    """Stream and key of every tuple, in arrival order."""

    stream: Integers
    key: Integers


def unique_keys(length: int, pattern: float, stray: float, seed: int) -> JoinOrder:
    """Each key once a stream, at random times; a share `pattern` comes S1 first … S5 last and joins.

    Of the others a share `stray` joins in any order, and the rest misses one stream, where a key nobody else has stands
    in its place. Times order the tuples of a stream; streams take turns.
    """
    generator = np.random.default_rng(seed)
    times = generator.random((length, STREAMS))
    patterned = generator.random(length) < pattern
    times[patterned] = np.sort(times[patterned], axis=1)
    missing = np.flatnonzero(~patterned & (generator.random(length) >= stray))
    keys = np.repeat(np.arange(length), STREAMS).reshape(length, STREAMS)
    keys[missing, generator.integers(0, STREAMS, len(missing))] = length + np.arange(len(missing))
    stream = np.repeat(np.arange(STREAMS), length)
    return _in_order(np.tile(np.arange(length), STREAMS), stream, _by_time(keys, times))


def normal_keys(length: int, shift: float, deviation: float, delay: float, seed: int) -> JoinOrder:
    """Keys around a mean that moves with the stream; stream j starts j·delay·length tuples after the first."""
    generator = np.random.default_rng(seed)
    stream = np.repeat(np.arange(STREAMS), length)
    key = np.rint(generator.normal(stream * shift, deviation)).astype(np.int64)
    start = np.rint(np.arange(STREAMS) * delay * length)
    turn = np.tile(np.arange(length), STREAMS) + start[stream]
    return _in_order(turn, stream, key)


def repeating_keys(length: int, rounds: int, deviation: float, growth: float, seed: int) -> JoinOrder:
    """Keys ever wider spread from S1 to S5; in each round the streams deliver one after another, S1 first."""
    generator = np.random.default_rng(seed)
    stream = np.repeat(np.arange(STREAMS), length)
    key = np.rint(generator.normal(0.0, deviation * growth**stream)).astype(np.int64)
    turn = np.tile(np.arange(length) * rounds // length, STREAMS) * STREAMS + stream
    return _in_order(turn, stream, key)


def _by_time(keys: Integers, times: NDArray[np.float64]) -> Integers:
    """The keys of S1 by time, then those of S2, and so on."""
    return np.take_along_axis(keys, np.argsort(times, axis=0), axis=0).T.ravel()


def _in_order(time: NDArray[np.generic], stream: Integers, key: Integers) -> JoinOrder:
    """By time; round robin where times are equal."""
    order = np.lexsort((stream, time))
    return JoinOrder(stream[order], key[order])
