"""The paired t test of many cells at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.cells import Cells, as_cells
from fastgate.errors import ArgumentError
from fastgate.kernels.records import MomentArrays, PairedArrays, PairedShownArrays, read_only
from fastgate.stats.status import fields, status_names
from fastgate.stats.summary import moments_arrays
from fastgate.stats.ttest import ALTERNATIVES, check_test, match_cells, quantile_series, unwritten

__all__ = [
    "PairedResult",
    "check_sizes",
    "paired",
    "paired_arrays",
    "paired_columns",
    "paired_result",
    "paired_shown",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class PairedResult(NamedTuple):
    """The paired t test of each cell: arrays of shape (n_cells,), or scalars; not to be trusted unless ok."""

    statistic: float | Floats
    """t = delta / standard_error."""
    df: float | Floats
    """n - 1."""
    pvalue: float | Floats
    """Of the alternative; NaN where the test is undefined."""
    delta: float | Floats
    """Mean of candidate - baseline over the complete pairs."""
    ci_low: float | Floats
    """Lower end of the interval for delta; -inf for ``less``, NaN without `interval`."""
    ci_high: float | Floats
    """Upper end; inf for ``greater``."""
    cohens_d: float | Floats
    """delta over the pooled standard deviation of the scores: comparable with Welch's."""
    hedges_g: float | Floats
    """delta over the root of the average variance of the scores, corrected: comparable with Welch's."""
    cohens_dz: float | Floats
    """delta over the standard deviation of the differences; never compare it with `cohens_d`."""
    hedges_gz: float | Floats
    """`cohens_dz` times Hedges' correction; NaN below three pairs."""
    correlation: float | Floats
    """Pearson's, of candidate and baseline; NaN where either is constant."""
    n: int | Integers
    """Complete pairs."""
    n_missing: int | Integers
    """Pairs dropped because a value is NaN."""
    mean_candidate: float | Floats
    """Over the complete pairs."""
    mean_baseline: float | Floats
    """Over the complete pairs."""
    status: str | npt.NDArray[np.object_]
    """``ok``, ``too_few``, ``nonfinite``, ``zero_var_equal``, ``zero_var_diff`` or ``precision_loss``."""
    standard_error: float | Floats
    """Of delta."""


def paired_columns(n: int) -> PairedArrays:
    """Unwritten results of n paired tests."""
    return PairedArrays(*unwritten("fffffffffffiiffbf", n))


def _work(candidates: tuple[Floats, Integers], candidate_index: Integers) -> float | Integers:
    """For `threads.run`: about the nanoseconds of each test."""
    sizes = np.diff(candidates[1])
    if not sizes.size or sizes.min() == sizes.max():
        return 100.0 + 2.0 * float(sizes[0] if sizes.size else 0)
    work = np.zeros(candidate_index.size + 1, np.int64)
    np.cumsum(2 * np.where(candidate_index >= 0, sizes[candidate_index], 0) + 100, out=work[1:])
    return work


def _measured(
    candidates: tuple[Floats, Integers],
    baselines: tuple[Floats, Integers],
    moments: tuple[MomentArrays, MomentArrays] | None,
) -> tuple[MomentArrays, MomentArrays]:
    """The moments of both sides' cells: those that are known, or measured now."""
    if moments is not None:
        first, second = moments
        return read_only(first), read_only(second)
    of_candidates = moments_arrays(*candidates)
    return of_candidates, of_candidates if baselines is candidates else moments_arrays(*baselines)


def paired_arrays(
    candidates: tuple[Floats, Integers],
    baselines: tuple[Floats, Integers],
    candidate_index: Integers,
    baseline_index: Integers,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    interval: bool = True,
    moments: tuple[MomentArrays, MomentArrays] | None = None,
) -> PairedArrays:
    """The paired test of cell ``candidate_index[i]`` against ``baseline_index[i]``, without checks.

    Parameters
    ----------
    candidates, baselines : tuple of ndarray
        Values, float64, shape (n_values,), and offsets, int64, shape (n_cells + 1,); the two may be the same.
    candidate_index, baseline_index : ndarray of int64, shape (n_tests,)
        Two cells of equal size, aligned case by case. −1 stands for a cell that does not exist; it and
        unequal sizes are ``too_few`` with n = 0.
    alternative, confidence_level, interval
        As in `paired`.
    moments : tuple of MomentArrays, optional
        Of the cells of `candidates` and of `baselines`, from `fastgate.stats.summary.moments_arrays`, where they
        are known already.

    Returns
    -------
    PairedArrays
        Arrays of shape (n_tests,), statuses as codes.
    """
    from fastgate.kernels.paired_ttest import paired_kernel

    out = paired_columns(candidate_index.size)
    threads.run(
        paired_kernel,
        candidate_index.size,
        *candidates,
        *baselines,
        candidate_index,
        baseline_index,
        *_measured(candidates, baselines, moments),
        ALTERNATIVES[alternative],
        *quantile_series(alternative, confidence_level, interval),
        out,
        work=_work(candidates, candidate_index),
    )
    return out


