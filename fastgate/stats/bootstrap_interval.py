"""Bootstrap confidence intervals of many cells at once, with and without resampling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate.cells import Cells, as_cells
from fastgate.errors import ArgumentError
from fastgate.stats.bootstrap_arrays import ENGINE_NAMES, BootstrapArrays, bootstrap_arrays
from fastgate.stats.bootstrap_request import bootstrap_request, key_numbers
from fastgate.stats.status import fields, status_names

__all__ = ["BootstrapResult", "bootstrap"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.object_]

_ENGINES = np.array(ENGINE_NAMES, dtype=object)


class BootstrapResult(NamedTuple):
    """The bootstrap interval of each cell: arrays of shape (n_cells,), or scalars; not to be trusted unless ok."""

    estimate: float | Floats
    """The statistic of the sample; with `other`, sample - other, or sample / other for a ratio."""
    ci_low: float | Floats
    """Lower limit of the two-sided interval."""
    ci_high: float | Floats
    """Upper limit."""
    half_width: float | Floats
    """(ci_high - ci_low) / 2."""
    standard_error: float | Floats
    """Standard deviation of the bootstrap law; studentised: the estimate's own standard error."""
    bias: float | Floats
    """Mean of the bootstrap law - estimate; NaN for a studentised ratio."""
    status: str | Words
    """``ok``, or why the interval is not to be trusted."""
    engine: str | Words
    """``exact``, ``saddlepoint`` or ``resample``; ``none`` where there was nothing to compute."""
    n: int | Integers
    """Values used: of the sample, or complete pairs."""
    n_other: int | Integers
    """Values used of `other`; 0 without it."""
    n_missing: int | Integers
    """NaN values dropped, of both samples; for pairs, pairs dropped."""


