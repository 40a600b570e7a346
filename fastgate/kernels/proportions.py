"""Differences of two proportions, independent and paired, and McNemar's tests, cell by cell.

The difference is candidate − baseline. Cross products of counts are taken in int64, where they are exact up to
LARGEST trials, so that a small difference of large samples keeps its digits.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.beta import exponent, fraction, prefactor
from fastgate.kernels.special import normal_isf, normal_sf
from fastgate.kernels.status import DEGENERATE, INVALID, NO_DISCORDANT, OK, TOO_FEW
from fastgate.kernels.types import OB, OF, I

__all__ = [
    "AGRESTI_CAFFO",
    "ASYMPTOTIC",
    "BONETT_PRICE",
    "EXACT",
    "GREATER",
    "LARGEST",
    "LESS",
    "MCNEMAR_MID_P",
    "NEWCOMBE",
    "NEWCOMBE_UNCORRECTED",
    "TANGO",
    "TWO_SIDED",
    "WALD",
    "independent",
    "mcnemar",
    "paired",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

LARGEST: Final = 3_037_000_499  # the largest int64 whose square is one

NEWCOMBE: Final = 0
AGRESTI_CAFFO: Final = 1
WALD: Final = 2
TANGO: Final = 3
NEWCOMBE_UNCORRECTED: Final = 4
BONETT_PRICE: Final = 5

EXACT: Final = 0
MCNEMAR_MID_P: Final = 1
ASYMPTOTIC: Final = 2

TWO_SIDED: Final = 0
LESS: Final = 1
GREATER: Final = 2


@device
def wilson_upper_arm(k: float, m: float, z: float) -> float:
    """Wilson's upper limit minus k/n, for k successes and m failures; swap them for the lower arm."""
    n = k + m
    root = math.sqrt(k * m / n + 0.25 * z * z)
    lean = 0.5 * (m - k) / n
    if lean >= 0.0:
        return z * (z * lean + root) / (n + z * z)
    return z * (k / n) * (m / n) / (root - z * lean)


@device
def normal_pvalue(z: float, alternative: int) -> float:
    if alternative == LESS:
        return normal_sf(-z)
    if alternative == GREATER:
        return normal_sf(z)
    return 2.0 * normal_sf(abs(z))


@kernel(
    types.void(
        types.int64,
        types.int64,
        I,
        I,
        I,
        I,
        types.float64,
        types.int64,
        types.int64,
        OF,
        OF,
        OF,
        OF,
        OF,
        OF,
        OB,
    )
)
def independent(
    start: int,
    stop: int,
    successes_candidate: Integers,
    trials_candidate: Integers,
    successes_baseline: Integers,
    trials_baseline: Integers,
    outside: float,
    method: int,
    alternative: int,
    delta: Floats,
    ci_low: Floats,
    ci_high: Floats,
    half_width: Floats,
    statistic: Floats,
    pvalue: Floats,
    status: Codes,
) -> None:
    """Interval by `method` (NEWCOMBE, AGRESTI_CAFFO, WALD) and the pooled z test of two independent samples."""
    z = normal_isf(0.5 * outside)
    for c in range(start, stop):
        kc, nc = successes_candidate[c], trials_candidate[c]
        kb, nb = successes_baseline[c], trials_baseline[c]
        delta[c] = ci_low[c] = ci_high[c] = half_width[c] = statistic[c] = pvalue[c] = math.nan
        if not (0 <= kc <= nc <= LARGEST and 0 <= kb <= nb <= LARGEST):
            status[c] = INVALID
            continue
        if nc == 0 or nb == 0:
            status[c] = TOO_FEW
            continue
        status[c] = OK
        passed, failed = float(kc), float(nc - kc)
        passed_b, failed_b = float(kb), float(nb - kb)
        size, size_b = float(nc), float(nb)
        cross = float(kc * nb - kb * nc)
        difference = cross / (size * size_b)
        if method == NEWCOMBE:
            below, above = wilson_upper_arm(failed, passed, z), wilson_upper_arm(passed, failed, z)
            below_b, above_b = (
                wilson_upper_arm(failed_b, passed_b, z),
                wilson_upper_arm(passed_b, failed_b, z),
            )
            left = math.sqrt(below * below + above_b * above_b)
            right = math.sqrt(above * above + below_b * below_b)
            centre = difference
        else:
            centre = difference
            if method == AGRESTI_CAFFO:
                centre = (cross + float(nb - nc + 2 * (kc - kb))) / ((size + 2.0) * (size_b + 2.0))
                passed, failed, size = passed + 1.0, failed + 1.0, size + 2.0
                passed_b, failed_b, size_b = passed_b + 1.0, failed_b + 1.0, size_b + 2.0
            variance = (passed / size) * (failed / size) / size + (passed_b / size_b) * (
                failed_b / size_b
            ) / size_b
            left = right = z * math.sqrt(variance)
            if variance == 0.0:
                status[c] = DEGENERATE
        delta[c] = difference
        ci_low[c] = centre - left
        ci_high[c] = centre + right
        half_width[c] = 0.5 * (left + right)
        both, neither = float(kc + kb), float(nc - kc + nb - kb)
        if both > 0.0 and neither > 0.0:
            total = float(nc + nb)
            statistic[c] = cross / math.sqrt(float(nc) * float(nb) * both * (neither / total))
            pvalue[c] = normal_pvalue(statistic[c], alternative)


