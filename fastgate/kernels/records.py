"""The named groups of arrays that kernels read and write; importing this loads no kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "MomentArrays",
    "PairMomentArrays",
    "PairedArrays",
    "PairedShownArrays",
    "WelchArrays",
    "moment_columns",
    "read_only",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]


class MomentArrays(NamedTuple):
    """What a comparison needs to know of each cell.

    The mean is ``shift + centre · 2^exponent``, the sum of squared deviations ``m2 · 2^(2 exponent)``, of
    cubed ones ``m3 · 2^(3 exponent)``. Shift and centre stay apart so that a difference of means loses no
    digit to the shift.
    """

    n: Integers
    """Values that are not missing."""
    n_missing: Integers
    """NaN values, which were dropped."""
    shift: Floats
    """The first value; NaN in an empty or non-finite cell."""
    centre: Floats
    """Mean of the values minus the shift."""
    m2: Floats
    """Sum of squared deviations from the mean."""
    m3: Floats
    """Sum of cubed deviations from the mean; NaN where it was not asked for."""
    exponent: Integers
    """The power of two that `centre`, `m2`, `m3` are scaled by; 0 where |value - shift| is in 1e±70."""
    constant: Codes
    """1 where there are values and all are equal, else 0."""
    status: Codes
    """OK; TOO_FEW below two values; NONFINITE; PRECISION_LOSS where `m2` came as a subnormal number."""


class PairMomentArrays(NamedTuple):
    """Moments of the complete pairs of each cell."""

    candidate: MomentArrays
    baseline: MomentArrays
    difference: MomentArrays
    comoment: Floats
    """Sum of products of both sides' deviations / 2^(sum of their exponents)."""


class WelchArrays(NamedTuple):
    """Welch's test of each comparison; the fields of `fastgate.stats.WelchResult` with status codes."""

    statistic: Floats
    df: Floats
    pvalue: Floats
    delta: Floats
    ci_low: Floats
    ci_high: Floats
    cohens_d: Floats
    hedges_g: Floats
    n_candidate: Integers
    n_baseline: Integers
    status: Codes
    standard_error: Floats


class PairedArrays(NamedTuple):
    """The paired t test of each comparison; the fields of `fastgate.stats.PairedResult` with status codes."""

    statistic: Floats
    df: Floats
    pvalue: Floats
    delta: Floats
    ci_low: Floats
    ci_high: Floats
    cohens_d: Floats
    hedges_g: Floats
    cohens_dz: Floats
    hedges_gz: Floats
    correlation: Floats
    n: Integers
    n_missing: Integers
    mean_candidate: Floats
    mean_baseline: Floats
    status: Codes
    standard_error: Floats


class PairedShownArrays(NamedTuple):
    """What is shown of the paired t test beside another test that decides."""

    pvalue: Floats
    """Two-sided."""
    correlation: Floats
    cohens_dz: Floats


def moment_columns(n_cells: int) -> MomentArrays:
    """Unwritten moments of n_cells cells."""
    # A block of each type, not nine arrays: fewer fresh pages for the system to clear.
    counts, numbers = np.empty((3, n_cells), np.int64), np.empty((4, n_cells))
    codes = np.empty((2, n_cells), np.int8)
    return MomentArrays._make([*counts[:2], *numbers, counts[2], *codes])


def read_only(moments: MomentArrays) -> MomentArrays:
    """The same arrays behind read-only views, which is what kernels are compiled for."""
    views = [array.view() for array in moments]
    for view in views:
        view.flags.writeable = False
    return MomentArrays._make(views)
