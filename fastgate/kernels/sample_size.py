"""Sample size, power and detectable change of proportions by the normal approximation, cell by cell.

`tail` is the area beyond the critical value: α/2 of a two-sided test, α of a one-sided one. A change is given by
its size and a direction of 1 or −1. With a discordance ψ the formulas are those of the same cases replayed,
without one (NaN) those of two independent samples of `trials` each.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.special import normal_isf, normal_sf
from fastgate.kernels.status import NO_ROOT, OK, TOO_FEW
from fastgate.kernels.types import OB, OF, F

__all__ = ["change_trials", "detectable_change", "detection_power", "half_width_trials"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]


@device
def spreads(rate: float, change: float, discordance: float) -> tuple[float, float]:
    """Standard deviations of one observed difference without and with the signed change."""
    if discordance == discordance:
        return math.sqrt(discordance), math.sqrt(max(discordance - change * change, 0.0))
    other = rate + change
    middle = rate + 0.5 * change
    return (
        math.sqrt(max(2.0 * middle * (1.0 - middle), 0.0)),
        math.sqrt(max(rate * (1.0 - rate) + other * (1.0 - other), 0.0)),
    )


@kernel(types.void(types.int64, types.int64, F, F, F, types.float64, types.float64, OF))
def change_trials(
    start: int,
    stop: int,
    rate: Floats,
    change: Floats,
    discordance: Floats,
    tail: float,
    miss: float,
    trials: Floats,
) -> None:
    """The real number of trials at which a change is missed with probability `miss`."""
    z = normal_isf(tail)
    z_power = normal_isf(miss)
    for c in range(start, stop):
        without, with_change = spreads(rate[c], change[c], discordance[c])
        root = (z * without + z_power * with_change) / change[c]
        trials[c] = root * root


@kernel(types.void(types.int64, types.int64, F, F, F, F, types.float64, OF))
def detection_power(
    start: int,
    stop: int,
    rate: Floats,
    change: Floats,
    trials: Floats,
    discordance: Floats,
    tail: float,
    power: Floats,
) -> None:
    """The probability of a significant difference in the direction of the change."""
    z = normal_isf(tail)
    for c in range(start, stop):
        without, with_change = spreads(rate[c], change[c], discordance[c])
        excess = math.sqrt(trials[c]) * abs(change[c]) - z * without
        if not trials[c] > 0.0:
            power[c] = math.nan
        elif with_change > 0.0:
            power[c] = normal_sf(-excess / with_change)
        else:  # the change leaves nothing to chance
            power[c] = 1.0 if excess > 0.0 else 0.0


@device
def independent_change(
    rate: float, n: float, z: float, z_power: float, direction: float, largest: float
) -> tuple[float, bool]:
    """The root of √n Δ = z √(2p̄q̄) + z' √(p₁q₁ + p₂q₂) by Newton's method inside a bracket."""
    root_n = math.sqrt(n)
    without, with_change = spreads(rate, direction * largest, math.nan)
    if root_n * largest < z * without + z_power * with_change or largest == 0.0:
        return math.nan, False
    low = 0.0
    high = largest
    total = z + z_power
    x = total * math.sqrt(2.0 * rate * (1.0 - rate) / n) + 0.5 * total * total / n
    for _ in range(200):
        if not low < x < high:
            x = 0.5 * (low + high)
        signed = direction * x
        without, with_change = spreads(rate, signed, math.nan)
        value = root_n * x - z * without - z_power * with_change
        if value < 0.0:
            low = x
        else:
            high = x
        slope = root_n
        if without > 0.0 and with_change > 0.0:
            other = rate + signed
            slope -= 0.5 * direction * z * (1.0 - 2.0 * rate - signed) / without
            slope -= 0.5 * direction * z_power * (1.0 - 2.0 * other) / with_change
        new = x - value / slope
        moved = abs(new - x)
        x = new
        if moved <= 1e-9 * x:
            break
    return min(x, largest), True


@kernel(types.void(types.int64, types.int64, F, F, F, types.float64, types.float64, types.float64, OF, OB))
def detectable_change(
    start: int,
    stop: int,
    rate: Floats,
    trials: Floats,
    discordance: Floats,
    tail: float,
    miss: float,
    direction: float,
    change: Floats,
    status: Codes,
) -> None:
    """The size of the least change missed with probability `miss` at most; NO_ROOT where none is possible."""
    z = normal_isf(tail)
    z_power = normal_isf(miss)
    for c in range(start, stop):
        n = trials[c]
        change[c] = math.nan
        if not n > 0.0:
            status[c] = TOO_FEW
            continue
        largest = rate[c] if direction < 0.0 else 1.0 - rate[c]
        psi = discordance[c]
        if psi == psi:
            # n Δ² = (z √ψ + z' √(ψ − Δ²))² is quadratic in Δ.
            under = n - z * z + z_power * z_power
            size = (
                math.sqrt(psi)
                * (z * math.sqrt(n) + z_power * math.sqrt(max(under, 0.0)))
                / (n + z_power * z_power)
            )
            largest = min(largest, psi)
            found = under >= 0.0 and size <= largest
        else:
            size, found = independent_change(rate[c], n, z, z_power, direction, largest)
        status[c] = OK if found else NO_ROOT
        if found:
            change[c] = size


@kernel(types.void(types.int64, types.int64, F, F, types.float64, types.boolean, OF))
def half_width_trials(
    start: int,
    stop: int,
    rate: Floats,
    half_width: Floats,
    tail: float,
    score: bool,
    trials: Floats,
) -> None:
    """The real number of trials at which Wilson's (`score`) or Wald's interval has the half-width."""
    z2 = normal_isf(tail) ** 2
    for c in range(start, stop):
        variance = rate[c] * (1.0 - rate[c])
        h2 = half_width[c] * half_width[c]
        if not score:
            trials[c] = z2 * variance / h2
            continue
        # h² (n + z²)² = z² (n p q + z²/4)
        b = z2 * (2.0 * h2 - variance)
        c0 = z2 * z2 * (0.25 - h2)
        root = math.sqrt(b * b + 4.0 * h2 * c0)
        trials[c] = 2.0 * c0 / (b + root) if b > 0.0 else (root - b) / (2.0 * h2)
