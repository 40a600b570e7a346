"""Pairs of values: their moments, those of their differences, and the t test of these."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel, reduction
from fastgate.kernels.moments import (
    CELL,
    Cell,
    corrected,
    measure,
    minus,
    ordinary,
    scaled,
    two_passes,
)
from fastgate.kernels.records import Floats, Integers, MomentArrays
from fastgate.kernels.status import NONFINITE, OK, PRECISION_LOSS, TOO_FEW
from fastgate.kernels.ttest import NOISE, constant_status
from fastgate.kernels.types import F, I

__all__ = [
    "PAIRS",
    "VALUES",
    "Pairs",
    "judge_differences",
    "measure_differences",
    "measure_pairs",
    "measure_with_care",
]


VALUES: Final = (types.int64, types.int64, F, I, F, I, I, I)

# Number of pairs, moments of baseline, candidate and difference, co-moment / 2^(sum of both sides'
# exponents).
Pairs = tuple[int, Cell, Cell, Cell, float]
PAIRS: Final = types.Tuple((types.int64, CELL, CELL, CELL, types.float64))


@device
def _subtract(b: Floats, a: Floats, out: Floats) -> int:
    """Write b − a; the number of differences that are NaN."""
    missing = 0
    for i in range(a.size):
        out[i] = b[i] - a[i]
        missing += out[i] != out[i]
    return missing


@device
def _complete_pairs(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    kept_a = np.empty(a.size)
    kept_b = np.empty(a.size)
    n = 0
    for i in range(a.size):
        if a[i] == a[i] and b[i] == b[i]:
            kept_a[n] = a[i]
            kept_b[n] = b[i]
            n += 1
    return kept_a[:n], kept_b[:n]


@reduction(types.float64(F, F, types.float64, types.float64, types.float64, types.float64))
def _products(
    a: Floats, b: Floats, shift_a: float, centre_a: float, shift_b: float, centre_b: float
) -> float:
    products = 0.0
    for i in range(a.size):
        products += minus(minus(a[i], shift_a), centre_a) * minus(minus(b[i], shift_b), centre_b)
    return products


@device
def _scaled_cell(cell: Floats, exponent: int) -> Floats:
    out = np.empty(cell.size)
    for i in range(cell.size):
        out[i] = scaled(cell[i], -exponent)
    return out


@kernel(PAIRS(F, F, F, types.boolean))
def _measure(a: Floats, b: Floats, d: Floats, third: bool) -> Pairs:
    of_a = measure(a, third)
    of_b = measure(b, third)
    of_d = measure(d, third)
    comoment = math.nan
    if of_a[6] == OK and of_b[6] == OK:
        if of_a[4] == 0 and of_b[4] == 0:
            comoment = _products(a, b, of_a[0], of_a[1], of_b[0], of_b[1])
        else:
            comoment = _products(
                _scaled_cell(a, of_a[4]),
                _scaled_cell(b, of_b[4]),
                scaled(of_a[0], -of_a[4]),
                of_a[1],
                scaled(of_b[0], -of_b[4]),
                of_b[1],
            )
    return a.size, of_a, of_b, of_d, comoment


@kernel(PAIRS(F, F, types.boolean))
def measure_pairs(a: Floats, b: Floats, third: bool) -> Pairs:
    """Number and moments of complete pairs and of their differences b − a; 0 where sizes differ."""
    n = a.size if a.size == b.size else 0
    d = np.empty(n)
    if n > 0 and _subtract(b, a, d) == 0:
        return _measure(a, b, d, third)
    if n > 0:
        kept_a, kept_b = _complete_pairs(a, b)
        n = kept_a.size
        if n > 0:
            d = d[:n]
            _subtract(kept_b, kept_a, d)
            return _measure(kept_a, kept_b, d, third)
    nothing = (math.nan, math.nan, 0.0, 0.0, 0, False, TOO_FEW)
    return 0, nothing, nothing, nothing, 0.0


@device
def _longest(offsets: Integers, index: Integers, start: int, stop: int) -> int:
    longest = 0
    for i in range(start, stop):
        if index[i] >= 0:
            longest = max(longest, offsets[index[i] + 1] - offsets[index[i]])
    return longest


@device
def _sums_of_pairs(
    a: Floats,
    start_a: int,
    b: Floats,
    start_b: int,
    n: int,
    shift_a: float,
    centre_a: float,
    shift_b: float,
    centre_b: float,
    scratch: Floats,
) -> tuple[float, float, float, float, float]:
    """`two_passes` over the differences of n pairs, and the co-moment of their cells.

    Straight-line code, as `two_passes` is.
    """
    cell_a, cell_b, difference = a[start_a : start_a + n], b[start_b : start_b + n], scratch[:n]
    for i in range(n):
        difference[i] = cell_b[i] - cell_a[i]
    shift, centre, residue, squares = two_passes(difference, 0, n)
    return shift, centre, residue, squares, _products(cell_a, cell_b, shift_a, centre_a, shift_b, centre_b)


@device
def measure_differences(
    start: int,
    stop: int,
    candidate_values: Floats,
    candidate_offsets: Integers,
    baseline_values: Floats,
    baseline_offsets: Integers,
    candidate_index: Integers,
    baseline_index: Integers,
    candidates: MomentArrays,
    baselines: MomentArrays,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Shift, centre and M2 of each test's differences, and co-moment; M2 is NaN of those to be measured with care.

    Where both cells are whole and of ordinary magnitude, their own moments are those of the pairs, and only the
    differences are left to measure: 100 ns for 100 pairs instead of 750. The moments are taken apart first, since of
    named arrays that are used in a branch numba counts references.
    """
    n_tests = stop - start
    shift, centre, m2, comoment = np.empty(n_tests), np.empty(n_tests), np.empty(n_tests), np.empty(n_tests)
    scratch = np.empty(_longest(candidate_offsets, candidate_index, start, stop))
    _, missing_a, shift_a, centre_a, _, _, exponent_a, _, status_a = baselines
    _, missing_b, shift_b, centre_b, _, _, exponent_b, _, status_b = candidates
    for i in range(n_tests):
        m2[i] = math.nan
        a = baseline_index[start + i]
        b = candidate_index[start + i]
        if a < 0 or b < 0 or missing_a[a] + missing_b[b] > 0:
            continue
        low_a, low_b = baseline_offsets[a], candidate_offsets[b]
        n = baseline_offsets[a + 1] - low_a
        alike = n == candidate_offsets[b + 1] - low_b and exponent_a[a] == 0 and exponent_b[b] == 0
        if alike and status_a[a] == OK and status_b[b] == OK:
            first, middle, residue, squares, comoment[i] = _sums_of_pairs(
                baseline_values,
                low_a,
                candidate_values,
                low_b,
                n,
                shift_a[a],
                centre_a[a],
                shift_b[b],
                centre_b[b],
                scratch,
            )
            if ordinary(squares):
                shift[i] = first
                centre[i], m2[i], _ = corrected(n, middle, residue, squares, math.nan)
    return shift, centre, m2, comoment


