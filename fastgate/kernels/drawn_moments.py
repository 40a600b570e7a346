"""Moments of rows of values in drawings of their cases: one matrix product for each power."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.drawing_records import DrawnRows, Grid
from fastgate.kernels.records import Floats
from fastgate.kernels.special import fma
from fastgate.kernels.types import OF, F, I

__all__ = ["ROWS", "WEIGHTS", "align_rows", "drawn_moments", "row_moments"]

GRID: Final = types.Array(types.float64, 2, "C", readonly=True)
OUT_GRID: Final = types.Array(types.float64, 2, "C")
WEIGHTS: Final = types.Array(types.float64, 3, "C", readonly=True)
ROWS: Final = types.NamedTuple([GRID, I, WEIGHTS, F, F, F, GRID, GRID, GRID], DrawnRows)
_OUT_ROWS: Final = types.NamedTuple([GRID, I, WEIGHTS, OF, OF, OF, OUT_GRID, OUT_GRID, OUT_GRID], DrawnRows)

# Squares of deviations in [1e-140, 1e140], and their sums, keep clear of both ends of float64.
_SMALL_SQUARE: Final = 1e-140
_LARGE_SQUARE: Final = 1e140
# Below this share of the sum of squares about the row's own mean the squares about the replicate's have lost digits.
_CANCELLED: Final = 1e-3
_BLOCK: Final = 8


@kernel(types.void(F, GRID, OF, OF))
def _sums(y: Floats, weights: Grid, sums: Floats, squares: Floats) -> None:
    """Weighted sums of y and of y², for each column of `weights`.

    Each column adds up its cases in their order, whatever the number of columns, so that no bit of a replicate
    depends on how many are computed at once; a matrix product of BLAS does not promise that. 37 GFLOPS on one core.
    """
    n = y.size
    columns = sums.size
    sums[:] = 0.0
    squares[:] = 0.0
    blocks = n - n % _BLOCK
    for i in range(0, blocks, _BLOCK):
        a, b, c, d = y[i], y[i + 1], y[i + 2], y[i + 3]
        e, f, g, h = y[i + 4], y[i + 5], y[i + 6], y[i + 7]
        aa, bb, cc, dd = a * a, b * b, c * c, d * d
        ee, ff, gg, hh = e * e, f * f, g * g, h * h
        wa, wb, wc, wd = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        we, wf, wg, wh = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        for r in range(columns):
            s = fma(d, wd[r], fma(c, wc[r], fma(b, wb[r], fma(a, wa[r], sums[r]))))
            sums[r] = fma(h, wh[r], fma(g, wg[r], fma(f, wf[r], fma(e, we[r], s))))
            q = fma(dd, wd[r], fma(cc, wc[r], fma(bb, wb[r], fma(aa, wa[r], squares[r]))))
            squares[r] = fma(hh, wh[r], fma(gg, wg[r], fma(ff, wf[r], fma(ee, we[r], q))))
    for i in range(blocks, n):
        a = y[i]
        aa = a * a
        wa = weights[i]
        for r in range(columns):
            sums[r] = fma(a, wa[r], sums[r])
            squares[r] = fma(aa, wa[r], squares[r])


@kernel(types.void(F, GRID, OF))
def _counts(values: Floats, weights: Grid, counts: Floats) -> None:
    """Drawn values that are there: the sum of the weights, and of whole numbers exact."""
    counts[:] = 0.0
    for i in range(values.size):
        if values[i] == values[i]:
            counts += weights[i]


@device
def _by_hand(values: Floats, weights: Grid, r: int, shift: float) -> tuple[float, float]:
    """Centre and variance of the mean of one replicate, from the values drawn; NaN where even that is not enough."""
    first = math.nan
    n = 0.0
    total = 0.0
    constant = True
    for i in range(values.size):
        w = weights[i, r]
        if w > 0.0 and values[i] == values[i]:
            if n == 0.0:
                first = values[i]
            n += w
            total += w * (values[i] - first)
            constant = constant and values[i] == first
    if constant:
        return first - shift, 0.0
    mean = total / n
    residue = 0.0
    squares = 0.0
    for i in range(values.size):
        w = weights[i, r]
        if w > 0.0 and values[i] == values[i]:
            deviation = (values[i] - first) - mean
            residue += w * deviation
            squares += w * (deviation * deviation)
    squares -= residue * (residue / n)
    if not squares > _SMALL_SQUARE:
        return math.nan, math.nan
    return (first - shift) + (mean + residue / n), squares / (n * (n - 1.0))


@device
def row_moments(
    values: Floats, weights: Grid, centre: Floats, variance: Floats, n: Floats
) -> tuple[float, float, float]:
    """Moments of a row in each replicate; its shift, the largest absolute value, and the reach: see `DrawnRows`."""
    shift = math.nan
    bound = 0.0
    low = math.inf
    high = -math.inf
    total = 0.0
    present = 0
    for i in range(values.size):
        value = values[i]
        if value == value:
            if present == 0:
                shift = value
            present += 1
            total += value - shift
            bound = max(bound, abs(value))
            low = min(low, value)
            high = max(high, value)
    reach = high - low
    if present == values.size:
        drawn = 0.0
        for i in range(values.size):
            drawn += weights[i, 0]
        n[:] = drawn
    else:
        _counts(values, weights, n)
    if present == 0 or not math.isfinite(reach) or not math.isfinite(total):
        centre[:] = math.nan
        variance[:] = math.nan
        return math.nan, bound, reach
    middle = total / present
    y = np.empty(values.size)
    squares = 0.0
    for i in range(values.size):
        y[i] = (values[i] - shift) - middle if values[i] == values[i] else 0.0
        squares += y[i] * y[i]
    if reach == 0.0:
        for r in range(n.size):
            centre[r] = 0.0 if n[r] > 0.0 else math.nan
            variance[r] = 0.0 if n[r] > 1.0 else math.nan
        return shift, bound, reach
    if not (squares > _SMALL_SQUARE and squares < _LARGE_SQUARE):
        centre[:] = math.nan
        variance[:] = math.nan
        return math.nan, bound, reach
    _sums(y, weights, centre, variance)
    doubtful = 0
    for r in range(n.size):
        total = centre[r]
        squares = variance[r]
        error = total / n[r]
        m2 = squares - total * error
        centre[r] = middle + error
        sure = (m2 > _CANCELLED * squares) & (m2 > _SMALL_SQUARE)
        variance[r] = m2 / (n[r] * (n[r] - 1.0)) if sure else math.nan
        doubtful += not sure
    if doubtful > 0:
        for r in range(n.size):
            if variance[r] != variance[r] and n[r] > 1.0:
                centre[r], variance[r] = _by_hand(values, weights, r, shift)
    return shift, bound, reach


@kernel(types.void(types.int64, types.int64, _OUT_ROWS))
def drawn_moments(start: int, stop: int, rows: DrawnRows) -> None:
    """Fill the moments of the rows start … stop - 1."""
    for i in range(start, stop):
        rows.shift[i], rows.bound[i], rows.reach[i] = row_moments(
            rows.values[i], rows.weights[rows.stratum[i]], rows.centre[i], rows.variance[i], rows.n[i]
        )


@kernel(types.void(types.int64, types.int64, F, I, I, I, I, OUT_GRID))
def align_rows(
    start: int, stop: int, values: Floats, offsets: Any, cases: Any, cells: Any, universe: Any, rows: Grid
) -> None:
    """The values of each cell over the cases of a universe (ascending), NaN where it has none; cell -1: none at all.

    Without ids (no `cases`) the case of a value is its place. Of a case that stands twice the last value counts.
    """
    for i in range(start, stop):
        row = rows[i]
        row[:] = math.nan
        if cells[i] < 0:
            continue
        low = offsets[cells[i]]
        high = offsets[cells[i] + 1]
        if cases.size == 0:
            row[: high - low] = values[low:high]
            continue
        place = 0
        for j in range(low, high):
            while place < universe.size and universe[place] < cases[j]:
                place += 1
            if place < universe.size and universe[place] == cases[j]:
                row[place] = values[j]
