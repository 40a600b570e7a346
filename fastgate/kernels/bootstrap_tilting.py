"""A mean's bootstrap law tilted by s: cumulant generating function, and Barndorff-Nielsen's signed root r*.

T*, the mean of a resample (or a difference of two), is written as the sum of its draws. A draw contributes one of the
centred values c, scaled so that T* has variance 1; its cumulant generating function is K(s) = Σ n log mean e^{sc}
over the samples.
"""

from __future__ import annotations

import math
from typing import Final

from numba import types

from fastgate.jit import device, reduction
from fastgate.kernels.records import Floats
from fastgate.kernels.types import F

__all__ = ["signed_root", "standardise", "tilt"]

# e^y by its Taylor series at y/16 and four squarings, while |y| stays below this: straight-line code that LLVM
# turns into SIMD; 50 ns for 100 values against 340 ns by exp.
_SERIES_RANGE: Final = 8.0
_C3: Final = 1.0 / 6.0
_C4: Final = 1.0 / 24.0
_C5: Final = 1.0 / 120.0
_C6: Final = 1.0 / 720.0
_C7: Final = 1.0 / 5040.0
_C8: Final = 1.0 / 40320.0
_C9: Final = 1.0 / 362880.0
_C10: Final = 1.0 / 3628800.0
_C11: Final = 1.0 / 39916800.0
_C12: Final = 1.0 / 479001600.0
_C13: Final = 1.0 / 6227020800.0
# Below these |s| the cumulants' rounding would be amplified: first the stable form of w, then the series of r*.
_STABLE: Final = 0.3
_SINGULAR: Final = 1e-5

_SCALAR: Final = types.float64
_FOUR: Final = types.UniTuple(types.float64, 4)


@reduction(_FOUR(F, _SCALAR))
def _weighted_sums(c: Floats, s: float) -> tuple[float, float, float, float]:
    e0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    for i in range(c.size):
        v = c[i]
        y = s * v * 0.0625
        a = y * (
            1.0
            + y
            * (
                0.5
                + y
                * (
                    _C3
                    + y
                    * (
                        _C4
                        + y
                        * (
                            _C5
                            + y
                            * (
                                _C6
                                + y
                                * (
                                    _C7
                                    + y * (_C8 + y * (_C9 + y * (_C10 + y * (_C11 + y * (_C12 + y * _C13)))))
                                )
                            )
                        )
                    )
                )
            )
        )
        # expm1 doubles its argument by a(2 + a).
        a *= 2.0 + a
        a *= 2.0 + a
        a *= 2.0 + a
        a *= 2.0 + a
        e0 += a
        t = a * v
        s1 += t
        t = (t + v) * v
        s2 += t
        s3 += t * v
    return e0, s1, s2, s3


@reduction(_FOUR(F, _SCALAR, _SCALAR))
def _weighted_sums_far(c: Floats, s: float, top: float) -> tuple[float, float, float, float]:
    e0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    for i in range(c.size):
        v = c[i]
        a = math.exp(s * v - top)
        e0 += a
        t = a * v
        s1 += t
        t *= v
        s2 += t
        s3 += t * v
    return e0, s1, s2, s3


@reduction(_SCALAR(F, _SCALAR, _SCALAR))
def _stable_half_square(c: Floats, s: float, shift: float) -> float:
    """Σ φ(u), φ(u) = (1+u)log1p(u) − u at u = e^y − 1, y = sc − shift: y²/2 + y³/3 + y⁴/8 + …, all of it positive."""
    total = 0.0
    for i in range(c.size):
        v = c[i]
        y = s * v - shift
        total += (y * y) * (
            0.5
            + y
            * (
                1.0 / 3.0
                + y
                * (
                    0.125
                    + y
                    * (
                        1.0 / 30.0
                        + y
                        * (
                            1.0 / 144.0
                            + y
                            * (
                                1.0 / 840.0
                                + y
                                * (1.0 / 5760.0 + y * (1.0 / 45360.0 + y * (1.0 / 403200.0 + y / 3991680.0)))
                            )
                        )
                    )
                )
            )
        )
    return total


@device
def _group(c: Floats, extreme: float, s: float) -> tuple[float, float, float, float]:
    """One sample's log mean e^{sc} and its tilted mean, variance and third central moment."""
    n = c.size
    if abs(s) * extreme <= _SERIES_RANGE:
        e0, s1, s2, s3 = _weighted_sums(c, s)
        u = e0 / n
        log_mean = math.log1p(u)
        m = 1.0 / (n * (1.0 + u))
    else:
        top = abs(s) * extreme
        e0, s1, s2, s3 = _weighted_sums_far(c, s, top)
        log_mean = top + math.log(e0 / n)
        m = 1.0 / e0
    k1 = s1 * m
    k2 = s2 * m - k1 * k1
    k3 = s3 * m - 3.0 * k1 * s2 * m + 2.0 * k1 * k1 * k1
    return log_mean, k1, k2, k3


