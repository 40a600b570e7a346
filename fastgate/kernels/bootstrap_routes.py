"""Decides, cell by cell, which engine of the bootstrap may answer, and finishes the cells that none has to."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.bootstrap_codes import (
    CLOSED,
    DONE,
    DRAWN,
    EXACT,
    LATTICE,
    MEAN,
    MULTISETS,
    NORMAL,
    QUANTILE,
    QUANTILE_LAW,
    QUANTILE_PAIR,
    RATIO,
    RESAMPLE,
    SADDLEPOINT,
    STD,
    STUDENTISED,
    TILTED,
)
from fastgate.kernels.bootstrap_means import mean_difference, relative_mean
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
from fastgate.kernels.bootstrap_supports import lattice_step, multisets
from fastgate.kernels.bootstrap_types import LIMITS, SAMPLES, TASK
from fastgate.kernels.records import Codes, Floats
from fastgate.kernels.status import (
    DOUBTFUL,
    NO_EXACT_LAW,
    OK,
    PRECISION_LOSS,
    TOO_FEW,
    ZERO_DENOMINATOR,
    ZERO_VAR_DIFF,
    ZERO_VAR_EQUAL,
)
from fastgate.kernels.types import OB, OF

__all__ = ["routes"]

Spread = tuple[float, float, float, float, float, int]

_EPS: Final = 2.220446049250313e-16
# The validity rule of the saddlepoint: fewest values, largest share of the variance in one value, and the
# probability of the law's end point as a share of α.
_FEWEST: Final = 20
_HEAVIEST: Final = 0.5
_END_MASS: Final = 1.0 / 40.0
# A lattice law needs about 24 standard deviations' worth of frequencies. Beyond this many, a step of the lattice is
# under 0.05 % of the interval's width, and `auto` treats the values as continuous where the rule allows.
_COARSE: Final = 4096.0
_FINEST: Final = 1048576.0
_LATTICE_WORK: Final = 4194304.0
# Multisets that are enumerated: ten different values have 92 378.
_MOST_MULTISETS: Final = 100_000.0


@device
def _spread(values: Floats, inverse: float) -> Spread:
    """Least and greatest value, mean; Σd² and the greatest d², both times inverse²; how often an extreme occurs."""
    low = values[0]
    high = values[0]
    for i in range(values.size):
        low = min(low, values[i])
        high = max(high, values[i])
    origin = values[0]
    mean = relative_mean(values)
    squares = 0.0
    at_low = 0
    at_high = 0
    for i in range(values.size):
        d = ((values[i] - origin) - mean) * inverse
        squares += d * d
        at_low += values[i] == low
        at_high += values[i] == high
    heaviest = max((high - origin) - mean, mean - (low - origin)) * inverse
    return low, high, origin + mean, squares, heaviest * heaviest, max(at_low, at_high)


@device
def _mean_route(
    a: Floats,
    b: Floats,
    magnitude: float,
    engine: int,
    method: int,
    alpha: float,
    spread_a: Spread,
    spread_b: Spread,
    error: float,
) -> tuple[int, float, bool]:
    """Route and step for a mean or a difference of means whose values are not all equal; and whether r* is valid."""
    low_a, high_a, _, squares_a, heaviest_a, ties_a = spread_a
    low_b, high_b, _, squares_b, heaviest_b, ties_b = spread_b
    n_a = a.size
    n_b = b.size
    two = n_b > 0
    total = squares_a / (float(n_a) * n_a) + (squares_b / (float(n_b) * n_b) if two else 0.0)
    heaviest = max(heaviest_a / (float(n_a) * n_a), heaviest_b / (float(n_b) * n_b) if two else 0.0)
    valid = n_a >= _FEWEST and (not two or n_b >= _FEWEST) and heaviest <= _HEAVIEST * total
    ends = _END_MASS * alpha
    valid = valid and (high_a == low_a or (ties_a / n_a) ** n_a <= ends)
    valid = valid and (not two or high_b == low_b or (ties_b / n_b) ** n_b <= ends)

    step = lattice_step(a, b, low_a, high_a, low_b, high_b, magnitude)
    frequencies = 0.0
    work = 0.0
    fine = True
    if step > 0.0:
        steps_a = np.rint((high_a - low_a) / step)
        steps_b = np.rint((high_b - low_b) / step) if two else 0.0
        unit = step / n_a
        whole = n_a * steps_a
        if two:
            divisor = math.gcd(n_a, n_b)
            unit = step * divisor / (float(n_a) * n_b)
            whole = float(n_a) * n_b * (steps_a + steps_b) / divisor
        frequencies = min(24.0 * error / unit + 64.0, whole + 1.0)
        work = frequencies * (min(n_a, steps_a + 1.0) + min(n_b, steps_b + 1.0))
        coarsest = step / n_a + (step / n_b if two else 0.0)
        fine = 24.0 * error / coarsest > _COARSE
    affordable = step > 0.0 and frequencies <= _FINEST and work <= _LATTICE_WORK
    if engine == SADDLEPOINT:
        return TILTED, step, valid and fine
    if affordable and (engine == EXACT or not fine or not valid):
        return LATTICE, step, valid
    atoms = multisets(a, _MOST_MULTISETS)
    if two:
        atoms += multisets(b, _MOST_MULTISETS)
    if atoms <= _MOST_MULTISETS:
        return MULTISETS, step, valid
    if engine == EXACT:
        return DONE, step, valid
    return (TILTED if valid and fine else DRAWN), step, valid


@device
def _pair_atoms(n_a: int, n_b: int, q: float) -> float:
    """About how many atoms two quantiles' laws have: ranks within nine standard deviations, times those near each."""
    room_a = min(float(n_a), 18.0 * math.sqrt(n_a * q * (1.0 - q)) + 10.0)
    room_b = min(float(n_b), 18.0 * math.sqrt(n_b * q * (1.0 - q)) + 10.0)
    return room_a * min(0.5 * room_a, 40.0) + room_b * min(0.5 * room_b, 40.0)


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, OB, OB, OF, LIMITS))
def routes(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    valid: Codes,
    step: Floats,
    limits: BootstrapLimits,
) -> None:
    """Decide each cell's route, and finish the cells that need none: too few, infinite or all equal values.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
    route, valid : int8, shape (n_cells,), output
        The route, and whether the saddlepoint's validity rule holds.
    step : float64, shape (n_cells,), output
        The lattice's step where the route is LATTICE.
    limits : BootstrapLimits, output
        NaN, except in finished cells (and the estimate of a mean). The status is left where it is not OK; else it
        becomes TOO_FEW, ZERO_DENOMINATOR, ZERO_VAR_EQUAL, ZERO_VAR_DIFF, PRECISION_LOSS (the values are computed
        all the same), DOUBTFUL (the saddlepoint was asked for outside its rule) or NO_EXACT_LAW.
    """
    a, starts_a, n_a, b, starts_b, n_b, magnitude, two, paired = samples
    statistic, q, method, engine, alpha, _ = task
    estimate, low, high, error, bias, status = limits
    for c in range(start, stop):
        route[c] = DONE
        valid[c] = 0
        step[c] = 0.0
        estimate[c] = math.nan
        low[c] = math.nan
        high[c] = math.nan
        error[c] = math.nan
        bias[c] = math.nan
        if status[c] != OK:
            continue
        first = a[starts_a[c] : starts_a[c] + n_a[c]]
        second = b[:0]
        if two:
            second = b[starts_b[c] : starts_b[c] + n_b[c]]
        if first.size < 1 or (two and second.size < 1):
            status[c] = TOO_FEW
            continue
        # By a power of two near the largest value, so that squares neither overflow nor vanish.
        scale = (
            2.0 ** min(max(math.floor(math.log2(magnitude[c])), -1000.0), 1000.0)
            if magnitude[c] > 0.0
            else 1.0
        )
        spread_a = _spread(first, 1.0 / scale)
        spread_b = _spread(second, 1.0 / scale) if two else spread_a
        low_a, high_a, mean_a, squares_a, _, _ = spread_a
        low_b, high_b, mean_b, squares_b, _, _ = spread_b
        if low_a == high_a:
            mean_a = low_a
        if low_b == high_b:
            mean_b = low_b
        if statistic == MEAN:
            estimate[c] = mean_difference(first, second)
        if first.size < 2 or (two and second.size < 2):
            status[c] = TOO_FEW
            continue
        if statistic == RATIO:
            if mean_b == 0.0:
                status[c] = ZERO_DENOMINATOR
                continue
            estimate[c] = mean_a / mean_b

        constant = low_a == high_a and (not two or low_b == high_b)
        if constant:
            # Between two samples, or in pairs, a difference beyond rounding is one that no noise was measured for.
            apart = two or paired
            if statistic == RATIO:
                theta = mean_a / mean_b
                apart = abs(mean_a - mean_b) > 10.0 * _EPS * magnitude[c]
            elif statistic == STD:
                theta = 0.0
                apart = False
            else:
                theta = low_a - low_b if two else low_a
                apart = apart and abs(theta) > 10.0 * _EPS * magnitude[c]
            estimate[c] = theta
            low[c] = theta
            high[c] = theta
            error[c] = 0.0
            bias[c] = 0.0
            status[c] = ZERO_VAR_DIFF if apart else ZERO_VAR_EQUAL
            continue

        spread = math.sqrt(squares_a) / first.size * scale
        if two:
            part_a = math.sqrt(squares_a) / first.size
            part_b = math.sqrt(squares_b) / second.size
            spread = math.sqrt(part_a * part_a + part_b * part_b) * scale
        if not spread < math.inf:
            status[c] = PRECISION_LOSS
            continue
        if spread <= 10.0 * _EPS * magnitude[c]:
            status[c] = PRECISION_LOSS

        plan = DRAWN
        if engine != RESAMPLE:
            if statistic == MEAN and method == NORMAL:
                plan = CLOSED
                error[c] = spread
                bias[c] = 0.0
            elif statistic == MEAN and method != STUDENTISED:
                plan, step[c], sound = _mean_route(
                    first, second, magnitude[c], engine, method, alpha, spread_a, spread_b, spread
                )
                valid[c] = 1 if sound else 0
                if plan == TILTED and not sound and status[c] == OK:
                    status[c] = DOUBTFUL
            elif statistic == QUANTILE and not two:
                plan = QUANTILE_LAW
            elif statistic == QUANTILE:
                affordable = _pair_atoms(first.size, second.size, q) <= _MOST_MULTISETS
                plan = QUANTILE_PAIR if affordable else DRAWN
            elif not (statistic == RATIO and (paired or low_b <= 0.0 <= high_b)) and not (
                two and method == STUDENTISED
            ):
                atoms = multisets(first, _MOST_MULTISETS)
                if two:
                    atoms += multisets(second, _MOST_MULTISETS)
                plan = MULTISETS if atoms <= _MOST_MULTISETS else DRAWN
            if engine == EXACT and plan in (DONE, DRAWN):
                plan = DONE
                if status[c] == OK:
                    status[c] = NO_EXACT_LAW
        route[c] = plan
