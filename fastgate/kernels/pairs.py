"""The paired t test of many comparisons, from values."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel, reduction
from fastgate.kernels.moments import CELL, measure, minus, scaled
from fastgate.kernels.records import Floats, Integers, PairedArrays
from fastgate.kernels.special import hedges_correction
from fastgate.kernels.status import NONFINITE, OK, PRECISION_LOSS, TOO_FEW
from fastgate.kernels.ttest import NOISE, confidence_interval, constant_status, effect_sizes, tail
from fastgate.kernels.types import OB, OF, OI, F, I

__all__ = [
    "OPTIONS",
    "PAIRED",
    "VALUES",
    "Cell",
    "clear",
    "complete_pairs",
    "judge_pairs",
    "measure_pairs",
    "paired_kernel",
    "subtract",
]

PAIRED: Final = types.NamedTuple([*[OF] * 11, OI, OI, OF, OF, OB, OF], PairedArrays)

VALUES: Final = (types.int64, types.int64, F, I, F, I, I, I)
OPTIONS: Final = (types.int64, types.float64, types.boolean)

# One cell's moments as `measure` returns them: shift, centre, m2, m3, exponent, constant, status.
Cell = tuple[float, float, float, float, int, bool, int]


@device
def subtract(b: Floats, a: Floats, out: Floats) -> int:
    """Write b − a; the number of differences that are NaN."""
    missing = 0
    for i in range(a.size):
        out[i] = b[i] - a[i]
        missing += out[i] != out[i]
    return missing


@device
def complete_pairs(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The pairs without a NaN."""
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


@kernel(types.Tuple((CELL, CELL, CELL, types.float64))(F, F, F))
def measure_pairs(a: Floats, b: Floats, d: Floats) -> tuple[Cell, Cell, Cell, float]:
    """Moments of complete pairs and their differences d = b − a, and the co-moment / 2^(sum of exponents)."""
    of_a = measure(a, True)
    of_b = measure(b, True)
    of_d = measure(d, True)
    if of_a[6] != OK or of_b[6] != OK:
        return of_a, of_b, of_d, math.nan
    if of_a[4] == 0 and of_b[4] == 0:
        return of_a, of_b, of_d, _products(a, b, of_a[0], of_a[1], of_b[0], of_b[1])
    comoment = _products(
        _scaled_cell(a, of_a[4]),
        _scaled_cell(b, of_b[4]),
        scaled(of_a[0], -of_a[4]),
        of_a[1],
        scaled(of_b[0], -of_b[4]),
        of_b[1],
    )
    return of_a, of_b, of_d, comoment


@kernel(types.void(types.int64, CELL, CELL, CELL, types.float64, *OPTIONS, PAIRED, types.int64))
def judge_pairs(
    n: int,
    of_a: Cell,
    of_b: Cell,
    of_d: Cell,
    comoment: float,
    alternative: int,
    alpha: float,
    interval: bool,
    out: PairedArrays,
    i: int,
) -> None:
    """The test of n ≥ 1 pairs from the moments of baseline a, candidate b and difference d."""
    shift_a, centre_a, m2_a, _, exponent_a, constant_a, status_a = of_a
    shift_b, centre_b, m2_b, _, exponent_b, constant_b, status_b = of_b
    shift, centre, m2, _, exponent, constant, status = of_d
    if status_a == NONFINITE or status_b == NONFINITE or status == NONFINITE:
        out.status[i] = NONFINITE
        return
    mean_a = shift_a + scaled(centre_a, exponent_a)
    mean_b = shift_b + scaled(centre_b, exponent_b)
    difference = scaled(shift, -exponent) + centre
    delta = scaled(difference, exponent)
    out.mean_baseline[i] = mean_a
    out.mean_candidate[i] = mean_b
    out.delta[i] = delta
    if n < 2:
        return
    if m2_a > 0.0 and m2_b > 0.0:
        out.correlation[i] = min(max(comoment / (math.sqrt(m2_a) * math.sqrt(m2_b)), -1.0), 1.0)
    magnitude = max(abs(mean_a), abs(mean_b))
    if constant:
        out.standard_error[i] = 0.0
        out.status[i], out.statistic[i] = constant_status(delta, magnitude)
        return
    df = n - 1.0
    variance = m2 / df
    root = math.sqrt(variance / n)
    t = difference / root
    out.statistic[i] = t
    out.df[i] = df
    out.pvalue[i] = tail(t, df, alternative)
    if interval:
        low, high = confidence_interval(difference, root, df, alternative, alpha)
        out.ci_low[i] = scaled(low, exponent)
        out.ci_high[i] = scaled(high, exponent)
    effect = difference / math.sqrt(variance)
    out.cohens_dz[i] = effect
    out.hedges_gz[i] = hedges_correction(df) * effect
    # The scores may be of another magnitude than their differences.
    common = max(-5000 if constant_a else exponent_a, -5000 if constant_b else exponent_b)
    out.cohens_d[i], out.hedges_g[i] = effect_sizes(
        scaled(shift, -common) + scaled(centre, exponent - common),
        scaled(m2_a, 2 * (exponent_a - common)),
        float(n),
        scaled(m2_b, 2 * (exponent_b - common)),
        float(n),
    )
    out.standard_error[i] = scaled(root, exponent)
    lossy = status_a == PRECISION_LOSS or status_b == PRECISION_LOSS or status == PRECISION_LOSS
    noisy = root > NOISE * scaled(magnitude, -exponent)
    out.status[i] = OK if noisy and not lossy else PRECISION_LOSS


@device
def clear(out: PairedArrays, i: int) -> None:
    """Write the result of no pairs."""
    out.statistic[i] = out.df[i] = out.pvalue[i] = out.delta[i] = math.nan
    out.ci_low[i] = out.ci_high[i] = out.cohens_d[i] = out.hedges_g[i] = math.nan
    out.cohens_dz[i] = out.hedges_gz[i] = out.correlation[i] = math.nan
    out.mean_candidate[i] = out.mean_baseline[i] = out.standard_error[i] = math.nan
    out.n[i] = out.n_missing[i] = 0
    out.status[i] = TOO_FEW


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
    alpha: float,
    interval: bool,
    out: PairedArrays,
) -> None:
    """Test i pairs the values of two cells in order; index −1 or unequal sizes: too few."""
    for i in range(start, stop):
        clear(out, i)
        ia = baseline_index[i]
        ib = candidate_index[i]
        if ia < 0 or ib < 0:
            continue
        a = baseline_values[baseline_offsets[ia] : baseline_offsets[ia + 1]]
        b = candidate_values[candidate_offsets[ib] : candidate_offsets[ib + 1]]
        if a.size == 0 or a.size != b.size:
            continue
        d = np.empty(a.size)
        n = a.size
        if subtract(b, a, d) == 0:
            of_a, of_b, of_d, comoment = measure_pairs(a, b, d)
        else:
            kept_a, kept_b = complete_pairs(a, b)
            n = kept_a.size
            out.n_missing[i] = a.size - n
            if n == 0:
                continue
            d = d[:n]
            subtract(kept_b, kept_a, d)
            of_a, of_b, of_d, comoment = measure_pairs(kept_a, kept_b, d)
        out.n[i] = n
        judge_pairs(n, of_a, of_b, of_d, comoment, alternative, alpha, interval, out, i)
