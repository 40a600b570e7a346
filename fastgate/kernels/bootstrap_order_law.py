"""The exact bootstrap law of a sample quantile, from binomial probabilities: nothing is drawn.

A resample's K-th order statistic is at most the sample's i-th with probability P(Bin(n, i/n) ≥ K). A type-7 quantile lies
between the K-th and the (K+1)-th, and P(K-th = i, (K+1)-th > j) = C(n,K)[(i/n)^K − ((i−1)/n)^K](1 − j/n)^{n−K} for i ≤ j.
These depend on n and the quantile alone, so cells of one size share a table.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.bootstrap_codes import BASIC, BCA, JUMP, NORMAL, QUANTILE, QUANTILE_LAW, QUANTILE_PAIR
from fastgate.kernels.bootstrap_jackknife import cell_acceleration
from fastgate.kernels.bootstrap_laws import accumulate, law_moments, pair_below, pair_quantile
from fastgate.kernels.bootstrap_limits import adjusted_probability
from fastgate.kernels.order_statistics import interpolated, sort, sort_weighted, type7
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import NO_ROOT
from fastgate.kernels.types import OB, OF, OI, B, F, I

__all__ = ["order_tables", "order_windows", "quantile_limits", "quantile_pair_limits"]

_EPS: Final = 2.220446049250313e-16
# Ranks whose probability is below e^−46 = 1e−20 are left out of a table.
_NEGLIGIBLE: Final = 46.0
# Neighbouring order statistics of a resample are rarely far apart: each further rank costs a factor of about e.
_APART: Final = 100
# Columns of a table: P(K-th ≤ i), P((K+1)-th ≤ i), and the two scaled factors of the joint law.
_COLUMNS: Final = 4


@device
def order_of(n, q):
    """K (from 1) and the fraction between the K-th and (K+1)-th order statistic of the type-7 quantile."""
    h = (n - 1) * q
    k = int(h)
    if k >= n - 1:
        return n, 0.0
    return k + 1, h - k


@device
def _divergence(k, n, i):
    """n times the Kullback-Leibler divergence of k/n from i/n."""
    total = 0.0
    if k > 0:
        total += k * math.log(k / i)
    if k < n:
        total += (n - k) * math.log((n - k) / (n - i)) if i < n else math.inf
    return total


@kernel(types.void(types.int64, types.int64, I, types.float64, OI, OI))
def order_windows(start, stop, sizes, q, first, length):
    """The ranks (from 1) that a quantile of a resample of each size can have with a probability above 1e−20."""
    for t in range(start, stop):
        n = sizes[t]
        k, _ = order_of(n, q)
        low = k
        while low > 1 and _divergence(k, n, low - 1) < _NEGLIGIBLE:
            low -= 1
        top = min(k + 1, n)
        high = top
        while high < n and _divergence(top - 1, n, high) < _NEGLIGIBLE:
            high += 1
        first[t] = low
        length[t] = high - low + 1


@device
def _stirling_error(n):
    """log n! − (log √(2πn) + n·log n − n)."""
    if n < 16.0:
        total = 0.0
        for k in range(2, int(n) + 1):
            total += math.log(k)
        return total - (0.5 * math.log(2.0 * math.pi * n) + n * math.log(n) - n)
    square = 1.0 / (n * n)
    return (
        1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - square / 1188.0) * square) * square) * square
    ) / n


@device
def _deviance(x, mean):
    """x·log(x/mean) + mean − x, without cancellation (Loader 2000)."""
    d = x - mean
    if abs(d) < 0.1 * (x + mean):
        v = d / (x + mean)
        total = d * v
        term = 2.0 * x * v
        for j in range(1, 30):
            term *= v * v
            following = total + term / (2 * j + 1)
            if following == total:
                break
            total = following
        return total
    return x * math.log(x / mean) + mean - x


@device
def _binomial_mass(k, n, p):
    """P(Bin(n, p) = k), by Loader's saddle-point form."""
    if p >= 1.0:
        return 1.0 if k == n else 0.0
    if k == 0:
        return math.exp(n * math.log1p(-p))
    if k == n:
        return math.exp(n * math.log(p))
    logarithm = _stirling_error(float(n)) - _stirling_error(float(k)) - _stirling_error(float(n - k))
    logarithm -= _deviance(float(k), n * p) + _deviance(float(n - k), n * (1.0 - p))
    return math.exp(logarithm) * math.sqrt(n / (2.0 * math.pi * k * (n - k)))