@device
def tilt(
    a: Floats, b: Floats, extreme_a: float, extreme_b: float, s: float
) -> tuple[float, float, float, float, float, float]:
    """K, K', K'', K''' at s, and the two samples' log means; b may be empty."""
    log_a, m1, m2, m3 = _group(a, extreme_a, s)
    n = a.size
    k0 = n * log_a
    k1 = n * m1
    k2 = n * m2
    k3 = n * m3
    log_b = 0.0
    if b.size > 0:
        log_b, m1, m2, m3 = _group(b, extreme_b, s)
        n = b.size
        k0 += n * log_b
        k1 += n * m1
        k2 += n * m2
        k3 += n * m3
    return k0, k1, k2, k3, log_a, log_b


@device
def signed_root(
    a: Floats, b: Floats, extreme_a: float, extreme_b: float, s: float, third: float, fourth: float
) -> tuple[float, float, float, float, float]:
    """r*, its derivative, K' and K'' at s, and the ratio v/w; `third` and `fourth` are the cumulants of T*.

    r* is NaN where w or v is not positive, as happens beyond the ends of what floats resolve.
    """
    slope0 = 1.0 + fourth / 8.0 - 7.0 * third * third / 36.0
    if abs(s) < _SINGULAR:
        root = s * (1.0 + third * s / 3.0) + third / 6.0 + s * (fourth / 8.0 - 7.0 * third * third / 36.0)
        return root, slope0, s * (1.0 + 0.5 * third * s), 1.0 + third * s, 1.0
    k0, k1, k2, k3, log_a, log_b = tilt(a, b, extreme_a, extreme_b, s)
    if abs(s) < _STABLE:
        half = _stable_half_square(a, s, log_a)
        if b.size > 0:
            half += _stable_half_square(b, s, log_b)
    else:
        half = s * k1 - k0
    if not (half > 0.0 and k2 > 0.0):
        return math.nan, math.nan, k1, k2, math.nan
    w = math.sqrt(2.0 * half)
    v = abs(s) * math.sqrt(k2)
    if s < 0.0:
        w = -w
        v = -v
    ratio = v / w
    logarithm = math.log1p((v - w) / w)
    root = w + logarithm / w
    if abs(s) < 1e-2:
        slope = slope0
    else:
        w1 = s * k2 / w
        slope = w1 + (1.0 / s + 0.5 * k3 / k2 - w1 / w) / w - w1 * logarithm / (w * w)
    return root, slope, k1, k2, ratio


@reduction(types.UniTuple(types.float64, 5)(F))
def _power_sums(c: Floats) -> tuple[float, float, float, float, float]:
    p1 = 0.0
    p2 = 0.0
    p3 = 0.0
    p4 = 0.0
    largest = 0.0
    for i in range(c.size):
        v = c[i]
        p1 += v
        square = v * v
        p2 += square
        p3 += square * v
        p4 += square * square
        largest = max(largest, abs(v))
    return p1, p2, p3, p4, largest


@device
def _largest(c: Floats) -> float:
    largest = 0.0
    for i in range(c.size):
        v = c[i]
        largest = max(largest, abs(v))
    return largest


@device
def standardise(a: Floats, b: Floats) -> tuple[float, float, float, float, float]:
    """Scale the contributions so that T* has variance 1; return the scale, λ₃, λ₄ and the largest of each sample."""
    extreme_a = _largest(a)
    extreme_b = _largest(b)
    # A power of two first: squares of the contributions neither overflow nor vanish.
    power = 2.0 ** math.floor(math.log2(max(extreme_a, extreme_b)))
    inverse = 1.0 / power
    for i in range(a.size):
        a[i] *= inverse
    for i in range(b.size):
        b[i] *= inverse
    _, squares, _, _, _ = _power_sums(a)
    squares += _power_sums(b)[1]
    sd = math.sqrt(squares)
    inverse = 1.0 / sd
    for i in range(a.size):
        a[i] *= inverse
    for i in range(b.size):
        b[i] *= inverse
    _, a2, a3, a4, extreme_a = _power_sums(a)
    fourth = a4 - 3.0 * a2 * a2 / a.size
    third = a3
    if b.size > 0:
        _, b2, b3, b4, extreme_b = _power_sums(b)
        third += b3
        fourth += b4 - 3.0 * b2 * b2 / b.size
    return power * sd, third, fourth, extreme_a, extreme_b
