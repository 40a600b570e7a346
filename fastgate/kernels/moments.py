"""Moments of cells about their mean, in two passes over each cell, and their merging."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel, reduction
from fastgate.kernels.records import Floats, Integers, MomentArrays
from fastgate.kernels.status import NONFINITE, OK, PRECISION_LOSS, TOO_FEW
from fastgate.kernels.types import OB, OF, OI, B, F, I

__all__ = [
    "CELL",
    "MOMENTS",
    "Cell",
    "common_exponent",
    "corrected",
    "load",
    "mean_difference",
    "measure",
    "merge_kernel",
    "minus",
    "moments_kernel",
    "ordinary",
    "scaled",
    "two_passes",
]

# One cell's moments: shift, centre, m2, m3, exponent, constant, status.
Cell = tuple[float, float, float, float, int, bool, int]
CELL: Final = types.Tuple((*[types.float64] * 4, types.int64, types.boolean, types.int64))
MOMENTS: Final = types.NamedTuple([I, I, F, F, F, F, I, B, B], MomentArrays)
_OUT: Final = types.NamedTuple([OI, OI, OF, OF, OF, OF, OI, OB, OB], MomentArrays)

# Squares and cubes of magnitudes in [1e-70, 1e70], and their sums, keep clear of both ends of float64.
_SMALL: Final = 1e-70
_LARGE: Final = 1e70
_SMALL_SQUARE: Final = 1e-140
_LARGE_SQUARE: Final = 1e140


# Strict arithmetic inside a reduction. Left to reassociation, LLVM subtracts shift + centre at once,
# rounded: on 200 values near 1e12 of spread 0.1 the centre is then off by 6e-4 of the spread, with it by
# 1e-16.
@device
def minus(value: float, shift: float) -> float:
    """The difference, as written."""
    return value - shift


# The three sums go by index over a slice: `for x in cell` would read through a stride, which LLVM turns into
# gathers (11 GB/s against 35), and `values[i]` for i from lo to hi is not vectorised at all.
@reduction(types.float64(F, types.float64))
def _total(cell: Floats, shift: float) -> float:
    total = 0.0
    for i in range(cell.size):
        total += minus(cell[i], shift)
    return total


@reduction(types.UniTuple(types.float64, 2)(F, types.float64, types.float64))
def _spread(cell: Floats, shift: float, centre: float) -> tuple[float, float]:
    residue = 0.0
    squares = 0.0
    for i in range(cell.size):
        deviation = minus(minus(cell[i], shift), centre)
        residue += deviation
        squares += deviation * deviation
    return residue, squares


@reduction(types.float64(F, types.float64, types.float64))
def _cubes(cell: Floats, shift: float, centre: float) -> float:
    cubes = 0.0
    for i in range(cell.size):
        deviation = minus(minus(cell[i], shift), centre)
        cubes += deviation * deviation * deviation
    return cubes


@device
def scaled(value: float, exponent: int) -> float:
    """The value times 2^exponent."""
    if exponent == 0:
        return value
    return math.ldexp(value, int(exponent))


@device
def _binary_exponent(value: float) -> int:
    """The e with |value| in [2^(e−1), 2^e)."""
    return math.frexp(value)[1]


@device
def two_passes(values: Floats, start: int, stop: int) -> tuple[float, float, float, float]:
    """Shift, rounded centre, and the sums of deviations from both and of their squares.

    Straight-line code: where a branch follows, numba counts references to slices, 30 ns a cell.
    """
    cell = values[start:stop]
    shift = cell[0]
    centre = _total(cell, shift) / cell.size
    residue, squares = _spread(cell, shift, centre)
    return shift, centre, residue, squares


@device
def _third(values: Floats, start: int, stop: int, shift: float, centre: float) -> float:
    return _cubes(values[start:stop], shift, centre)


@device
def corrected(
    n: int, centre: float, residue: float, squares: float, cubes: float
) -> tuple[float, float, float]:
    """Centre, M2 and M3 from sums about a rounded centre: Chan, Golub & LeVeque (1983), equation 1.7."""
    error = residue / n
    return centre + error, squares - residue * error, cubes - error * (3.0 * squares - 2.0 * residue * error)


@device
def ordinary(squares: float) -> bool:
    """Whether a cell's sum of squares needs no more care: it varies, is finite and neither tiny nor huge."""
    return squares > _SMALL_SQUARE and squares < _LARGE_SQUARE