@device
def _at_least(k, n, p, mass):
    """P(Bin(n, p) ≥ k), summed outwards from k over the smaller tail; `mass` is P(Bin = k)."""
    if p >= 1.0:
        return 1.0
    odds = p / (1.0 - p)
    if k > n * p:
        total = 0.0
        term = mass
        for j in range(k, n + 1):
            total += term
            if term < 1e-18 * total:
                break
            term *= odds * (n - j) / (j + 1.0)
        return total
    total = 0.0
    term = mass
    for j in range(k, 0, -1):
        term *= j / ((n - j + 1.0) * odds)
        total += term
        if term < 1e-18 * total:
            break
    return 1.0 - total


@kernel(types.void(types.int64, types.int64, I, types.float64, I, I, I, OF))
def order_tables(start, stop, sizes, q, first, length, places, tables):
    """Fill the table of each size: `length` rows of 4 columns from ``4·places[t]``."""
    for t in range(start, stop):
        n = sizes[t]
        k, fraction = order_of(n, q)
        table = tables[_COLUMNS * places[t] : _COLUMNS * (places[t] + length[t])]
        scale = _binomial_mass(k, n, k / n) if k < n else 1.0
        for row in range(length[t]):
            i = first[t] + row
            p = i / n
            mass = _binomial_mass(k, n, p)
            table[_COLUMNS * row] = _at_least(k, n, p, mass)
            table[_COLUMNS * row + 1] = table[_COLUMNS * row]
            if fraction > 0.0:
                table[_COLUMNS * row + 1] = _at_least(k + 1, n, p, _binomial_mass(k + 1, n, p))
            # (i/K)^K − ((i−1)/K)^K and ((n−i)/(n−K))^{n−K}, each without its factor e^{±(i−K)}.
            power = k * math.log1p((i - k) / k) - (i - k)
            table[_COLUMNS * row + 2] = (
                scale * math.exp(power) * (-math.expm1(k * math.log1p(-1.0 / i)) if i > 1 else 1.0)
            )
            rest = 0.0
            if i < n:
                rest = math.exp((n - k) * math.log1p((k - i) / (n - k)) + (i - k))
            table[_COLUMNS * row + 3] = rest


@device
def _evaluate(ordered, table, first, rows, fraction, decay, t):
    """P(V ≤ t), and the atoms of the law next to t: the last one up to it and the first above it."""
    n = ordered.size
    # How many values are ≤ t, among the ranks of the table.
    low = first - 1
    high = min(first + rows - 1, n)
    while low < high:
        middle = (low + high + 1) // 2
        if ordered[middle - 1] <= t:
            low = middle
        else:
            high = middle - 1
    rank = low
    last = ordered[rank - 1] if rank >= first else -math.inf
    following = ordered[rank] if rank < first + rows - 1 else math.inf
    if rank < first:
        return 0.0, last, following
    total = table[_COLUMNS * (rank - first) + 1]
    if fraction == 0.0:
        return total, last, following
    top = first + rows - 1
    j = rank
    rest_rank = table[_COLUMNS * (rank - first) + 3]
    for i in range(rank, max(first, rank - _APART) - 1, -1):
        x = ordered[i - 1]
        while j < top and interpolated(x, ordered[j], fraction) <= t:
            j += 1
        if j > rank:
            last = max(last, interpolated(x, ordered[j - 1], fraction))
        if j < top:
            following = min(following, interpolated(x, ordered[j], fraction))
        rest = rest_rank * decay[rank - i]
        if j - i < decay.size:
            rest -= table[_COLUMNS * (j - first) + 3] * decay[j - i]
        total += table[_COLUMNS * (i - first) + 2] * rest
    return total, last, following


@device
def _quantile(ordered, table, first, rows, fraction, decay, p):
    """The least atom at which the law reaches p."""
    target = p - JUMP
    # The limits of the two order statistics enclose the one sought.
    ends = np.empty(2)
    for column in range(2):
        low = 0
        high = rows - 1
        while low < high:
            middle = (low + high) // 2
            if table[_COLUMNS * middle + column] >= target:
                high = middle
            else:
                low = middle + 1
        ends[column] = ordered[first - 1 + low]
    left = ends[0]
    right = ends[1]
    while left < right:
        t = left + 0.5 * (right - left)
        if t >= right:
            t = left
        total, last, following = _evaluate(ordered, table, first, rows, fraction, decay, t)
        if total >= target:
            right = last
        else:
            left = following
    return right


