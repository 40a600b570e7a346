"""Cleans the bootstrap's cells and decides, cell by cell, which engine may answer for them."""

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
from fastgate.kernels.status import (
    DOUBTFUL,
    INVALID,
    NO_EXACT_LAW,
    NONFINITE,
    OK,
    PRECISION_LOSS,
    TOO_FEW,
    ZERO_DENOMINATOR,
    ZERO_VAR_DIFF,
    ZERO_VAR_EQUAL,
)
from fastgate.kernels.types import OB, OF, OI, B, F, I

__all__ = ["clean", "clean_pairs", "routes"]

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
# Steps that a lattice may have between its least and its greatest value.
_MOST_STEPS: Final = 65536.0
# Multisets that are enumerated: ten different values have 92 378.
_MOST_MULTISETS: Final = 100_000.0


@kernel(types.void(types.int64, types.int64, F, I, types.boolean, OF, OI, OI, OF, OB))
def clean(start, stop, values, offsets, binary, out, n, missing, magnitude, status):
    """Copy each cell's values without NaN to the front of its place in `out`.

    Parameters
    ----------
    binary : bool
        Whether values other than 0 and 1 are a fault.
    out : float64, shape (n_values,), output
        −0.0 becomes 0.0.
    n, missing : int64, shape (n_cells,), output
        How many values were kept and dropped.
    magnitude : float64, shape (n_cells,), output
        The largest absolute value.
    status : int8, shape (n_cells,), output
        OK, NONFINITE where an infinity is met, or INVALID.
    """
    for c in range(start, stop):
        place = offsets[c]
        largest = 0.0
        others = 0
        cell = values[offsets[c] : offsets[c + 1]]
        for value in cell:
            if value == value:
                out[place] = value + 0.0
                place += 1
                largest = max(largest, abs(value))
                others += value != 0.0 and value != 1.0
        n[c] = place - offsets[c]
        missing[c] = cell.size - n[c]
        magnitude[c] = largest
        status[c] = OK
        if not largest < math.inf:
            status[c] = NONFINITE
        elif binary and others > 0:
            status[c] = INVALID


@kernel(
    types.void(
        types.int64, types.int64, F, I, F, I, I, I, types.boolean, types.boolean, OF, OF, OI, OI, OF, OB
    )
)  # fmt: skip
def clean_pairs(
    start, stop, a, starts_a, b, starts_b, sizes, places, binary, difference, out_a, out_b, n, missing, magnitude, status
):  # fmt: skip
    """The same for pairs: one is kept where both its values are there.

    Parameters
    ----------
    starts_a, starts_b, sizes, places : int64, shape (n_cells,)
        Cell c pairs ``sizes[c]`` values of `a` from ``starts_a[c]`` with those of `b` from ``starts_b[c]``; they go to
        ``places[c]`` of the outputs.
    difference : bool
        Whether a − b goes to `out_a`, and nothing to `out_b`.
    """
    for c in range(start, stop):
        place = places[c]
        largest = 0.0
        others = 0
        first = a[starts_a[c] : starts_a[c] + sizes[c]]
        second = b[starts_b[c] : starts_b[c] + sizes[c]]
        for i in range(first.size):
            x = first[i]
            y = second[i]
            if x == x and y == y:
                if difference:
                    out_a[place] = (x - y) + 0.0
                else:
                    out_a[place] = x + 0.0
                    out_b[place] = y + 0.0
                place += 1
                largest = max(largest, max(abs(x), abs(y)))
                others += (x != 0.0 and x != 1.0) or (y != 0.0 and y != 1.0)
        n[c] = place - places[c]
        missing[c] = sizes[c] - n[c]
        magnitude[c] = largest
        status[c] = OK
        if not largest < 0.5 * 1.7976931348623157e308:
            status[c] = NONFINITE
        elif binary and others > 0:
            status[c] = INVALID


@device
def _divide(step, values, tolerance, least):
    """The greatest common divisor of `step` and the values' distances from the first, to rounding; 0 if below `least`."""
    origin = values[0]
    for value in values:
        rest = abs(value - origin)
        while rest > tolerance:
            if step == 0.0:
                step = rest
                break
            remainder = rest - step * math.floor(rest / step)
            if remainder > 0.5 * step:
                remainder = step - remainder
            if remainder <= max(tolerance, 1e-6 * step):
                break
            rest = step
            step = remainder
            if step < least:
                return 0.0
    return step