@kernel(CELL(F, types.boolean))
def measure(cell: Floats, third: bool) -> Cell:
    """Moments of a cell of one or more values.

    A NaN among the values gives NONFINITE, as an infinity does.
    """
    shift, centre, residue, squares = two_passes(cell, 0, cell.size)
    if ordinary(squares):
        cubes = _cubes(cell, shift, centre) if third else math.nan
        centre, m2, m3 = corrected(cell.size, centre, residue, squares, cubes)
        return shift, centre, m2, m3, 0, False, OK

    reach = 0.0
    constant = True
    for i in range(cell.size):
        value = cell[i]
        if not math.isfinite(value):
            return math.nan, math.nan, math.nan, math.nan, 0, False, NONFINITE
        if value != shift:
            constant = False
            reach = max(reach, abs(value - shift))
    if constant:
        return shift, 0.0, 0.0, 0.0 if third else math.nan, 0, True, OK
    exponent = 0
    if not (reach >= _SMALL and reach <= _LARGE):
        # ±1000 brings every float64 near enough to 1; the scaled difference cannot overflow as this one can.
        exponent = 1000 if math.isinf(reach) else min(max(_binary_exponent(reach), -1000), 1000)
    factor = math.ldexp(1.0, -int(exponent))
    scratch = np.empty(cell.size)
    for i in range(cell.size):
        scratch[i] = cell[i] * factor - shift * factor
    centre = _total(scratch, 0.0) / cell.size
    residue, squares = _spread(scratch, 0.0, centre)
    cubes = _cubes(scratch, 0.0, centre) if third else math.nan
    centre, m2, m3 = corrected(cell.size, centre, residue, squares, cubes)
    return shift, centre, m2, m3, exponent, False, OK


@device
def _present(cell: Floats) -> Floats:
    """The values that are not NaN."""
    kept = np.empty(cell.size)
    n = 0
    for i in range(cell.size):
        if cell[i] == cell[i]:
            kept[n] = cell[i]
            n += 1
    return kept[:n]


@device
def _measure_with_care(
    values: Floats, start: int, stop: int, third: bool
) -> tuple[int, float, float, float, float, int, bool, int]:
    """Moments of a cell that may be empty, constant, of extreme magnitudes, or hold NaN or infinity."""
    kept = _present(values[start:stop])
    n = kept.size
    if n == 0:
        return 0, math.nan, math.nan, 0.0, 0.0 if third else math.nan, 0, False, TOO_FEW
    shift, centre, m2, m3, exponent, constant, status = measure(kept, third)
    if n == 1 and status == OK:
        status = TOO_FEW
    return n, shift, centre, m2, m3, exponent, constant, status


@kernel(types.void(types.int64, types.int64, F, I, types.boolean, _OUT))
def moments_kernel(
    start: int, stop: int, values: Floats, offsets: Integers, third: bool, out: MomentArrays
) -> None:
    """Moments of the cells start … stop − 1: values (n_values,), offsets (n_cells + 1,), out (n_cells,)."""
    out_n, out_n_missing, out_shift, out_centre, out_m2, out_m3, out_exponent, out_constant, out_status = out
    for c in range(start, stop):
        low = offsets[c]
        high = offsets[c + 1]
        n = high - low
        exponent = 0
        constant = False
        status = NONFINITE
        if n > 0:
            shift, centre, residue, squares = two_passes(values, low, high)
            # Since one deviation from the shift is 0, this bounds the others, too.
            if ordinary(squares):
                cubes = _third(values, low, high, shift, centre) if third else math.nan
                centre, m2, m3 = corrected(n, centre, residue, squares, cubes)
                status = OK
        if status == NONFINITE:
            n, shift, centre, m2, m3, exponent, constant, status = _measure_with_care(
                values, low, high, third
            )
        out_n[c] = n
        out_n_missing[c] = high - low - n
        out_shift[c] = shift
        out_centre[c] = centre
        out_m2[c] = m2
        out_m3[c] = m3
        out_exponent[c] = exponent
        out_constant[c] = constant
        out_status[c] = status