def bootstrap(
    sample: Any,
    other: Any = None,
    *,
    paired: bool = False,
    statistic: str | float = "mean",
    confidence_level: float = 0.95,
    method: str = "bca",
    engine: str = "auto",
    n_resamples: int = 9999,
    seed: int = 0,
    shared: bool = False,
    keys: Any = None,
    trim: float = 0.1,
) -> BootstrapResult:
    """The bootstrap confidence interval of a statistic of each cell, or of its difference between two samples.

    Parameters
    ----------
    sample : array_like or Cells or Arrow column
        One dimension: one cell. Two: each row a cell. `fastgate.Cells`, an Arrow or Polars list column or a
        list of sequences: many cells of any sizes. NaN (null) is a missing value: dropped and counted.
    other : like `sample`, optional
        A second sample of each cell (the baseline): the interval is for statistic(sample) − statistic(other).
        As many cells on both sides, or one on either, which is taken for every cell of the other.
    paired : bool, optional
        Value i of a cell of `other` is the partner of value i of `sample`, and pairs are drawn. The statistic
        is that of the differences sample − other (so ``median`` is the median difference, not the difference
        of medians); for ``ratio_of_means``, the ratio of the pairs' means. A pair with a NaN on either side
        is dropped.
    statistic : str or float, optional
        ``mean``; ``median``, ``p95`` (any percentile) or a number in (0, 1): a quantile, type 7 as numpy's;
        ``std`` (with n − 1); ``trimmed_mean``; ``proportion`` (a mean of values that must be 0 or 1);
        ``ratio_of_means`` (sample over other).
    confidence_level : float, optional
        In (0, 1); the rest is split in half.
    method : {"bca", "percentile", "basic", "normal", "studentised"}, optional
        BCa has jackknife acceleration. Studentised: means, proportions, their differences, ratios of means.
    engine : {"auto", "exact", "saddlepoint", "resample"}, optional
        How the bootstrap law is found. ``auto`` takes, cell by cell, the first of these that can answer.

        - ``exact``: no sampling and no approximation. Quantiles and their differences; means and differences
          of means on a lattice (pass/fail, grades, counts, fixed decimals) or, by going through every
          multiset, of about ten values or few different ones; the normal interval of means; and, by every
          multiset, studentised means, standard deviations, trimmed means, their differences, and ratios.
        - ``saddlepoint``: means and their differences; percentile, basic and BCa. ``auto`` uses it where
          every sample has 20 values or more, no value carries over half the variance, an extreme value of
          multiplicity m has (m/n)^n ≤ α/40, and the values lie on no lattice with a step above about 0.05 %
          of the interval's width.
        - ``resample``: anything.
    n_resamples : int, optional
        Replicates where the engine is ``resample``.
    seed : int, optional
        From 0 to 2**64 − 1. The same seed gives the same interval, always.
    shared : bool, optional
        Whether resampled cells of one size (of two sizes, for two samples) share their resamples: replicate r
        then draws the same positions in each, and one matrix product does it for all. Each interval is as
        good as without, but the simulation errors of these cells are no longer independent of each other,
        results repeat to rounding only (the product is the BLAS library's), and the order of a cell's values
        matters. Means, proportions and ratios; not studentised.
    keys : sequence of int or str, shape (n_cells,), optional
        Names the cells for the random numbers: replicate r of a cell depends on (seed, key, r) and its
        values. By default the key comes from the cell's values, so that equal samples have equal intervals.
        Not used with `shared`.
    trim : float, optional
        The share that ``trimmed_mean`` leaves out at each end, in [0, 0.5): int(trim · n) values.

    Returns
    -------
    BootstrapResult
        Named tuple of arrays of shape (n_cells,), or of scalars where the sample (and `other`) is one cell:
        `estimate`, `ci_low`, `ci_high`, `half_width`, `standard_error`, `bias`, `status`, `engine`, `n`,
        `n_other`, `n_missing`; its class describes each. `status` is

        - ``too_few``: fewer than two values (pairs) on a side; limits NaN;
        - ``nonfinite``: an infinity among the values; ``invalid``: values of a proportion other than 0 and 1;
          all NaN;
        - ``zero_var_equal``: all values equal: the interval is [x, x], and nothing is known of the noise;
          ``zero_var_diff``: the same for two different constants, or constant differences other than 0;
        - ``precision_loss``: the standard error of the mean is within ten roundings of the values, or a
          number leaves the range of float64; worthless;
        - ``zero_denominator``: a ratio whose denominator is 0, or changes sign in a resample;
        - ``no_root``: the saddlepoint (asked for) or BCa has no limit here;
        - ``doubtful``: the saddlepoint was asked for where its rule does not hold; not to be trusted;
        - ``no_exact_law``: ``exact`` was asked for, and no exact law is affordable;
        - ``few_resamples``: BCa needs a level beyond the outermost draws;
        - ``unbounded``: a studentised limit is infinite;
        - ``ok``: all else.

    Raises
    ------
    ArgumentError
        For samples that hold anything but numbers, numbers or sizes of cells that do not match, unknown or
        impossible options, a quantile, level, trim or seed out of range, or fewer than 2/α − 1 resamples.

    Notes
    -----
    With the bootstrap law G, G⁻¹(p) = inf{x: G(x) ≥ p}; of draws, the type-7 quantile. Percentile: [G⁻¹(α/2),
    G⁻¹(1 − α/2)]. Basic: its reflection about the estimate. Normal: estimate − bias ± z · standard_error.
    BCa: levels Φ(z₀ + (z₀ ± z)/(1 − a(z₀ ± z))), z₀ = Φ⁻¹(G(θ−) + ½P(θ)). Studentised: estimate − t* ·
    standard_error, a resample without variance counting as ±∞.

    Accuracy. ``exact``: 1e-12 of the sample's spread. ``saddlepoint``: 1e-12 of the standard error in
    float64; against the exact law, within its rule, mostly below 0.1 % of the interval's width, at worst
    about 2.5 % at n = 20, 1.3 % at n = 50 and 0.25 % from n = 100 on. ``resample``: a limit's simulation
    error is about 0.7 % of the width at 10⁴ resamples, 0.07 % at 10⁶.

    Cost per cell of 100 values on one thread: saddlepoint 2 µs, exact quantile 4 µs, grades 5 µs, resampled
    mean 0.25 ms at 9 999 resamples; difference of 95th percentiles 0.2 ms; ten different values, by
    multisets, some 5 ms. Memory beside the cells: one cell's draws a thread (`shared`: some 100 MB). The same bits
    for any number of threads, and any order or partition of the cells; without pairs and `shared`, resampled
    limits do not depend on the order of the values either.

    The bootstrap does not rescue tiny samples: a nominal 95 % percentile or BCa interval for a normal mean
    covers it in 84 % of cases at n = 5, 93 % at n = 20.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171–185. Davison, A. C., Hinkley, D. V.
    (1988). Saddlepoint approximations in resampling methods. Biometrika 75, 417–431. Barndorff-Nielsen, O. E.
    (1986). Inference on full or partial parameters based on the standardized signed log likelihood ratio.
    Biometrika 73, 307–322. Hutson, A. D., Ernst, M. D. (2000). The exact bootstrap mean and variance of an
    L-estimator. JRSS B 62, 89–94.

    Examples
    --------
    >>> latency_ms = [12.1, 11.8, 12.4, 13.9, 12.0, 12.2, 19.5, 12.3, 12.6, 11.9, 12.2, 12.8]
    >>> p90 = bootstrap(latency_ms, statistic="p90", method="percentile")
    >>> round(p90.estimate, 3), round(p90.ci_low, 3), round(p90.ci_high, 3), p90.engine
    (13.79, 12.39, 19.5, 'exact')
    >>> passed = bootstrap([[1, 1, 1, 0] * 20, [1] * 80], [1, 1, 0, 0] * 20, statistic="proportion")
    >>> passed.estimate.tolist(), passed.ci_low.round(4).tolist(), passed.engine.tolist()
    ([0.25, 0.5], [0.1, 0.3875], ['exact', 'exact'])
    """
    request = bootstrap_request(
        statistic,
        samples=1 if other is None else 2,
        confidence_level=confidence_level,
        method=method,
        engine=engine,
        n_resamples=n_resamples,
        seed=seed,
        shared=shared,
        trim=trim,
    )
    cells, single = as_cells(sample, "sample")
    if other is None:
        if paired:
            raise ArgumentError(
                "pairs need a second sample",
                expected="the partners in other",
                received="no other",
                where="argument paired",
                hint="leave paired out for differences that are already taken",
            )
        index = np.arange(len(cells))
        out = bootstrap_arrays(
            cells.values, cells.offsets, index, None, request, keys=key_numbers(keys, index.size)
        )
        return _result(out, single)
    others, single_other = as_cells(other, "other")
    first, second = _indices(len(cells), len(others))
    if paired:
        _check_sizes(cells, others, first, second)
    values, offsets = _joined(cells, others)
    out = bootstrap_arrays(
        values,
        offsets,
        first,
        second + len(cells),
        request,
        paired=paired,
        keys=key_numbers(keys, first.size),
    )
    return _result(out, single and single_other)