@device
def tango_root(b: float, c: float, n: float, z: float, side: float) -> float:
    """The δ ≥ 0 with (b − c − nδ)/√(n(2q + δ(1 − δ))) = side·z, q the larger root of Tango's quadratic.

    Newton's method inside a bracket: the side 1 has its root between 0 and (b − c)/n, the side −1 above.
    """
    centre = (b - c) / n
    low = 0.0 if side > 0.0 else max(centre, 0.0)
    high = centre if side > 0.0 else 1.0
    x = centre - side * z * math.sqrt(b + c + 0.5 * z * z) / (n + z * z)
    if not low < x < high:
        x = 0.5 * (low + high)
    slope_b = 2.0 * n - b + c
    for _ in range(200):
        # 2n q² + B q + C = 0 with C ≤ 0, by the form of its larger root that does not cancel.
        big_b = slope_b * x - b - c
        big_c = -c * x * (1.0 - x)
        root = math.sqrt(big_b * big_b - 8.0 * n * big_c)
        q = -2.0 * big_c / (big_b + root) if big_b > 0.0 else (root - big_b) / (4.0 * n)
        v = 2.0 * q + x * (1.0 - x)
        spread = z * math.sqrt(n * max(v, 0.0))
        value = b - c - n * x - side * spread
        if value > 0.0:
            low = x
        else:
            high = x
        step = math.inf
        if root > 0.0 and v > 0.0:
            slope_v = 1.0 - 2.0 * x - 2.0 * (slope_b * q - c * (1.0 - 2.0 * x)) / root
            slope = -n - side * 0.5 * z * z * n * slope_v / spread
            step = -value / slope
        new = x + step
        if not low <= new <= high:
            new = 0.5 * (low + high)
        moved = abs(new - x)
        x = new
        if moved <= 1e-9 * min(x, 1.0 - x):  # Newton's error is squared: what is left is below 1e-16
            break
    return x


@device
def tango_upper(b: float, c: float, n: float, z: float) -> float:
    """Tango's upper limit; the lower one is minus the upper one with b and c exchanged."""
    if b == n:
        return 1.0
    if b - c + z * math.sqrt(b + c) >= 0.0:
        return tango_root(b, c, n, z, -1.0)
    return -tango_root(c, b, n, z, 1.0)


@device
def newcombe_arms(
    n11: float, n10: float, n01: float, n00: float, z: float, corrected: bool
) -> tuple[float, float]:
    """δ − lower and upper − δ by Newcombe's (1998) method 10, or 8 without the correction of φ.

    Each is √(x² − 2φxy + y²) of two Wilson arms, as √((x − y)² + 2(1 − φ)xy) with x − y and 1 − φ from forms
    without cancellation: agreement of the two runs makes φ nearly 1 and x nearly y.
    """
    n = n11 + n10 + n01 + n00
    kb, kc = n11 + n10, n11 + n01
    mb, mc = n01 + n00, n10 + n00
    product = math.sqrt(kb * mb) * math.sqrt(kc * mc)
    cross = n11 * n00 - n10 * n01
    # 1 − φ; φ is 0 where a margin is zero.
    distance = 1.0
    if product > 0.0 and cross <= 0.0:
        distance = 1.0 - cross / product
    elif product > 0.0 and not (corrected and cross <= 0.5 * n):
        distance = n * (n11 * n00 * (n10 + n01) + n10 * n01 * (n11 + n00)) / (product * (product + cross))
        if corrected:
            distance += 0.5 * n / product
    root_b = math.sqrt(kb * mb / n + 0.25 * z * z)
    root_c = math.sqrt(kc * mc / n + 0.25 * z * z)
    lean = (kb + kc - n) / n * z / (n + z * z)
    tilt = (n01 - n10) / (root_b + root_c)
    x, y = wilson_upper_arm(mc, kc, z), wilson_upper_arm(kb, mb, z)
    gap = lean * (z - tilt)
    left = math.sqrt(gap * gap + 2.0 * distance * x * y)
    x, y = wilson_upper_arm(kc, mc, z), wilson_upper_arm(mb, kb, z)
    gap = lean * (z + tilt)
    return left, math.sqrt(gap * gap + 2.0 * distance * x * y)


