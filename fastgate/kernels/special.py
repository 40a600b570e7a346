"""Scalar functions that kernels share: fused multiply-add, normal tails and quantile, gamma ratios.

Polynomial coefficients were found by Chebyshev interpolation in 40-digit arithmetic; each comment states the
error of the polynomial itself, and 1e-17 adds nothing to the rounding of its evaluation. They are arrays, for
numba compiles an index into a tuple to a switch: a branch a term, and no SIMD.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic, overload

from fastgate.jit import device, inlined, kernel

__all__ = [
    "erfcx",
    "fma",
    "gamma_ratio",
    "hedges_correction",
    "hedges_of_cells",
    "normal_isf",
    "normal_sf",
    "normal_tail",
]

Floats = npt.NDArray[np.float64]

SQRT_HALF: Final = 0.7071067811865476
SQRT_2PI: Final = 2.5066282746310002
INV_SQRT_PI: Final = 0.5641895835477563

# (x + 15/4) exp(x²) erfc(x) as a polynomial of s = (x - 15/4) / (x + 15/4); relative error 2e-17 on 0 … ∞.
_ERFCX: Final = np.array(
    [
        1.0919229095627891,
        -0.9587415766529095,
        0.7363189252217537,
        -0.49047029120768826,
        0.2790620490336852,
        -0.13195540117824336,
        0.04911877861720606,
        -0.012535880044978472,
        0.000986338060145727,
        0.0007948231282476774,
        -0.00034864674071764747,
        1.0593866720431546e-05,
        3.7471310663113975e-05,
        -8.903626741464975e-06,
        -3.288570958593065e-06,
        1.6555849395166649e-06,
        2.7865722181858276e-07,
        -2.633749968411953e-07,
        -2.592284333798498e-08,
        4.020787513306164e-08,
        2.7748444991228884e-09,
        -5.3688142939511974e-09,
        -2.2991140565077381e-10,
        4.4046755782598186e-10,
    ]
)
# Φ⁻¹(1/2 + d) / d as a polynomial of d² on 0 … 1/16; error 1e-17.
_CENTRE: Final = np.array(
    [
        2.5066282746310002,
        2.6249349909537916,
        5.772533538554986,
        15.6676089862469,
        47.03578264263103,
        149.83040579736792,
        496.2241345893862,
        1692.578550913264,
        5770.996960571608,
        23473.60001295244,
        24327.129570593,
        878284.9848801199,
        -3648574.7036508643,
        21571075.148497183,
    ]
)
# x / r, where P(Z > x) = exp(-r²/2), as a polynomial of s = (r - 2) / (r + 2) for tails from 1/4 to 2⁻¹⁰⁷⁵;
# absolute error 3e-8, a start to be refined.
_TAIL: Final = np.array(
    [
        0.550759823953039,
        1.3875410058861497,
        -2.030348575286289,
        2.3071497465945936,
        -2.501636505880119,
        2.626113582213576,
        -2.6271737833273137,
        2.313417503568258,
        -1.5801603732155256,
        0.7015675529966392,
        -0.14716245429386535,
    ]
)
# Maclaurin coefficients in w² of √((w/2) / sinh(w/2)).
SINH_ROOT: Final = np.array(
    [
        1.0,
        -0.020833333333333332,
        0.000390625,
        -7.879670965608466e-06,
        1.6967665791721782e-07,
        -3.805064191721906e-09,
        8.748377596315407e-11,
        -2.044523359411974e-12,
        4.833351797967704e-14,
        -1.152434101767386e-15,
        2.76605204359937e-17,
        -6.67428195089166e-19,
    ]
)
# (exp(r) - 1 - r) / r² as a polynomial of r for |r| up to ln(2) / 2; error 1e-17 of exp.
_EXP: Final = np.array(
    [
        0.5000000000000001,
        0.1666666666666667,
        0.04166666666662382,
        0.008333333333326082,
        0.0013888888917368964,
        0.00019841269875003973,
        2.4801521055364205e-05,
        2.7557255168123062e-06,
        2.76202026313159e-07,
        2.5105313423078524e-08,
    ]
)
_LOG2_E: Final = 1.4426950408889634
# ln 2 in two parts, the first with 20 zero bits at its end, so that a whole number times it is exact.
_LN2_HIGH: Final = 0.6931471803691238
_LN2_LOW: Final = 1.9082149292705877e-10
# 3·2⁵¹: adding it rounds to a whole number and leaves that number in the low bits.
_SHIFT: Final = 6755399441055744.0
# The least a for which the asymptotic expansions in 1 / (a - 1/4)² with these 12 terms reach full precision:
# what is left out is below 1e-16 there.
LEAST_A: Final = 10.25


def fma(a: float, b: float, c: float) -> float:
    """a·b + c rounded once: the processor's instruction in kernels, exact fractions where they are not compiled."""
    product = a * b
    if not (math.isfinite(product) and math.isfinite(c)):
        return product + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def times_power_of_two(value: float, shifted: float) -> float:
    """A value · 2ᵏ, k = shifted - 3·2⁵¹, where value and result are normal numbers."""
    return math.ldexp(value, int(shifted - _SHIFT))