def paired_shown(
    candidates: tuple[Floats, Integers],
    baselines: tuple[Floats, Integers],
    candidate_index: Integers,
    baseline_index: Integers,
    moments: tuple[MomentArrays, MomentArrays] | None = None,
) -> PairedShownArrays:
    """What is shown of the paired test beside another one that decides: two-sided p, correlation, Cohen's dz.

    Parameters
    ----------
    candidates, baselines, candidate_index, baseline_index, moments
        As in `paired_arrays`.

    Returns
    -------
    PairedShownArrays
        Arrays of shape (n_tests,), with the bits of `paired_arrays`.
    """
    from fastgate.kernels.paired_ttest import paired_shown_kernel

    out = PairedShownArrays(*unwritten("fff", candidate_index.size))
    threads.run(
        paired_shown_kernel,
        candidate_index.size,
        *candidates,
        *baselines,
        candidate_index,
        baseline_index,
        *_measured(candidates, baselines, moments),
        out,
        work=_work(candidates, candidate_index),
    )
    return out


def paired(
    candidate: Any,
    baseline: Any,
    *,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    interval: bool = True,
) -> PairedResult:
    """The t test of the mean difference of pairs, for each cell.

    Parameters
    ----------
    candidate, baseline : array_like or Cells or Arrow column
        As in `welch`; value i of a cell of one is the partner of value i of the same cell of the other. A
        pair with a NaN on either side is dropped.
    alternative, confidence_level, interval
        As in `welch`.

    Returns
    -------
    PairedResult
        Named tuple of arrays of shape (n_cells,), or of scalars where both sides are one cell: `statistic`,
        `df`, `pvalue`, `delta`, `ci_low`, `ci_high`, `cohens_d`, `hedges_g`, `cohens_dz`, `hedges_gz`,
        `correlation`, `n`, `n_missing`, `mean_candidate`, `mean_baseline`, `status`, `standard_error`; its
        class describes each. `status` is as in `welch`, with "constant" said of the differences, and the
        larger mean being that of the scores: 0.1 + 0.2 against 0.3 in every case is ``zero_var_equal``.
        Differences beyond the range of float64 are ``nonfinite``.

    Raises
    ------
    ArgumentError
        As in `welch`; and when the two cells of a pair hold different numbers of values.

    Notes
    -----
    t = mean(d)/(s_d/√n), d = candidate − baseline, df = n − 1. `hedges_g` uses the average variance of the
    two scores, so that it compares with Welch's; `cohens_dz` is larger by 1/√(2(1 − r)) at equal variances.
    Accuracy as in `welch`; cost per cell about twice that of its moments. The same bits for any number of
    threads.

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika 6, 1–25. Lakens, D. (2013). Calculating and
    reporting effect sizes to facilitate cumulative science. Frontiers in Psychology 4:863.

    Examples
    --------
    >>> test = paired([0.91, 0.94, 0.92, 0.95], [0.90, 0.91, 0.91, 0.93])
    >>> round(test.delta, 4), test.df, round(test.pvalue, 5), round(test.correlation, 4)
    (0.0175, 3.0, 0.03535, 0.8706)
    """
    check_test(alternative, confidence_level)
    candidates, single_candidate = as_cells(candidate, "candidate")
    baselines, single_baseline = as_cells(baseline, "baseline")
    first, second = match_cells(len(candidates), len(baselines))
    check_sizes(candidates, baselines, first, second)
    out = paired_arrays(
        (candidates.values, candidates.offsets),
        (baselines.values, baselines.offsets),
        first,
        second,
        alternative,
        confidence_level,
        interval,
    )
    return paired_result(out, single_candidate and single_baseline)


def paired_result(out: PairedArrays, single: bool) -> PairedResult:
    """The public form of the kernel's results."""
    return PairedResult(*fields((*out[:15], status_names(out.status), out.standard_error), single))


def check_sizes(candidates: Cells, baselines: Cells, first: Integers, second: Integers) -> None:
    """Raise an ArgumentError unless the cells of each test hold as many values."""
    ours, theirs = candidates.sizes[first], baselines.sizes[second]
    if np.array_equal(ours, theirs):
        return
    cell = int(np.argmax(ours != theirs))
    raise ArgumentError(
        "the cells to be paired differ in size",
        expected=f"{ours[cell]} values, as in candidate",
        received=f"{theirs[cell]} values",
        where=f"argument baseline, cell {cell}",
        hint="pair the cases by id first, NaN for an absent one; or use welch, which needs no pairs",
    )