@kernel(types.void(types.int64, types.int64, I, I, I, I, types.float64, types.int64, OF, OF, OF, OF, OB))
def paired(
    start: int,
    stop: int,
    both: Integers,
    regressions: Integers,
    fixes: Integers,
    neither: Integers,
    outside: float,
    method: int,
    delta: Floats,
    ci_low: Floats,
    ci_high: Floats,
    half_width: Floats,
    status: Codes,
) -> None:
    """Interval of (fixes − regressions)/n by TANGO, NEWCOMBE, NEWCOMBE_UNCORRECTED, BONETT_PRICE or WALD.

    both, regressions, fixes, neither (n_cells,): the pairs that pass in both runs, in the baseline alone, in the
    candidate alone, in none.
    """
    z = normal_isf(0.5 * outside)
    for i in range(start, stop):
        n11, n10, n01, n00 = both[i], regressions[i], fixes[i], neither[i]
        delta[i] = ci_low[i] = ci_high[i] = half_width[i] = math.nan
        largest = max(max(n11, n10), max(n01, n00))
        if min(min(n11, n10), min(n01, n00)) < 0 or largest > LARGEST or n11 + n10 + n01 + n00 > LARGEST:
            status[i] = INVALID
            continue
        pairs = n11 + n10 + n01 + n00
        if pairs == 0:
            status[i] = TOO_FEW
            continue
        status[i] = OK
        n, b, c = float(pairs), float(n01), float(n10)
        centre = (b - c) / n
        delta[i] = centre
        if method == TANGO:
            ci_low[i] = -tango_upper(c, b, n, z)
            ci_high[i] = tango_upper(b, c, n, z)
            half_width[i] = 0.5 * (ci_high[i] - ci_low[i])
            continue
        if method in (NEWCOMBE, NEWCOMBE_UNCORRECTED):
            left, right = newcombe_arms(float(n11), c, b, float(n00), z, method == NEWCOMBE)
        else:
            if method == BONETT_PRICE:
                b += 1.0
                c += 1.0
                n += 2.0
                centre = (b - c) / n
            # m − (b − c)²/n with m = b + c, as a sum of positive terms
            variance = ((b + c) * float(n11 + n00) + 4.0 * b * c) / n
            left = right = z * math.sqrt(variance) / n
        if left + right == 0.0:
            status[i] = DEGENERATE
        ci_low[i] = centre - left
        ci_high[i] = centre + right
        half_width[i] = 0.5 * (left + right)


@device
def half_tails(k: float, m: float) -> tuple[float, float]:
    """P(X ≤ k) and P(X = k) for X binomial (m, ½) and k ≤ m/2, to 1e-13 relative down to 1e-300."""
    a, b = m - k, k + 1.0
    d = 0.5 * (b - a) / (m + 1.0)
    factor, first = prefactor(a, b)
    scale = factor * math.exp(exponent(a, b, 0.5, 0.5, d, first))
    at = 2.0 * scale / a
    if d > 0.0:  # k = m/2: the median, by symmetry
        return 0.5 + 0.5 * at, at
    return scale * fraction(a, b, 0.5, 0.5, d), at


@kernel(types.void(types.int64, types.int64, I, I, types.int64, types.int64, OF, OF, OB))
def mcnemar(
    start: int,
    stop: int,
    regressions: Integers,
    fixes: Integers,
    method: int,
    alternative: int,
    statistic: Floats,
    pvalue: Floats,
    status: Codes,
) -> None:
    """McNemar's χ² and the p-value by `method` (EXACT, MCNEMAR_MID_P, ASYMPTOTIC); LESS is 'more regressions'."""
    for i in range(start, stop):
        statistic[i] = pvalue[i] = math.nan
        if min(regressions[i], fixes[i]) < 0 or max(regressions[i], fixes[i]) > LARGEST:
            status[i] = INVALID
            continue
        b, c = float(regressions[i]), float(fixes[i])
        m = b + c
        if m == 0.0:
            status[i] = NO_DISCORDANT
            if method != ASYMPTOTIC:
                pvalue[i] = 1.0
            continue
        status[i] = OK
        signed = (c - b) / math.sqrt(m)
        statistic[i] = signed * signed
        if method == ASYMPTOTIC:
            pvalue[i] = normal_pvalue(signed, alternative)
            continue
        tail, at = half_tails(min(b, c), m)
        if alternative == TWO_SIDED:
            pvalue[i] = min(2.0 * tail - (at if method == MCNEMAR_MID_P else 0.0), 1.0)
            continue
        # The tail that holds the smaller count, or the rest with that count's own probability.
        if (b >= c) == (alternative == LESS):
            pvalue[i] = tail
        else:
            pvalue[i] = (1.0 - tail) + at
        if method == MCNEMAR_MID_P:
            pvalue[i] -= 0.5 * at
