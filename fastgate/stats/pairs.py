"""Mergeable moments of pairs, and the paired t test from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.cells import as_cells
from fastgate.errors import ArgumentError
from fastgate.kernels.records import PairMomentArrays, moment_columns
from fastgate.stats.paired_ttest import PairedResult, check_sizes, paired_columns, paired_result
from fastgate.stats.status import fields
from fastgate.stats.summary import (
    Moments,
    cell_moments,
    merge_moments,
    public_moments,
)
from fastgate.stats.ttest import ALTERNATIVES, check_test, match_cells, quantile_series

__all__ = ["PairMoments", "merge_pair_moments", "pair_moments", "paired_from_moments"]

Floats = npt.NDArray[np.float64]


class PairMoments(NamedTuple):
    """Moments of the complete pairs of each cell; all three have the same `n` and `n_missing`."""

    candidate: Moments
    """Of the candidate's values."""
    baseline: Moments
    """Of the baseline's values."""
    difference: Moments
    """Of candidate - baseline, pair by pair."""
    comoment: float | Floats
    """Sum of products of both sides' deviations from their means."""


def pair_moments(candidate: Any, baseline: Any) -> PairMoments:
    """Moments of pairs, candidate, baseline and difference, with their co-moment.

    Parameters
    ----------
    candidate, baseline : array_like or Cells or Arrow column
        As in `paired`; a pair with a NaN on either side is dropped and counted.

    Returns
    -------
    PairMoments
        `candidate`, `baseline`, `difference` (`Moments` each) and `comoment`, of arrays of shape (n_cells,)
        or of scalars.

    Raises
    ------
    ArgumentError
        For samples that hold anything but numbers, numbers of cells that do not match, or unequal cells in a
        pair.

    Notes
    -----
    The difference's own moments are kept since M2 of the difference, M2c + M2b − 2C, loses the digits of a
    high correlation. Accuracy as in `moments`; of the co-moment 4nε √(M2c M2b).

    Examples
    --------
    >>> pairs = pair_moments([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    >>> round(pairs.comoment, 12), round(pairs.difference.mean, 12)
    (1.0, 0.333333333333)
    """
    from fastgate.kernels.pair_moments import pair_moments_kernel

    candidates, single_candidate = as_cells(candidate, "candidate")
    baselines, single_baseline = as_cells(baseline, "baseline")
    first, second = match_cells(len(candidates), len(baselines))
    check_sizes(candidates, baselines, first, second)
    n = first.size
    out = PairMomentArrays(moment_columns(n), moment_columns(n), moment_columns(n), np.empty(n))
    threads.run(
        pair_moments_kernel,
        n,
        candidates.values,
        candidates.offsets,
        baselines.values,
        baselines.offsets,
        first,
        second,
        out,
        work=2.0 * candidates.values.size / max(n, 1) + 200.0,
    )
    single = single_candidate and single_baseline
    with np.errstate(over="ignore", under="ignore"):
        comoment = np.ldexp(out.comoment, out.candidate.exponent + out.baseline.exponent)
    candidate_moments, baseline_moments, difference = (public_moments(side, single) for side in out[:3])
    return PairMoments(candidate_moments, baseline_moments, difference, *fields([comoment], single))


def _arrays(pairs: PairMoments, name: str) -> tuple[PairMomentArrays, bool]:
    if not isinstance(pairs, PairMoments):
        raise ArgumentError(
            f"{name} are not moments of pairs",
            expected="the result of fastgate.stats.pair_moments",
            received=type(pairs).__name__,
            where=f"argument {name}",
        )
    sides = [
        cell_moments(side, f"{name}.{field}") for side, field in zip(pairs[:3], pairs._fields, strict=False)
    ]
    candidate, baseline, difference = (side for side, _ in sides)
    comoment = np.atleast_1d(np.asarray(pairs.comoment, np.float64))
    sizes = {candidate.n.size, baseline.n.size, difference.n.size, comoment.size}
    if len(sizes) != 1:
        raise ArgumentError(
            f"the fields of {name} differ in length",
            expected="one value a cell in each",
            received=", ".join(map(str, sorted(sizes))),
            where=f"argument {name}",
        )
    comoment = np.ldexp(comoment, -(candidate.exponent + baseline.exponent))
    comoment.flags.writeable = False
    return PairMomentArrays(candidate, baseline, difference, comoment), all(single for _, single in sides)


def merge_pair_moments(a: PairMoments, b: PairMoments) -> PairMoments:
    """Moments of each cell's pairs that came in two parts.

    Parameters
    ----------
    a, b : PairMoments
        Of the same cells in the same order.

    Returns
    -------
    PairMoments
        As `pair_moments` of all pairs together would give, within 1e-14 relative for well-scaled parts.

    Raises
    ------
    ArgumentError
        When a or b is no `PairMoments`, or the numbers of cells differ.

    Notes
    -----
    C = Ca + Cb + δx δy n_a n_b / n, δ the differences of the parts' means; the rest as in `merge_moments`.

    References
    ----------
    Pébay, P. (2008). Sandia report SAND2008-6212, section 3.

    Examples
    --------
    >>> whole = merge_pair_moments(pair_moments([1.0], [1.0]), pair_moments([2.0, 4.0], [3.0, 2.0]))
    >>> round(whole.comoment, 12)
    1.0
    """
    from fastgate.kernels.pair_moments import comoment_merge_kernel

    left, single_left = _arrays(a, "a")
    right, single_right = _arrays(b, "b")
    n = left.comoment.size
    comoment, exponents = np.empty(n), np.empty(n, np.int64)
    threads.run(comoment_merge_kernel, n, left, right, comoment, exponents, work=20.0)
    with np.errstate(over="ignore", under="ignore"):
        comoment = np.ldexp(comoment, exponents)
    return PairMoments(
        merge_moments(a.candidate, b.candidate),
        merge_moments(a.baseline, b.baseline),
        merge_moments(a.difference, b.difference),
        *fields([comoment], single_left and single_right),
    )


def paired_from_moments(
    pairs: PairMoments,
    *,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    interval: bool = True,
) -> PairedResult:
    """The paired t test of each cell from moments: `paired` where the pairs themselves are elsewhere.

    Parameters
    ----------
    pairs : PairMoments
        From `pair_moments` or `merge_pair_moments`.
    alternative, confidence_level, interval
        As in `welch`.

    Returns
    -------
    PairedResult
        As `paired`, with the limits of magnitude that `welch_from_moments` states.

    Raises
    ------
    ArgumentError
        When `pairs` is no `PairMoments`, or an option is unknown or out of range.

    Examples
    --------
    >>> pairs = pair_moments([0.91, 0.94, 0.92, 0.95], [0.90, 0.91, 0.91, 0.93])
    >>> round(paired_from_moments(pairs).pvalue, 5)
    0.03535
    """
    from fastgate.kernels.pair_moments import paired_from_moments_kernel

    check_test(alternative, confidence_level)
    arrays, single = _arrays(pairs, "pairs")
    out = paired_columns(arrays.comoment.size)
    threads.run(
        paired_from_moments_kernel,
        arrays.comoment.size,
        arrays,
        ALTERNATIVES[alternative],
        *quantile_series(alternative, confidence_level, interval),
        out,
        work=50.0,
    )
    return paired_result(out, single)