@device
def load(moments: MomentArrays, c: int) -> Cell:
    """The moments of one cell."""
    return (
        moments.shift[c],
        moments.centre[c],
        moments.m2[c],
        moments.m3[c],
        moments.exponent[c],
        moments.constant[c] == 1,
        int(moments.status[c]),
    )


@device
def common_exponent(
    shift_a: float, exponent_a: int, constant_a: bool, shift_b: float, exponent_b: int, constant_b: bool
) -> int:
    """A power of two that keeps the squares of both cells' spreads and of their difference representable."""
    unset = -5000
    exponent = unset
    if not constant_a:
        exponent = exponent_a
    if not constant_b:
        exponent = max(exponent, exponent_b)
    distance = abs(shift_b - shift_a)
    if distance >= _SMALL and distance <= _LARGE:
        exponent = max(exponent, 0)
    elif math.isinf(distance):
        exponent = max(exponent, 1000)
    elif distance != 0.0:
        exponent = max(exponent, min(max(_binary_exponent(distance), -1000), 1000))
    return 0 if exponent == unset else exponent


@device
def mean_difference(
    shift_a: float,
    centre_a: float,
    exponent_a: int,
    shift_b: float,
    centre_b: float,
    exponent_b: int,
    exponent: int,
) -> float:
    """(mean of b − mean of a) / 2^exponent, from unsummed shifts and centres."""
    if exponent == 0 and exponent_a == 0 and exponent_b == 0:
        return (shift_b - shift_a) + (centre_b - centre_a)
    shifts = scaled(shift_b, -exponent) - scaled(shift_a, -exponent)
    return shifts + (scaled(centre_b, exponent_b - exponent) - scaled(centre_a, exponent_a - exponent))


@kernel(types.void(types.int64, types.int64, MOMENTS, MOMENTS, _OUT))
def merge_kernel(start: int, stop: int, a: MomentArrays, b: MomentArrays, out: MomentArrays) -> None:
    """Moments of each cell's two parts together: Chan, Golub & LeVeque (1983); M3 by Pébay (2008)."""
    for c in range(start, stop):
        out.n[c] = a.n[c] + b.n[c]
        out.n_missing[c] = a.n_missing[c] + b.n_missing[c]
        if a.n[c] == 0 or b.n[c] == 0:
            part = a if b.n[c] == 0 else b
            out.shift[c] = part.shift[c]
            out.centre[c] = part.centre[c]
            out.m2[c] = part.m2[c]
            out.m3[c] = part.m3[c]
            out.exponent[c] = part.exponent[c]
            out.constant[c] = part.constant[c]
            out.status[c] = part.status[c]
            continue
        if a.status[c] == NONFINITE or b.status[c] == NONFINITE:
            out.shift[c] = out.centre[c] = out.m2[c] = out.m3[c] = math.nan
            out.exponent[c] = 0
            out.constant[c] = 0
            out.status[c] = NONFINITE
            continue
        exponent = common_exponent(
            a.shift[c], a.exponent[c], a.constant[c] == 1, b.shift[c], b.exponent[c], b.constant[c] == 1
        )
        delta = mean_difference(
            a.shift[c], a.centre[c], a.exponent[c], b.shift[c], b.centre[c], b.exponent[c], exponent
        )
        step_a = a.exponent[c] - exponent
        step_b = b.exponent[c] - exponent
        m2_a = scaled(a.m2[c], 2 * step_a)
        m2_b = scaled(b.m2[c], 2 * step_b)
        m3_a = scaled(a.m3[c], 3 * step_a)
        m3_b = scaled(b.m3[c], 3 * step_b)
        share_a = a.n[c] / out.n[c]
        share_b = b.n[c] / out.n[c]
        between = delta * delta * (a.n[c] * share_b)
        out.shift[c] = a.shift[c]
        out.centre[c] = scaled(a.centre[c], step_a) + delta * share_b
        out.m2[c] = m2_a + m2_b + between
        out.m3[c] = (
            m3_a
            + m3_b
            + delta * between * (share_a - share_b)
            + 3.0 * delta * (share_a * m2_b - share_b * m2_a)
        )
        out.exponent[c] = exponent
        out.constant[c] = a.constant[c] == 1 and b.constant[c] == 1 and a.shift[c] == b.shift[c]
        lossy = a.status[c] == PRECISION_LOSS or b.status[c] == PRECISION_LOSS
        out.status[c] = PRECISION_LOSS if lossy else OK
