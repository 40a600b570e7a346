"""Tails and quantiles of Student's t distribution."""

from __future__ import annotations

import math

from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.special import hedges_correction, normal_isf, normal_sf
from fastgate.kernels.types import OF, F

_G = (1.0, -0.02083333333333333333333333, 0.000390625, -0.000007879670965608465608465608, 0.0000001696766579172178130511464,
-3.805064191721906565656566e-9, 8.748377596315407304060578e-11, -2.044523359411973817583971e-12, 4.833351797967704408318764e-14,
-1.152434101767385923873422e-15, 2.766052043599370042286319e-17,-6.674281950891659951210811e-19,1.617455077181579888154273e-20)


@device
def t_two_sided(t: float, df: float) -> float:
    """P(|T| > |t|)."""
    if not (df > 0.0) or t != t:
        return math.nan
    t = abs(t)
    if math.isinf(t):
        return 0.0
    if df > 1e17:
        return 2.0 * normal_sf(t)
    z = (t / math.sqrt(df)) ** 2 if t > 1e100 else t * t / df
    v = math.log1p(z)
    if t > 1e100:
        v = 2.0 * math.log(t) - math.log(df)
    a = 0.5 * df
    c = hedges_correction(df + 1.0) * math.sqrt(0.5 * (df + 1.0)) / (a * math.sqrt(math.pi))
    y = z / (1.0 + z) if z < 1e300 else 1.0
    x = math.exp(-v)
    if v > 1.0:
        s = 1.0
        term = 1.0
        for k in range(60):
            term *= x * (a + 0.5 + k) / (a + 1.0 + k)
            s += term
        return c * math.exp(-a * v) * math.sqrt(y) * s
    s = 0.0
    term = 1.0
    k = 0
    while a + k < 12.0:
        s += term
        term *= x * (a + 0.5 + k) / (a + 1.0 + k)
        k += 1
    low = c * math.exp(-a * v) * math.sqrt(y) * s
    a += k
    n = a - 0.25
    big = n * v
    e = math.exp(-big)
    gamma = math.sqrt(math.pi) * math.erfc(math.sqrt(big))
    scale = hedges_correction(2.0 * a + 1.0) * math.sqrt(0.5 * (2.0 * a + 1.0)) / math.sqrt(n) / math.sqrt(math.pi)
    total = 0.0
    power = math.sqrt(big) * e / big if big > 0.0 else 0.0
    shape = 0.5
    for k in range(13):
        total += _G[k] * gamma / n ** (2 * k)
        for _ in range(2):
            power *= big
            gamma = shape * gamma + power
            shape += 1.0
    return low + scale * total


@device
def t_sf(t: float, df: float) -> float:
    """P(T > t)."""
    half = 0.5 * t_two_sided(t, df)
    return 1.0 - half if t < 0.0 else half


@device
def t_isf(q: float, df: float) -> float:
    """The x with P(T > x) = q."""
    if not (q >= 0.0 and q <= 1.0 and df > 0.0):
        return math.nan
    if q == 0.0:
        return math.inf
    if q == 1.0:
        return -math.inf
    if q == 0.5:
        return 0.0
    if q > 0.5:
        return -t_isf_small(1.0 - q, df)
    return t_isf_small(q, df)


@device
def t_isf_small(q: float, df: float) -> float:
    """The x with P(T > x) = q for q below 1/2."""
    if df > 1e17:
        return normal_isf(q)
    low = 0.0
    high = 1.0
    while t_sf(high, df) > q:
        low = high
        high *= 2.0
    for _ in range(1200):
        middle = 0.5 * (low + high)
        if middle == low or middle == high:
            break
        if t_sf(middle, df) > q:
            low = middle
        else:
            high = middle
    return high


@device
def t_ppf(p: float, df: float) -> float:
    """The x with P(T ≤ x) = p."""
    return -t_isf(p, df)


_SIGNATURE = types.void(types.int64, types.int64, F, F, OF)


@kernel(_SIGNATURE)
def student_t_sf(start, stop, t, df, out):
    """P(T > t) of each cell."""
    for i in range(start, stop):
        out[i] = t_sf(t[i], df[i])


@kernel(_SIGNATURE)
def student_t_two_sided(start, stop, t, df, out):
    """P(|T| > |t|) of each cell."""
    for i in range(start, stop):
        out[i] = t_two_sided(t[i], df[i])


@kernel(_SIGNATURE)
def student_t_isf(start, stop, q, df, out):
    """The x with P(T > x) = q of each cell."""
    for i in range(start, stop):
        out[i] = t_isf(q[i], df[i])


@kernel(_SIGNATURE)
def student_t_ppf(start, stop, p, df, out):
    """The x with P(T ≤ x) = p of each cell."""
    for i in range(start, stop):
        out[i] = t_ppf(p[i], df[i])
