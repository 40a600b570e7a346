"""Exact bootstrap limits of tiny or heavily tied cells, by going through every multiset of their values."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.bootstrap_codes import BASIC, BCA, MEAN, MULTISETS, NORMAL, RATIO, STD, STUDENTISED
from fastgate.kernels.bootstrap_jackknife import cell_acceleration, point_estimate
from fastgate.kernels.bootstrap_laws import (
    accumulate,
    law_below,
    law_moments,
    law_quantile,
    pair_below,
    pair_quantile,
)
from fastgate.kernels.bootstrap_limits import adjusted_probability
from fastgate.kernels.bootstrap_means import mean_difference
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
from fastgate.kernels.bootstrap_types import LIMITS, SAMPLES, TASK
from fastgate.kernels.order_statistics import sort, sort_weighted
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import NO_ROOT, OK, UNBOUNDED
from fastgate.kernels.types import B

__all__ = ["multiset_limits"]

_EPS: Final = 2.220446049250313e-16


@device
def _distinct(ordered: Floats, points: Floats, counts: Integers) -> int:
    """The different values of a sorted sample and how often each occurs; returns how many."""
    different = 0
    for value in ordered:
        if different > 0 and points[different - 1] == value:
            counts[different - 1] += 1
        else:
            points[different] = value
            counts[different] = 1
            different += 1
    return different


@device
def _number(n: int, different: int) -> int:
    count = 1.0
    for d in range(1, different):
        count *= (n + d) / d
    return round(count)


@device
def _statistic(
    points: Floats,
    drawn: Integers,
    n: int,
    statistic: int,
    q: float,
    centre: float,
    method: int,
    error: float,
) -> float:
    """The statistic of the resample that holds points[i] drawn[i] times; the points are centred for means."""
    if statistic in (MEAN, RATIO, STD):
        total = 0.0
        for i in range(points.size):
            total += drawn[i] * points[i]
        mean = total / n
        if statistic != STD and method != STUDENTISED:
            return mean
        squares = 0.0
        different = 0
        for i in range(points.size):
            d = points[i] - mean
            squares += drawn[i] * d * d
            different += drawn[i] > 0
        if different == 1:
            squares = 0.0
        if statistic == STD:
            return math.sqrt(squares / (n - 1))
        # Studentised: the points are centred at the estimate, so `mean` is θ* − θ.
        if squares == 0.0:
            if abs(mean) <= 16.0 * _EPS * error:
                return 0.0
            return math.inf if mean > 0.0 else -math.inf
        return mean / math.sqrt(squares / (n - 1) / n)
    cut = int(q * n)
    rank = 0
    total = 0.0
    for i in range(points.size):
        inside = min(rank + drawn[i], n - cut) - max(rank, cut)
        if inside > 0:
            total += inside * points[i]
        rank += drawn[i]
    return centre + total / (n - 2 * cut)


@device
def _law(
    ordered: Floats, statistic: int, q: float, method: int, centre: float, scale: float, negate: bool
) -> tuple[Floats, Floats]:
    """Values and weights of the statistic over all multisets of the sample, sorted by value."""
    n = ordered.size
    points = np.empty(n)
    counts = np.empty(n, np.int64)
    different = _distinct(ordered, points, counts)
    points = points[:different]
    for i in range(different):
        points[i] = -(points[i] - centre) if negate else points[i] - centre
    atoms = _number(n, different)
    values = np.empty(atoms)
    weights = np.empty(atoms)
    # Logarithms of n!/Π k! · Π (count/n)^k.
    factorial = np.zeros(n + 1)
    for k in range(2, n + 1):
        factorial[k] = factorial[k - 1] + math.log(k)
    share = np.empty(different)
    for i in range(different):
        share[i] = math.log(counts[i] / n)
    drawn = np.zeros(different, np.int64)
    drawn[0] = n
    # Sums over the values from i on: most steps change only the first few.
    logarithms = np.zeros(different + 1)
    sums = np.zeros(different + 1)
    linear = method != STUDENTISED and statistic in (MEAN, RATIO)
    for atom in range(atoms):
        weights[atom] = math.exp(factorial[n] + logarithms[1] + drawn[0] * share[0] - factorial[drawn[0]])
        if linear:
            values[atom] = (sums[1] + drawn[0] * points[0]) / n
        else:
            values[atom] = _statistic(points, drawn, n, statistic, q, centre, method, scale)
        # The next composition of n (Nijenhuis and Wilf 1978, NEXCOM).
        i = 0
        while i < different - 1 and drawn[i] == 0:
            i += 1
        if i == different - 1:
            break
        moved = drawn[i]
        drawn[i] = 0
        drawn[0] = moved - 1
        i += 1
        drawn[i] += 1
        logarithm = logarithms[i + 1] + drawn[i] * share[i] - factorial[drawn[i]]
        total = sums[i + 1] + drawn[i] * points[i]
        for j in range(1, i + 1):
            logarithms[j] = logarithm
            sums[j] = total
    sort_weighted(values, weights)
    total = 0.0
    for weight in weights:
        total += weight
    for i in range(atoms):
        weights[i] /= total
    return values, weights


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, B, LIMITS))
def multiset_limits(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    limits: BootstrapLimits,
) -> None:
    """Limits of each cell whose route is MULTISETS: every method but studentised differences.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
        Of any statistic but a quantile; for a ratio, b is of one sign.
    route : int8, shape (n_cells,)
    limits : BootstrapLimits, output
        NO_ROOT where BCa has no limit; UNBOUNDED where a studentised limit is infinite.
    """
    a, starts_a, n_a, b, starts_b, n_b, magnitude, two, _ = samples
    statistic, q, method, _, alpha, z = task
    estimate, low, high, error, bias, status = limits
    for c in range(start, stop):
        if route[c] != MULTISETS:
            continue
        first = a[starts_a[c] : starts_a[c] + n_a[c]].copy()
        sort(first)
        second = b[:0].copy()
        if two:
            second = b[starts_b[c] : starts_b[c] + n_b[c]].copy()
            sort(second)
        n = first.size
        theta_a = point_estimate(first, MEAN if statistic == RATIO else statistic, q)
        theta_b = point_estimate(second, MEAN if statistic == RATIO else statistic, q) if two else 0.0
        # A mean's law is kept relative to the estimate, where floats are dense.
        centred = statistic == MEAN
        centre_a = theta_a if centred else 0.0
        centre_b = theta_b if centred else 0.0
        negate = statistic == RATIO and second[0] < 0.0
        ratio = statistic == RATIO
        theta = theta_a / theta_b if ratio else theta_a - theta_b
        if centred:
            theta = mean_difference(first, second)
        shift = theta if centred else 0.0
        own = theta - shift
        values, weights = _law(first, statistic, q, method, centre_a, magnitude[c], negate)
        cumulative = np.empty(values.size)
        accumulate(weights, cumulative)
        tolerance = 32.0 * _EPS * magnitude[c]
        if centred:
            tolerance = 32.0 * _EPS * max(abs(values[0]), abs(values[values.size - 1]))
        estimate[c] = theta
        if method == STUDENTISED:
            sd = 0.0
            for value in first:
                sd += (value - theta_a) * (value - theta_a)
            error[c] = math.sqrt(sd) / n
            bias[c] = 0.0
            se = math.sqrt(sd / (n - 1.0) / n)
            low[c] = theta - law_quantile(values, cumulative, 1.0 - 0.5 * alpha) * se
            high[c] = theta - law_quantile(values, cumulative, 0.5 * alpha) * se
            if status[c] == OK and not (abs(low[c]) < math.inf and abs(high[c]) < math.inf):
                status[c] = UNBOUNDED
            continue

        mean, variance = law_moments(values, weights)
        other = values[:0]
        other_weights = weights[:0]
        if two:
            other, other_weights = _law(second, statistic, q, method, centre_b, magnitude[c], negate)
            if centred:
                tolerance += 32.0 * _EPS * max(abs(other[0]), abs(other[other.size - 1]))
            if ratio:
                tolerance = 32.0 * _EPS * abs(theta)
                inverse = 1.0 / other
                inverse_mean, inverse_variance = law_moments(inverse, other_weights)
                square = (variance + mean * mean) * (inverse_variance + inverse_mean * inverse_mean)
                mean *= inverse_mean
                variance = max(square - mean * mean, 0.0)
            else:
                other_mean, other_variance = law_moments(other, other_weights)
                mean -= other_mean
                variance += other_variance
        error[c] = math.sqrt(variance)
        bias[c] = 0.0 if centred else mean - own
        if method == NORMAL:
            low[c] = theta - bias[c] - z * error[c]
            high[c] = theta - bias[c] + z * error[c]
            continue
        level_low = 0.5 * alpha
        level_high = 1.0 - 0.5 * alpha
        if method == BCA:
            if two:
                share = pair_below(values, cumulative, other, other_weights, ratio, own, tolerance)
            else:
                share = law_below(values, cumulative, own, tolerance)
            z0 = -normal_isf(share)
            influence = np.empty(n + second.size)
            skew = cell_acceleration(first, second, theta_a, theta_b, statistic, q, False, influence)
            level_low = adjusted_probability(z0, skew, -z)
            level_high = adjusted_probability(z0, skew, z)
        if not (level_low > 0.0 and level_high < 1.0):
            status[c] = NO_ROOT
            continue
        if two:
            left = pair_quantile(values, cumulative, other, other_weights, ratio, level_low)
            right = pair_quantile(values, cumulative, other, other_weights, ratio, level_high)
        else:
            left = law_quantile(values, cumulative, level_low)
            right = law_quantile(values, cumulative, level_high)
        if method == BASIC:
            low[c] = theta - (right - own)
            high[c] = theta - (left - own)
        else:
            low[c] = shift + left
            high[c] = shift + right
