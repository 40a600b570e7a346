"""Confidence intervals of one proportion, cell by cell.

Every kernel writes the limits and half the distance between them, the latter from a form that does not cancel:
a half-width has the accuracy of the distance, not of limits that agree in most of their digits.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.beta import exponent, fraction, lower_quantile, moved, prefactor
from fastgate.kernels.beta import start as first_guess
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import DEGENERATE, INVALID, OK, TOO_FEW
from fastgate.kernels.types import OB, OF, F, I

__all__ = [
    "CLOPPER_PEARSON",
    "JEFFREYS",
    "LARGEST",
    "MID_P",
    "agresti_coull",
    "beta_tails_interval",
    "wald",
    "wilson",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

# Successes are counts as they come, or the real number that a rate which is given as such leads to.
_CLOSED_FORM = [
    types.void(types.int64, types.int64, I, I, types.float64, OF, OF, OF, OF, OB),
    types.void(types.int64, types.int64, F, I, types.float64, OF, OF, OF, OF, OB),
]

LARGEST: Final = 2**53  # from there on float64 does not hold every count
CLOPPER_PEARSON: Final = 0
JEFFREYS: Final = 1
MID_P: Final = 2


@kernel(_CLOSED_FORM)
def wald(
    start: int,
    stop: int,
    successes: Integers | Floats,
    trials: Integers,
    outside: float,
    estimate: Floats,
    ci_low: Floats,
    ci_high: Floats,
    half_width: Floats,
    status: Codes,
) -> None:
    """Limits p ± z √(p (1 − p)/n), not clipped to [0, 1]; DEGENERATE where its width is zero."""
    z = normal_isf(0.5 * outside)
    successes, trials, status = successes[start:stop], trials[start:stop], status[start:stop]
    estimate, half_width = estimate[start:stop], half_width[start:stop]
    ci_low, ci_high = ci_low[start:stop], ci_high[start:stop]
    for c in range(successes.size):
        valid = (successes[c] >= 0) & (successes[c] <= trials[c]) & (trials[c] <= LARGEST)
        n = float(trials[c]) if trials[c] > 0 else math.nan
        k = float(successes[c]) if valid else math.nan
        p = k / n
        half = z * math.sqrt(p * (n - k)) / n
        estimate[c] = p
        ci_low[c] = p - half
        ci_high[c] = p + half
        half_width[c] = half
        code = OK if half > 0.0 else DEGENERATE
        code = code if n > 0.0 else TOO_FEW
        status[c] = code if valid else INVALID


@kernel(_CLOSED_FORM)
def wilson(
    start: int,
    stop: int,
    successes: Integers | Floats,
    trials: Integers,
    outside: float,
    estimate: Floats,
    ci_low: Floats,
    ci_high: Floats,
    half_width: Floats,
    status: Codes,
) -> None:
    """The score interval: all p with |k/n − p| ≤ z √(p (1 − p)/n)."""
    z = normal_isf(0.5 * outside)
    successes, trials, status = successes[start:stop], trials[start:stop], status[start:stop]
    estimate, half_width = estimate[start:stop], half_width[start:stop]
    ci_low, ci_high = ci_low[start:stop], ci_high[start:stop]
    for c in range(successes.size):
        valid = (successes[c] >= 0) & (successes[c] <= trials[c]) & (trials[c] <= LARGEST)
        n = float(trials[c]) if trials[c] > 0 else math.nan
        k = float(successes[c]) if valid else math.nan
        p = k / n
        root = z * math.sqrt(p * (n - k) + 0.25 * z * z)
        upper = k + 0.5 * z * z + root
        share = 1.0 / (n + z * z)
        estimate[c] = p
        ci_low[c] = p * k / upper  # the product of the two limits is k²/(n (n + z²))
        ci_high[c] = upper * share if k < n else p
        half_width[c] = root * share
        code = OK if n > 0.0 else TOO_FEW
        status[c] = code if valid else INVALID


@kernel(_CLOSED_FORM)
def agresti_coull(
    start: int,
    stop: int,
    successes: Integers | Floats,
    trials: Integers,
    outside: float,
    estimate: Floats,
    ci_low: Floats,
    ci_high: Floats,
    half_width: Floats,
    status: Codes,
) -> None:
    """Wald's interval after adding z²/2 successes and as many failures, not clipped to [0, 1]."""
    z = normal_isf(0.5 * outside)
    successes, trials, status = successes[start:stop], trials[start:stop], status[start:stop]
    estimate, half_width = estimate[start:stop], half_width[start:stop]
    ci_low, ci_high = ci_low[start:stop], ci_high[start:stop]
    for c in range(successes.size):
        valid = (successes[c] >= 0) & (successes[c] <= trials[c]) & (trials[c] <= LARGEST)
        n = float(trials[c]) if trials[c] > 0 else math.nan
        k = float(successes[c]) if valid else math.nan
        share = 1.0 / (n + z * z)
        more = k + 0.5 * z * z
        half = z * share * math.sqrt(more * (n - k + 0.5 * z * z) * share)
        estimate[c] = k / n
        ci_low[c] = more * share - half
        ci_high[c] = more * share + half
        half_width[c] = half
        code = OK if n > 0.0 else TOO_FEW
        status[c] = code if valid else INVALID


