"""How fine a sample's bootstrap law is: the lattice its values lie on, and the number of its multisets."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from fastgate.jit import device
from fastgate.kernels.records import Floats

__all__ = ["lattice_step", "multisets"]

_EPS: Final = 2.220446049250313e-16
# Steps that a lattice may have between its least and its greatest value.
_MOST_STEPS: Final = 65536.0


@device
def _divide(step: float, values: Floats, tolerance: float, least: float) -> float:
    """The greatest common divisor of `step` and the distances from the first value, to rounding; 0 if below `least`."""
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
def _fits(step: float, values: Floats, origin: float, tolerance: float) -> bool:
    for i in range(values.size):
        value = values[i]
        distance = value - origin
        if abs(distance - step * np.rint(distance / step)) > tolerance:
            return False
    return True


@device
def lattice_step(
    a: Floats, b: Floats, low_a: float, high_a: float, low_b: float, high_b: float, magnitude: float
) -> float:
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
    step = span / round(span / step)
    close = 4.0 * _EPS * magnitude
    if not _fits(step, a, low_a, close):
        return 0.0
    if b.size > 0 and not _fits(step, b, low_b, close):
        return 0.0
    return step


@device
def multisets(values: Floats, limit: float) -> float:
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
