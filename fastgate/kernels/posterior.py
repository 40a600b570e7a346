"""Credible intervals of ragged draws, of the normal and the beta distribution, and means of their widths."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.beta import lower_quantile
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import DEGENERATE, INVALID, NONFINITE, OK, TOO_FEW
from fastgate.kernels.tails import TODO, gather_tails, order, plan
from fastgate.kernels.types import OB, OF, OI, B, F, I

__all__ = [
    "PRESORTED",
    "beta_interval",
    "central_interval",
    "gather_rows",
    "highest_density_interval",
    "mean_width",
    "normal_interval",
    "row_length",
    "shortest_of_rows",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

# From this size on numpy's SIMD sort is quicker than a call of it costs (4 000 draws: 14 µs against 76 here).
PRESORTED: Final = 256


@device
def _verdict(n: int, width: float) -> int:
    """The status of an interval of n ≥ 1 finite draws."""
    if not width < math.inf:
        return NONFINITE
    if n == 1:
        return TOO_FEW
    return OK if width > 0.0 else DEGENERATE


@kernel(types.void(types.int64, types.int64, F, I, types.float64, OF, OF, OF, OB))
def central_interval(
    start: int,
    stop: int,
    values: Floats,
    offsets: Integers,
    outside: float,
    ci_low: Floats,
    ci_high: Floats,
    width: Floats,
    status: Codes,
) -> None:
    """Type-7 quantiles at outside/2 and 1 − outside/2 of the cells start … stop − 1.

    values (n_values,), offsets (n_cells + 1,), outputs (n_cells,).
    """
    largest = 0
    for c in range(start, stop):
        largest = max(largest, offsets[c + 1] - offsets[c])
    low = np.empty(largest + 1)
    upper = np.empty(largest + 1)
    scratch = np.empty(largest + 1)
    todo = np.empty(TODO, np.int64)
    for c in range(start, stop):
        cell = values[offsets[c] : offsets[c + 1]]
        n = cell.size
        ci_low[c] = ci_high[c] = width[c] = math.nan
        if n == 0:
            status[c] = TOO_FEW
            continue
        position = (n - 1) * (0.5 * outside)
        k = min(int(position), max(n - 2, 0))
        share = position - k
        step = min(1, n - 1)
        n_low, n_high, finite = gather_tails(cell, k + 1 + step, low, upper, scratch, todo)
        if not finite:
            status[c] = NONFINITE
            continue
        high = upper
        top = n_high - 1 - k
        if n_low == n:
            high = low
            order(low[:n], k, k + step, top - step, top, scratch, todo)
        else:
            order(low[:n_low], k, k + step, k, k + step, scratch, todo)
            order(high[:n_high], top - step, top, top - step, top, scratch, todo)
        # The order statistics' difference first: near 1e12 the ends are rounded by more than a width allows.
        span = high[top] - low[k]
        if span < math.inf:
            rise = share * (low[k + step] - low[k])
            fall = share * (high[top] - high[top - step])
            span = max(span - (rise + fall), 0.0)
            ci_low[c] = low[k] + rise
            ci_high[c] = high[top] - fall
            width[c] = span
        status[c] = _verdict(n, span)


@device
def _inside(n: int, mass: float) -> int:
    """The number of draws that the shortest interval of n holds."""
    return min(max(math.ceil(mass * n - 1e-9), 1), n)


@device
def _shortest(low: Floats, high: Floats) -> tuple[int, float]:
    """The i with the least high[i] − low[i], the first of several, and that distance."""
    best = 0
    shortest = math.inf
    for i in range(low.size):
        span = high[i] - low[i]
        if span < shortest:
            shortest = span
            best = i
    return best, shortest


@kernel(types.int64(types.int64, types.float64))
def row_length(n: int, mass: float) -> int:
    """Room for the tails of most cells of up to n draws in `gather_rows`; 0 where they had better be sorted."""
    size, rank = plan(n, n - _inside(n, mass) + 1)
    return int(n * ((rank + 3.5 * math.sqrt(rank)) / size)) + 8 if size > 0 else 0


@kernel(types.void(F, I, types.float64, OF, OB))
def gather_rows(values: Floats, offsets: Integers, mass: float, rows: Floats, gathered: Codes) -> None:
    """Put the two tails of each cell in two rows each, to be sorted together.

    values (n_values,), offsets (n_cells + 1,); rows (2 · n_cells · length,), filled up with ±inf; gathered (n_cells,):
    1 where the tails are in the rows, −1 where the cell is not finite, 0 where it has to be sorted whole.
    """
    cells = offsets.size - 1
    length = rows.size // (2 * cells)
    largest = 0
    for c in range(cells):
        largest = max(largest, offsets[c + 1] - offsets[c])
    low = np.empty(largest + 1)
    high = np.empty(largest + 1)
    scratch = np.empty(largest + 1)
    todo = np.empty(TODO, np.int64)
    for c in range(cells):
        cell = values[offsets[c] : offsets[c + 1]]
        n = cell.size
        n_low, n_high, finite = gather_tails(cell, n - _inside(n, mass) + 1, low, high, scratch, todo)
        gathered[c] = 0
        if not finite:
            gathered[c] = -1
        elif n_low < n and n_low <= length and n_high <= length:
            gathered[c] = 1
            row = rows[2 * c * length : (2 * c + 1) * length]
            row[:n_low] = low[:n_low]
            row[n_low:] = math.inf
            row = rows[(2 * c + 1) * length : (2 * c + 2) * length]
            row[: length - n_high] = -math.inf
            row[length - n_high :] = high[:n_high]


@kernel(types.void(F, I, types.float64, B, OF, OF, OF, OB))
def shortest_of_rows(
    rows: Floats,
    offsets: Integers,
    mass: float,
    gathered: Codes,
    ci_low: Floats,
    ci_high: Floats,
    width: Floats,
    status: Codes,
) -> None:
    """`highest_density_interval` of the cells that `gather_rows` gathered, from their rows, each sorted."""
    cells = offsets.size - 1
    length = rows.size // (2 * cells)
    for c in range(cells):
        if gathered[c] < 0:
            ci_low[c] = ci_high[c] = width[c] = math.nan
            status[c] = NONFINITE
        elif gathered[c] > 0:
            n = offsets[c + 1] - offsets[c]
            tail = n - _inside(n, mass) + 1
            low = rows[2 * c * length : 2 * c * length + tail]
            high = rows[(2 * c + 2) * length - tail : (2 * c + 2) * length]
            best, shortest = _shortest(low, high)
            ci_low[c] = low[best]
            ci_high[c] = high[best]
            width[c] = shortest
            status[c] = _verdict(n, shortest)
            if status[c] == NONFINITE:
                ci_low[c] = ci_high[c] = width[c] = math.nan


@kernel(types.void(types.int64, types.int64, OF, I, types.float64, OF, OF, OF, OB))
def highest_density_interval(
    start: int,
    stop: int,
    values: Floats,
    offsets: Integers,
    mass: float,
    ci_low: Floats,
    ci_high: Floats,
    width: Floats,
    status: Codes,
) -> None:
    """Shortest interval that holds ⌈mass·n − 1e−9⌉ draws, of several the lowest; cells start … stop − 1.

    Cells of `PRESORTED` draws or more come sorted (NaN last); shorter ones are sorted here, in place.
    values (n_values,), offsets (n_cells + 1,), outputs (n_cells,).
    """
    scratch = np.empty(PRESORTED)
    todo = np.empty(TODO, np.int64)
    for c in range(start, stop):
        cell = values[offsets[c] : offsets[c + 1]]
        n = cell.size
        ci_low[c] = ci_high[c] = width[c] = math.nan
        if n == 0:
            status[c] = TOO_FEW
            continue
        if n < PRESORTED:
            finite = 0
            for i in range(n):
                finite += abs(cell[i]) < math.inf
            if finite == n:
                order(cell, 0, n - 1, 0, n - 1, scratch, todo)
        else:
            finite = n if abs(cell[0]) < math.inf and abs(cell[n - 1]) < math.inf else 0
        if finite < n:
            status[c] = NONFINITE
            continue
        inside = _inside(n, mass)
        best, shortest = _shortest(cell[: n - inside + 1], cell[inside - 1 :])
        status[c] = _verdict(n, shortest)
        if status[c] != NONFINITE:
            ci_low[c] = cell[best]
            ci_high[c] = cell[best + inside - 1]
            width[c] = shortest


@kernel(types.void(types.int64, types.int64, F, F, types.float64, OF, OF, OF, OB))
def normal_interval(
    start: int,
    stop: int,
    mean: Floats,
    sd: Floats,
    outside: float,
    ci_low: Floats,
    ci_high: Floats,
    width: Floats,
    status: Codes,
) -> None:
    """Mean ± z·sd with z the normal quantile at 1 − outside/2; all arrays (n_cells,)."""
    z = normal_isf(0.5 * outside)
    for c in range(start, stop):
        half = z * sd[c]
        ci_low[c] = mean[c] - half
        ci_high[c] = mean[c] + half
        width[c] = 2.0 * z * sd[c]
        if not abs(sd[c]) < math.inf or not abs(mean[c]) < math.inf:
            status[c] = NONFINITE
        elif sd[c] < 0.0:
            status[c] = INVALID
        elif sd[c] == 0.0:
            status[c] = DEGENERATE
        elif not width[c] < math.inf or not abs(ci_low[c]) < math.inf or not abs(ci_high[c]) < math.inf:
            status[c] = NONFINITE
        else:
            status[c] = OK
        if status[c] == NONFINITE or status[c] == INVALID:
            ci_low[c] = ci_high[c] = width[c] = math.nan


@kernel(types.void(types.int64, types.int64, F, F, types.float64, OF, OF, OF, OF, OF, OB))
def beta_interval(
    start: int,
    stop: int,
    alpha: Floats,
    beta: Floats,
    outside: float,
    ci_low: Floats,
    ci_high: Floats,
    above_low: Floats,
    above_high: Floats,
    width: Floats,
    status: Codes,
) -> None:
    """Quantiles of Beta(alpha, beta) at outside/2 and 1 − outside/2, and 1 minus them; arrays (n_cells,)."""
    tail = 0.5 * outside
    z = -normal_isf(tail)
    for c in range(start, stop):
        a = alpha[c]
        b = beta[c]
        if not (a > 0.0 and b > 0.0 and a + b < math.inf):
            ci_low[c] = ci_high[c] = above_low[c] = above_high[c] = width[c] = math.nan
            status[c] = INVALID if a <= 0.0 or b <= 0.0 else NONFINITE
            continue
        x_low, y_low, d_low = lower_quantile(a, b, tail, z)
        y_high, x_high, d_high = lower_quantile(b, a, tail, z)
        ci_low[c] = x_low
        ci_high[c] = x_high
        above_low[c] = y_low
        above_high[c] = y_high
        if d_low <= 0.0 and d_high <= 0.0:
            # Of both ends' distances to the mean, on either side of it, neither cancels.
            width[c] = -d_low - d_high
        elif x_low < 0.5:
            width[c] = x_high - x_low
        else:
            width[c] = y_low - y_high
        status[c] = _verdict(2, width[c])


@kernel(types.void(types.int64, types.int64, F, B, I, OF, OI, OB))
def mean_width(
    start: int,
    stop: int,
    width: Floats,
    width_status: Codes,
    offsets: Integers,
    mean: Floats,
    n: Integers,
    status: Codes,
) -> None:
    """Arithmetic mean of the widths of the groups start … stop − 1; its status is the first that is not OK.

    width and width_status (n_widths,), offsets (n_groups + 1,), outputs (n_groups,).
    """
    for c in range(start, stop):
        total = 0.0
        found = OK
        first = offsets[c]
        n[c] = offsets[c + 1] - first
        for i in range(first, offsets[c + 1]):
            total += width[i]
            if found == OK:
                found = width_status[i]
        mean[c] = total / n[c] if n[c] > 0 else math.nan
        if n[c] == 0:
            found = TOO_FEW
        elif found == OK and not abs(mean[c]) < math.inf:
            found = NONFINITE
        status[c] = found