@device
def measure_with_care(
    a: int,
    b: int,
    baseline_values: Floats,
    baseline_offsets: Integers,
    candidate_values: Floats,
    candidate_offsets: Integers,
) -> tuple[Pairs, int]:
    """The pairs of baseline cell a and candidate cell b, and how many are incomplete; none where sizes differ."""
    low_a = high_a = low_b = high_b = 0
    if a >= 0 and b >= 0:
        low_a, high_a = baseline_offsets[a], baseline_offsets[a + 1]
        low_b, high_b = candidate_offsets[b], candidate_offsets[b + 1]
    pairs = measure_pairs(baseline_values[low_a:high_a], candidate_values[low_b:high_b], False)
    return pairs, high_a - low_a - pairs[0] if high_a - low_a == high_b - low_b else 0


@device
def judge_differences(pairs: Pairs) -> tuple[float, float, float, float, float, float, float, int, float]:
    """Statistic, df, delta, Cohen's dz, correlation, means of candidate and baseline, status, standard error."""
    n, of_a, of_b, of_d, comoment = pairs
    shift_a, centre_a, m2_a, _, exponent_a, _, status_a = of_a
    shift_b, centre_b, m2_b, _, exponent_b, _, status_b = of_b
    shift, centre, m2, _, exponent, constant, status = of_d
    t = df = delta = dz = r = mean_a = mean_b = error = math.nan
    if n > 0 and (status_a == NONFINITE or status_b == NONFINITE or status == NONFINITE):
        status = NONFINITE
    elif n > 0:
        mean_a = shift_a + scaled(centre_a, exponent_a)
        mean_b = shift_b + scaled(centre_b, exponent_b)
        magnitude = max(abs(mean_a), abs(mean_b))
        difference = scaled(shift, -exponent) + centre
        delta = scaled(difference, exponent)
        if n < 2:
            status = TOO_FEW
        elif constant:
            error = 0.0
            status, t = constant_status(delta, magnitude)
        else:
            df = n - 1.0
            variance = m2 / df
            root = math.sqrt(variance / n)
            t = difference / root
            dz = difference / math.sqrt(variance)
            error = scaled(root, exponent)
            lossy = status_a == PRECISION_LOSS or status_b == PRECISION_LOSS or status == PRECISION_LOSS
            noisy = root > NOISE * scaled(magnitude, -exponent)
            status = OK if noisy and not lossy else PRECISION_LOSS
        if n > 1 and m2_a > 0.0 and m2_b > 0.0:
            r = min(max(comoment / (math.sqrt(m2_a) * math.sqrt(m2_b)), -1.0), 1.0)
    return t, df, delta, dz, r, mean_b, mean_a, status, error
