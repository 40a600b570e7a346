"""The exact bootstrap law of a sample quantile, and of a difference of two: nothing is drawn.

A type-7 quantile lies between two neighbouring order statistics, whose joint law `bootstrap_order_tables` gives.
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
from fastgate.kernels.bootstrap_order_tables import COLUMNS, order_of
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask, OrderTables
from fastgate.kernels.bootstrap_types import LIMITS, ORDER_TABLES, SAMPLES, TASK
from fastgate.kernels.order_statistics import interpolated, sort, sort_weighted, type7
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import NO_ROOT
from fastgate.kernels.types import B, I

__all__ = ["quantile_limits", "quantile_pair_limits"]

_EPS: Final = 2.220446049250313e-16
# Neighbouring order statistics of a resample are rarely far apart: each further rank costs a factor of about e.
_APART: Final = 100


@device
def _evaluate(
    ordered: Floats, table: Floats, first: int, rows: int, fraction: float, decay: Floats, t: float
) -> tuple[float, float, float]:
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
    total = table[COLUMNS * (rank - first) + 1]
    if fraction == 0.0:
        return total, last, following
    top = first + rows - 1
    j = rank
    rest_rank = table[COLUMNS * (rank - first) + 3]
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
            rest -= table[COLUMNS * (j - first) + 3] * decay[j - i]
        total += table[COLUMNS * (i - first) + 2] * rest
    return total, last, following


@device
def _quantile(
    ordered: Floats, table: Floats, first: int, rows: int, fraction: float, decay: Floats, p: float
) -> float:
    """The least atom at which the law reaches p."""
    target = p - JUMP
    # The limits of the two order statistics enclose the one sought.
    ends = np.empty(2)
    for column in range(2):
        low = 0
        high = rows - 1
        while low < high:
            middle = (low + high) // 2
            if table[COLUMNS * middle + column] >= target:
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
    found: float = right
    return found


@device
def _moments(
    ordered: Floats, table: Floats, first: int, rows: int, fraction: float, theta: float
) -> tuple[float, float]:
    """Mean (relative to theta) and variance of the law."""
    mean_k = 0.0
    mean_k1 = 0.0
    square_k = 0.0
    square_k1 = 0.0
    before_k = 0.0
    before_k1 = 0.0
    for row in range(rows):
        x = ordered[first - 1 + row] - theta
        mass_k = table[COLUMNS * row] - before_k
        mass_k1 = table[COLUMNS * row + 1] - before_k1
        before_k = table[COLUMNS * row]
        before_k1 = table[COLUMNS * row + 1]
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
        rest = table[COLUMNS * row + 3]
        if row < rows - 1:
            following = table[COLUMNS * (row + 1) + 3] * math.exp(-1.0)
            beyond = beyond * math.exp(-1.0) + (rest - following) * (ordered[first + row] - theta)
        mass_k = table[COLUMNS * row] - (table[COLUMNS * (row - 1)] if row > 0 else 0.0)
        factor = table[COLUMNS * row + 2]
        product += x * (factor * beyond + max(mass_k - factor * rest, 0.0) * x)
    mean = (1.0 - fraction) * mean_k + fraction * mean_k1
    square = (
        (1.0 - fraction) ** 2 * square_k
        + fraction**2 * square_k1
        + 2.0 * fraction * (1.0 - fraction) * product
    )
    return mean, max(square - mean * mean, 0.0)


@device
def _decays() -> Floats:
    decay = np.empty(740)
    for d in range(decay.size):
        decay[d] = math.exp(-d)
    return decay


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, B, I, ORDER_TABLES, LIMITS))
def quantile_limits(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    table_of: Integers,
    laws: OrderTables,
    limits: BootstrapLimits,
) -> None:
    """Percentile, basic, normal or BCa limits of each cell whose route is QUANTILE_LAW.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
        Of a quantile of one sample.
    route : int8, shape (n_cells,)
    table_of : int64, shape (n_cells,)
        Which of the laws has the cell's size.
    laws : OrderTables
    limits : BootstrapLimits, output
        NO_ROOT where BCa has no limit.
    """
    a, starts_a, n_a = samples.a, samples.starts_a, samples.n_a
    _, q, method, _, alpha, z = task
    first, length, places, tables = laws
    estimate, low, high, error, bias, status = limits
    decay = _decays()
    room = np.empty(0)
    influence = np.empty(0)
    for c in range(start, stop):
        if route[c] != QUANTILE_LAW:
            continue
        size = n_a[c]
        if room.size < size:
            room = np.empty(size)
            influence = np.empty(size)
        ordered = room[:size]
        ordered[:] = a[starts_a[c] : starts_a[c] + size]
        sort(ordered)
        t = table_of[c]
        rank = first[t]
        rows = length[t]
        table = tables[COLUMNS * places[t] : COLUMNS * (places[t] + rows)]
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
def _law(
    ordered: Floats, table: Floats, first: int, rows: int, fraction: float, decay: Floats
) -> tuple[Floats, Floats]:
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
        mass = table[COLUMNS * row] - before
        before = table[COLUMNS * row]
        if fraction == 0.0:
            values[used] = x
            weights[used] = mass
            used += 1
            continue
        factor = table[COLUMNS * row + 2]
        rest = table[COLUMNS * row + 3]
        values[used] = x
        weights[used] = max(mass - factor * rest, 0.0)
        used += 1
        for j in range(row + 1, min(rows, row + _APART)):
            following = table[COLUMNS * j + 3] * decay[j - row]
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


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, B, I, I, ORDER_TABLES, LIMITS))
def quantile_pair_limits(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    table_a: Integers,
    table_b: Integers,
    laws: OrderTables,
    limits: BootstrapLimits,
) -> None:
    """The same for the difference of two samples' quantiles (route QUANTILE_PAIR), from the two exact laws."""
    a, starts_a, n_a, b, starts_b, n_b, _, _, _ = samples
    _, q, method, _, alpha, z = task
    first, length, places, tables = laws
    estimate, low, high, error, bias, status = limits
    decay = _decays()
    for c in range(start, stop):
        if route[c] != QUANTILE_PAIR:
            continue
        one = a[starts_a[c] : starts_a[c] + n_a[c]].copy()
        other = b[starts_b[c] : starts_b[c] + n_b[c]].copy()
        sort(one)
        sort(other)
        theta_a = type7(one, one.size, q)
        theta_b = type7(other, other.size, q)
        theta = theta_a - theta_b
        t = table_a[c]
        table = tables[COLUMNS * places[t] : COLUMNS * (places[t] + length[t])]
        _, fraction = order_of(one.size, q)
        values, weights = _law(one, table, first[t], length[t], fraction, decay)
        t = table_b[c]
        table = tables[COLUMNS * places[t] : COLUMNS * (places[t] + length[t])]
        _, fraction = order_of(other.size, q)
        others, other_weights = _law(other, table, first[t], length[t], fraction, decay)
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
            influence = np.empty(one.size + other.size)
            skew = cell_acceleration(one, other, theta_a, theta_b, QUANTILE, q, False, influence)
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