@device
def _moments(ordered, table, first, rows, fraction, theta):
    """Mean (relative to theta) and variance of the law."""
    mean_k = 0.0
    mean_k1 = 0.0
    square_k = 0.0
    square_k1 = 0.0
    before_k = 0.0
    before_k1 = 0.0
    for row in range(rows):
        x = ordered[first - 1 + row] - theta
        mass_k = table[_COLUMNS * row] - before_k
        mass_k1 = table[_COLUMNS * row + 1] - before_k1
        before_k = table[_COLUMNS * row]
        before_k1 = table[_COLUMNS * row + 1]
        mean_k += mass_k * x
        mean_k1 += mass_k1 * x
        square_k += mass_k * x * x
        square_k1 += mass_k1 * x * x
    if fraction == 0.0:
        return mean_k, max(square_k - mean_k * mean_k, 0.0)
    product = 0.0
    beyond = 0.0
    for row in range(rows - 1, -1, -1):
        x = ordered[first - 1 + row] - theta
        rest = table[_COLUMNS * row + 3]
        if row < rows - 1:
            following = table[_COLUMNS * (row + 1) + 3] * math.exp(-1.0)
            beyond = beyond * math.exp(-1.0) + (rest - following) * (ordered[first + row] - theta)
        mass_k = table[_COLUMNS * row] - (table[_COLUMNS * (row - 1)] if row > 0 else 0.0)
        factor = table[_COLUMNS * row + 2]
        product += x * (factor * beyond + max(mass_k - factor * rest, 0.0) * x)
    mean = (1.0 - fraction) * mean_k + fraction * mean_k1
    square = (
        (1.0 - fraction) ** 2 * square_k
        + fraction**2 * square_k1
        + 2.0 * fraction * (1.0 - fraction) * product
    )
    return mean, max(square - mean * mean, 0.0)


@device
def _decays():
    decay = np.empty(740)
    for d in range(decay.size):
        decay[d] = math.exp(-d)
    return decay


@kernel(
    types.void(
        types.int64, types.int64, F, I, I, types.float64, types.int64, types.float64, types.float64, B, I, I, I, I, F,
        OF, OF, OF, OF, OF, OB,
    )
)  # fmt: skip
def quantile_limits(
    start, stop, a, offsets, n, q, method, alpha, z, route, table_of, first, length, places, tables,
    estimate, low, high, error, bias, status,
):  # fmt: skip
    """Percentile, basic, normal or BCa limits of each cell whose route is QUANTILE_LAW.

    Parameters
    ----------
    a : float64
        Cleaned values: ``n[c]`` of them from ``offsets[c]``.
    q : float
        The quantile, in (0, 1).
    alpha, z : float
        1 − the confidence level, and the normal quantile of 1 − α/2.
    table_of : int64, shape (n_cells,)
        Which table (of `first`, `length`, `places`) has the cell's size.
    estimate, low, high, error, bias : float64, shape (n_cells,), output
    status : int8, shape (n_cells,), in and output
        NO_ROOT where BCa has no limit; else as it was.
    """
    decay = _decays()
    room = np.empty(0)
    influence = np.empty(0)
    for c in range(start, stop):
        if route[c] != QUANTILE_LAW:
            continue
        size = n[c]
        if room.size < size:
            room = np.empty(size)
            influence = np.empty(size)
        ordered = room[:size]
        ordered[:] = a[offsets[c] : offsets[c] + size]
        sort(ordered)
        t = table_of[c]
        rank = first[t]
        rows = length[t]
        table = tables[_COLUMNS * places[t] : _COLUMNS * (places[t] + rows)]
        _, fraction = order_of(size, q)
        theta = type7(ordered, size, q)
        mean, variance = _moments(ordered, table, rank, rows, fraction, theta)
        estimate[c] = theta
        error[c] = math.sqrt(variance)
        bias[c] = mean
        if method == NORMAL:
            low[c] = theta - mean - z * error[c]
            high[c] = theta - mean + z * error[c]
            continue
        level_low = 0.5 * alpha
        level_high = 1.0 - 0.5 * alpha
        if method == BCA:
            close = 4.0 * _EPS * abs(theta)
            below = _evaluate(
                ordered, table, rank, rows, fraction, decay, np.nextafter(theta - close, -math.inf)
            )[0]
            upto = _evaluate(ordered, table, rank, rows, fraction, decay, theta + close)[0]
            z0 = -normal_isf(min(0.5 * (below + upto), 1.0))
            skew = cell_acceleration(ordered, ordered[:0], theta, 0.0, QUANTILE, q, False, influence)
            level_low = adjusted_probability(z0, skew, -z)
            level_high = adjusted_probability(z0, skew, z)
        if not (level_low > 0.0 and level_high < 1.0):
            status[c] = NO_ROOT
            continue
        left = _quantile(ordered, table, rank, rows, fraction, decay, level_low)
        right = _quantile(ordered, table, rank, rows, fraction, decay, level_high)
        if method == BASIC:
            low[c] = theta - (right - theta)
            high[c] = theta - (left - theta)
        else:
            low[c] = left
            high[c] = right


