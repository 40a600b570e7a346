"""One quantile of Student's t distribution at many degrees of freedom."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import kernel
from fastgate.kernels.special import INV_SQRT_PI, exp_minus, gamma_ratio, normal_isf_start
from fastgate.kernels.student_t import LARGE_DF, LAST_STEP, START_NEAR, start_logarithm, step, t_isf
from fastgate.kernels.student_t_tail import LEAST_DF, NEAR, SAFE_EXPONENT, near_parts
from fastgate.kernels.types import OF, F

__all__ = ["student_t_isf_at"]

Floats = npt.NDArray[np.float64]

# Cells between two steps: their numbers stay in the first cache.
_BLOCK: Final = 512


@kernel(types.void(types.int64, types.int64, types.float64, F, OF))
def student_t_isf_at(start: int, stop: int, q: float, df: Floats, out: Floats) -> None:
    """`t_isf` of each cell, to the same bits; df and out of shape (n_cells,).

    For q below 1/4 most df take the formulas near the centre, and these SIMD: 10 ns a cell instead of 200. Cells
    outside are given harmless arguments, and NaN until their turn comes.
    """
    df, out = df[start:stop], out[start:stop]
    out[:] = math.nan
    if q > 0.0 and q < 0.25:
        z = normal_isf_start(q)
        starts = np.empty(_BLOCK)
        for low in range(0, df.size, _BLOCK):
            freedoms, quantiles = df[low : low + _BLOCK], out[low : low + _BLOCK]
            for i in range(freedoms.size):
                inside = (freedoms[i] >= LEAST_DF) & (freedoms[i] <= LARGE_DF)
                freedom = freedoms[i] if inside else LEAST_DF
                starts[i] = start_logarithm(z, 0.5 * freedom - 0.25)
            for i in range(freedoms.size):
                starts[i] = math.expm1(starts[i])  # a call, which SIMD cannot have in its loop
            for i in range(freedoms.size):
                inside = (freedoms[i] >= LEAST_DF) & (freedoms[i] <= LARGE_DF)
                freedom = freedoms[i] if inside else LEAST_DF
                n = 0.5 * freedom - 0.25
                t = math.sqrt(freedom * starts[i])
                inside = inside & (0.5 * z * z / n <= START_NEAR) & (t * t <= NEAR * freedom)
                t = t if inside else 1.0
                # One step of `isf_tail`.
                weight, exponent, rest = near_parts(t, freedom)
                inside = inside & (exponent <= SAFE_EXPONENT)
                power = exp_minus(exponent if inside else 0.0, rest)
                ratio = q / (0.5 * weight * power)
                scaled = t / math.sqrt(freedom)
                root = math.sqrt(1.0 + scaled * scaled)
                at_zero = math.sqrt(n / freedom) * INV_SQRT_PI / gamma_ratio(n)
                mills = 0.5 * weight * (root * math.sqrt(root)) / at_zero
                slope = (freedom + 1.0) / (1.0 + (freedom / t) / t)
                r = mills * (1.0 - ratio) / t
                inside = inside & (abs(r) * (1.0 + slope) < LAST_STEP)
                quantiles[i] = step(t, freedom, r) if inside else math.nan
    for i in range(df.size):
        if out[i] != out[i]:
            out[i] = t_isf(q, df[i])
