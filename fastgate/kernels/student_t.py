"""Student's t distribution: tail probabilities and quantiles, one at a time or over cells."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, inlined, kernel
from fastgate.kernels.special import (
    SINH_ROOT,
    exp_minus,
    fma,
    normal_isf_centre,
    normal_isf_small,
    normal_isf_start,
)
from fastgate.kernels.student_t_tail import (
    LEAST_DF,
    NEAR,
    NORMAL_DF,
    SAFE_EXPONENT,
    density_at_zero,
    leading_factor,
    near_parts,
    near_parts_small,
    tail_factors,
)
from fastgate.kernels.types import OF, F

__all__ = [
    "LARGE_DF",
    "LAST_STEP",
    "N_SERIES",
    "START_NEAR",
    "start_logarithm",
    "step",
    "student_t_isf",
    "student_t_isf_along",
    "student_t_isf_series",
    "student_t_ppf",
    "student_t_sf",
    "student_t_two_sided",
    "t_isf",
    "t_isf_along",
    "t_isf_series",
    "t_ppf",
    "t_sf",
    "t_two_sided",
]

Floats = npt.NDArray[np.float64]

# From this df on, the quantile in terms of the normal one is exact with the terms kept.
LARGE_DF: Final = 1e7
# Below this df no q but 1/2 has a finite quantile: (2 q)^(-1 / df) overflows for the q next to it.
_FLAT_DF: Final = 1e-19
# Where u is relative to the scale of the tail, the step's series leaves out 0.2 u⁵: 2e-16.
LAST_STEP: Final = 1e-3
# Up to this z² / (2 n) the series of `start_logarithm` is good.
START_NEAR: Final = 1.2


@device
def t_two_sided(t: float, df: float) -> float:
    """P(|T| > |t|); NaN where t is NaN or df is not positive."""
    if not df > 0.0 or t != t:
        return math.nan
    if math.isinf(t):
        return 0.0
    weight, power, rest, _ = tail_factors(abs(t), df)
    return (weight * power) * rest


@device
def t_sf(t: float, df: float) -> float:
    """P(T > t); NaN where t is NaN or df is not positive."""
    if not df > 0.0 or t != t:
        return math.nan
    if math.isinf(t):
        return 0.0 if t > 0.0 else 1.0
    weight, power, rest, _ = tail_factors(abs(t), df)
    half = (0.5 * weight * power) * rest
    return 1.0 - half if t < 0.0 else half


@inlined
def step(t: float, df: float, r: float) -> float:
    """The t whose tail is less by r t times the density at t, |r| being small.

    Four terms of the Taylor series of the quantile function.
    """
    y = 1.0 / (1.0 + (df / t) / t)
    slope = (df + 1.0) * y  # -d ln f / d ln t
    bend = 1.0 - 2.0 * y
    third = slope * (2.0 * slope + bend) * (1.0 / 6.0)
    fourth = slope * (6.0 * slope * slope + 7.0 * slope * bend + 2.0 * y * (4.0 * y - 3.0)) * (1.0 / 24.0)
    return fma(t * r, 1.0 + r * (0.5 * slope + r * (third + r * fourth)), t)


@inlined
def start_logarithm(z: float, n: float) -> float:
    """About ln(1 + t² / df) for the normal quantile z and n = df / 2 - 1/4.

    It is the first terms of the series of `near_weight` solved for its exponent, divided by n.
    """
    exponent = 0.5 * z * z
    v = exponent / n
    m = 1.0 / (n * n)
    v2 = v * v
    b = 0.0
    constant = 0.0
    linear = 0.0
    for k in range(4, 0, -1):
        b = fma((2 * k + 0.5) * (2 * k + 1.5) * m, b, SINH_ROOT[k])
        constant = fma(constant, v2, b * (2 * k - 0.5))
        linear = fma(linear, v2, b)
    shift = 0.5 * z * m * fma(linear, exponent, constant)
    z += shift * (1.0 + 0.5 * z * shift)
    return 0.5 * z * z / n


@device
def start_near(q: float, df: float) -> float:
    """About t, from the normal quantile: good to 1e-4 of q and better where t² is below 2 df; NaN beyond."""
    n = 0.5 * df - 0.25
    z = normal_isf_centre(0.5 - q) if q >= 0.25 else normal_isf_start(q)
    if 0.5 * z * z / n > START_NEAR:
        return math.nan
    return math.sqrt(df * math.expm1(start_logarithm(z, n)))


@device
def start_far(q: float, df: float) -> float:
    """About t, from the leading power of the tail and the next two terms (Hill, 1970, solves one)."""
    a = 0.5 * df
    root: float = (2.0 * q / leading_factor(a)) ** (1.0 / df)
    if root < 1e-300:
        return 1e300
    s = root * root
    first = 0.5 / (a + 1.0)
    second = 1.5 * first * first - 0.375 / (a + 2.0) + 0.5 * a * first * first
    factor = 1.0 - s * (first - s * second)
    return math.sqrt(df * max(0.01, 1.0 - s * factor) / factor) / root


@device
def isf_tail(q: float, at_zero: float, df: float) -> float:
    """The t with P(T > t) = q, away from the centre; `at_zero` is the density at 0."""
    t = start_near(q, df) if df >= 2.5 else math.nan
    if t != t:
        t = start_far(q, df)
    for _ in range(60):
        weight, power, rest, near = tail_factors(t, df)
        if weight * power == 0.0:
            t *= 0.5
            continue
        ratio = (q / rest) / (0.5 * weight * power)
        z = t / math.sqrt(df)
        if z > 1e100:
            mills = t / df
        else:
            root = math.sqrt(1.0 + z * z)
            mills = 0.5 * weight * (root * math.sqrt(root) if near else root) / at_zero
        slope = (df + 1.0) / (1.0 + (df / t) / t)
        r = mills * (1.0 - ratio) / t
        if abs(r) * (1.0 + slope) < LAST_STEP:
            return step(t, df, r)
        # Far from the root: two terms of ln P as a function of ln t, in which it is almost straight.
        hazard = t / mills
        change = -math.log(ratio) / hazard
        bend = 0.5 * (1.0 - slope + hazard) * change
        if abs(bend) < 0.5:
            change -= bend * change
        if math.log(t) + change > 709.7:
            return math.inf
        t *= math.exp(change)
    return t


@device
def isf_centre(s: float, df: float) -> float:
    """The t with P(0 < T < t) = s times the density at 0, for t² up to about df.

    P is the density times t times the positive series of F(1, (df + 1)/2; 3/2; t² / (df + t²)) (DLMF 8.17(ii)).
    """
    inverse = 1.0 / df
    c = 1.0 + inverse
    s2 = s * s
    fifth = (7.0 + inverse) / 120.0
    seventh = (127.0 + inverse * (8.0 + inverse)) / 5040.0
    t = s * (1.0 + s2 * c * (1.0 / 6.0 + s2 * (fifth + s2 * seventh)))
    if s2 * c < 1e-5:
        return t
    for _ in range(20):
        square = t * t
        z = square * inverse
        x = 1.0 / (1.0 + z)
        k = 0.0
        term = 1.0
        total = 1.0
        while term > 1e-17 * total:
            term *= (square * c + 2.0 * k * z) * x / (3.0 + 2.0 * k)
            total += term
            k += 1.0
        power = math.exp(-0.5 * (df + 1.0) * math.log1p(z))
        r = s / (power * t) - total
        if abs(r) < LAST_STEP:
            return step(t, df, r)
        t += t * r
    return t


@device
def isf_large(q: float, df: float) -> float:
    """The t with P(T > t) = q for df above 1e7: `start_near`, exact there."""
    inverse = 1.0 / df
    z = normal_isf_small(q)
    z -= z * (inverse * inverse) * (1.5 + 0.5 * z * z) * (1.0 / 24.0)
    c = 1.0 / (1.0 - 0.5 * inverse)
    e = z * z * inverse * c
    return z * math.sqrt(c * (1.0 + e * (0.5 + e * (1.0 / 6.0 + e * (1.0 / 24.0)))))


@device
def isf_upper(q: float, df: float) -> float:
    """The t with P(T > t) = q, for 0 < q < 1/2."""
    if df > LARGE_DF:
        return isf_large(q, df)
    if df < _FLAT_DF:
        return math.inf
    at_zero = density_at_zero(df)
    centre = 0.5 - q
    s = centre / at_zero
    if centre <= 0.25 and s * s < 0.7 * df:
        return isf_centre(s, df)
    return isf_tail(q, at_zero, df)


@device
def t_isf(q: float, df: float) -> float:
    """The t with P(T > t) = q; ±∞ at 0 and 1, NaN where q is outside or df is not positive."""
    if not (q >= 0.0 and q <= 1.0 and df > 0.0):
        return math.nan
    if q == 0.0:
        return math.inf
    if q == 1.0:
        return -math.inf
    if q == 0.5:
        return 0.0
    return isf_upper(q, df) if q < 0.5 else -isf_upper(1.0 - q, df)


@device
def t_ppf(p: float, df: float) -> float:
    """The t with P(T ≤ t) = p; ∓∞ at 0 and 1, NaN where p is outside or df is not positive."""
    return 0.0 - t_isf(p, df)


N_SERIES: Final = 21
_SERIES_DF: Final = 4.0


@device
def t_isf_series(q: float, series: Floats) -> None:
    """The quantile at one q as a function of df, for `t_isf_along`: fills the `N_SERIES` numbers of `series`.

    The normal quantile, then the Chebyshev coefficients of what is above it in s = 9 / (df + 1/2) - 1 for df from 4
    to infinity. Where twenty do not reach the last digit (q below about 1e-4) the first number is NaN.
    """
    terms = N_SERIES - 1
    normal = t_isf(q, math.inf)
    series[:] = 0.0
    for j in range(terms):
        angle = math.pi * (j + 0.5) / terms
        above = t_isf(q, 2.0 * (_SERIES_DF + 0.5) / (1.0 + math.cos(angle)) - 0.5) - normal
        series[1] += above / terms
        for k in range(1, terms):
            series[k + 1] += 2.0 * above * math.cos(k * angle) / terms
    left_out = abs(series[terms - 1]) + abs(series[terms])
    series[0] = normal if left_out <= 1.5e-15 * abs(normal) else math.nan


@inlined
def along(s: float, series: Floats) -> float:
    """Clenshaw's sum of `series`."""
    last = 0.0
    here = 0.0
    for k in range(N_SERIES - 1, 1, -1):
        last, here = here, fma(2.0 * s, here, series[k] - last)
    value: float = series[0] + fma(s, here, series[1] - last)
    return value