@device
def _law(ordered, table, first, rows, fraction, decay):
    """The law's atoms and weights, sorted by value."""
    atoms = rows
    if fraction > 0.0:
        atoms = rows * min(rows, _APART) + rows
    values = np.empty(atoms)
    weights = np.empty(atoms)
    used = 0
    before = 0.0
    for row in range(rows):
        x = ordered[first - 1 + row]
        mass = table[_COLUMNS * row] - before
        before = table[_COLUMNS * row]
        if fraction == 0.0:
            values[used] = x
            weights[used] = mass
            used += 1
            continue
        factor = table[_COLUMNS * row + 2]
        rest = table[_COLUMNS * row + 3]
        values[used] = x
        weights[used] = max(mass - factor * rest, 0.0)
        used += 1
        for j in range(row + 1, min(rows, row + _APART)):
            following = table[_COLUMNS * j + 3] * decay[j - row]
            weight = factor * (rest - following)
            rest = following
            if weight > 1e-18:
                values[used] = interpolated(x, ordered[first - 1 + j], fraction)
                weights[used] = weight
                used += 1
            elif factor * following < 1e-18:
                break
    values = values[:used]
    weights = weights[:used]
    sort_weighted(values, weights)
    return values, weights


@kernel(
    types.void(
        types.int64, types.int64, F, I, I, F, I, I, types.float64, types.int64, types.float64, types.float64, B, I, I, I, I, I,
        F, OF, OF, OF, OF, OF, OB,
    )
)  # fmt: skip
def quantile_pair_limits(
    start, stop, a, offsets_a, n_a, b, offsets_b, n_b, q, method, alpha, z, route, table_a, table_b, first, length, places,
    tables, estimate, low, high, error, bias, status,
):  # fmt: skip
    """The same for the difference of two samples' quantiles (route QUANTILE_PAIR), from the two exact laws."""
    decay = _decays()
    for c in range(start, stop):
        if route[c] != QUANTILE_PAIR:
            continue
        one = a[offsets_a[c] : offsets_a[c] + n_a[c]].copy()
        two = b[offsets_b[c] : offsets_b[c] + n_b[c]].copy()
        sort(one)
        sort(two)
        theta_a = type7(one, one.size, q)
        theta_b = type7(two, two.size, q)
        theta = theta_a - theta_b
        t = table_a[c]
        table = tables[_COLUMNS * places[t] : _COLUMNS * (places[t] + length[t])]
        _, fraction = order_of(one.size, q)
        values, weights = _law(one, table, first[t], length[t], fraction, decay)
        t = table_b[c]
        table = tables[_COLUMNS * places[t] : _COLUMNS * (places[t] + length[t])]
        _, fraction = order_of(two.size, q)
        others, other_weights = _law(two, table, first[t], length[t], fraction, decay)
        cumulative = np.empty(values.size)
        accumulate(weights, cumulative)
        mean_a, variance_a = law_moments(values, weights)
        mean_b, variance_b = law_moments(others, other_weights)
        estimate[c] = theta
        bias[c] = (mean_a - theta_a) - (mean_b - theta_b)
        error[c] = math.sqrt(variance_a + variance_b)
        if method == NORMAL:
            low[c] = theta - bias[c] - z * error[c]
            high[c] = theta - bias[c] + z * error[c]
            continue
        level_low = 0.5 * alpha
        level_high = 1.0 - 0.5 * alpha
        if method == BCA:
            close = 16.0 * _EPS * max(abs(theta_a), abs(theta_b))
            z0 = -normal_isf(
                min(pair_below(values, cumulative, others, other_weights, False, theta, close), 1.0)
            )
            influence = np.empty(one.size + two.size)
            skew = cell_acceleration(one, two, theta_a, theta_b, QUANTILE, q, False, influence)
            level_low = adjusted_probability(z0, skew, -z)
            level_high = adjusted_probability(z0, skew, z)
        if not (level_low > 0.0 and level_high < 1.0):
            status[c] = NO_ROOT
            continue
        left = pair_quantile(values, cumulative, others, other_weights, False, level_low)
        right = pair_quantile(values, cumulative, others, other_weights, False, level_high)
        if method == BASIC:
            low[c] = 2.0 * theta - right
            high[c] = 2.0 * theta - left
        else:
            low[c] = left
            high[c] = right
