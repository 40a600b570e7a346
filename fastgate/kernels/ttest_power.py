"""The probability that a t test of two equally large samples finds an effect, and the cases that it takes."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.noncentral_t import nct_sf
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import NO_ROOT, OK
from fastgate.kernels.student_t import t_isf
from fastgate.kernels.types import OB, OF, OI, F

__all__ = ["LARGEST", "ttest_cases", "ttest_power"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

LARGEST: Final = 2**40
"""The most cases that are looked for."""
# The weights of the ratio of variances that are left out are below e^-26 of the largest.
_DROP: Final = 26.0


@device
def squared_spread(sd: float, other: float, r: float) -> float:
    """The variance of a case's difference."""
    return (sd - other) * (sd - other) + 2.0 * (1.0 - r) * sd * other


@device
def paired_power(effect: float, sd: float, other: float, r: float, n: float, tail: float) -> float:
    """P(t > the critical value) for n pairs."""
    return nct_sf(t_isf(tail, n - 1.0), n - 1.0, effect * math.sqrt(n / squared_spread(sd, other, r)))


@device
def welch_power(effect: float, sd: float, other: float, r: float, n: float, tail: float) -> float:
    """P(t > the critical value) for n cases a side, whose values may be correlated.

    Given B, the candidate's share of the two standardised variances, the degrees of freedom and so the critical value
    are known, and t is a multiple of a noncentral t; B is integrated by the trapezoidal rule in its logit.
    """
    m = n - 1.0
    shape = 0.5 * m / (1.0 - r * r)
    df = 2.0 * m / (1.0 + r * r)
    variance, baseline = sd * sd, other * other
    spread = squared_spread(sd, other, r)
    noncentrality = effect * math.sqrt(n / spread)
    step = 0.7 * min(1.0, math.sqrt(2.0 / shape))
    total = 0.0
    weights = 0.0
    k = 0
    while True:
        y = k * step
        weight = math.exp(-shape * (y + 2.0 * (math.log1p(math.exp(-y)) - math.log(2.0))))
        if not weight > math.exp(-_DROP):
            break
        large = 1.0 / (1.0 + math.exp(-y))
        small = math.exp(-y) * large
        for side in range(2 if k > 0 else 1):
            a = variance * (large if side == 0 else small)
            b = baseline * (small if side == 0 else large)
            c = a / (a + b)
            critical = t_isf(tail, m / (c * c + (1.0 - c) * (1.0 - c)))
            total += weight * nct_sf(critical * math.sqrt(2.0 * (a + b) / spread), df, noncentrality)
            weights += weight
        k += 1
    return total / weights


@device
def power_of(effect: float, sd: float, other: float, r: float, n: float, tail: float, pairs: bool) -> float:
    """The power of either test; NaN where there is no noise, or fewer than two cases."""
    if not (n >= 2.0 and -1.0 <= r <= 1.0 and sd >= 0.0 and other >= 0.0):
        return math.nan
    spread = squared_spread(sd, other, r)
    if not (spread > 0.0 and spread < math.inf) or effect != effect:
        return math.nan
    if pairs:
        return paired_power(effect, sd, other, r, n, tail)
    if not r * r < 1.0:
        return math.nan
    return welch_power(effect, sd, other, r, n, tail)


@kernel(types.void(types.int64, types.int64, F, F, F, F, F, types.float64, types.boolean, OF))
def ttest_power(
    start: int,
    stop: int,
    effect: Floats,
    sd: Floats,
    other: Floats,
    correlation: Floats,
    cases: Floats,
    tail: float,
    pairs: bool,
    out: Floats,
) -> None:
    """`power_of` each cell; arrays of shape (n_cells,)."""
    for i in range(start, stop):
        out[i] = power_of(effect[i], sd[i], other[i], correlation[i], cases[i], tail, pairs)


@kernel(
    types.void(types.int64, types.int64, F, F, F, F, types.float64, types.float64, types.boolean, OI, OF, OB)
)
def ttest_cases(
    start: int,
    stop: int,
    effect: Floats,
    sd: Floats,
    other: Floats,
    correlation: Floats,
    tail: float,
    power: float,
    pairs: bool,
    cases: Integers,
    reached: Floats,
    status: Codes,
) -> None:
    """The smallest n whose power is `power` or more; NO_ROOT where there is none up to `LARGEST`."""
    critical = normal_isf(tail)
    reserve = normal_isf(1.0 - power)
    for i in range(start, stop):
        cases[i] = 0
        reached[i] = math.nan
        status[i] = NO_ROOT
        if not power_of(effect[i], sd[i], other[i], correlation[i], LARGEST, tail, pairs) >= power:
            continue
        spread = squared_spread(sd[i], other[i], correlation[i])
        assumed = spread if pairs else sd[i] * sd[i] + other[i] * other[i]
        ratio = (critical * math.sqrt(assumed) + reserve * math.sqrt(spread)) / effect[i]
        # The normal approximation, from which the bracket grows in doubling steps.
        middle = int(min(max(ratio * ratio, 2.0), LARGEST))
        low, high = 1, LARGEST
        stride = 1
        while high - low > 1:
            value = power_of(effect[i], sd[i], other[i], correlation[i], middle, tail, pairs)
            if value >= power:
                high = middle
                reached[i] = value
            else:
                low = middle
            if low > 1 and high < LARGEST:
                middle = low + (high - low) // 2
            elif low > 1:
                middle = min(low + stride, high - 1)
                stride *= 2
            else:
                middle = max(high - stride, low + 1)
                stride *= 2
        cases[i] = high
        status[i] = OK
        if reached[i] != reached[i]:
            reached[i] = power_of(effect[i], sd[i], other[i], correlation[i], high, tail, pairs)
