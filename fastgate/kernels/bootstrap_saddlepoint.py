"""Bootstrap limits of means without resampling: the saddlepoint approximation in its r* form.

A limit is K'(s) at the root of r*(s) = z: solving in s needs no inner iteration.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.bootstrap_codes import BASIC, BCA, TILTED
from fastgate.kernels.bootstrap_means import centre, mean_difference
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
from fastgate.kernels.bootstrap_tilting import signed_root, standardise
from fastgate.kernels.bootstrap_types import LIMITS, SAMPLES, TASK
from fastgate.kernels.records import Codes, Floats
from fastgate.kernels.status import NO_ROOT
from fastgate.kernels.types import B

__all__ = ["saddlepoint_limits"]


@device
def _marched(
    a: Floats, b: Floats, extreme_a: float, extreme_b: float, third: float, fourth: float, target: float
) -> float:
    """K' at the first crossing of r* = target on the way out from s = 0; NaN where r* turns back before it."""
    start = third / 6.0 - target
    if start == 0.0:
        return 0.0
    direction = -1.0 if start > 0.0 else 1.0
    step = 0.0625
    s0 = 0.0
    f0 = start
    while True:
        s1 = s0 + direction * step
        f1 = signed_root(a, b, extreme_a, extreme_b, s1, third, fourth)[0] - target
        if not abs(f1) < math.inf:
            return math.nan
        if (f1 > 0.0) != (start > 0.0):
            break
        if abs(f1) >= abs(f0) or abs(s1) > 1e4:
            return math.nan
        s0 = s1
        f0 = f1
        if abs(s1) > 2.0:
            step = abs(s1) / 32.0
    # Illinois: the root stays bracketed.
    side = 0
    s = s1
    x = math.nan
    for _ in range(100):
        s = (s0 * f1 - s1 * f0) / (f1 - f0)
        value, _, x, _, _ = signed_root(a, b, extreme_a, extreme_b, s, third, fourth)
        f = value - target
        if abs(f) < 1e-14 * (1.0 + abs(target)) or abs(s1 - s0) <= 4e-16 * abs(s):
            break
        if (f > 0.0) == (f0 > 0.0):
            s0 = s
            f0 = f
            if side == 1:
                f1 *= 0.5
            side = 1
        else:
            s1 = s
            f1 = f
            if side == -1:
                f0 *= 0.5
            side = -1
    return x


@device
def _limit(
    a: Floats,
    b: Floats,
    extreme_a: float,
    extreme_b: float,
    third: float,
    fourth: float,
    target: float,
    easy: bool,
) -> float:
    """K' at the root of r*(s) = target, in standard deviations of T*; NaN where there is none.

    `easy`: the sample meets the validity rule, so r* rises from s = 0 to beyond any usual target, and Newton
    steps find the same root as the march (which takes over where they do not settle at a healthy point).
    """
    if not abs(target) < math.inf:
        return math.nan
    if easy:
        t = target - third / 6.0
        slope0 = max(1.0 + fourth / 8.0 - 7.0 * third * third / 36.0, 0.5)
        s = t / slope0
        s /= min(max(1.0 + third * s / 3.0, 0.5), 2.0)
        for _ in range(12):
            root, slope, x, variance, ratio = signed_root(a, b, extreme_a, extreme_b, s, third, fourth)
            if not (slope > 0.1 and ratio > 0.4 and ratio < 2.5):
                break
            step = (target - root) / slope
            if abs(step) < (1e-7 if abs(s) >= 1e-2 else 1e-11):
                # The step's own error is of its square: x is as good as evaluated at s + step.
                return x + step * variance
            if (s + step) * t <= 0.0:
                step = -0.5 * s
            s += step
    return _marched(a, b, extreme_a, extreme_b, third, fourth, target)


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, B, B, LIMITS))
def saddlepoint_limits(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    valid: Codes,
    limits: BootstrapLimits,
) -> None:
    """Percentile, basic or BCa limits of each cell whose route is TILTED.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
        Of a mean, or a difference of means.
    route, valid : int8, shape (n_cells,)
        Other routes are left alone; `valid` says whether the validity rule holds.
    limits : BootstrapLimits, output
        The standard error is exact, the bias 0. NO_ROOT (and NaN limits) where r* has no root.
    """
    a, starts_a, n_a, b, starts_b, n_b, _, two, _ = samples
    method, z = task.method, task.z
    estimate, low, high, error, bias, status = limits
    room_a = np.empty(0)
    room_b = np.empty(0)
    for c in range(start, stop):
        if route[c] != TILTED:
            continue
        first = a[starts_a[c] : starts_a[c] + n_a[c]]
        if room_a.size < first.size:
            room_a = np.empty(first.size)
        left = room_a[: first.size]
        centre(first, 1.0 / first.size, left)
        right = room_b[:0]
        second = b[:0]
        if two:
            second = b[starts_b[c] : starts_b[c] + n_b[c]]
            if room_b.size < second.size:
                room_b = np.empty(second.size)
            right = room_b[: second.size]
            centre(second, -1.0 / second.size, right)
        sd, third, fourth, extreme_a, extreme_b = standardise(left, right)
        theta = mean_difference(first, second)
        estimate[c] = theta
        error[c] = sd
        bias[c] = 0.0
        down = -z
        up = z
        if method == BCA:
            # Under r* the bias correction and the acceleration are both λ₃/6.
            skew = third / 6.0
            below = 1.0 - skew * (skew - z)
            above = 1.0 - skew * (skew + z)
            down = skew + (skew - z) / below if below > 0.0 else math.nan
            up = skew + (skew + z) / above if above > 0.0 else math.nan
        easy = valid[c] != 0
        x_low = _limit(left, right, extreme_a, extreme_b, third, fourth, down, easy)
        x_high = _limit(left, right, extreme_a, extreme_b, third, fourth, up, easy)
        if x_low != x_low or x_high != x_high:
            status[c] = NO_ROOT
            low[c] = math.nan
            high[c] = math.nan
        elif method == BASIC:
            low[c] = theta - sd * x_high
            high[c] = theta - sd * x_low
        else:
            low[c] = theta + sd * x_low
            high[c] = theta + sd * x_high