def _emit_fma(context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


def _emit_scaling(context: Any, value: Any, shifted: Any) -> tuple[Any, Any]:
    # The low bits of `shifted` are k: added to the exponent's bits of `value`.
    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        integer = target.get_value_type(types.int64)
        value_bits, shifted_bits = (builder.bitcast(argument, integer) for argument in arguments)
        moved = builder.shl(shifted_bits, target.get_constant(types.int64, 52))
        return builder.bitcast(builder.add(value_bits, moved), target.get_value_type(types.float64))

    return types.float64(types.float64, types.float64), generate


_fma_instruction = intrinsic(_emit_fma)
_scaling_instructions = intrinsic(_emit_scaling)


def _compiled_fma(a: Any, b: Any, c: Any) -> Any:
    def call(a: Any, b: Any, c: Any) -> Any:
        return _fma_instruction(a, b, c)

    return call


def _compiled_scaling(value: Any, shifted: Any) -> Any:
    def call(value: Any, shifted: Any) -> Any:
        return _scaling_instructions(value, shifted)

    return call


overload(fma, inline="always")(_compiled_fma)
overload(times_power_of_two, inline="always")(_compiled_scaling)


@inlined
def exp_minus(x: float, rest: float) -> float:
    """exp(-x - rest) for 0 ≤ x ≤ 708 and a rest of an ulp or so of x; half an ulp."""
    shifted = fma(-x, _LOG2_E, _SHIFT)
    k = shifted - _SHIFT
    r = fma(-k, _LN2_LOW, fma(-k, _LN2_HIGH, -x)) - rest
    r2 = r * r
    even = fma(_EXP[8], r2, _EXP[6])
    odd = fma(_EXP[9], r2, _EXP[7])
    for i in range(2, -1, -1):
        even = fma(even, r2, _EXP[2 * i])
        odd = fma(odd, r2, _EXP[2 * i + 1])
    return times_power_of_two(1.0 + fma(r2, fma(odd, r, even), r), shifted)


@inlined
def erfcx(x: float) -> float:
    """exp(x²) erfc(x) for x ≥ 0."""
    r = 1.0 / (x + 3.75)
    s = fma(-7.5, r, 1.0)
    s2 = s * s
    even: float = _ERFCX[22]
    odd: float = _ERFCX[23]
    for k in range(10, -1, -1):
        even = fma(even, s2, _ERFCX[2 * k])
        odd = fma(odd, s2, _ERFCX[2 * k + 1])
    return fma(odd, s, even) * r


@inlined
def gamma_ratio(n: float) -> float:
    """Γ(n + 1/4) √n / Γ(n + 3/4) for n ≥ 10."""
    m = 1.0 / (n * n)
    b = 0.0
    for k in range(11, 0, -1):
        b = fma((2 * k + 0.5) * (2 * k + 1.5) * m, b, SINH_ROOT[k])
    return fma(0.75 * m, b, 1.0)


@device
def hedges_correction(m: float) -> float:
    """J(m) = Γ(m/2) / (√(m/2) Γ((m - 1)/2)), Hedges' (1981) correction of a standardised mean difference.

    For real m > 1 (NaN otherwise), to 1e-15 relative; 1 at infinity.
    """
    if not m > 1.0:
        return math.nan
    if m > 1e17:
        return 1.0
    a = 0.5 * (m - 1.0)
    if a >= LEAST_A:
        return math.sqrt((m - 1.5) / m) / gamma_ratio(a - 0.25)
    above = 1.0
    below = 1.0
    while a < LEAST_A:
        above *= a
        below *= a + 0.5
        a += 1.0
    n = a - 0.25
    return above / (below * gamma_ratio(n)) * math.sqrt(2.0 * n / m)


@device
def hedges_of_cells(m: Floats, effect: Floats) -> None:
    """Multiply each effect by `hedges_correction` of its m: from m of 22 on by SIMD, the rest one by one."""
    for i in range(m.size):
        a = 0.5 * (m[i] - 1.0)
        inside = (a >= LEAST_A) & (m[i] <= 1e17)
        x = m[i] if inside else 100.0
        factor = math.sqrt((x - 1.5) / x) / gamma_ratio(0.5 * (x - 1.0) - 0.25)
        effect[i] = (factor if inside else 1.0) * effect[i]
    for i in range(m.size):
        if not (0.5 * (m[i] - 1.0) >= LEAST_A and m[i] <= 1e17):
            effect[i] = hedges_correction(m[i]) * effect[i]


@device
def normal_tail(x: float) -> tuple[float, float]:
    """Two factors whose product is P(|Z| > x) for x ≥ 0.

    They stay normal numbers where the product is subnormal, so that it is rounded once.
    """
    if x > 40.0:
        return 0.0, 0.0
    square = x * x
    rest = 1.0 - 0.5 * fma(x, x, -square)
    root = math.exp(-0.25 * square)
    return root * rest * erfcx(x * SQRT_HALF), root


@device
def normal_sf(x: float) -> float:
    """P(Z > x) for a standard normal Z."""
    if x != x:
        return x
    large, small = normal_tail(abs(x))
    half = (0.5 * large) * small
    return 1.0 - half if x < 0.0 else half


@device
def normal_isf_centre(d: float) -> float:
    """The x with P(0 < Z < x) = d, for d of 0 … 1/4."""
    square = d * d
    x: float = _CENTRE[13]
    for k in range(12, -1, -1):
        x = fma(x, square, _CENTRE[k])
    return x * d


@device
def normal_isf_start(q: float) -> float:
    """About the x with P(Z > x) = q, for 0 < q ≤ 1/4: to 3e-8 √(-2 ln q)."""
    r = math.sqrt(-2.0 * math.log(q))
    s = (r - 2.0) / (r + 2.0)
    ratio: float = _TAIL[10]
    for k in range(9, -1, -1):
        ratio = fma(ratio, s, _TAIL[k])
    return ratio * r


@device
def normal_isf_small(q: float) -> float:
    """The x with P(Z > x) = q, for 0 < q ≤ 1/2."""
    if q >= 0.25:
        return normal_isf_centre(0.5 - q)
    x = normal_isf_start(q)
    large, small = normal_tail(x)
    # One step of the inverse function's Taylor series; u is about 1e-7, so the next term is beyond float64.
    u = (1.0 - (q / small) / (0.5 * large)) * (0.5 * SQRT_2PI) * erfcx(x * SQRT_HALF)
    return x + u * (1.0 + u * (0.5 * x + u * (x * x / 3.0 + 1.0 / 6.0)))


@kernel(types.float64(types.float64))  # not a mere helper: the bootstrap calls it from Python
def normal_isf(q: float) -> float:
    """The x with P(Z > x) = q; ∓∞ at 1 and 0, NaN outside."""
    if not (q >= 0.0 and q <= 1.0):
        return math.nan
    if q == 0.0:
        return math.inf
    if q == 1.0:
        return -math.inf
    return -normal_isf_small(1.0 - q) if q > 0.5 else normal_isf_small(q)
