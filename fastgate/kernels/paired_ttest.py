"""The paired t test of many comparisons, from values."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.moments import MOMENTS, load, scaled
from fastgate.kernels.pairs import VALUES, Pairs, judge_differences, measure_differences, measure_with_care
from fastgate.kernels.records import Floats, Integers, MomentArrays, PairedArrays, PairedShownArrays
from fastgate.kernels.status import OK
from fastgate.kernels.student_t import student_t_two_sided
from fastgate.kernels.ttest import (
    correct,
    effect_sizes,
    write_intervals,
    write_pvalues,
)
from fastgate.kernels.types import OB, OF, OI, F

__all__ = [
    "OPTIONS",
    "PAIRED",
    "finish_tests",
    "paired_kernel",
    "paired_shown_kernel",
    "score_effects",
]

PAIRED: Final = types.NamedTuple([*[OF] * 11, OI, OI, OF, OF, OB, OF], PairedArrays)
_SHOWN: Final = types.NamedUniTuple(OF, 3, PairedShownArrays)

OPTIONS: Final = (types.int64, types.float64, F)

# Tests at a time: what is known of them between the steps stays in cache, and takes no fresh pages.
_BLOCK: Final = 1024


@device
def score_effects(pairs: Pairs, df: float) -> tuple[float, float, float]:
    """`effect_sizes` by the variances of the scores, of pairs whose test has a df."""
    n, of_a, of_b, of_d, _ = pairs
    if df != df:
        return math.nan, math.nan, math.nan
    # The scores may be of another magnitude than their differences.
    common = max(-5000 if of_a[5] else of_a[4], -5000 if of_b[5] else of_b[4])
    return effect_sizes(
        scaled(of_d[0], -common) + scaled(of_d[1], of_d[4] - common),
        scaled(of_a[2], 2 * (of_a[4] - common)),
        float(n),
        scaled(of_b[2], 2 * (of_b[4] - common)),
        float(n),
    )


@device
def finish_tests(
    start: int, stop: int, alternative: int, q: float, quantiles: Floats, out: PairedArrays
) -> None:
    """What follows from the results of tests start … stop − 1: corrected effects, p-values, intervals."""
    correct(start, stop, out.pvalue, out.hedges_g)
    correct(start, stop, out.df, out.hedges_gz)
    write_pvalues(start, stop, alternative, out.statistic, out.df, out.pvalue)
    write_intervals(
        start, stop, alternative, q, quantiles, out.delta, out.standard_error, out.df, out.ci_low, out.ci_high
    )


@kernel(types.void(*VALUES, MOMENTS, MOMENTS, *OPTIONS, PAIRED))
def paired_kernel(
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
    alternative: int,
    q: float,
    quantiles: Floats,
    out: PairedArrays,
) -> None:
    """Test i pairs the values of two cells in order; index −1 or unequal sizes: too few."""
    t, df, p, delta, _, _, d, g, dz, gz, r, n, n_missing, mean_b, mean_a, status, error = out
    for low in range(start, stop, _BLOCK):
        high = min(low + _BLOCK, stop)
        shift, centre, m2, comoment = measure_differences(
            low,
            high,
            candidate_values,
            candidate_offsets,
            baseline_values,
            baseline_offsets,
            candidate_index,
            baseline_index,
            candidates,
            baselines,
        )
        for i in range(low, high):
            a = baseline_index[i]
            b = candidate_index[i]
            k = i - low
            if m2[k] == m2[k]:
                of_d = (shift[k], centre[k], m2[k], math.nan, 0, False, OK)
                pairs = (candidates.n[b], load(baselines, a), load(candidates, b), of_d, comoment[k])
                n_missing[i] = 0
            else:
                pairs, n_missing[i] = measure_with_care(
                    a, b, baseline_values, baseline_offsets, candidate_values, candidate_offsets
                )
            n[i] = pairs[0]
            test = judge_differences(pairs)
            t[i], df[i], delta[i], dz[i], r[i], mean_b[i], mean_a[i], status[i], error[i] = test
            d[i], g[i], p[i] = score_effects(pairs, df[i])
            gz[i] = dz[i]
        finish_tests(low, high, alternative, q, quantiles, out)


@kernel(types.void(*VALUES, MOMENTS, MOMENTS, _SHOWN))
def paired_shown_kernel(
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
    out: PairedShownArrays,
) -> None:
    """What is shown of test i of `paired_kernel` beside another test: a third of its work, a fifth of its numbers."""
    p, r, dz = out
    t, df = np.empty(_BLOCK), np.empty(_BLOCK)
    for low in range(start, stop, _BLOCK):
        high = min(low + _BLOCK, stop)
        shift, centre, m2, comoment = measure_differences(
            low,
            high,
            candidate_values,
            candidate_offsets,
            baseline_values,
            baseline_offsets,
            candidate_index,
            baseline_index,
            candidates,
            baselines,
        )
        for i in range(low, high):
            a = baseline_index[i]
            b = candidate_index[i]
            k = i - low
            if m2[k] == m2[k]:
                of_d = (shift[k], centre[k], m2[k], math.nan, 0, False, OK)
                pairs = (candidates.n[b], load(baselines, a), load(candidates, b), of_d, comoment[k])
            else:
                pairs, _ = measure_with_care(
                    a, b, baseline_values, baseline_offsets, candidate_values, candidate_offsets
                )
            test = judge_differences(pairs)
            t[k], df[k] = test[0], test[1]
            dz[i], r[i] = test[3], test[4]
        student_t_two_sided(0, high - low, t, df, p[low:high])
