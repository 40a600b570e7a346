"""The named groups of arrays and numbers that the bootstrap's kernels share; importing this loads no kernel."""

from __future__ import annotations

from typing import NamedTuple

from fastgate.kernels.records import Codes, Floats, Integers

__all__ = ["BootstrapLimits", "BootstrapSamples", "BootstrapTask", "OrderTables"]


class BootstrapSamples(NamedTuple):
    """The cleaned samples of each cell: no NaN, no −0.0."""

    a: Floats
    """Cell c's sample is ``n_a[c]`` values from ``starts_a[c]``; its differences, for pairs."""
    starts_a: Integers
    n_a: Integers
    b: Floats
    """The other sample, where `two`."""
    starts_b: Integers
    n_b: Integers
    magnitude: Floats
    """The largest absolute raw value of the cell."""
    two: bool
    """Whether a cell has two samples."""
    paired: bool
    """Whether the two are pairs, or (without `two`) the values are differences of pairs."""


class BootstrapTask(NamedTuple):
    """What is asked for; codes as in `fastgate.kernels.bootstrap_codes`."""

    statistic: int
    q: float
    """The quantile, or the share that a trimmed mean cuts at each end."""
    method: int
    engine: int
    alpha: float
    """1 minus the confidence level."""
    z: float
    """The normal quantile of 1 - alpha/2."""


class BootstrapLimits(NamedTuple):
    """What is found for each cell: arrays of shape (n_cells,)."""

    estimate: Floats
    low: Floats
    high: Floats
    error: Floats
    """The standard error."""
    bias: Floats
    status: Codes
    """Kernels write a code where it is OK, or worse than what stands there."""


class OrderTables(NamedTuple):
    """Laws of order statistics, a table for each sample size."""

    first: Integers
    """The first rank (from 1) of the table."""
    length: Integers
    """Its rows."""
    places: Integers
    """Where it begins, in rows."""
    cells: Floats
    """All tables, row after row of four columns."""