@device
def t_isf_along(q: float, df: float, series: Floats) -> float:
    """`t_isf` from the `series` that `t_isf_series` made for this q: 3e-16 from it."""
    if df >= _SERIES_DF and series[0] == series[0]:
        return along(2.0 * (_SERIES_DF + 0.5) / (df + 0.5) - 1.0, series)
    return t_isf(q, df)


@device
def two_sided_of_cells(t: Floats, df: Floats, out: Floats) -> None:
    """`t_two_sided` of each cell: the formulas near the centre by SIMD (3.5 ns a cell), the rest one by one (50 ns).

    Cells outside a formula are given harmless arguments, and NaN until their turn comes.
    """
    n_small = 0
    for i in range(t.size):
        size = abs(t[i])
        size = 1e100 if size > 1e100 else size
        freedom = NORMAL_DF if df[i] > NORMAL_DF else df[i]
        near = size * size <= NEAR * freedom
        inside = near & (freedom >= LEAST_DF)
        weight, exponent, rest = near_parts(size if inside else 0.0, freedom if inside else LEAST_DF)
        safe = exponent <= SAFE_EXPONENT
        value = weight * exp_minus(exponent if safe else 0.0, rest)
        out[i] = value if inside & safe else math.nan
        n_small += near & (freedom < LEAST_DF)
    if 6 * n_small > t.size:
        for i in range(t.size):
            size = abs(t[i])
            size = 1e100 if size > 1e100 else size
            inside = (size * size <= NEAR * df[i]) & (df[i] < LEAST_DF) & (df[i] > 1e-200)
            weight, exponent, rest = near_parts_small(size if inside else 0.0, df[i] if inside else 1.0)
            if inside:
                out[i] = weight * exp_minus(exponent, rest)
    for i in range(t.size):
        if out[i] != out[i]:
            out[i] = t_two_sided(t[i], df[i])


