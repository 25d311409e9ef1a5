"""Hashes of 64-bit keys: a quick one for tables and samples, and a thorough one."""

from __future__ import annotations

import numpy as np

from panelake.kernels.joins.compiled import part

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: consecutive codes land far apart
_HALF = np.uint64(32)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


@part
def hash_of(key: int) -> np.uint64:
    """A key's hash; its upper half finds places in tables, its lowest bits draw samples."""
    word = np.uint64(key)
    word = (word ^ (word >> _HALF)) * _SPREAD
    return (word ^ (word >> _HALF)) * _SPREAD


@part
def mix(word: np.uint64) -> np.uint64:
    """Every bit of the word spread over all bits (Steele, Lea, Flood 2014)."""
    word = (word ^ (word >> _SHIFT_1)) * _MIX_1
    word = (word ^ (word >> _SHIFT_2)) * _MIX_2
    return word ^ (word >> _SHIFT_3)
