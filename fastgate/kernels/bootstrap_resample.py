"""Bootstrap limits by resampling.

One replicate at a time, from its own stream of random numbers; a cell needs room for its replicates' statistics
only, and the two tails are found by selection, not by a sort.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.bootstrap_codes import BCA, DRAWN, MEAN, QUANTILE, RATIO, STD, STUDENTISED, TRIMMED
from fastgate.kernels.bootstrap_jackknife import cell_acceleration, point_estimate
from fastgate.kernels.bootstrap_limits import tail_limits
from fastgate.kernels.bootstrap_means import centre, mean_difference, mean_of
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
from fastgate.kernels.bootstrap_types import LIMITS, SAMPLES, TASK
from fastgate.kernels.order_statistics import interpolated, sort, type7_pair
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.rng import PAIRED_SIZE, Keys, U, cell_stream, draw_indices, draw_pairs, replicate_stream
from fastgate.kernels.status import OK, UNBOUNDED, ZERO_DENOMINATOR
from fastgate.kernels.types import B

__all__ = ["resampled_limits"]

_EPS: Final = 2.220446049250313e-16
# Where a sum of squares loses this much to the square of the sum, it is taken again about the mean.
_CANCELLED: Final = 1e-9
_U: Final = types.Array(types.uint64, 1, "C", readonly=True)


# Slices are made outside the loop over replicates: each costs some 10 ns of reference counting.
@device
def _sum(values: Floats, indices: Keys, count: int) -> float:
    """The sum of the values at the first `count` indices, in four scalar chains: faster than SIMD gathers by half."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    quarter = count // 4
    for j in range(quarter):
        a += values[indices[4 * j]]
        b += values[indices[4 * j + 1]]
        c += values[indices[4 * j + 2]]
        d += values[indices[4 * j + 3]]
    for j in range(4 * quarter, count):
        a += values[indices[j]]
    return (a + b) + (c + d)


@device
def _pair_sums(values: Floats) -> Floats:
    """The sums of every two values: half as many draws make a resample's mean."""
    n = values.size
    sums = np.empty(n * n)
    for i in range(n):
        for j in range(n):
            sums[i * n + j] = values[i] + values[j]
    return sums


@device
def _sum_and_squares(values: Floats, indices: Keys) -> tuple[float, float]:
    total = 0.0
    squares = 0.0
    total2 = 0.0
    squares2 = 0.0
    half = indices.size // 2
    for j in range(half):
        x = values[indices[2 * j]]
        y = values[indices[2 * j + 1]]
        total += x
        squares += x * x
        total2 += y
        squares2 += y * y
    if indices.size > 2 * half:
        x = values[indices[2 * half]]
        total += x
        squares += x * x
    return total + total2, squares + squares2


@device
def _ranked(ordered: Floats, indices: Keys, counts: Integers, statistic: int, q: float) -> float:
    """The quantile or trimmed mean of a resample of a sorted sample, from how often each rank was drawn."""
    n = ordered.size
    for i in range(n):
        counts[i] = 0
    for j in range(indices.size):
        counts[indices[j]] += 1
    if statistic == QUANTILE:
        h = (n - 1) * q
        k = min(int(h), n - 1)
        if 2 * k < n:
            i = 0
            rank = counts[0]
            while rank <= k:
                i += 1
                rank += counts[i]
            left = ordered[i]
            if h == k or rank > k + 1:
                return float(left)
            i += 1
            while counts[i] == 0:
                i += 1
            return interpolated(left, ordered[i], h - k)
        # From the top, where the value at place k is number n − 1 − k, and the next one number n − 2 − k.
        i = n - 1
        rank = counts[i]
        while rank <= n - 2 - k:
            i -= 1
            rank += counts[i]
        right = i
        while rank <= n - 1 - k:
            i -= 1
            rank += counts[i]
        if h == k or i == right:
            return float(ordered[i])
        return interpolated(ordered[i], ordered[right], h - k)
    # All but the `cut` least and greatest: the sum of all, less the two ends.
    cut = int(q * n)
    total = _sum(ordered, indices, n)
    rest = cut
    i = 0
    while rest > 0:
        taken = min(counts[i], rest)
        total -= taken * ordered[i]
        rest -= taken
        i += 1
    rest = cut
    i = n - 1
    while rest > 0:
        taken = min(counts[i], rest)
        total -= taken * ordered[i]
        rest -= taken
        i -= 1
    return total / (n - 2 * cut)


@device
def _deviation(total: float, squares: float, n: int) -> float:
    return math.sqrt(max(squares - total * total / n, 0.0) / (n - 1))


