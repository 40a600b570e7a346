"""The mode of a Bradley–Terry posterior with a Gaussian prior: Newton's method for one fit."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from fastgate.jit import device
from fastgate.kernels.laplacian import eliminate, solve

__all__ = ["climb", "log_posterior_at"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# After a step that moves the utilities by less than this against each other the mode is 1e-12 away
# (Newton's step squares the error, with a factor of 1/2 here); one more, with the factor at hand,
# takes the rest.
_STEP: Final = 1e-6


@device
def _evaluate(
    pairs: int,
    first: Integers,
    second: Integers,
    wins: Floats,
    losses: Floats,
    precision: float,
    u: Floats,
    gradient: Floats,
    mesh: Floats,
) -> None:
    """The log posterior's gradient (m,) at u, and the conductances as the upper triangle of mesh (m · m,)."""
    m = u.size
    mesh[:] = precision / m
    for i in range(m):
        gradient[i] = -precision * u[i]
    for k in range(pairs):
        i = first[k]
        j = second[k]
        distance = u[i] - u[j]
        e = math.exp(-abs(distance))
        t = 1.0 / (1.0 + e)
        better, worse = (e * t, t) if distance >= 0.0 else (t, e * t)
        pull = wins[k] * better - losses[k] * worse
        gradient[i] += pull
        gradient[j] -= pull
        mesh[i * m + j] += (wins[k] + losses[k]) * (e * t * t)


@device
def _centre(components: int, component: Integers, x: Floats) -> None:
    """Subtract from each component its mean: at the mode the utilities of every component sum to 0."""
    m = x.size
    if components == 1:
        total = 0.0
        for i in range(m):
            total += x[i]
        total /= m
        for i in range(m):
            x[i] -= total
        return
    for seed in range(m):
        if component[seed] == seed + 1:
            total = 0.0
            size = 0
            for i in range(seed, m):
                if component[i] == seed + 1:
                    total += x[i]
                    size += 1
            total /= size
            for i in range(seed, m):
                if component[i] == seed + 1:
                    x[i] -= total


@device
def climb(
    pairs: int,
    first: Integers,
    second: Integers,
    wins: Floats,
    losses: Floats,
    precision: float,
    components: int,
    component: Integers,
    limit: int,
    u: Floats,
    mesh: Floats,
    degree: Floats,
    gradient: Floats,
    step: Floats,
    trial: Floats,
) -> tuple[int, bool]:
    """Newton's method from u = 0 to the mode, whose factored conductances stay in `mesh` and `degree`.

    Along a step the curvature changes by no more than a factor exp(t), t being the largest change
    of a difference of two utilities. So a step with t ≤ 1 surely climbs; so does one after which
    the slope still points upwards, for the log posterior is concave. Any other is halved. No value
    of the log posterior is needed.
    """
    m = u.size
    u[:] = 0.0
    _evaluate(pairs, first, second, wins, losses, precision, u, gradient, mesh)
    for iteration in range(1, limit + 1):
        eliminate(m, mesh, degree)
        solve(m, mesh, degree, gradient, step)
        _centre(components, component, step)
        low = step[0]
        high = step[0]
        for i in range(m):
            low = min(low, step[i])
            high = max(high, step[i])
        span = high - low
        if not span < math.inf:
            # Weights whose sums are beyond float64.
            u[:] = math.nan
            return iteration, False
        share = 1.0
        while True:
            for i in range(m):
                trial[i] = u[i] + share * step[i]
            _centre(components, component, trial)
            _evaluate(pairs, first, second, wins, losses, precision, trial, gradient, mesh)
            slope = 0.0
            for i in range(m):
                slope += gradient[i] * step[i]
            if share * span <= 1.0 or slope >= 0.0:
                break
            share *= 0.5
        u[:] = trial
        if span <= _STEP:
            eliminate(m, mesh, degree)
            solve(m, mesh, degree, gradient, step)
            for i in range(m):
                u[i] += step[i]
            _centre(components, component, u)
            return iteration, True
    eliminate(m, mesh, degree)
    return limit, False


@device
def log_posterior_at(
    pairs: int, first: Integers, second: Integers, wins: Floats, losses: Floats, precision: float, u: Floats
) -> float:
    """The log posterior at u, up to its constant."""
    total = 0.0
    for k in range(pairs):
        distance = u[first[k]] - u[second[k]]
        rest = math.log1p(math.exp(-abs(distance)))
        total -= wins[k] * (rest + max(-distance, 0.0)) + losses[k] * (rest + max(distance, 0.0))
    squares = 0.0
    for i in range(u.size):
        squares += u[i] * u[i]
    return total - 0.5 * precision * squares
