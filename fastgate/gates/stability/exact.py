"""Shares of counts held against thresholds as exact fractions, so that no rounding decides."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_fraction", "falls_by_more", "least_count", "most_count"]

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_SAFE = 2**62


def as_fraction(threshold: float) -> Fraction:
    """The decimal fraction that a threshold was written as: 0.8 is 4/5, not the nearest double.

    Examples
    --------
    >>> as_fraction(0.85), as_fraction(1)
    (Fraction(17, 20), Fraction(1, 1))
    """
    return Fraction(str(threshold))


def _wide(*bounds: int) -> Any:
    """The type in which a product of these stays exact: int64, or Python's integers."""
    product = 1
    for bound in bounds:
        product *= max(bound, 1)
    return np.int64 if product < _SAFE else object


def _most(counts: Integers) -> int:
    return int(counts.max()) if counts.size else 0


def least_count(n: Integers, share: float) -> Integers:
    """The least k with k/n ≥ `share`, for each n.

    Examples
    --------
    >>> least_count(np.array([5, 100, 7]), 0.8).tolist()
    [4, 80, 6]
    """
    fraction = as_fraction(share)
    counts = n.astype(_wide(_most(n), fraction.numerator))
    return np.asarray(-(-fraction.numerator * counts // fraction.denominator), np.int64)


def most_count(n: Integers, share: float) -> Integers:
    """The largest k with k/n ≤ `share`, for each n.

    Examples
    --------
    >>> most_count(np.array([5, 100, 7]), 0.29).tolist()
    [1, 29, 2]
    """
    fraction = as_fraction(share)
    counts = n.astype(_wide(_most(n), fraction.numerator))
    return np.asarray(fraction.numerator * counts // fraction.denominator, np.int64)


def falls_by_more(before: Integers, n_before: Integers, now: Integers, n_now: Integers, drop: float) -> Flags:
    """Whether before/n_before − now/n_now > `drop`; False where a total is 0.

    Examples
    --------
    >>> counts = [np.array([x]) for x in (90, 100, 85, 100)]
    >>> falls_by_more(*counts, 0.05).item(), falls_by_more(*counts, 0.049).item()
    (False, True)
    """
    fraction = as_fraction(drop)
    kind = _wide(_most(n_before), _most(n_now), 2 * fraction.denominator)
    before, n_before, now, n_now = (counts.astype(kind) for counts in (before, n_before, now, n_now))
    fall = (before * n_now - now * n_before) * fraction.denominator
    return np.asarray((fall > fraction.numerator * n_before * n_now) & (n_before > 0) & (n_now > 0), np.bool_)