def _indices(n_sample: int, n_other: int) -> tuple[Integers, Integers]:
    """Cell against cell; a side of one cell meets each of the other's."""
    n = n_other if n_sample == 1 else n_sample
    if n_other not in (1, n):
        raise ArgumentError(
            "sample and other have different numbers of cells",
            expected=f"{n_sample} cells, as in sample, or one to compare each with",
            received=f"{n_other} cells",
            where="argument other",
        )
    first = np.zeros(n, np.int64) if n_sample == 1 else np.arange(n)
    second = np.zeros(n, np.int64) if n_other == 1 else np.arange(n)
    return first, second


def _check_sizes(cells: Cells, others: Cells, first: Integers, second: Integers) -> None:
    ours, theirs = cells.sizes[first], others.sizes[second]
    if np.array_equal(ours, theirs):
        return
    cell = int(np.argmax(ours != theirs))
    raise ArgumentError(
        "the cells to be paired differ in size",
        expected=f"{ours[cell]} values, as in sample",
        received=f"{theirs[cell]} values",
        where=f"argument other, cell {cell}",
        hint="pair the cases by id first, NaN for an absent one; or leave paired out",
    )


def _joined(cells: Cells, others: Cells) -> tuple[Floats, Integers]:
    """Both as samples of one table."""
    begin, end = cells.offsets[0], cells.offsets[-1]
    start, stop = others.offsets[0], others.offsets[-1]
    values = np.concatenate((cells.values[begin:end], others.values[start:stop]))
    offsets = np.concatenate((cells.offsets - begin, (others.offsets - start)[1:] + (end - begin)))
    return values, offsets


def _result(out: BootstrapArrays, single: bool) -> BootstrapResult:
    with np.errstate(invalid="ignore", over="ignore"):  # infinite limits have their status
        half_width = 0.5 * (out.ci_high - out.ci_low)
    columns = (
        out.estimate,
        out.ci_low,
        out.ci_high,
        half_width,
        out.standard_error,
        out.bias,
        status_names(out.status),
        _ENGINES[out.engine],
        out.n,
        out.n_other,
        out.n_missing,
    )
    return BootstrapResult(*fields(columns, single))
