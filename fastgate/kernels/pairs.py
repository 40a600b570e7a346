"""The paired t test of many comparisons, from values."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel, reduction
from fastgate.kernels.moments import CELL, Cell, measure, minus, scaled
from fastgate.kernels.records import Floats, Integers, PairedArrays
from fastgate.kernels.special import hedges_correction
from fastgate.kernels.status import NONFINITE, OK, PRECISION_LOSS, TOO_FEW
from fastgate.kernels.ttest import NOISE, constant_status, effect_sizes, write_intervals, write_pvalues
from fastgate.kernels.types import OB, OF, OI, F, I

__all__ = [
    "OPTIONS",
    "PAIRED",
    "PAIRS",
    "VALUES",
    "Pairs",
    "judge_pairs",
    "measure_pairs",
    "paired_kernel",
]

PAIRED: Final = types.NamedTuple([*[OF] * 11, OI, OI, OF, OF, OB, OF], PairedArrays)

VALUES: Final = (types.int64, types.int64, F, I, F, I, I, I)
OPTIONS: Final = (types.int64, types.float64, F)

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
def judge_pairs(pairs: Pairs) -> tuple[float, ...]:
    """The fields of `PairedArrays` in their order, without p-value, interval and counts."""
    n, of_a, of_b, of_d, comoment = pairs
    shift_a, centre_a, m2_a, _, exponent_a, constant_a, status_a = of_a
    shift_b, centre_b, m2_b, _, exponent_b, constant_b, status_b = of_b
    shift, centre, m2, _, exponent, constant, status = of_d
    t = df = delta = d = g = dz = gz = r = mean_a = mean_b = error = math.nan
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
            gz = hedges_correction(df) * dz
            # The scores may be of another magnitude than their differences.
            common = max(-5000 if constant_a else exponent_a, -5000 if constant_b else exponent_b)
            d, g = effect_sizes(
                scaled(shift, -common) + scaled(centre, exponent - common),
                scaled(m2_a, 2 * (exponent_a - common)),
                float(n),
                scaled(m2_b, 2 * (exponent_b - common)),
                float(n),
            )
            error = scaled(root, exponent)
            lossy = status_a == PRECISION_LOSS or status_b == PRECISION_LOSS or status == PRECISION_LOSS
            noisy = root > NOISE * scaled(magnitude, -exponent)
            status = OK if noisy and not lossy else PRECISION_LOSS
        if n > 1 and m2_a > 0.0 and m2_b > 0.0:
            r = min(max(comoment / (math.sqrt(m2_a) * math.sqrt(m2_b)), -1.0), 1.0)
    return t, df, delta, d, g, dz, gz, r, mean_b, mean_a, status, error


@kernel(types.void(*VALUES, *OPTIONS, PAIRED))
def paired_kernel(
    start: int,
    stop: int,
    candidate_values: Floats,
    candidate_offsets: Integers,
    baseline_values: Floats,
    baseline_offsets: Integers,
    candidate_index: Integers,
    baseline_index: Integers,
    alternative: int,
    q: float,
    quantiles: Floats,
    out: PairedArrays,
) -> None:
    """Test i pairs the values of two cells in order; index −1 or unequal sizes: too few."""
    t, df, p, delta, low, high, d, g, dz, gz, r, n, n_missing, mean_b, mean_a, status, error = out
    for i in range(start, stop):
        low_a = high_a = low_b = high_b = 0
        if baseline_index[i] >= 0 and candidate_index[i] >= 0:
            low_a = baseline_offsets[baseline_index[i]]
            high_a = baseline_offsets[baseline_index[i] + 1]
            low_b = candidate_offsets[candidate_index[i]]
            high_b = candidate_offsets[candidate_index[i] + 1]
        pairs = measure_pairs(baseline_values[low_a:high_a], candidate_values[low_b:high_b], False)
        n[i] = pairs[0]
        n_missing[i] = high_a - low_a - pairs[0] if high_a - low_a == high_b - low_b else 0
        result = judge_pairs(pairs)
        t[i], df[i], delta[i], d[i], g[i], dz[i], gz[i], r[i] = result[:8]
        mean_b[i], mean_a[i], status[i], error[i] = result[8:]
    write_pvalues(start, stop, alternative, t, df, p)
    write_intervals(start, stop, alternative, q, quantiles, delta, error, df, low, high)
