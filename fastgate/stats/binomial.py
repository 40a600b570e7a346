"""Confidence intervals of one proportion of many cells at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.errors import ArgumentError
from fastgate.kernels.status import INVALID
from fastgate.stats.arguments import check_share, numbers
from fastgate.stats.counts import broadcast, choice, count_cells, in_shape, refuse, words

__all__ = [
    "BINOMIAL_METHODS",
    "BinomialInterval",
    "binomial_half_width",
    "binomial_half_width_at",
    "binomial_interval",
    "binomial_interval_arrays",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

BINOMIAL_METHODS: Final = {
    "wald": -3,
    "wilson": -2,
    "agresti-coull": -1,
    "clopper-pearson": 0,
    "jeffreys": 1,
    "mid-p": 2,
}
"""The names of the methods; a negative code has a kernel of its own, the others share one."""


class BinomialInterval(NamedTuple):
    """The interval of each cell: arrays of the arguments' common shape, or scalars; trust it only where ok."""

    estimate: float | Floats
    """successes / trials."""
    ci_low: float | Floats
    """Lower limit; below 0 where ``wald`` or ``agresti-coull`` say so."""
    ci_high: float | Floats
    """Upper limit; above 1 where ``wald`` or ``agresti-coull`` say so."""
    half_width: float | Floats
    """Half of ci_high minus ci_low, computed without their cancellation."""
    status: str | npt.NDArray[np.object_]
    """``ok``; ``too_few`` without trials (all values NaN); ``degenerate`` where ``wald`` has no width."""


def binomial_interval(
    successes: npt.ArrayLike,
    trials: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: str = "wilson",
) -> BinomialInterval:
    """Two-sided confidence interval of a proportion, by the Wilson score interval unless another is named.

    Parameters
    ----------
    successes : array_like of int
        Successes of each cell, from 0 to `trials`. Floats are taken where they are whole.
    trials : array_like of int
        Trials of each cell, from 0 to 2^53; broadcast with `successes`.
    confidence_level : float, optional
        Between 0 and 1, both excluded.
    method : str, optional
        ``"wilson"``: score interval, the default. ``"clopper-pearson"``: covers at least the level for every
        rate; for guarantees. ``"mid-p"``: Clopper-Pearson with half the weight on the observed count.
        ``"jeffreys"``: equal tails of Beta(k + ½, n − k + ½). ``"agresti-coull"``: Wald's after adding z²/2
        successes and failures. ``"wald"``: k/n ± z·se, for comparison with other tools only.

    Returns
    -------
    BinomialInterval
        estimate, ci_low, ci_high, half_width, status: arrays of the broadcast shape, or Python scalars for
        scalar arguments.

    Raises
    ------
    ArgumentError
        When a count is negative, fractional, missing or boolean, successes exceed trials, shapes do not
        broadcast, or the level or the method is none.

    Notes
    -----
    With p = k/n and z the normal quantile at 1 − α/2, Wilson's limits are
    (k + z²/2 ± z √(k (n − k)/n + z²/4))/(n + z²); Clopper and Pearson's are the α/2 quantile of
    Beta(k, n − k + 1) and the 1 − α/2 quantile of Beta(k + 1, n − k); mid-p's lower limit solves
    [P(K ≥ k) + P(K > k)]/2 = α/2, its upper one mirrors that. At k = 0 and k = n all but ``wald`` and
    ``agresti-coull``, which are not clipped, have the limits 0 and 1 exactly. The width of ``wald`` there is
    zero, which is no noise estimate: its status is ``degenerate``.

    Limits and half-widths are within 1e-14 relative for up to 10⁹ trials and levels from 0.8 to 1 - 1e-12 (1e-13
    for lower levels), k = 0, 1, n - 1 and n included; those limits of ``wald`` and ``agresti-coull`` that are
    differences of nearly equal numbers within 1e-15 of these. On one thread a cell costs about 1.3 ns for the
    closed forms, 0.3 µs for ``clopper-pearson`` and ``jeffreys`` and 0.5 µs for ``mid-p`` at 50 to 1 000 trials; its
    result does not depend on other cells or the number of threads.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.
    Clopper, C. J., Pearson, E. S. (1934). The use of confidence or fiducial limits. Biometrika 26, 404-413.
    Agresti, A., Coull, B. A. (1998). Approximate is better than "exact" for interval estimation of binomial
    proportions. The American Statistician 52, 119-126.
    Brown, L. D., Cai, T. T., DasGupta, A. (2001). Interval estimation for a binomial proportion. Statistical
    Science 16, 101-133.

    Examples
    --------
    >>> interval = binomial_interval(220, 240)
    >>> f"{interval.estimate:.4f} [{interval.ci_low:.4f}, {interval.ci_high:.4f}] ± {interval.half_width:.4f}"
    '0.9167 [0.8748, 0.9454] ± 0.0353'
    >>> binomial_interval([0, 10], 10, method="clopper-pearson").ci_high.round(4).tolist()
    [0.3085, 1.0]
    >>> binomial_interval(240, 240, method="wald").status
    'degenerate'
    """
    code = choice(method, BINOMIAL_METHODS, "method")
    check_share(confidence_level, "confidence_level")
    (k, n), shape = count_cells(successes=successes, trials=trials)
    *values, status = binomial_interval_arrays(k, n, confidence_level, code)
    refuse(
        status, INVALID, "successes do not fit trials", "0 ≤ successes ≤ trials ≤ 2^53", successes=k, trials=n
    )
    return BinomialInterval(*(in_shape(array, shape) for array in (*values, words(status))))


