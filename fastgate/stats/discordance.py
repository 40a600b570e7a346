"""McNemar's test of many pairs of runs at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.kernels.status import INVALID
from fastgate.stats.counts import ALTERNATIVES, choice, count_cells, in_shape, refuse, words

__all__ = ["MCNEMAR_METHODS", "McNemarResult", "mcnemar", "mcnemar_arrays"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

MCNEMAR_METHODS: Final = {"exact": 0, "mid-p": 1, "asymptotic": 2}


class McNemarResult(NamedTuple):
    """The test of each cell: arrays of the arguments' common shape, or scalars; trust it only where ok."""

    statistic: float | Floats
    """χ² = (regressions - fixes)²/(regressions + fixes), whatever the method; NaN without discordant cases."""
    pvalue: float | Floats
    """Of the alternative. Without discordant cases 1, or NaN for ``asymptotic``."""
    n_discordant: int | Integers
    """regressions + fixes."""
    status: str | npt.NDArray[np.object_]
    """``ok``, or ``no_discordant``: no case flipped, so that the test has nothing to go by."""


def mcnemar(
    regressions: npt.ArrayLike,
    fixes: npt.ArrayLike,
    *,
    method: str = "exact",
    alternative: str = "two-sided",
) -> McNemarResult:
    """McNemar's test that a candidate breaks as many cases as it repairs, exact unless another method is named.

    Parameters
    ----------
    regressions : array_like of int
        Cases that passed in the baseline and fail in the candidate; from 0 to 3 037 000 499.
    fixes : array_like of int
        Cases that failed in the baseline and pass in the candidate; broadcast with `regressions`.
    method : str, optional
        ``"exact"``: binomial with probability ½; never above its level. ``"mid-p"``: counts half the probability
        of the observed number; closer to the level (Fagerland et al. 2013). ``"asymptotic"``: χ² with one degree
        of freedom, uncorrected.
    alternative : str, optional
        ``"two-sided"``, ``"less"`` (the candidate is worse: more regressions) or ``"greater"``.

    Returns
    -------
    McNemarResult
        statistic, pvalue, n_discordant, status.

    Raises
    ------
    ArgumentError
        When a count is negative, fractional, missing, boolean or too large, shapes do not broadcast, or the
        method or alternative is none.

    Notes
    -----
    With K binomial (m, ½) and k the smaller count of m discordant cases, the exact p is min(1, 2 P(K ≤ k)) and
    mid-p takes P(K = k) off it. The tail is a continued fraction, so that p keeps 13 digits down to 1e-300 for any m
    (the sum of the terms would underflow), at about 0.1 µs a cell on one thread, more for m above 10⁴.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika 12, 153-157.
    Fagerland, M. W., Lydersen, S., Laake, P. (2013). The McNemar test for binary matched-pairs data: mid-p and
    asymptotic are better than exact conditional. BMC Medical Research Methodology 13, 91.

    Examples
    --------
    >>> result = mcnemar(15, 5)
    >>> f"{result.pvalue:.3f} {mcnemar(15, 5, method='mid-p').pvalue:.3f} {result.n_discordant}"
    '0.041 0.027 20'
    >>> mcnemar([10, 0], [0, 0], alternative="less").pvalue.round(4).tolist()
    [0.001, 1.0]
    """
    code = choice(method, MCNEMAR_METHODS, "method")
    side = choice(alternative, ALTERNATIVES, "alternative")
    (b, c), shape = count_cells(regressions=regressions, fixes=fixes)
    *values, status = mcnemar_arrays(b, c, code, side)
    refuse(status, INVALID, "a count is out of range", "0 to 3037000499", regressions=b, fixes=c)
    return McNemarResult(*(in_shape(array, shape) for array in (*values, words(status))))


def mcnemar_arrays(
    regressions: Integers, fixes: Integers, method: int, alternative: int = 0
) -> tuple[Floats, Floats, Integers, Codes]:
    """The fields of `McNemarResult` of contiguous int64 arrays of one length, unchecked, status as codes."""
    from fastgate.kernels import proportions

    size = regressions.size
    statistic, pvalue = np.empty((2, size))
    status = np.empty(size, np.int8)
    threads.run(
        proportions.mcnemar,
        size,
        regressions,
        fixes,
        method,
        alternative,
        statistic,
        pvalue,
        status,
        work=100.0,
    )
    return statistic, pvalue, regressions + fixes, status
