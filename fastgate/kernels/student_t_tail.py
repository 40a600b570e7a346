"""P(|T| > |t|) of Student's t distribution as a weight times a power: what its tails and quantiles are made of.

With a = df/2, x = df / (df + t²) and y = 1 - x the probability is I_x(a, 1/2). Four formulas cover the plane:

- t² ≤ 7/4 df and a ≥ 10.25: with v = -ln x and n = a - 1/4 the integrand of I_x is exp(-n w) w^(-1/2)
  √((w/2) / sinh(w/2)) over w > v. Its Maclaurin series in w² integrates term by term to incomplete gamma
  functions of half-integer order: exp(-n v) times erfcx(√(n v)) and a correction of order 1 / n² (the method
  BGRAT of Didonato and Morris, 1992, for b = 1/2; DLMF 8.18.3 is the same in powers of 1 / a).
- Smaller a: I_x(a, 1/2) - I_x(a + 10, 1/2) is a sum of ten positive terms (DLMF 8.17(iv)).
- Larger t²: Gauss's continued fraction of F(1, a + 1/2; a + 1; x), where x < 0.37 (DLMF 8.17(ii), 15.7).
- t² / df beyond 1e290: the leading power, where 1 + t² / df would overflow.

Each adds positive terms, or a small correction to one, so nothing cancels. Exponents are kept in two float64,
since the rounding of one costs |ln p| · 1e-16 of p: 1e-13 at p = 1e-300.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fastgate.jit import device, inlined
from fastgate.kernels.special import (
    INV_SQRT_PI,
    LEAST_A,
    SINH_ROOT,
    erfcx,
    exp_minus,
    fma,
    gamma_ratio,
)

__all__ = ["LEAST_DF", "NEAR", "NORMAL_DF", "SAFE_EXPONENT", "near_parts", "near_parts_small", "tail_factors"]

# Up to this t² / df (v = 1.01) the series in w² is used: its 12 terms leave out less than 1e-16 of the tail.
NEAR: Final = 1.75
# df from which no steps up in a are needed.
LEAST_DF: Final = 2.0 * LEAST_A
# From here on Student's t is the normal distribution: the tails differ by a share of t⁴ / (4 df), below 1e-18.
NORMAL_DF: Final = 1e25
# Below this df, P(|T| > t) is 1 to the last digit at every finite t: t^-df is.
_FLAT_DF: Final = 1e-290
# Up to here exp(-exponent) times a weight is a normal number.
SAFE_EXPONENT: Final = 690.0
# Beyond it the probability is below the smallest float64.
_VANISHED: Final = 800.0
_STEPS: Final = 10
# (atanh(s) / s - 1) / s² as a polynomial of s² for s up to 7/15, which NEAR makes the largest; error 3e-18.
_ATANH: Final = np.array(
    [
        0.33333333333333337,
        0.1999999999999824,
        0.14285714286162784,
        0.11111111066333161,
        0.09090911408155734,
        0.07692236550224825,
        0.06668062699864004,
        0.058641044406976844,
        0.05425025079310113,
        0.0378931037457077,
        0.08204052375766287,
        -0.054274588590005605,
        0.1564072642788604,
    ]
)


@inlined
def log1p_ratio(square: float, square_rest: float, df: float) -> tuple[float, float]:
    """ln(1 + t² / df) as a sum of two float64, for t² = square + square_rest up to 7/4 df.

    It is 2 atanh(s) at s = t² / (2 df + t²).
    """
    twice = 2.0 * df
    below = twice + square
    below_rest = ((twice - below) + square) + square_rest
    r = 1.0 / below
    s = square * r
    s_rest = (fma(-s, below, square) + (square_rest - s * below_rest)) * r
    s2 = s * s
    s4 = s2 * s2
    even = _ATANH[12]
    odd = _ATANH[11]
    for k in range(4, -1, -1):
        even = fma(even, s4, _ATANH[2 * k + 2])
        odd = fma(odd, s4, _ATANH[2 * k + 1])
    even = fma(even, s4, _ATANH[0])
    head = 2.0 * s
    # s_rest is carried by the derivative 1 / (1 - s²), of which a few terms do.
    tail = fma(head * s2, fma(odd, s2, even), 2.0 * s_rest * (1.0 + s2 + s4 * (1.0 + s2)))
    v = head + tail
    return v, (head - v) + tail


@inlined
def near_weight(n: float, v: float) -> tuple[float, float]:
    """I_x(n + 1/4, 1/2) exp(n v) for x = exp(-v), n ≥ 10, v ≤ 1.02; and Γ(n + 1/4) √n / Γ(n + 3/4)."""
    m = 1.0 / (n * n)
    v2 = v * v
    b = 0.0
    constant = 0.0
    linear = 0.0
    for k in range(11, 0, -1):
        b = fma((2 * k + 0.5) * (2 * k + 1.5) * m, b, SINH_ROOT[k])
        constant = fma(constant, v2, b * (2 * k - 0.5))
        linear = fma(linear, v2, b)
    below_one = -0.75 * m * b
    # 1 / (1 - below_one) by its series: below_one is 1.6e-4 at most, and a division would cost more.
    inverse = 1.0 + fma(fma(below_one, below_one, below_one), below_one, below_one)
    exponent = n * v
    root = math.sqrt(exponent)
    correction = root * m * INV_SQRT_PI * inverse
    return fma(correction, fma(linear, exponent, constant), erfcx(root)), 1.0 - below_one


@inlined
def near_parts(t: float, df: float) -> tuple[float, float, float]:
    """Weight w, exponent e and its rounding r, so that P is w exp(-e - r); for t² ≤ 7/4 df, 20.5 ≤ df ≤ 1e25."""
    square = t * t
    v, v_rest = log1p_ratio(square, fma(t, t, -square), df)
    a = 0.5 * df
    n = a - 0.25
    weight, _ = near_weight(n, v)
    exponent = n * v
    # (a - n) - 1/4 is what rounding took from n: an ulp of n is 1/2 at df near 2⁵².
    return weight, exponent, fma(n, v, -exponent) + fma(n, v_rest, ((a - n) - 0.25) * v)


@inlined
def near_parts_small(t: float, df: float) -> tuple[float, float, float]:
    """`near_parts` for 1e-290 < df < 20.5, where I_x at a + 10 is the last term of the weight."""
    square = t * t
    v, v_rest = log1p_ratio(square, fma(t, t, -square), df)
    inverse = 1.0 / (df + square)
    x = df * inverse
    a = 0.5 * df
    b = a + _STEPS
    n = b - 0.25
    weight, ratio = near_weight(n, v)
    first = math.sqrt(n) * INV_SQRT_PI * math.sqrt(square * inverse * math.sqrt(x))
    below = ratio * b
    total = 0.0
    product = 1.0
    power = 1.0
    for _ in range(_STEPS):
        product *= b
        b -= 0.5
        total = fma(x * b, total, product)
        below *= b
        b -= 0.5
        power *= x
    shift = a - 0.25
    exponent = shift * v
    return fma(first, total / below, power * weight), exponent, fma(shift, v, -exponent) + shift * v_rest


@device
def leading_factor(a: float) -> float:
    """Γ(a + 1/2) / (√π Γ(a + 1)) for a > 0."""
    above = 1.0
    below = 1.0
    while a < LEAST_A:
        below *= a + 0.5
        a += 1.0
        above *= a
    n = a - 0.25
    return math.sqrt(n) * INV_SQRT_PI * above / (gamma_ratio(n) * a * below)


@device
def density_at_zero(df: float) -> float:
    """The density of T at 0, for finite df > 0."""
    a = 0.5 * df
    if a < LEAST_A:
        return 0.5 * leading_factor(a) * math.sqrt(df)
    n = a - 0.25
    return math.sqrt(n / df) * INV_SQRT_PI / gamma_ratio(n)


@device
def gauss_fraction(a: float, x: float, pairs: int) -> tuple[float, float]:
    """F(1, a + 1/2; a + 1; x) as numerator and denominator, by `pairs` pairs of its continued fraction.

    1 / (1 - (a + 1/2) x / (a + 1 - c₂ x / (a + 2 - c₃ x / (a + 3 - …)))), where c₂ₖ is k (k - 1/2) and c₂ₖ₊₁ is
    (a + k) (a + k + 1/2); evaluated from its end, which needs no division.
    """
    b = a + 2 * pairs
    k = float(pairs)
    above = b
    below = 1.0
    for _ in range(pairs):
        b -= 1.0
        above, below = fma(b, above, -(k * (k - 0.5) * x) * below), above
        k -= 1.0
        if k > 0.0:
            b -= 1.0
            above, below = fma(b, above, -((a + k + 0.5) * (a + k) * x) * below), above
    return above, fma(-(a + 0.5) * x, below, above)


@device
def far_weight(a: float, x: float, y: float, v: float) -> float:
    """P x^-a for x = exp(-v) = 1 - y below 0.37."""
    total = 0.0
    product = 1.0
    below = 1.0
    power = 1.0
    upper = a
    steps = 0
    if a < LEAST_A:
        steps = int(LEAST_A - a) + 1
        upper = a + steps
        b = upper
        for _ in range(steps):
            product *= b
            b -= 0.5
            total = fma(x * b, total, product)
            below *= b
            b -= 0.5
            power *= x
    # A pair gains a factor of about (4 / x)², and the steps have left only a share x^steps of P to the fraction.
    pairs = max(1, int(1.5 + 0.5 * (36.0 - steps * v) / (v + 1.2)))
    numerator, denominator = gauss_fraction(upper, x, pairs)
    whole = fma(total, denominator, power * numerator * below)
    return leading_factor(upper) * math.sqrt(y) * whole / (below * denominator)


@device
def far_factors(t: float, df: float) -> tuple[float, float, float]:
    """`tail_factors` for t² above 7/4 df."""
    a = 0.5 * df
    if t > 1e150 or t * t * 1e-290 > df:
        if df > 3.0:
            return 0.0, 0.0, 0.0
        half = t**-a
        return leading_factor(a) * df**a, half, half
    square = t * t
    ratio = square / df
    ratio_rest = (fma(-ratio, df, square) + fma(t, t, -square)) / df
    whole = 1.0 + ratio
    whole_rest = (((ratio - whole) + 1.0) + ratio_rest) / whole
    v = math.log(whole)
    exponent = a * v
    if exponent > _VANISHED:
        return 0.0, 0.0, 0.0
    weight = far_weight(a, 1.0 / whole, ratio / whole, v)
    if exponent <= SAFE_EXPONENT:
        power = whole**-a
        return weight, fma(-a * whole_rest, power, power), 1.0
    half = whole ** (-0.5 * a)
    half = fma(-0.5 * a * whole_rest, half, half)
    return weight, half, half


@device
def tail_factors(t: float, df: float) -> tuple[float, float, float, bool]:
    """P(|T| > t) as weight · power · rest, for finite t ≥ 0 and df > 0.

    They are kept apart so that a subnormal product is rounded once, and its ratio to a small number not at all.

    Returns
    -------
    weight, power, rest : float
        Their product is the probability. power · rest is (1 + t²/df) to the power 1/4 - df/2 where near, else
        -df/2; rest is 1 unless the product might be subnormal.
    near : bool
        Whether t² ≤ 7/4 df.
    """
    if df < _FLAT_DF:
        return 1.0, 1.0, 1.0, False
    if df > NORMAL_DF:
        df = NORMAL_DF
    if t > 1e100 or t * t > NEAR * df:
        weight, power, rest = far_factors(t, df)
        return weight, power, rest, False
    if df >= LEAST_DF:
        weight, exponent, exponent_rest = near_parts(t, df)
    else:
        weight, exponent, exponent_rest = near_parts_small(t, df)
    if exponent <= SAFE_EXPONENT:
        return weight, exp_minus(exponent, exponent_rest), 1.0, True
    if exponent > _VANISHED:
        return 0.0, 0.0, 0.0, True
    half = exp_minus(0.5 * exponent, 0.5 * exponent_rest)
    return weight, half, half, True
