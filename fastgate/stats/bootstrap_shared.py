"""Resampling of means in which cells of one size share their resamples: a matrix product does the drawing."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.kernels import bootstrap_codes as codes
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.status import ZERO_DENOMINATOR

__all__ = ["shared_limits"]

Grid = npt.NDArray[np.float64]

_EPS: Final = float(np.finfo(np.float64).eps)
# Draws and weights held at once, in values of 8 bytes.
_DRAWS: Final = 2**22
_WEIGHTS: Final = 2**21


def shared_limits(
    samples: BootstrapSamples,
    task: BootstrapTask,
    n_resamples: int,
    seed: int,
    route: Codes,
    limits: BootstrapLimits,
) -> None:
    """Limits of the cells whose route is DRAWN.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
        Of a mean or ratio; any method but studentised.
    n_resamples, seed : int
    route : ndarray of int8, shape (n_cells,)
    limits : BootstrapLimits, output
    """
    cells = np.flatnonzero(route == codes.DRAWN)
    shapes = np.stack((samples.n_a[cells], samples.n_b[cells]), axis=1)
    rows = max(1, _DRAWS // n_resamples)
    for shape in np.unique(shapes, axis=0):
        group = cells[np.all(shapes == shape, axis=1)]
        for start in range(0, group.size, rows):
            _block(samples, task, n_resamples, seed, group[start : start + rows], limits)


def _rows(values: Floats, starts: Integers, size: int) -> tuple[Grid, Floats]:
    """The cells' values, centred, as rows; and their means."""
    grid = values[starts[:, None] + np.arange(size)]
    origin = grid[:, :1].copy()
    grid -= origin
    mean = grid.mean(axis=1, keepdims=True)
    grid -= mean
    rest = grid.mean(axis=1, keepdims=True)
    return grid - rest, (origin + (mean + rest))[:, 0]


def _products(n_resamples: int, seed: int, samples: list[tuple[Grid, int]]) -> list[Grid]:
    """Each sample's resampled means, relative to its mean; a sample is its rows and the side of its stream."""
    from fastgate.kernels.rng import multinomial_weights

    draws = [np.empty((grid.shape[0], n_resamples)) for grid, _ in samples]
    size = max(grid.shape[1] for grid, _ in samples)
    chunk = max(1, min(n_resamples, _WEIGHTS // size))
    for first in range(0, n_resamples, chunk):
        count = min(chunk, n_resamples - first)
        weights: dict[tuple[int, int], Grid] = {}
        for (grid, side), target in zip(samples, draws, strict=True):
            n = grid.shape[1]
            if (n, side) not in weights:
                weights[n, side] = np.empty((count, n))
                threads.run(
                    multinomial_weights, count, np.uint64(seed), first, np.uint64(n), np.uint64(side),
                    weights[n, side], work=2.0 * n,
                )  # fmt: skip
            target[:, first : first + count] = grid @ weights[n, side].T
    for (grid, _), target in zip(samples, draws, strict=True):
        target /= grid.shape[1]
    return draws


def _block(
    samples: BootstrapSamples,
    task: BootstrapTask,
    n_resamples: int,
    seed: int,
    cells: Integers,
    limits: BootstrapLimits,
) -> None:
    from fastgate.kernels.bootstrap_limits import drawn_limits

    one, theta = _rows(samples.a, samples.starts_a[cells], int(samples.n_a[cells[0]]))
    close = 16.0 * _EPS * np.max(np.abs(one), axis=1)
    influence = one / one.shape[1]
    squares, cubes = np.sum(influence**2, axis=1), np.sum(influence**3, axis=1)
    crossed = np.zeros(cells.size, bool)
    if not samples.two:
        (draws,) = _products(n_resamples, seed, [(one, 0)])
    else:
        other, under = _rows(samples.b, samples.starts_b[cells], int(samples.n_b[cells[0]]))
        draws, below = _products(n_resamples, seed, [(one, 0), (other, 0 if samples.paired else 1)])
        if task.statistic == codes.RATIO:
            ratio = theta / under
            below_mean = below + under[:, None]
            crossed = np.any(below_mean * under[:, None] <= 0.0, axis=1)
            below_mean[crossed] = 1.0
            draws -= ratio[:, None] * below
            draws /= below_mean
            squares, cubes = _ratio_influence(one, other, theta, under, samples.paired)
            theta, close = ratio, 16.0 * _EPS * np.abs(ratio)
        else:
            draws -= below
            influence = -other / other.shape[1]
            squares += np.sum(influence**2, axis=1)
            cubes += np.sum(influence**3, axis=1)
            theta = theta - under
            close += 16.0 * _EPS * np.max(np.abs(other), axis=1)
    skew = cubes / (6.0 * squares * np.sqrt(squares))
    low, high, error, bias = (np.empty(cells.size) for _ in range(4))
    status = limits.status[cells]
    threads.run(
        drawn_limits, cells.size, draws, theta, close, skew, task.method, task.alpha, task.z, low, high, error, bias,
        status, work=3.0 * n_resamples,
    )  # fmt: skip
    status[crossed] = ZERO_DENOMINATOR
    for column in (low, high, error, bias):
        column[crossed] = np.nan
    limits.status[cells] = status
    for target, column in zip(limits[:5], (theta, low, high, error, bias), strict=True):
        target[cells] = column


def _ratio_influence(
    one: Grid, other: Grid, above: Floats, under: Floats, paired: bool
) -> tuple[Floats, Floats]:
    """Σ(u/n)² and Σ(u/n)³ over the jackknife's influences on a ratio of means."""
    n, m = one.shape[1], other.shape[1]
    lower = under[:, None] - other / (m - 1)
    if paired:
        parts = [(above[:, None] - one / (n - 1)) / lower]
    else:
        parts = [(above[:, None] - one / (n - 1)) / under[:, None], above[:, None] / lower]
    squares, cubes = np.zeros(above.size), np.zeros(above.size)
    for part in parts:
        size = part.shape[1]
        influence = (size - 1) * (part.mean(axis=1, keepdims=True) - part) / size
        squares += np.sum(influence**2, axis=1)
        cubes += np.sum(influence**3, axis=1)
    return squares, cubes
