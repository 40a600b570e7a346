"""The upper tail of the noncentral t distribution."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.gamma import excess, stirling
from fastgate.kernels.special import SQRT_HALF, erfcx, normal_sf
from fastgate.kernels.types import OF, F

__all__ = ["nct_sf", "noncentral_t_sf"]

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = (array.astype(np.float64) for array in np.polynomial.legendre.leggauss(20))
# From there on the chi of the denominator differs from 1 by less than an ulp of what is asked.
_NORMAL_DF: Final = 1e17
# What is left out at either end is below e^-40 of the integrand's peak.
_DROP: Final = 40.0
# Φ(9) is 1 in float64.
_CERTAIN: Final = 9.0
_SQRT_2_OVER_PI: Final = 0.7978845608028654


@device
def log_normal(x: float) -> float:
    """The logarithm of Φ(x)."""
    if x < 0.0:
        return math.log(0.5 * erfcx(-x * SQRT_HALF)) - 0.5 * x * x
    return math.log1p(-normal_sf(x))


@device
def above(v: float) -> float:
    """e^(2v) − 1 − 2v, of which nothing cancels."""
    change = math.expm1(2.0 * v)
    return excess(change, math.exp(2.0 * v)) if v > -1.0 else change - 2.0 * v


@device
def log_integrand(v: float, t: float, df: float, nc: float) -> float:
    """The logarithm of e^v times the density of S = χ/√df at e^v, times Φ(nc − t S), up to a constant."""
    return log_normal(nc - t * math.exp(v)) - 0.5 * df * above(v)


@device
def slope(v: float, t: float, df: float, nc: float) -> float:
    """The derivative of `log_integrand`, which falls from df."""
    s = math.exp(v)
    x = nc - t * s
    if x < 0.0:
        mills = _SQRT_2_OVER_PI / erfcx(-x * SQRT_HALF)
    else:
        mills = 0.5 * _SQRT_2_OVER_PI * math.exp(-0.5 * x * x) / (1.0 - normal_sf(x))
    return -df * math.expm1(2.0 * v) - t * s * mills


@device
def reach(mode: float, peak: float, way: float, t: float, df: float, nc: float) -> float:
    """How far from its mode, to the left (way −1) or right, the integrand has fallen by the factor e^-40."""
    step = 1e-3 / math.sqrt(df + 1.0)
    while log_integrand(mode + way * step, t, df, nc) > peak - _DROP:
        step *= 2.0
    low = 0.5 * step
    for _ in range(5):
        middle = 0.5 * (low + step)
        if log_integrand(mode + way * middle, t, df, nc) > peak - _DROP:
            low = middle
        else:
            step = middle
    return step


@device
def mode_of(t: float, df: float, nc: float) -> float:
    """The v at which `log_integrand` is largest, about."""
    high = 0.0
    low = -1e-3 / math.sqrt(df + 1.0)
    while slope(low, t, df, nc) < 0.0:
        high = low
        low *= 2.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if slope(middle, t, df, nc) < 0.0:
            high = middle
        else:
            low = middle
    return low


@device
def upper(t: float, df: float, nc: float) -> float:
    """P((Z + nc)/S > t) for t > 0, as the integral of the density of ln S times Φ(nc − t S).

    The integrand is log-concave in v = ln S and entire, so that Gauss–Legendre panels no wider than its two scales,
    that of S and that of Φ, converge to the last digits; all terms are positive.
    """
    mode = mode_of(t, df, nc)
    peak = log_integrand(mode, t, df, nc)
    low = mode - reach(mode, peak, -1.0, t, df, nc)
    high = mode + reach(mode, peak, 1.0, t, df, nc)
    widest = (high - low) / 3.0
    spread = math.sqrt(2.0 * df)
    certain = (nc - _CERTAIN) * (1.0 - 1e-12)  # below it Φ is 1
    total = 0.0
    v = low
    while v < high:
        s = math.exp(v)
        flat = t * s < certain
        rate = spread if flat else spread + t
        width = min(widest, max(1.5, -v / 3.0), 4.0 / (rate * s))
        width = min(width, 4.0 / (rate * s * math.exp(width)))
        if flat:
            width = min(width, math.log((nc - _CERTAIN) / t) - v)
        width = min(width, high - v)
        half = 0.5 * width
        part = 0.0
        for i in range(_NODES.size):
            w = v + half * (1.0 + _NODES[i])
            part += _WEIGHTS[i] * math.exp(-0.5 * df * above(w)) * normal_sf(t * math.exp(w) - nc)
        total += half * part
        if not v + width > v:  # as near to the end as float64 can say
            break
        v += width
    # ln of 2 (df/2)^(df/2) e^(−df/2) / Γ(df/2), the density's factor at v = 0.
    return min(total * math.exp(-stirling(0.5 * df)) * math.sqrt(df / math.pi), 1.0)


@device
def nct_sf(t: float, df: float, nc: float) -> float:
    """P(T > t) for the noncentral t; NaN where an argument is NaN or df is not positive."""
    if not df > 0.0 or t != t or nc != nc:
        return math.nan
    if math.isinf(t) or math.isinf(nc):
        if math.isinf(t) and math.isinf(nc) and (t > 0.0) == (nc > 0.0):
            return math.nan
        return 1.0 if (nc > 0.0 if math.isinf(nc) else t < 0.0) else 0.0
    if df > _NORMAL_DF or t == 0.0:
        return normal_sf(t - nc)
    if t < 0.0:
        return 1.0 - upper(-t, df, -nc)
    return upper(t, df, nc)


@kernel(types.void(types.int64, types.int64, F, F, F, OF))
def noncentral_t_sf(start: int, stop: int, t: Floats, df: Floats, noncentrality: Floats, out: Floats) -> None:
    """`nct_sf` of each cell; all of shape (n_cells,)."""
    for i in range(start, stop):
        out[i] = nct_sf(t[i], df[i], noncentrality[i])