def binomial_interval_arrays(
    successes: Integers | Floats, trials: Integers, confidence_level: float, method: int
) -> tuple[Floats, Floats, Floats, Floats, Codes]:
    """estimate, ci_low, ci_high, half_width and status codes of contiguous arrays of one length, unchecked.

    A cell whose counts do not fit has the status code INVALID and NaN values. `method` is a value of
    `BINOMIAL_METHODS`; `successes` may be real numbers.
    """
    from fastgate.kernels import binomial

    size = successes.size
    # One block: malloc reuses it from call to call up to a million cells, where four arrays of 8 MB go back
    # to the system each time and cost 5 ns a cell in page faults.
    estimate, ci_low, ci_high, half_width = np.empty((4, size))
    status = np.empty(size, np.int8)
    outputs = (estimate, ci_low, ci_high, half_width, status)
    outside = 1.0 - confidence_level
    if method < 0:
        kernel = (binomial.wald, binomial.wilson, binomial.agresti_coull)[method + 3]
        threads.run(kernel, size, successes, trials, outside, *outputs, work=1.5)
    else:
        real = successes.astype(np.float64, copy=False)
        work = 700.0 if method == binomial.MID_P else 400.0
        threads.run(binomial.beta_tails_interval, size, real, trials, outside, method, *outputs, work=work)
    return outputs


def binomial_half_width(
    successes: npt.ArrayLike,
    trials: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: str = "wilson",
) -> float | Floats:
    """Half the width of `binomial_interval`, which takes the same arguments.

    Returns
    -------
    float or ndarray of float64
        NaN without trials; 0 for ``wald`` at a rate of 0 or 1, which is no measure of noise.

    Raises
    ------
    ArgumentError
        As `binomial_interval`.

    Examples
    --------
    >>> methods = ("wald", "wilson", "agresti-coull", "clopper-pearson", "jeffreys", "mid-p")
    >>> [round(binomial_half_width(220, 240, method=method), 4) for method in methods]
    [0.035, 0.0353, 0.0359, 0.0371, 0.035, 0.0352]
    """
    return binomial_interval(successes, trials, confidence_level=confidence_level, method=method).half_width


def binomial_half_width_at(
    rate: npt.ArrayLike,
    trials: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: str = "wilson",
) -> float | Floats:
    """Half the width of the interval at a rate that is given as such and need be no multiple of 1/trials.

    A published or averaged rate (87.6 % of 240 cases) is no count. The formulas of every method go through with
    the real number rate·trials in place of the successes; for whole ones the result is `binomial_half_width`'s.

    Parameters
    ----------
    rate : array_like of float
        From 0 to 1; broadcast with `trials`.
    trials : array_like of int
        From 0 to 2^53.
    confidence_level, method
        As `binomial_interval`.

    Returns
    -------
    float or ndarray of float64
        NaN without trials or where the rate is NaN.

    Raises
    ------
    ArgumentError
        When a rate lies outside 0 … 1, or as `binomial_interval`.

    Notes
    -----
    ``clopper-pearson`` and ``mid-p`` have no exact coverage to offer at a fractional count: the quantiles of
    Beta(k, n − k + 1) and Beta(k + 1, n − k) and the mean of the two tails are merely their smooth continuation.
    Near the ends it is steep: below one success (or failure) the limit falls towards 0 (1) continuously.

    Examples
    --------
    >>> f"{binomial_half_width_at(0.917, 240):.4f} {binomial_half_width_at(0.917, 240, method='wald'):.4f}"
    '0.0352 0.0349'
    """
    code = choice(method, BINOMIAL_METHODS, "method")
    check_share(confidence_level, "confidence_level")
    (n,), _ = count_cells(trials=trials)
    (p, n), shape = broadcast({"rate": numbers(rate, "rate"), "trials": n.reshape(np.shape(trials))})
    wrong = (p < 0.0) | (p > 1.0)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ArgumentError(
            "a rate is out of range",
            expected="0 to 1",
            received=f"{p[place].item()!r}",
            where=f"argument rate, element {place}",
            hint="87.6 % is 0.876",
        )
    # A half-width is the same for successes and failures; the rarer of the two keeps its digits.
    rarer = np.minimum(p, 1.0 - p) * n
    *_, half_width, status = binomial_interval_arrays(rarer, n, confidence_level, code)
    status[np.isnan(p)] = 0
    refuse(status, INVALID, "trials are out of range", "0 to 2^53", rate=p, trials=n)
    result: float | Floats = in_shape(half_width, shape)
    return result
