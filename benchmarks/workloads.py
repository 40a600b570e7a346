"""Named, seeded samples to time: small ones unless FASTGATE_BENCH=full asks for the sizes of the README's table."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np

from fastgate.cells import Cells

FULL = os.environ.get("FASTGATE_BENCH") == "full"

Sides = tuple[Cells, Cells]
"""Candidate and baseline, each cell with as many values on both sides."""


def _scores(offsets: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int) -> Sides:
    """Scores of cases of unequal difficulty, on both sides of which the same case weighs."""
    generator = np.random.default_rng(seed)
    case = generator.standard_normal(offsets[-1])
    sides = []
    for gain in (0.02, 0.0):
        values = generator.standard_normal(offsets[-1])
        values *= 0.1
        values += 0.2 * case + (0.8 + gain)
        sides.append(Cells(values, offsets))
    return sides[0], sides[1]


@cache
def equal() -> Sides:
    """Cells of 100 + 100 values: a million of them, or ten thousand."""
    return _scores(np.arange((1_000_000 if FULL else 10_000) + 1) * 100, 1)


@cache
def ragged() -> Sides:
    """Cells of 5 … 2 000 values: a hundred thousand of them, or a thousand."""
    generator = np.random.default_rng(2)
    sizes = generator.integers(5, 2001, 100_000 if FULL else 1_000)
    return _scores(np.concatenate(([0], np.cumsum(sizes))), 3)


@cache
def small() -> Sides:
    """Cells of 5 … 30 values, as a gate on a few folds or repeats sees them."""
    generator = np.random.default_rng(4)
    sizes = generator.integers(5, 31, 1_000_000 if FULL else 10_000)
    return _scores(np.concatenate(([0], np.cumsum(sizes))), 5)


WORKLOADS: dict[str, Callable[[], Sides]] = {"equal": equal, "ragged": ragged, "small": small}


def title(name: str) -> str:
    """The workload in words."""
    cells = WORKLOADS[name]()[0]
    sizes = cells.sizes
    span = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()}…{sizes.max()}"
    return f"{len(cells):,} cells of {span}"


def first(sides: Sides, n_cells: int) -> Sides:
    """The first cells of both sides, for peers that take too long over all."""
    candidate, baseline = (
        Cells(side.values[: side.offsets[min(n_cells, len(side))]], side.offsets[: n_cells + 1])
        for side in sides
    )
    return candidate, baseline
