"""Means of samples, kept apart from the first value: what two near samples have in common is not rounded away."""

from __future__ import annotations

from numba import types

from fastgate.jit import device, reduction
from fastgate.kernels.records import Floats
from fastgate.kernels.types import F

__all__ = ["centre", "mean_difference", "mean_of", "minus", "relative_mean"]


# Strict arithmetic inside a reduction: left to reassociation, LLVM could sum the values and n·mean apart.
@device
def minus(value: float, shift: float) -> float:
    """The rounded difference."""
    return value - shift


# The sums go by index over a slice: `for v in values` reads through a stride, which LLVM turns into gathers.
@reduction(types.float64(F))
def relative_mean(values: Floats) -> float:
    """The mean minus the first value, by two passes."""
    origin = values[0]
    total = 0.0
    for i in range(values.size):
        total += minus(values[i], origin)
    mean = total / values.size
    rest = 0.0
    for i in range(values.size):
        rest += minus(minus(values[i], origin), mean)
    return mean + rest / values.size


@device
def mean_of(values: Floats) -> float:
    """The mean."""
    return float(values[0]) + relative_mean(values)


@device
def mean_difference(a: Floats, b: Floats) -> float:
    """Mean of a minus mean of b, or the mean of a where b is empty."""
    if b.size == 0:
        return mean_of(a)
    return float(a[0] - b[0]) + (relative_mean(a) - relative_mean(b))


@device
def centre(values: Floats, factor: float, out: Floats) -> None:
    """Write factor·(value − mean) to `out`, which may be `values` itself."""
    origin = values[0]
    mean = relative_mean(values)
    for i in range(values.size):
        out[i] = ((values[i] - origin) - mean) * factor