@device
def _squared_error(values: Floats, indices: Keys, total: float, squares: float) -> float:
    """The squared standard error of the mean of a resample, from its sums; 0 where its values are all equal."""
    n = indices.size
    rest = squares - total * total / n
    if rest <= _CANCELLED * squares:
        rest = 0.0
        equal = True
        for j in range(n):
            value = values[indices[j]]
            equal = equal and value == values[indices[0]]
            rest += (value - total / n) ** 2
        if equal:
            return 0.0
    return rest / (n - 1.0) / n


@device
def _joint_squared_error(a: Floats, b: Floats, indices: Keys, rate: float) -> float:
    """The same for a − rate·b of pairs, in two passes."""
    n = indices.size
    mean = 0.0
    equal = True
    for j in range(n):
        value = a[indices[j]] - rate * b[indices[j]]
        mean += value
        equal = equal and a[indices[j]] == a[indices[0]] and b[indices[j]] == b[indices[0]]
    if equal:
        return 0.0
    mean /= n
    rest = 0.0
    for j in range(n):
        rest += (a[indices[j]] - rate * b[indices[j]] - mean) ** 2
    return rest / (n - 1.0) / n


@device
def _studentised(change: float, squared_error: float, tolerance: float) -> float:
    if squared_error > 0.0:
        return change / math.sqrt(squared_error)
    if abs(change) <= tolerance:
        return 0.0
    return math.inf if change > 0.0 else -math.inf


