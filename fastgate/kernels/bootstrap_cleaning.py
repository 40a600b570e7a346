"""Samples without their missing values, and what is wrong with them."""

from __future__ import annotations

import math

from numba import types

from fastgate.jit import kernel
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.status import INVALID, NONFINITE, OK
from fastgate.kernels.types import OB, OF, OI, F, I

__all__ = ["clean", "clean_pairs"]


@kernel(types.void(types.int64, types.int64, F, I, types.boolean, OF, OI, OI, OF, OB))
def clean(
    start: int,
    stop: int,
    values: Floats,
    offsets: Integers,
    binary: bool,
    out: Floats,
    n: Integers,
    missing: Integers,
    magnitude: Floats,
    status: Codes,
) -> None:
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
)
def clean_pairs(
    start: int,
    stop: int,
    a: Floats,
    starts_a: Integers,
    b: Floats,
    starts_b: Integers,
    sizes: Integers,
    places: Integers,
    binary: bool,
    difference: bool,
    out_a: Floats,
    out_b: Floats,
    n: Integers,
    missing: Integers,
    magnitude: Floats,
    status: Codes,
) -> None:
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
