"""Welch's t test of many comparisons, with effect sizes; what other t tests need of it."""

from __future__ import annotations

import math
from typing import Final

from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.moments import MOMENTS, common_exponent, mean_difference, scaled
from fastgate.kernels.records import Integers, MomentArrays, WelchArrays
from fastgate.kernels.special import hedges_correction
from fastgate.kernels.status import NONFINITE, OK, PRECISION_LOSS, TOO_FEW, ZERO_VAR_DIFF, ZERO_VAR_EQUAL
from fastgate.kernels.student_t import t_isf, t_sf, t_two_sided
from fastgate.kernels.types import OB, OF, OI, I

__all__ = [
    "GREATER",
    "LESS",
    "NOISE",
    "TWO_SIDED",
    "confidence_interval",
    "constant_status",
    "effect_sizes",
    "tail",
    "welch_kernel",
]

TWO_SIDED: Final = 0
LESS: Final = 1
GREATER: Final = 2

_WELCH: Final = types.NamedTuple([OF, OF, OF, OF, OF, OF, OF, OF, OI, OI, OB, OF], WelchArrays)

# Rounding of the means alone moves t by about ε · max|mean| / se; here that reaches 0.1.
NOISE: Final = 10.0 * 2.0**-52


@device
def tail(t: float, df: float, alternative: int) -> float:
    """The p-value."""
    if alternative == TWO_SIDED:
        return t_two_sided(t, df)
    return t_sf(t if alternative == GREATER else -t, df)


@device
def confidence_interval(
    delta: float, error: float, df: float, alternative: int, alpha: float
) -> tuple[float, float]:
    """The ends of the interval for delta; infinite where the alternative leaves one open."""
    if alternative == TWO_SIDED:
        half = t_isf(0.5 * alpha, df) * error
        return delta - half, delta + half
    half = t_isf(alpha, df) * error
    if alternative == GREATER:
        return delta - half, math.inf
    return -math.inf, delta + half


@device
def _welch_df(a: float, n_a: float, b: float, n_b: float) -> float:
    """(a + b)² / (a²/(n_a − 1) + b²/(n_b − 1)), from shares: squares may leave the range of float64."""
    share_a = a / (a + b)
    share_b = b / (a + b)
    return 1.0 / (share_a * share_a / (n_a - 1.0) + share_b * share_b / (n_b - 1.0))


@device
def effect_sizes(delta: float, m2_a: float, n_a: float, m2_b: float, n_b: float) -> tuple[float, float]:
    """Cohen's d by the pooled variance and Hedges' g by the average one (Delacre et al. 2021)."""
    variance_a = m2_a / (n_a - 1.0)
    variance_b = m2_b / (n_b - 1.0)
    pooled = delta / math.sqrt((m2_a + m2_b) / (n_a + n_b - 2.0))
    average = delta / math.sqrt(0.5 * (variance_a + variance_b))
    return pooled, hedges_correction(_welch_df(variance_a, n_a, variance_b, n_b)) * average


@device
def constant_status(delta: float, magnitude: float) -> tuple[int, float]:
    """Status and statistic where no value varies."""
    if abs(delta) <= NOISE * magnitude:
        return ZERO_VAR_EQUAL, math.nan
    return ZERO_VAR_DIFF, math.inf if delta > 0.0 else -math.inf


@kernel(
    types.void(
        types.int64,
        types.int64,
        MOMENTS,
        MOMENTS,
        I,
        I,
        types.int64,
        types.float64,
        types.boolean,
        _WELCH,
    )
)
def welch_kernel(
    start: int,
    stop: int,
    candidates: MomentArrays,
    baselines: MomentArrays,
    candidate_index: Integers,
    baseline_index: Integers,
    alternative: int,
    alpha: float,
    interval: bool,
    out: WelchArrays,
) -> None:
    """Test i: cell candidate_index[i] of candidates against baseline_index[i] of baselines; −1: none."""
    for i in range(start, stop):
        a = baseline_index[i]
        b = candidate_index[i]
        size_a = baselines.n[a] if a >= 0 else 0
        size_b = candidates.n[b] if b >= 0 else 0
        status = TOO_FEW
        t = df = p = delta = low = high = d = g = error = math.nan
        if size_a > 0 and size_b > 0:
            status_a = baselines.status[a]
            status_b = candidates.status[b]
            if status_a == NONFINITE or status_b == NONFINITE:
                status = NONFINITE
            else:
                shift_a = baselines.shift[a]
                shift_b = candidates.shift[b]
                centre_a = baselines.centre[a]
                centre_b = candidates.centre[b]
                exponent_a = baselines.exponent[a]
                exponent_b = candidates.exponent[b]
                constant_a = baselines.constant[a]
                constant_b = candidates.constant[b]
                exponent = common_exponent(shift_a, exponent_a, constant_a, shift_b, exponent_b, constant_b)
                difference = mean_difference(
                    shift_a, centre_a, exponent_a, shift_b, centre_b, exponent_b, exponent
                )
                delta = scaled(difference, exponent)
                magnitude = max(
                    abs(shift_a + scaled(centre_a, exponent_a)), abs(shift_b + scaled(centre_b, exponent_b))
                )
                if size_a > 1 and size_b > 1:
                    if constant_a == 1 and constant_b == 1:
                        error = 0.0
                        status, t = constant_status(delta, magnitude)
                    else:
                        n_a = float(size_a)
                        n_b = float(size_b)
                        m2_a = scaled(baselines.m2[a], 2 * (exponent_a - exponent))
                        m2_b = scaled(candidates.m2[b], 2 * (exponent_b - exponent))
                        v_a = m2_a / (n_a - 1.0) / n_a
                        v_b = m2_b / (n_b - 1.0) / n_b
                        root = math.sqrt(v_a + v_b)
                        df = _welch_df(v_a, n_a, v_b, n_b)
                        t = difference / root
                        p = tail(t, df, alternative)
                        if interval:
                            low, high = confidence_interval(difference, root, df, alternative, alpha)
                            low = scaled(low, exponent)
                            high = scaled(high, exponent)
                        d, g = effect_sizes(difference, m2_a, n_a, m2_b, n_b)
                        error = scaled(root, exponent)
                        noisy = root > NOISE * scaled(magnitude, -exponent)
                        lossy = status_a == PRECISION_LOSS or status_b == PRECISION_LOSS
                        status = OK if noisy and not lossy else PRECISION_LOSS
        elif (size_a > 0 and baselines.status[a] == NONFINITE) or (
            size_b > 0 and candidates.status[b] == NONFINITE
        ):
            status = NONFINITE
        out.statistic[i] = t
        out.df[i] = df
        out.pvalue[i] = p
        out.delta[i] = delta
        out.ci_low[i] = low
        out.ci_high[i] = high
        out.cohens_d[i] = d
        out.hedges_g[i] = g
        out.n_candidate[i] = size_b
        out.n_baseline[i] = size_a
        out.status[i] = status
        out.standard_error[i] = error
