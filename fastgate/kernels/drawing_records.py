"""The named groups of arrays that kernels of drawn cases read and write; importing this loads no kernel.

A *drawing* takes the cases of a suite anew: in each replicate a case counts as often as it was drawn.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate.kernels.records import Floats, Integers

__all__ = [
    "DIFFERENT",
    "EQUAL",
    "FAULT",
    "GAIN",
    "KIND",
    "LOSING",
    "NOTHING",
    "SHOWN",
    "SIGNIFICANT",
    "STATES",
    "WINNING",
    "WITHIN",
    "WORSE",
    "DrawnRows",
    "Levels",
    "RuleRows",
    "Sides",
    "Statistics",
]

Grid = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]

# The state of a comparison in one replicate, a byte: all that the rule reads of it. Its kind in the bits `KIND`:
SHOWN: Final = 0
"""The test has a result."""
EQUAL: Final = 1
"""Both sides are constant, and equal."""
DIFFERENT: Final = 2
"""Both sides are constant, and differ."""
NOTHING: Final = 3
"""There is no result."""
FAULT: Final = 4
"""The data are at fault."""
KIND: Final = 7
# The side of 0 on which the difference is, in the KPI's better direction, in the bits `GAIN`; neither at 0.
WINNING: Final = 8
LOSING: Final = 16
GAIN: Final = 24
SIGNIFICANT: Final = 32
"""The difference is significant, on the side on which it is."""
WORSE: Final = 64
"""A guard is significantly worse."""
WITHIN: Final = 128
"""A guard is shown to be within its margin."""
STATES: Final = 256


class DrawnRows(NamedTuple):
    """Samples as rows over the cases of their suite, and their moments in each replicate."""

    values: Grid
    """(n_rows, n_cases); NaN where there is no value."""
    stratum: Integers
    """(n_rows,): which of the strata's weights are its own."""
    weights: npt.NDArray[np.float64]
    """(n_strata, n_cases, n_replicates): how often each case was drawn."""
    shift: Floats
    """(n_rows,): the first value; NaN in a row that is empty, holds an infinity, or varies too much or too little."""
    bound: Floats
    """(n_rows,): the largest absolute value."""
    reach: Floats
    """(n_rows,): the largest value minus the smallest."""
    centre: Grid
    """(n_rows, n_replicates): mean minus shift."""
    variance: Grid
    """(n_rows, n_replicates): of the mean; exactly 0 where all values are equal, NaN where it takes more care."""
    n: Grid
    """(n_rows, n_replicates): values."""


class RuleRows(NamedTuple):
    """What the rule asks of each KPI of a suite: arrays of shape (n_kpis,)."""

    sign: Floats
    """1 where higher is better, else -1."""
    decides: Flags
    not_worse: Flags
    """Guards that must not be significantly worse."""
    margin: Floats
    """Guards' margins; NaN where there is none."""


class Levels(NamedTuple):
    """When a difference is significant."""

    alpha: float
    guard_alpha: float
    two_sided: bool
    deciding: Floats
    """Squares of the critical values of t by df, from 1; at 0 those of infinitely many."""
    guard: Floats
    """The same, one-sided, at the guards' alpha."""
    margin: Floats
    """The same, one-sided, at alpha."""


class Sides(NamedTuple):
    """The comparisons: the rows of both samples; arrays of shape (n_comparisons,)."""

    candidate: Integers
    baseline: Integers
    kpi: Integers
    """The row in `RuleRows`."""
    faulty: Flags


class Statistics(NamedTuple):
    """T statistics, in the better direction, of deciding comparisons: (n_comparisons, n_replicates), or empty."""

    statistic: Grid
    df: Grid
