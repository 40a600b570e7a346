"""Differences of two pass rates of many cells at once: independent samples, or the same cases replayed."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.kernels.status import INVALID
from fastgate.stats.arguments import check_share
from fastgate.stats.counts import ALTERNATIVES, choice, count_cells, in_shape, refuse, words

__all__ = [
    "DIFFERENCE_METHODS",
    "PAIRED_DIFFERENCE_METHODS",
    "PairedProportionDifference",
    "ProportionDifference",
    "paired_proportion_difference",
    "paired_proportion_difference_arrays",
    "proportion_difference",
    "proportion_difference_arrays",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

DIFFERENCE_METHODS: Final = {"newcombe": 0, "agresti-caffo": 1, "wald": 2}
PAIRED_DIFFERENCE_METHODS: Final = {
    "tango": 3,
    "newcombe": 0,
    "newcombe-uncorrected": 4,
    "bonett-price": 5,
    "wald": 2,
}


class ProportionDifference(NamedTuple):
    """Candidate − baseline of two independent samples: arrays of the common shape, or scalars."""

    delta: float | Floats
    """Rate of the candidate minus rate of the baseline."""
    ci_low: float | Floats
    """Lower limit of the two-sided interval for delta."""
    ci_high: float | Floats
    """Upper limit."""
    half_width: float | Floats
    """Half of ci_high minus ci_low."""
    statistic: float | Floats
    """z with the pooled rate; NaN where all outcomes of both samples are alike."""
    pvalue: float | Floats
    """Of the alternative, from `statistic`; NaN with it."""
    status: str | npt.NDArray[np.object_]
    """Of the interval: ``ok``; ``too_few`` without trials on a side; ``degenerate`` where ``wald`` has no width."""


class PairedProportionDifference(NamedTuple):
    """Candidate − baseline on the same cases: arrays of the common shape, or scalars; trust it only where ok."""

    delta: float | Floats
    """(fixes - regressions)/n."""
    ci_low: float | Floats
    """Lower limit of the two-sided interval for delta."""
    ci_high: float | Floats
    """Upper limit."""
    half_width: float | Floats
    """Half of ci_high minus ci_low."""
    n: int | Integers
    """Pairs."""
    status: str | npt.NDArray[np.object_]
    """``ok``; ``too_few`` without pairs; ``degenerate`` where the interval has no width."""


def proportion_difference(
    successes_candidate: npt.ArrayLike,
    trials_candidate: npt.ArrayLike,
    successes_baseline: npt.ArrayLike,
    trials_baseline: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: str = "newcombe",
    alternative: str = "two-sided",
) -> ProportionDifference:
    """Interval and pooled z test of the difference of two independent proportions, by Newcombe's hybrid score.

    Parameters
    ----------
    successes_candidate, trials_candidate, successes_baseline, trials_baseline : array_like of int
        Counts from 0 to 3 037 000 499, broadcast together; successes do not exceed trials.
    confidence_level : float, optional
        Of the interval, which is two-sided whatever the alternative. Between 0 and 1, both excluded.
    method : str, optional
        ``"newcombe"``: square and add the arms of the two Wilson intervals, the default. ``"agresti-caffo"``:
        Wald's after adding a success and a failure to each sample. ``"wald"``: for comparison only.
    alternative : str, optional
        Of the p-value: ``"two-sided"``, ``"less"`` (the candidate's rate is lower) or ``"greater"``.

    Returns
    -------
    ProportionDifference
        delta, ci_low, ci_high, half_width, statistic, pvalue, status.

    Raises
    ------
    ArgumentError
        When a count is negative, fractional, missing, boolean or too large, successes exceed trials, shapes do
        not broadcast, or the level, method or alternative is none.

    Notes
    -----
    With Wilson's limits l, u of each rate p, Newcombe's are δ − √((p_c − l_c)² + (u_b − p_b)²) and
    δ + √((u_c − p_c)² + (p_b − l_b)²). They are never degenerate: two samples that passed throughout still have
    an interval, where `statistic` and `pvalue` are NaN because the pooled variance is zero.

    delta and half_width are within 1e-15 relative for any size of sample, limits within that of the larger of
    delta and half_width (a limit near zero is a difference of the two), and p within 1e-15·(1 + z²) relative.
    Samples of the same cases are not independent: use `paired_proportion_difference`.

    References
    ----------
    Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions: comparison of
    eleven methods. Statistics in Medicine 17, 873-890, method 10.
    Agresti, A., Caffo, B. (2000). Simple and effective confidence intervals for proportions and differences of
    proportions result from adding two successes and two failures. The American Statistician 54, 280-288.

    Examples
    --------
    >>> result = proportion_difference(210, 240, 220, 240)
    >>> f"{result.delta:.4f} [{result.ci_low:.4f}, {result.ci_high:.4f}], p = {result.pvalue:.3f}"
    '-0.0417 [-0.0975, 0.0136], p = 0.135'
    >>> proportion_difference([240, 235], 240, 240, 240).ci_low.round(4).tolist()
    [-0.0158, -0.0478]
    """
    code = choice(method, DIFFERENCE_METHODS, "method")
    side = choice(alternative, ALTERNATIVES, "alternative")
    check_share(confidence_level, "confidence_level")
    (kc, nc, kb, nb), shape = count_cells(
        successes_candidate=successes_candidate,
        trials_candidate=trials_candidate,
        successes_baseline=successes_baseline,
        trials_baseline=trials_baseline,
    )
    *values, status = proportion_difference_arrays(kc, nc, kb, nb, confidence_level, code, side)
    refuse(
        status,
        INVALID,
        "successes do not fit trials",
        "0 ≤ successes ≤ trials ≤ 3037000499 on both sides",
        successes_candidate=kc,
        trials_candidate=nc,
        successes_baseline=kb,
        trials_baseline=nb,
    )
    return ProportionDifference(*(in_shape(array, shape) for array in (*values, words(status))))


def proportion_difference_arrays(
    successes_candidate: Integers,
    trials_candidate: Integers,
    successes_baseline: Integers,
    trials_baseline: Integers,
    confidence_level: float,
    method: int,
    alternative: int = 0,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Codes]:
    """The fields of `ProportionDifference` of contiguous int64 arrays of one length, unchecked, status as codes.

    Cells whose counts do not fit have the status code INVALID and NaN values.
    """
    from fastgate.kernels.proportions import independent

    size = successes_candidate.size
    delta, ci_low, ci_high, half_width, statistic, pvalue = np.empty((6, size))
    status = np.empty(size, np.int8)
    outputs = (delta, ci_low, ci_high, half_width, statistic, pvalue, status)
    counts = (successes_candidate, trials_candidate, successes_baseline, trials_baseline)
    threads.run(independent, size, *counts, 1.0 - confidence_level, method, alternative, *outputs, work=40.0)
    return outputs


def paired_proportion_difference(
    both: npt.ArrayLike,
    regressions: npt.ArrayLike,
    fixes: npt.ArrayLike,
    neither: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: str = "tango",
) -> PairedProportionDifference:
    """Interval of the difference of two pass rates on the same cases, by Tango's score method.

    Parameters
    ----------
    both, regressions, fixes, neither : array_like of int
        Cases that passed in both runs, in the baseline alone, in the candidate alone, in neither. Counts of 0 or
        more whose sum does not exceed 3 037 000 499, broadcast together.
    confidence_level : float, optional
        Between 0 and 1, both excluded.
    method : str, optional
        ``"tango"``: score interval, the default; uses only the number of cases and the discordant ones.
        ``"newcombe"``: square and add two Wilson intervals with their correlation φ, corrected for continuity
        (method 10 of Newcombe 1998); ``"newcombe-uncorrected"``: with φ as it is (method 8).
        ``"bonett-price"``: Wald's after adding a case to each discordant count. ``"wald"``: for comparison.

    Returns
    -------
    PairedProportionDifference
        delta, ci_low, ci_high, half_width, n, status.

    Raises
    ------
    ArgumentError
        When a count is negative, fractional, missing or boolean, the counts sum to too many, shapes do not
        broadcast, or the level or the method is none.

    Notes
    -----
    Tango's limits are the δ at which (fixes − regressions − nδ)/√(n(2q + δ(1 − δ))) is ±z, q being the rate of
    regressions that is most likely under δ; both lie in [−1, 1] and are found by Newton's method inside a
    bracket. Without discordant cases they are ∓z²/(n + z²): agreement on n cases bounds the difference, but only
    as n allows. The exact test of the same table is `mcnemar`.

    Limits are within 1e-14 of the larger of delta and half_width. Tango costs about 170 ns a cell on one thread,
    the others 6 to 35 ns.

    References
    ----------
    Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design. Statistics in Medicine 17, 891-908.
    Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial proportions based on
    paired data. Statistics in Medicine 17, 2635-2650.
    Bonett, D. G., Price, R. M. (2012). Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data. Journal of Educational and Behavioral Statistics 37, 479-488.

    Examples
    --------
    >>> result = paired_proportion_difference(205, 15, 5, 15)
    >>> f"{result.delta:.4f} [{result.ci_low:.4f}, {result.ci_high:.4f}] of {result.n}"
    '-0.0417 [-0.0827, -0.0057] of 240'
    """
    code = choice(method, PAIRED_DIFFERENCE_METHODS, "method")
    check_share(confidence_level, "confidence_level")
    (n11, n10, n01, n00), shape = count_cells(
        both=both, regressions=regressions, fixes=fixes, neither=neither
    )
    *values, status = paired_proportion_difference_arrays(n11, n10, n01, n00, confidence_level, code)
    refuse(
        status,
        INVALID,
        "the counts of a table are not usable",
        "counts of 0 or more that sum to 3037000499 at most",
        both=n11,
        regressions=n10,
        fixes=n01,
        neither=n00,
    )
    return PairedProportionDifference(*(in_shape(array, shape) for array in (*values, words(status))))


def paired_proportion_difference_arrays(
    both: Integers,
    regressions: Integers,
    fixes: Integers,
    neither: Integers,
    confidence_level: float,
    method: int,
) -> tuple[Floats, Floats, Floats, Floats, Integers, Codes]:
    """The fields of `PairedProportionDifference` of contiguous int64 arrays of one length, status as codes.

    Unchecked: tables whose counts do not fit have the status code INVALID and NaN values.
    """
    from fastgate.kernels.proportions import TANGO, paired

    size = both.size
    delta, ci_low, ci_high, half_width = np.empty((4, size))
    status = np.empty(size, np.int8)
    outputs = (delta, ci_low, ci_high, half_width, status)
    work = 170.0 if method == TANGO else 35.0
    threads.run(
        paired, size, both, regressions, fixes, neither, 1.0 - confidence_level, method, *outputs, work=work
    )
    return delta, ci_low, ci_high, half_width, both + regressions + fixes + neither, status