@device
def mid_p_lower(k: float, m: float, p: float, z: float) -> tuple[float, float, float]:
    """The x with P(K > k) + ½ P(K = k) = p for K binomial (k + m, x), as (x, 1 − x, x − (k + ½)/(n + 1)).

    With S = x^(k+1) y^m / B(k + 1, m) that sum is S (fraction + 1/(2 x m)), which costs one evaluation. Its
    logarithm is solved in θ = ln(x/y) to the third order.
    """
    n = k + m
    if m == 0.0:
        log_x = math.log(2.0 * p) / n
        y = -math.expm1(log_x)
        return math.exp(log_x), y, 0.5 / (n + 1.0) - y
    x, y, d = first_guess(k + 0.5, m + 0.5, p, z)
    shift = 0.5 / (n + 1.0)
    factor, first = prefactor(k + 1.0, m)
    for _ in range(100):
        if x <= 0.0 or y <= 0.0:
            break
        power = exponent(k + 1.0, m, x, y, d - shift, first)
        half = 0.5 / (x * m)
        if d <= shift:
            ratio = fraction(k + 1.0, m, x, y, d - shift) + half
            gap = math.log(p / (ratio * factor)) - power
        else:
            size = factor * math.exp(power)
            tail = 1.0 - size * (fraction(m, k + 1.0, y, x, shift - d) - half)
            ratio = tail / size
            gap = math.log(p / tail)
        odds = k * y / (x * m)
        mills = 2.0 * ratio / (1.0 + odds)
        part = odds / (1.0 + odds)
        step = mills * gap
        if abs(gap) < 0.3:
            mu = ((k + 1.0) * y - m * x - part) * mills
            eta = (part * (1.0 - part) - (n + 1.0) * x * y) * mills * mills
            step *= 1.0 + gap * (0.5 * (1.0 - mu) + gap * (1.0 - 3.0 * mu + 2.0 * mu * mu - eta) / 6.0)
        x, y, d = moved(x, y, d, step)
        if abs(gap) < 1e-4:
            break
        if abs(gap) > 0.3:
            d = x - (k + 0.5) / (n + 1.0) if x < 0.5 else (m + 0.5) / (n + 1.0) - y
    return x, y, d


@kernel(types.void(types.int64, types.int64, F, I, types.float64, types.int64, OF, OF, OF, OF, OB))
def beta_tails_interval(
    start: int,
    stop: int,
    successes: Floats,
    trials: Integers,
    outside: float,
    method: int,
    estimate: Floats,
    ci_low: Floats,
    ci_high: Floats,
    half_width: Floats,
    status: Codes,
) -> None:
    """Equal tails of the method's distribution; the limits 0 at no successes and 1 at no failures.

    CLOPPER_PEARSON: both binomial tails at α/2, which are quantiles of Beta(k, n − k + 1) and Beta(k + 1, n − k).
    JEFFREYS: Beta(k + ½, n − k + ½). MID_P: both tails, each counting half the probability of k itself.
    """
    p = 0.5 * outside
    z = -normal_isf(p)
    for c in range(start, stop):
        k = successes[c]
        n = float(trials[c])
        m = n - k
        estimate[c] = ci_low[c] = ci_high[c] = half_width[c] = math.nan
        if not (k >= 0.0 and m >= 0.0 and trials[c] <= LARGEST):
            status[c] = INVALID
            continue
        if n == 0.0:
            status[c] = TOO_FEW
            continue
        status[c] = OK
        estimate[c] = k / n
        # Distances of the limits from one centre, or from (k + ½ ∓ ½)/(n + 1) for Clopper-Pearson.
        left = right = apart = 0.0
        low, high, above = 0.0, 1.0, 1.0
        if method == CLOPPER_PEARSON:
            apart = 1.0 / (n + 1.0)
            if k > 0.0:
                low, above, left = lower_quantile(k, m + 1.0, p, z)
            if m > 0.0:
                _, high, right = lower_quantile(m, k + 1.0, p, z)
        elif method == JEFFREYS:
            if k > 0.0:
                low, above, left = lower_quantile(k + 0.5, m + 0.5, p, z)
            if m > 0.0:
                _, high, right = lower_quantile(m + 0.5, k + 0.5, p, z)
        else:
            if k > 0.0:
                low, above, left = mid_p_lower(k, m, p, z)
            if m > 0.0:
                _, high, right = mid_p_lower(m, k, p, z)
        ci_low[c] = low
        ci_high[c] = high
        if k == 0.0:
            half_width[c] = 0.5 * high
        elif m == 0.0:
            half_width[c] = 0.5 * above
        else:
            half_width[c] = 0.5 * (apart - left - right)