@device
def _sort_pairs(a: Floats, b: Floats) -> None:
    """Sort pairs by their first values, and by the second among equals (in place)."""
    order = np.argsort(b, kind="mergesort")
    order = order[np.argsort(a[order], kind="mergesort")]
    a[:] = a[order]
    b[:] = b[order]


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, types.int64, types.uint64, U, B, LIMITS))
def resampled_limits(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    resamples: int,
    seed: int,
    keys: Keys,
    route: Codes,
    limits: BootstrapLimits,
) -> None:
    """Limits of each cell whose route is DRAWN.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
        Pairs are drawn for a ratio of pairs. STUDENTISED needs MEAN or RATIO.
    resamples, seed, keys : int, uint64, uint64 of shape (n_cells,)
        Replicate r of a cell depends on (seed, key, r) and the cell's values, not on their order.
    route : int8, shape (n_cells,)
    limits : BootstrapLimits, output
        ZERO_DENOMINATOR, NO_ROOT, UNBOUNDED or FEW_RESAMPLES (a BCa level beyond the draws).
    """
    a, starts_a, n_a, b, starts_b, n_b, _, two, paired = samples
    statistic, q, method, _, alpha, z = task
    estimate, low, high, error, bias, status = limits
    draws = np.empty(resamples)
    work = np.empty(resamples)
    for c in range(start, stop):
        if route[c] != DRAWN:
            continue
        one = a[starts_a[c] : starts_a[c] + n_a[c]].copy()
        other = b[:0].copy()
        if two:
            other = b[starts_b[c] : starts_b[c] + n_b[c]].copy()
        n = one.size
        m = other.size
        joint = two and paired
        if joint:
            _sort_pairs(one, other)
        else:
            sort(one)
            sort(other)
        single = MEAN if statistic == RATIO else statistic
        theta_a = point_estimate(one, single, q)
        theta_b = point_estimate(other, single, q) if two else 0.0
        ratio = statistic == RATIO
        theta = theta_a / theta_b if ratio else theta_a - theta_b
        if statistic == MEAN:
            theta = mean_difference(one, other)
        influence = np.empty(n + m)
        skew = 0.0
        if method == BCA:
            skew = cell_acceleration(one, other, theta_a, theta_b, statistic, q, joint, influence)

        # Sums are taken of centred values: a resample's change is then exact to its own size.
        centre_a = 0.0
        centre_b = 0.0
        if statistic != QUANTILE:
            centre_a = mean_of(one)
            centre(one, 1.0, one)
            if two:
                centre_b = mean_of(other)
                centre(other, 1.0, other)
        # The statistic of the values as they now are, which the changes are from.
        offset = theta - (centre_a - centre_b) if statistic == TRIMMED else theta
        largest_a = np.max(np.abs(one))
        largest_b = np.max(np.abs(other)) if two else 0.0
        stream_a = cell_stream(seed, keys[c], 0)
        stream_b = cell_stream(seed, keys[c], 1)
        indices_a = np.empty(n, np.uint64)
        indices_b = np.empty(m, np.uint64)
        counts = np.empty(max(n, m), np.int64)
        by_pairs = statistic == MEAN and method != STUDENTISED and max(n, m) <= PAIRED_SIZE
        pairs_a = np.empty((n // 2 + 1) // 2 * 2, np.uint64)
        pairs_b = np.empty((m // 2 + 1) // 2 * 2, np.uint64)
        sums_a = _pair_sums(one) if by_pairs else one[:0]
        sums_b = _pair_sums(other) if by_pairs else other[:0]
        crossed = False
        tolerance = 16.0 * _EPS * (largest_a + largest_b)
        if ratio:
            tolerance = 16.0 * _EPS * abs(theta)
        for r in range(resamples):
            if by_pairs:
                # In a function of its own this would take twice as long.
                last = draw_pairs(replicate_stream(stream_a, r), n, pairs_a)
                change = _sum(sums_a, pairs_a, n // 2)
                if n % 2 == 1:
                    change += one[last]
                change /= n
                if two:
                    last = draw_pairs(replicate_stream(stream_b, r), m, pairs_b)
                    total_b = _sum(sums_b, pairs_b, m // 2)
                    if m % 2 == 1:
                        total_b += other[last]
                    change -= total_b / m
                draws[r] = change
                continue
            draw_indices(replicate_stream(stream_a, r), n, indices_a)
            if two and not joint:
                draw_indices(replicate_stream(stream_b, r), m, indices_b)
            if ratio:
                total_a, square_a = _sum_and_squares(one, indices_a)
                if joint:
                    total_b, square_b = _sum_and_squares(other, indices_a)
                else:
                    total_b, square_b = _sum_and_squares(other, indices_b)
                above = centre_a + total_a / n
                under = centre_b + total_b / m
                if under * theta_b <= 0.0:
                    crossed = True
                    break
                # above/under − theta, without subtracting two near ratios.
                change = (total_a / n - theta * (total_b / m)) / under
                if method == STUDENTISED:
                    rate = above / under
                    if joint:
                        variance = _joint_squared_error(one, other, indices_a, rate)
                    else:
                        variance = _squared_error(one, indices_a, total_a, square_a)
                        variance += rate * rate * _squared_error(other, indices_b, total_b, square_b)
                    change = _studentised(change, variance / (under * under), tolerance)
            elif method == STUDENTISED:
                total_a, square_a = _sum_and_squares(one, indices_a)
                change = total_a / n
                variance = _squared_error(one, indices_a, total_a, square_a)
                if two:
                    total_b, square_b = _sum_and_squares(other, indices_b)
                    change -= total_b / m
                    variance += _squared_error(other, indices_b, total_b, square_b)
                change = _studentised(change, variance, tolerance)
            else:
                if statistic == MEAN:
                    change = _sum(one, indices_a, n) / n
                    if two:
                        change -= _sum(other, indices_b, m) / m
                elif statistic == STD:
                    total_a, square_a = _sum_and_squares(one, indices_a)
                    change = _deviation(total_a, square_a, n) - offset
                    if two:
                        total_b, square_b = _sum_and_squares(other, indices_b)
                        change -= _deviation(total_b, square_b, m)
                else:
                    change = _ranked(one, indices_a, counts, statistic, q) - offset
                    if two:
                        change -= _ranked(other, indices_b, counts, statistic, q)
            draws[r] = change
        estimate[c] = theta
        if crossed:
            status[c] = ZERO_DENOMINATOR
            continue
        if method != STUDENTISED:
            error[c], bias[c], low[c], high[c], outcome = tail_limits(
                draws, work, theta, tolerance, skew, method, alpha, z
            )
            if status[c] == OK:
                status[c] = outcome
            continue
        # The error by which the estimate is studentised; the values are centred.
        if joint:
            variance = np.sum((one - theta * other) ** 2) / (n - 1.0) / n
        else:
            variance = np.sum(one * one) / (n - 1.0) / n
            if two:
                variance += (theta * theta if ratio else 1.0) * np.sum(other * other) / (m - 1.0) / m
        sd = math.sqrt(variance) / (abs(theta_b) if ratio else 1.0)
        below, above = type7_pair(draws, 0.5 * alpha, 1.0 - 0.5 * alpha)
        error[c] = sd
        bias[c] = 0.0 if statistic == MEAN else math.nan
        low[c] = theta - sd * above
        high[c] = theta - sd * below
        if status[c] == OK and not (abs(low[c]) < math.inf and abs(high[c]) < math.inf):
            status[c] = UNBOUNDED
