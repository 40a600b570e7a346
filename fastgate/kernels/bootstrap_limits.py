"""The BCa adjustment that all engines share, and limits from drawn values."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel, reduction
from fastgate.kernels.bootstrap_codes import BASIC, BCA, NORMAL
from fastgate.kernels.bootstrap_means import mean_of
from fastgate.kernels.order_statistics import tail_pair
from fastgate.kernels.records import Codes, Floats
from fastgate.kernels.special import normal_isf, normal_sf
from fastgate.kernels.status import FEW_RESAMPLES, NO_ROOT, OK
from fastgate.kernels.types import OB, OF, F

__all__ = ["adjusted_probability", "drawn_limits", "tail_limits"]

_GRID: Final = types.Array(types.float64, 2, "C", readonly=True)


@device
def adjusted_probability(z0: float, acceleration: float, z: float) -> float:
    """Efron's (1987) BCa level Φ(z0 + (z0 + z)/(1 − a(z0 + z))); NaN where the denominator is not positive."""
    denominator = 1.0 - acceleration * (z0 + z)
    if not denominator > 0.0:
        return math.nan
    return normal_sf(-(z0 + (z0 + z) / denominator))


@reduction(types.float64(F, types.float64))
def _squares(values: Floats, mean: float) -> float:
    total = 0.0
    for i in range(values.size):
        d = values[i] - mean
        total += d * d
    return total


@device
def tail_limits(
    draws: Floats, work: Floats, theta: float, close: float, skew: float, method: int, alpha: float, z: float
) -> tuple[float, float, float, float, int]:
    """Standard error, bias and limits from the draws of a statistic; and a status.

    `draws` are relative to `theta`, `close` is the distance within which one counts as equal to 0, `skew` the
    acceleration; `work` is room of the same size (its contents are lost).
    """
    resamples = draws.size
    mean = mean_of(draws)
    error = math.sqrt(_squares(draws, mean) / (resamples - 1.0))
    if method == NORMAL:
        return error, mean, theta - mean - z * error, theta - mean + z * error, OK
    level_low = 0.5 * alpha
    level_high = 1.0 - 0.5 * alpha
    status = OK
    if method == BCA:
        below = 0
        equal = 0
        for i in range(resamples):
            below += draws[i] < -close
            equal += abs(draws[i]) <= close
        z0 = -normal_isf((below + 0.5 * equal) / resamples)
        level_low = adjusted_probability(z0, skew, -z)
        level_high = adjusted_probability(z0, skew, z)
        if not (level_low > 0.0 and level_high < 1.0):
            return error, mean, math.nan, math.nan, NO_ROOT
        if (resamples + 1.0) * min(level_low, 1.0 - level_high) < 1.0:
            status = FEW_RESAMPLES
    # Twice the share of draws that a tail needs, were they normal; little is lost where they are not.
    t_low = mean - error * normal_isf(min(2.0 * level_low + 0.002, 0.5))
    t_high = mean + error * normal_isf(min(2.0 * (1.0 - level_high) + 0.002, 0.5))
    low, high = tail_pair(draws, work, level_low, level_high, t_low, t_high)
    if method == BASIC:
        return error, mean, theta - high, theta - low, status
    return error, mean, theta + low, theta + high, status


@kernel(
    types.void(
        types.int64,
        types.int64,
        _GRID,
        F,
        F,
        F,
        types.int64,
        types.float64,
        types.float64,
        OF,
        OF,
        OF,
        OF,
        OB,
    )
)
def drawn_limits(
    start: int,
    stop: int,
    draws: Floats,
    theta: Floats,
    close: Floats,
    skew: Floats,
    method: int,
    alpha: float,
    z: float,
    low: Floats,
    high: Floats,
    error: Floats,
    bias: Floats,
    status: Codes,
) -> None:
    """Limits of cells from their draws (rows, relative to `theta`): every method but STUDENTISED.

    Parameters
    ----------
    draws : float64, shape (n_cells, n_resamples)
    theta, close, skew : float64, shape (n_cells,)
        The estimates, the distance within which a draw counts as equal to 0, the accelerations.
    low, high, error, bias : float64, shape (n_cells,), output
    status : int8, shape (n_cells,), in and output
        NO_ROOT or FEW_RESAMPLES where it was OK.
    """
    work = np.empty(draws.shape[1])
    for c in range(start, stop):
        error[c], bias[c], low[c], high[c], outcome = tail_limits(
            draws[c], work, theta[c], close[c], skew[c], method, alpha, z
        )
        if status[c] == OK:
            status[c] = outcome
