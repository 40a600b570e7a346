"""What the rule reads of one comparison of two samples, as a byte: see `fastgate.kernels.drawing_records`."""

from __future__ import annotations

import math
from typing import Final

from numba import types

from fastgate.jit import device
from fastgate.kernels.drawing_records import (
    DIFFERENT,
    EQUAL,
    FAULT,
    LOSING,
    NOTHING,
    SHOWN,
    SIGNIFICANT,
    WINNING,
    WITHIN,
    WORSE,
    Levels,
    RuleRows,
    Sides,
    Statistics,
)
from fastgate.kernels.drawn_moments import OUT_GRID
from fastgate.kernels.moments import measure
from fastgate.kernels.pairs import judge_differences, measure_pairs
from fastgate.kernels.records import Floats
from fastgate.kernels.status import NONFINITE, OK, TOO_FEW, ZERO_VAR_DIFF, ZERO_VAR_EQUAL
from fastgate.kernels.student_t import t_sf, t_two_sided
from fastgate.kernels.ttest import compare_cells
from fastgate.kernels.types import F, I

__all__ = [
    "LEVELS",
    "OUT_STATES",
    "RULES",
    "SIDES",
    "STATISTICS",
    "is_significant",
    "judge_samples",
    "judged",
]

_BYTES: Final = types.Array(types.uint8, 1, "C", readonly=True)
OUT_STATES: Final = types.Array(types.uint8, 2, "C")
RULES: Final = types.NamedTuple([F, _BYTES, _BYTES, F], RuleRows)
LEVELS: Final = types.NamedTuple([types.float64, types.float64, types.boolean, F, F, F], Levels)
SIDES: Final = types.NamedTuple([I, I, I, _BYTES], Sides)
STATISTICS: Final = types.NamedUniTuple(OUT_GRID, 2, Statistics)


@device
def is_significant(size: float, df: float, levels: Levels) -> bool:
    """Whether |t| = `size` is significant on its own side of 0."""
    pvalue = t_two_sided(size, df) if levels.two_sided else t_sf(size, df)
    return pvalue < levels.alpha


@device
def judged(
    status: int, t: float, df: float, delta: float, error: float, k: int, rules: RuleRows, levels: Levels
) -> int:
    """The state of a comparison of KPI k, from its test."""
    gain = rules.sign[k] * delta
    margin = rules.margin[k]
    state = 0
    if gain > 0.0:
        state = WINNING
    elif gain < 0.0:
        state = LOSING
    if status == OK:
        if not math.isfinite(delta):
            return FAULT
        t *= rules.sign[k]
        state |= SHOWN
        if is_significant(abs(t), df, levels):
            state |= SIGNIFICANT
        if rules.not_worse[k] == 1 and t_sf(-t, df) < levels.guard_alpha:
            state |= WORSE
        if margin == margin and t_sf((gain + margin) / error, df) < levels.alpha:
            state |= WITHIN
        return state
    if status in (TOO_FEW, NONFINITE):
        return FAULT
    if (status != ZERO_VAR_EQUAL and status != ZERO_VAR_DIFF) or not math.isfinite(delta):
        return NOTHING
    if gain > -margin:
        state |= WITHIN
    return state | (EQUAL if status == ZERO_VAR_EQUAL else DIFFERENT)


@device
def judge_samples(
    candidate: Floats, baseline: Floats, paired: bool, k: int, rules: RuleRows, levels: Levels
) -> tuple[int, float, float]:
    """The state of two samples without NaN, pairs in order if `paired`; t in the better direction, and its df.

    By the very functions that the gate itself compares samples with.
    """
    if candidate.size < 2 or baseline.size < 2:
        return FAULT, math.nan, math.nan
    if paired:
        result = judge_differences(measure_pairs(baseline, candidate, False))
        t, df, delta = result[:3]
        status, error = result[7:]
    else:
        of_a = measure(baseline, False)
        of_b = measure(candidate, False)
        if of_a[6] == NONFINITE or of_b[6] == NONFINITE:
            return FAULT, math.nan, math.nan
        n_a, n_b = float(baseline.size), float(candidate.size)
        t, df, delta, _, _, error, status = compare_cells(of_a, of_b, n_a, n_b)
    state = judged(status, t, df, delta, error, k, rules, levels)
    if status != OK or state == FAULT:
        return state, math.nan, math.nan
    return state, rules.sign[k] * t, df
