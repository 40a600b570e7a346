"""Point estimates of a sample, and their jackknife for the acceleration of BCa."""

from __future__ import annotations

import math

from fastgate.jit import device
from fastgate.kernels.bootstrap_codes import MEAN, QUANTILE, RATIO, STD
from fastgate.kernels.bootstrap_means import centre, mean_of, relative_mean
from fastgate.kernels.order_statistics import interpolated, type7
from fastgate.kernels.records import Floats

__all__ = ["cell_acceleration", "point_estimate"]


@device
def standard_deviation(values: Floats) -> float:
    """The standard deviation with n − 1."""
    origin = values[0]
    mean = relative_mean(values)
    largest = 0.0
    for value in values:
        largest = max(largest, abs((value - origin) - mean))
    if largest == 0.0:
        return 0.0
    squares = 0.0
    for value in values:
        d = ((value - origin) - mean) / largest
        squares += d * d
    return largest * math.sqrt(squares / (values.size - 1))


@device
def point_estimate(ordered: Floats, statistic: int, q: float) -> float:
    """MEAN, STD, QUANTILE (type 7 at q) or TRIMMED (the int(q·n) values at each end left out) of a sorted sample."""
    n = ordered.size
    if statistic == MEAN:
        return mean_of(ordered)
    if statistic == STD:
        return standard_deviation(ordered)
    if statistic == QUANTILE:
        return type7(ordered, n, q)
    cut = int(q * n)
    return mean_of(ordered[cut : n - cut])


@device
def influences(ordered: Floats, statistic: int, q: float, out: Floats) -> None:
    """(n − 1)(mean of the leave-one-out estimates − the one without value i), for each i, to `out`."""
    n = ordered.size
    if statistic == MEAN:
        centre(ordered, 1.0, out)
        return
    if statistic == STD:
        if n == 2:
            out[0] = 0.0
            out[1] = 0.0
            return
        sd = standard_deviation(ordered)
        centre(ordered, 1.0 / sd, out)
        for i in range(n):
            d = out[i]
            # Without value i the sum of squares falls by d²·n/(n − 1).
            out[i] = sd * math.sqrt(max(((n - 1.0) - d * d * n / (n - 1.0)) / (n - 2.0), 0.0))
    elif statistic == QUANTILE:
        h = (n - 2) * q
        k = int(h)
        g = h - k
        if k >= n - 2:
            k = n - 2
            g = 0.0
        for i in range(n):
            left = ordered[k] if k < i else ordered[k + 1]
            right = left
            if g > 0.0:
                right = ordered[k + 1] if k + 1 < i else ordered[k + 2]
            out[i] = interpolated(left, right, g)
    else:
        cut = int(q * (n - 1))
        kept = n - 1 - 2 * cut
        origin = ordered[n // 2]
        total = 0.0
        # The sum over ranks cut … n − 2 − cut of the sample without its last value; then value by value downwards.
        for i in range(cut, n - 1 - cut):
            total += ordered[i] - origin
        for i in range(n):
            if i <= cut:
                change = (ordered[n - 1 - cut] - origin) - (ordered[cut] - origin)
            elif i >= n - 1 - cut:
                change = 0.0
            else:
                change = (ordered[n - 1 - cut] - origin) - (ordered[i] - origin)
            out[i] = (total + change) / kept
    mean = mean_of(out[:n])
    for i in range(n):
        out[i] = (n - 1) * (mean - out[i])


@device
def acceleration(a: Floats, b: Floats) -> float:
    """Σ(u/n)³ over both samples' influences (the second's with a minus) / 6(Σ(u/n)²)^{3/2}; 0 where all are 0."""
    largest = 0.0
    for value in a:
        largest = max(largest, abs(value) / a.size)
    for value in b:
        largest = max(largest, abs(value) / b.size)
    if not (largest > 0.0 and largest < math.inf):
        return 0.0
    squares = 0.0
    cubes = 0.0
    scale = 1.0 / (largest * a.size)
    for value in a:
        d = value * scale
        squares += d * d
        cubes += d * d * d
    if b.size > 0:
        scale = 1.0 / (largest * b.size)
        for value in b:
            d = value * scale
            squares += d * d
            cubes -= d * d * d
    return cubes / (6.0 * squares * math.sqrt(squares))


@device
def cell_acceleration(
    one: Floats,
    other: Floats,
    theta_a: float,
    theta_b: float,
    statistic: int,
    q: float,
    joint: bool,
    influence: Floats,
) -> float:
    """The acceleration of a statistic of one sample, of its difference between two (`other` not empty), or of a ratio.

    `joint`: a ratio of pairs. `influence` is room for the values of both samples.
    """
    n = one.size
    m = other.size
    single = MEAN if statistic == RATIO else statistic
    influences(one, single, q, influence[:n])
    if m == 0:
        return acceleration(influence[:n], influence[:0])
    influences(other, single, q, influence[n:])
    if statistic != RATIO:
        return acceleration(influence[:n], influence[n:])
    if joint:
        for i in range(n):
            above = theta_a - influence[i] / (n - 1.0)
            influence[i] = above / (theta_b - influence[n + i] / (n - 1.0))
        average = mean_of(influence[:n])
        for i in range(n):
            influence[i] = (n - 1.0) * (average - influence[i])
        return acceleration(influence[:n], influence[:0])
    for i in range(n):
        influence[i] /= theta_b
    # Without its value i the denominator is mean_b − u/(m − 1): the jackknife keeps the ratio's curvature.
    for i in range(n, n + m):
        influence[i] = theta_a / (theta_b - influence[i] / (m - 1.0))
    average = mean_of(influence[n:])
    for i in range(n, n + m):
        influence[i] = -(m - 1.0) * (average - influence[i])
    return acceleration(influence[:n], influence[n:])