@device
def _fits(step, values, origin, tolerance):
    for i in range(values.size):
        value = values[i]
        distance = value - origin
        if abs(distance - step * np.rint(distance / step)) > tolerance:
            return False
    return True


@device
def lattice_step(a, b, low_a, high_a, low_b, high_b, magnitude):
    """The step of a lattice on which all differences within a, and within b, lie to rounding; 0 where none is found."""
    span = max(high_a - low_a, high_b - low_b)
    tolerance = 64.0 * _EPS * magnitude
    least = max(span / _MOST_STEPS, 4.0 * tolerance)
    step = _divide(0.0, a, tolerance, least)
    if step == 0.0 and high_a > low_a:
        return 0.0
    if b.size > 0:
        step = _divide(step, b, tolerance, least)
    if step < least:
        return 0.0
    step = span / np.rint(span / step)
    close = 4.0 * _EPS * magnitude
    if not _fits(step, a, low_a, close):
        return 0.0
    if b.size > 0 and not _fits(step, b, low_b, close):
        return 0.0
    return step


@device
def multisets(values, limit):
    """How many different multisets of the cell's size its values have, or more than `limit`."""
    n = values.size
    seen = np.empty(16)
    different = 0
    count = 1.0
    for value in values:
        known = False
        for i in range(different):
            if seen[i] == value:
                known = True
                break
        if known:
            continue
        if different > 0:
            # C(n + D − 1, D − 1) grows by (n + D − 1)/(D − 1) with the D-th value.
            count *= (n + different) / different
        if different == 16 or count > limit:
            return 2.0 * limit
        seen[different] = value
        different += 1
    return count


@device
def _spread(values, inverse):
    """Least and greatest value and the mean; Σd² and the greatest d², both times inverse²; how often an extreme occurs."""
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
def _mean_route(a, b, magnitude, engine, method, alpha, spread_a, spread_b, error):
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
def _pair_atoms(n_a, n_b, q):
    """About how many atoms the laws of two quantiles have: ranks within nine standard deviations, times those near each."""
    room_a = min(float(n_a), 18.0 * math.sqrt(n_a * q * (1.0 - q)) + 10.0)
    room_b = min(float(n_b), 18.0 * math.sqrt(n_b * q * (1.0 - q)) + 10.0)
    return room_a * min(0.5 * room_a, 40.0) + room_b * min(0.5 * room_b, 40.0)


@kernel(
    types.void(
        types.int64, types.int64, F, I, I, F, I, I, F, types.boolean, types.boolean, types.int64, types.float64,
        types.int64, types.int64, types.float64, OB, OB, OF, OF, OF, OF, OF, OF, OB,
    )
)  # fmt: skip
def routes(
    start, stop, a, offsets_a, n_a, b, offsets_b, n_b, magnitude, two, paired, statistic, q,
    method, engine, alpha, route, valid, step, estimate, low, high, error, bias, status,
):  # fmt: skip
    """Decide each cell's route, and finish the cells that need none: too few, infinite or all equal values.

    Parameters
    ----------
    a, b : float64
        Cleaned values: ``n_a[c]`` of them from ``offsets_a[c]``; `b` is used where `two`.
    magnitude : float64, shape (n_cells,)
        The largest absolute raw value of the cell.
    paired : bool
        `a` and `b` are pairs, or (without `two`) `a` holds the differences of pairs.
    alpha : float
        1 − the confidence level.
    route, valid : int8, shape (n_cells,), output
        The route, and whether the saddlepoint's validity rule holds.
    step : float64, shape (n_cells,), output
        The lattice's step where the route is LATTICE.
    estimate … bias : float64, shape (n_cells,), output
        NaN, except in finished cells (and the estimate of a mean).
    status : int8, shape (n_cells,), in and output
        As it stands where it is not OK; else OK, TOO_FEW, ZERO_DENOMINATOR, ZERO_VAR_EQUAL, ZERO_VAR_DIFF, PRECISION_LOSS
        (the values are computed all the same), DOUBTFUL (the saddlepoint was asked for outside its rule) or NO_EXACT_LAW.
    """
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
        first = a[offsets_a[c] : offsets_a[c] + n_a[c]]
        second = b[:0]
        if two:
            second = b[offsets_b[c] : offsets_b[c] + n_b[c]]
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