_SIGNATURE = types.void(types.int64, types.int64, F, F, OF)


@kernel(_SIGNATURE)
def student_t_two_sided(start: int, stop: int, t: Floats, df: Floats, out: Floats) -> None:
    """`t_two_sided` of each cell; t, df and out of shape (n_cells,)."""
    two_sided_of_cells(t[start:stop], df[start:stop], out[start:stop])


@kernel(_SIGNATURE)
def student_t_sf(start: int, stop: int, t: Floats, df: Floats, out: Floats) -> None:
    """`t_sf` of each cell; t, df and out of shape (n_cells,)."""
    t, df, out = t[start:stop], df[start:stop], out[start:stop]
    two_sided_of_cells(t, df, out)
    for i in range(t.size):
        if out[i] < 1e-300:  # half of it might be rounded a second time
            out[i] = t_sf(t[i], df[i])
        else:
            half = 0.5 * out[i]
            out[i] = 1.0 - half if t[i] < 0.0 else half


@kernel(_SIGNATURE)
def student_t_isf(start: int, stop: int, q: Floats, df: Floats, out: Floats) -> None:
    """`t_isf` of each cell; q, df and out of shape (n_cells,)."""
    for i in range(start, stop):
        out[i] = t_isf(q[i], df[i])


@kernel(_SIGNATURE)
def student_t_ppf(start: int, stop: int, p: Floats, df: Floats, out: Floats) -> None:
    """`t_ppf` of each cell; p, df and out of shape (n_cells,)."""
    for i in range(start, stop):
        out[i] = t_ppf(p[i], df[i])


@kernel(types.void(types.float64, OF))
def student_t_isf_series(q: float, series: Floats) -> None:
    """`t_isf_series`, for callers that are not compiled."""
    t_isf_series(q, series)


@kernel(types.void(types.int64, types.int64, types.float64, F, F, OF))
def student_t_isf_along(start: int, stop: int, q: float, series: Floats, df: Floats, out: Floats) -> None:
    """`t_isf_along` of each cell; df and out of shape (n_cells,), series of `N_SERIES` for q."""
    df, out = df[start:stop], out[start:stop]
    if series[0] == series[0]:
        for i in range(df.size):
            # Divided by at least 4 also where df is not one; those cells are done below.
            inside = df[i] >= _SERIES_DF
            value = along(2.0 * (_SERIES_DF + 0.5) / ((df[i] if inside else _SERIES_DF) + 0.5) - 1.0, series)
            out[i] = value if inside else math.nan
    else:
        out[:] = math.nan
    for i in range(df.size):
        if out[i] != out[i]:
            out[i] = t_isf(q, df[i])
