"""Bradley–Terry utilities with a Gaussian prior: mode and Laplace's approximation of many small fits.

In the centred utilities the negative Hessian of the log posterior is the Laplacian of a complete
graph with the positive conductances w_ij p_ij (1 − p_ij) + 1/(m s²), which
`fastgate.kernels.laplacian` factors and inverts without loss, however wide the prior and however
far the utilities have separated.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.choices import ABSENT, ABSTAIN, FIRST, SECOND
from fastgate.kernels.laplacian import centred_inverse, invert
from fastgate.kernels.preference_mode import climb, log_posterior_at
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import (
    DISCONNECTED,
    INVALID,
    NONFINITE,
    NOT_CONVERGED,
    OK,
    PRIOR_DRIVEN,
    SEPARATION,
    TOO_FEW,
)
from fastgate.kernels.types import OB, OF, OI, B, F, I

__all__ = ["fit_utilities", "group_rows"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

_PRIOR_DRIVEN: Final = 0.9


@device
def _collect(
    first: int,
    last: int,
    order: Integers,
    left: Integers,
    right: Integers,
    outcome: Codes,
    weight: Floats,
    m: int,
    wins: Floats,
) -> tuple[int, int]:
    """Add up the wins (m · m,) of each alternative over each other; returns their number, a status."""
    wins[:] = 0.0
    n = 0
    status = OK
    for position in range(first, last):
        row = order[position] if order.size else position
        code = outcome[row]
        i = left[row]
        j = right[row]
        w = weight[row] if weight.size else 1.0
        if i == j or min(i, j) < 0 or max(i, j) >= m or code < ABSENT or code > ABSTAIN or w < 0.0:
            return n, INVALID
        if code in (ABSENT, ABSTAIN):
            continue
        if not w < math.inf:
            status = NONFINITE
            continue
        if w == 0.0:
            continue
        n += 1
        if code == FIRST:
            wins[i * m + j] += w
        elif code == SECOND:
            wins[j * m + i] += w
        else:
            wins[i * m + j] += 0.5 * w
            wins[j * m + i] += 0.5 * w
    return n, status


@device
def _reach(
    m: int, wins: Floats, seed: int, forward: bool, backward: bool, seen: Integers, stack: Integers
) -> int:
    """Mark with seed + 1 what is reached from `seed` along wins, against them, or both; how many."""
    mark = seed + 1
    seen[seed] = mark
    stack[0] = seed
    top = 1
    found = 1
    while top > 0:
        top -= 1
        i = stack[top]
        for j in range(m):
            if seen[j] != mark and (
                (forward and wins[i * m + j] > 0.0) or (backward and wins[j * m + i] > 0.0)
            ):
                seen[j] = mark
                stack[top] = j
                top += 1
                found += 1
    return found


@device
def _connect(m: int, wins: Floats, component: Integers, seen: Integers, stack: Integers) -> tuple[int, bool]:
    """Label the connected components; returns their number and whether any is separated.

    A component is separated when its alternatives fall into two groups of which one never lost to the other
    (Ford 1957): without the prior its utilities would be infinitely far apart.
    """
    component[:] = 0
    components = 0
    separated = False
    for seed in range(m):
        if component[seed] != 0:
            continue
        components += 1
        size = _reach(m, wins, seed, True, True, component, stack)
        seen[:] = 0
        if size > 1 and _reach(m, wins, seed, True, False, seen, stack) < size:
            separated = True
        seen[:] = 0
        if size > 1 and _reach(m, wins, seed, False, True, seen, stack) < size:
            separated = True
    return components, separated


@device
def _unit_interval(u: float, half: float) -> tuple[float, float, float]:
    """σ(u − half), σ(u + half) and their difference, sinh(half) / (cosh(u) + cosh(half)), for half ≥ 0."""
    reach = max(abs(u), half)
    below = math.exp(-half - reach)
    above = math.exp(half - reach)
    rise = below * math.expm1(2.0 * half) if half < 1.0 else above - below
    width = rise / (math.exp(u - reach) + math.exp(-u - reach) + above + below)
    return 1.0 / (1.0 + math.exp(half - u)), 1.0 / (1.0 + math.exp(-half - u)), width


@kernel(
    types.void(
        *(types.int64, types.int64, I, I, I, I, B, F, I, F, types.float64, types.boolean, types.int64, I),
        *(OF, OF, OF, OF, OF, OF, OI, OI, OI, OF, OB),
    )
)
def fit_utilities(
    start: int,
    stop: int,
    row_offsets: Integers,
    order: Integers,
    left: Integers,
    right: Integers,
    outcome: Codes,
    weight: Floats,
    offsets: Integers,
    prior_sd: Floats,
    outside: float,
    unit: bool,
    limit: int,
    covariance_offsets: Integers,
    utilities: Floats,
    sd: Floats,
    ci_low: Floats,
    ci_high: Floats,
    width: Floats,
    covariance: Floats,
    n: Integers,
    components: Integers,
    iterations: Integers,
    log_posterior: Floats,
    status: Codes,
) -> None:
    """The mode and Laplace's approximation around it for the fits start … stop − 1.

    Rows row_offsets[f] … row_offsets[f + 1] − 1 of `order` (of the rows themselves where it is
    empty) belong to fit f; left, right (alternatives from 0 within the fit), outcome and weight
    (all 1 where empty) have one element a row. The alternatives of fit f are offsets[f] … offsets[f
    + 1] − 1 of utilities, sd, ci_low, ci_high and width; its covariance, where covariance_offsets
    is not empty, starts at covariance_offsets[f]. prior_sd and the other outputs: (n_fits,).
    """
    z = normal_isf(0.5 * outside)
    largest = 1
    longest = 1
    for f in range(start, stop):
        m = offsets[f + 1] - offsets[f]
        largest = max(largest, m)
        longest = max(longest, min(m * (m - 1) // 2, row_offsets[f + 1] - row_offsets[f]))
    table = np.empty(largest * largest)
    mesh_scratch = np.empty(largest * largest)
    first = np.empty(longest, np.int64)
    second = np.empty(longest, np.int64)
    wins = np.empty(longest)
    losses = np.empty(longest)
    degree = np.empty(largest)
    gradient_scratch = np.empty(largest)
    step_scratch = np.empty(largest)
    trial_scratch = np.empty(largest)
    component_scratch = np.empty(largest, np.int64)
    seen_scratch = np.empty(largest, np.int64)
    stack = np.empty(largest, np.int64)
    for f in range(start, stop):
        m = offsets[f + 1] - offsets[f]
        u = utilities[offsets[f] : offsets[f + 1]]
        deviation = sd[offsets[f] : offsets[f + 1]]
        low = ci_low[offsets[f] : offsets[f + 1]]
        high = ci_high[offsets[f] : offsets[f + 1]]
        span = width[offsets[f] : offsets[f + 1]]
        square = table[: m * m]
        mesh = mesh_scratch[: m * m]
        component = component_scratch[:m]
        iterations[f] = 0
        components[f] = 0
        log_posterior[f] = math.nan
        u[:] = math.nan
        deviation[:] = math.nan
        low[:] = math.nan
        high[:] = math.nan
        span[:] = math.nan
        if covariance_offsets.size:
            covariance[covariance_offsets[f] : covariance_offsets[f] + m * m] = math.nan

        found, verdict = _collect(
            row_offsets[f], row_offsets[f + 1], order, left, right, outcome, weight, m, square
        )
        n[f] = found
        status[f] = verdict
        if verdict != OK or m == 0:
            status[f] = TOO_FEW if verdict == OK else verdict
            continue
        pairs = 0
        for i in range(m):
            for j in range(i + 1, m):
                a = square[i * m + j]
                b = square[j * m + i]
                if a + b > 0.0:
                    first[pairs] = i
                    second[pairs] = j
                    wins[pairs] = a
                    losses[pairs] = b
                    pairs += 1
        parts, separated = _connect(m, square, component, seen_scratch[:m], stack)
        components[f] = parts
        precision = 1.0 / (prior_sd[f] * prior_sd[f])
        steps, converged = climb(
            *(pairs, first, second, wins, losses, precision, parts, component, limit),
            *(u, mesh, degree, gradient_scratch[:m], step_scratch[:m], trial_scratch[:m]),
        )
        iterations[f] = steps
        log_posterior[f] = log_posterior_at(pairs, first, second, wins, losses, precision, u)
        invert(m, mesh, degree, square)
        centred_inverse(m, square, step_scratch)
        level = prior_sd[f] * prior_sd[f] / m
        prior_driven = False
        finite = True
        for i in range(m):
            variance = max(square[i * m + i], 0.0)
            deviation[i] = math.sqrt(variance)
            half = z * deviation[i]
            if unit:
                low[i], high[i], span[i] = _unit_interval(u[i], half)
            else:
                low[i], high[i], span[i] = u[i] - half, u[i] + half, 2.0 * z * deviation[i]
            if variance + level > (_PRIOR_DRIVEN * prior_sd[f]) ** 2:
                prior_driven = True
            if not (abs(u[i]) < math.inf and deviation[i] < math.inf):
                finite = False
        if not finite:
            status[f] = NONFINITE
            square[:] = math.nan
            for column in (u, deviation, low, high, span):
                column[:] = math.nan
        elif found == 0 or m < 2:
            status[f] = TOO_FEW
        elif not converged:
            status[f] = NOT_CONVERGED
        elif parts > 1:
            status[f] = DISCONNECTED
        elif separated:
            status[f] = SEPARATION
        elif prior_driven:
            status[f] = PRIOR_DRIVEN
        if covariance_offsets.size:
            covariance[covariance_offsets[f] : covariance_offsets[f] + m * m] = square


@kernel(types.void(I, OI, OI))
def group_rows(fit: Integers, offsets: Integers, order: Integers) -> None:
    """Sort rows by fit: from its codes (n_rows,) make offsets (n_fits + 1,) and order (n_rows,)."""
    offsets[:] = 0
    for row in range(fit.size):
        offsets[fit[row] + 1] += 1
    for f in range(1, offsets.size):
        offsets[f] += offsets[f - 1]
    place = offsets.copy()
    for row in range(fit.size):
        order[place[fit[row]]] = row
        place[fit[row]] += 1
