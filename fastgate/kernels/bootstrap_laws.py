"""Discrete laws given by sorted atoms: their quantiles, and those of a difference or ratio of two independent ones."""

from __future__ import annotations

import math
from typing import Final

from fastgate.jit import device
from fastgate.kernels.bootstrap_codes import JUMP
from fastgate.kernels.records import Floats

__all__ = ["accumulate", "law_below", "law_moments", "law_quantile", "pair_below", "pair_quantile"]

_EPS: Final = 2.220446049250313e-16


@device
def accumulate(weights: Floats, cumulative: Floats) -> None:
    """Write the running totals of the weights."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
        cumulative[i] = total


@device
def law_quantile(values: Floats, cumulative: Floats, p: float) -> float:
    """The least value at which the cumulative law reaches p."""
    low = 0
    high = values.size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] >= p - JUMP:
            high = middle
        else:
            low = middle + 1
    found: float = values[low]
    return found


@device
def law_below(values: Floats, cumulative: Floats, theta: float, tolerance: float) -> float:
    """P(V < theta) + ½P(V = theta); values within the tolerance count as equal."""
    below = 0.0
    upto = 0.0
    for i in range(values.size):
        if values[i] < theta - tolerance:
            below = cumulative[i]
        if values[i] <= theta + tolerance:
            upto = cumulative[i]
        else:
            break
    return 0.5 * (below + upto)


@device
def law_moments(values: Floats, weights: Floats) -> tuple[float, float]:
    """Mean and variance."""
    mean = 0.0
    for i in range(values.size):
        mean += weights[i] * values[i]
    variance = 0.0
    for i in range(values.size):
        d = values[i] - mean
        variance += weights[i] * d * d
    return mean, variance


@device
def _combined(u: float, v: float, ratio: bool) -> float:
    return u / v if ratio else u - v


@device
def _pair_cumulative(
    a: Floats, cumulative_a: Floats, b: Floats, weights_b: Floats, ratio: bool, t: float
) -> tuple[float, float, float]:
    """P(f <= t), and the atoms of f = a − b (or a/b, b > 0) next to t: the last one up to it, the first above it."""
    total = 0.0
    last = -math.inf
    following = math.inf
    place = 0
    for i in range(b.size):
        v = b[i]
        while place < a.size and _combined(a[place], v, ratio) <= t:
            place += 1
        while place > 0 and _combined(a[place - 1], v, ratio) > t:
            place -= 1
        if place > 0:
            total += weights_b[i] * cumulative_a[place - 1]
            last = max(last, _combined(a[place - 1], v, ratio))
        if place < a.size:
            following = min(following, _combined(a[place], v, ratio))
    return total, last, following


@device
def pair_quantile(
    a: Floats, cumulative_a: Floats, b: Floats, weights_b: Floats, ratio: bool, p: float
) -> float:
    """The least atom of a − b (or a/b) at which its cumulative law reaches p."""
    low = min(_combined(a[0], b[b.size - 1], ratio), _combined(a[0], b[0], ratio))
    high = max(_combined(a[a.size - 1], b[0], ratio), _combined(a[a.size - 1], b[b.size - 1], ratio))
    # Halving takes some 22 steps; a secant needs more, for the law is a staircase.
    while low < high:
        t = low + 0.5 * (high - low)
        if t >= high:
            t = low
        total, last, following = _pair_cumulative(a, cumulative_a, b, weights_b, ratio, t)
        if total >= p - JUMP:
            high = last
        else:
            low = following
    return high


@device
def pair_below(
    a: Floats, cumulative_a: Floats, b: Floats, weights_b: Floats, ratio: bool, theta: float, tolerance: float
) -> float:
    """P(f < theta) + ½P(f = theta); values within the tolerance count as equal."""
    below = _pair_cumulative(a, cumulative_a, b, weights_b, ratio, theta - tolerance)[0]
    upto = _pair_cumulative(a, cumulative_a, b, weights_b, ratio, theta + tolerance)[0]
    return 0.5 * (below + upto)
