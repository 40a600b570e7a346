"""Student's t distribution: tail probabilities and quantiles of many (t, df) at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.errors import ArgumentError

__all__ = ["student_t_isf", "student_t_ppf", "student_t_sf", "student_t_two_sided"]

Floats = npt.NDArray[np.float64]

# About what a value takes, in nanoseconds: near the centre much less for a tail.
_TAIL_WORK = 20.0
_QUANTILE_WORK = 120.0


def _numbers(argument: npt.ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(argument)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"dtype {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} does not hold numbers",
            expected="a real number or an array of them; NaN for a missing value",
            received=str(error),
            where=f"argument {name}",
        ) from None


def _evaluate(
    kernel: Callable[..., Any], first: npt.ArrayLike, df: npt.ArrayLike, name: str, work: float
) -> Floats | float:
    numbers = {name: _numbers(first, name), "df": _numbers(df, "df")}
    try:
        left, right = np.broadcast_arrays(*numbers.values())
    except ValueError:
        raise ArgumentError(
            f"{name} and df do not fit together",
            expected="shapes that broadcast",
            received=" and ".join(f"{key} of shape {array.shape}" for key, array in numbers.items()),
            hint="add an axis of length 1 where they differ, as in t[:, None]",
        ) from None
    out = np.empty(left.size)
    # A broadcast view of one element counts as contiguous, yet numpy warns when its flags are read.
    arguments = (array.copy() if array.size == 1 else np.ascontiguousarray(array) for array in (left, right))
    threads.run(kernel, out.size, *(array.reshape(-1) for array in arguments), out, work=work)
    return out.reshape(left.shape) if left.ndim else float(out[0])


def student_t_sf(t: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """P(T > t), the upper tail of Student's t distribution.

    Parameters
    ----------
    t : array_like of float
        Where the tail begins; ±inf allowed. NaN gives NaN.
    df : array_like of float
        Degrees of freedom, above 0 and not necessarily whole; inf is the normal distribution. NaN, 0 and
        negative values give NaN. Broadcast against `t`.

    Returns
    -------
    float or ndarray of float64
        The probability, in 0 … 1, in the broadcast shape; a float where both are scalars.

    Raises
    ------
    ArgumentError
        When an argument holds anything but numbers or the shapes do not broadcast.

    Notes
    -----
    For t > 0 half of `student_t_two_sided`, with its accuracy and cost; for t < 0 its complement. The lower
    tail is the upper one of -t, which keeps its digits where 1 - P(T > t) would lose them.

    References
    ----------
    Those of `student_t_two_sided`.

    Examples
    --------
    >>> round(student_t_sf(2.0, 10), 15)
    0.03669401738537
    >>> student_t_sf([-1.0, 0.0, 1.0], [[5.0], [float("inf")]]).round(12).tolist()
    [[0.818391266175, 0.5, 0.181608733825], [0.841344746069, 0.5, 0.158655253931]]
    """
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_sf, t, df, "t", _TAIL_WORK)


def student_t_two_sided(t: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """P(|T| > |t|), the two-sided p-value of a t statistic.

    Parameters
    ----------
    t : array_like of float
        The statistic; its sign does not matter, ±inf allowed. NaN gives NaN.
    df : array_like of float
        Degrees of freedom, above 0 and not necessarily whole; inf is the normal distribution. NaN, 0 and
        negative values give NaN. Broadcast against `t`.

    Returns
    -------
    float or ndarray of float64
        The probability, in 0 … 1, in the broadcast shape; a float where both are scalars.

    Raises
    ------
    ArgumentError
        When an argument holds anything but numbers or the shapes do not broadcast.

    Notes
    -----
    It is I_x(df/2, 1/2), x = df / (df + t²). With v = -ln x and n = df/2 - 1/4 it is for t² ≤ 7/4 df

        exp(-n v) (erfcx(√(n v)) + a series in v² and 1/n²)

    where df ≥ 20.5, and the same ten steps of df/2 higher plus ten positive terms below; for larger t² Gauss's
    continued fraction. Nothing cancels, and the exponent is kept in two float64.

    Relative error, against 50-digit arithmetic: below 2.5e-15 for every df and p above 1e-50, rising to 1.5e-14
    at p = 1e-300. A result below the smallest normal number, 2.2e-308, is within 3 units of 4.9e-324: there it
    cannot hold more digits. P below 2.5e-324 is 0. Each value depends on its own t and df alone, to the last bit.

    Cost: 3.5 ns a value with SIMD where t² ≤ 7/4 df and df ≥ 20.5, about 15 at smaller df, 50 for larger t²
    (`scipy.special.stdtr`: 190).

    References
    ----------
    Didonato, A. R., and Morris, A. H. (1992). Algorithm 708: significant digit computation of the incomplete beta
    function ratios. ACM Transactions on Mathematical Software 18, 360-373 (BGRAT).

    NIST Digital Library of Mathematical Functions, 8.18.3 (the series), 8.17(iv) (the steps), 15.7 (the fraction).
    https://dlmf.nist.gov

    Examples
    --------
    >>> round(student_t_two_sided(-2.5, 12.7), 15)
    0.026962953519119
    >>> [f"{p:.14g}" for p in student_t_two_sided([2.0, 20.0, 200.0], 30)]
    ['0.054625044962983', '6.7490836657713e-19', '1.9096271172311e-48']
    """
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_two_sided, t, df, "t", _TAIL_WORK)


def student_t_isf(q: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """The t with P(T > t) = q, an upper quantile of Student's t distribution.

    Parameters
    ----------
    q : array_like of float
        The probability of the upper tail, 0 … 1, as small as the smallest float64. 0 gives inf and 1 gives -inf;
        values outside and NaN give NaN.
    df : array_like of float
        Degrees of freedom, above 0 and not necessarily whole; inf is the normal distribution. NaN, 0 and
        negative values give NaN. Broadcast against `q`.

    Returns
    -------
    float or ndarray of float64
        The quantile, in the broadcast shape; a float where both are scalars.

    Raises
    ------
    ArgumentError
        When an argument holds anything but numbers or the shapes do not broadcast.

    Notes
    -----
    A start from the normal quantile (t² ≲ 2 df) or from the leading power of the tail (beyond) is improved by
    Newton's method on the logarithms, rarely needed, and a last step of the quantile function's Taylor series to
    the fourth order. For q within 1/4 of 1/2 the probability P(0 < T < t) is solved instead, so that a quantile
    near 0 keeps all its digits. Above df = 1e7 the start is exact.

    Relative error, of t for q exactly as given: below 2.5e-15 for df ≥ 0.5 and every q. For smaller df it grows as
    1e-15 / df, since near-equal tails then belong to very different t.

    Cost: 100 to 190 ns a value (`scipy.special.stdtrit`: 220); of one q below 1/4 and many df 10 ns, to the same bits,
    where df ≥ 20.5 and t² ≤ 7/4 df.

    References
    ----------
    Hill, G. W. (1970). Algorithm 396: Student's t-quantiles. Communications of the ACM 13, 619-620.

    Didonato and Morris (1992), as in `student_t_two_sided`.

    Examples
    --------
    >>> student_t_isf(0.025, [1, 10, float("inf")]).round(12).tolist()
    [12.706204736175, 2.228138851986, 1.95996398454]
    >>> f"{student_t_isf(1e-300, 10):.14g}"
    '2.5645257189482e+30'
    """
    from fastgate.kernels import student_t
    from fastgate.kernels.student_t_quantiles import student_t_isf_at

    tail, freedom = _numbers(q, "q"), _numbers(df, "df")
    if tail.ndim == 0 and freedom.ndim > 0:
        out = np.empty(freedom.size)
        every = np.ascontiguousarray(freedom).reshape(-1)
        threads.run(student_t_isf_at, out.size, float(tail), every, out, work=_TAIL_WORK)
        return out.reshape(freedom.shape)
    return _evaluate(student_t.student_t_isf, q, df, "q", _QUANTILE_WORK)


def student_t_ppf(p: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """The t with P(T ≤ t) = p, a quantile of Student's t distribution.

    Parameters
    ----------
    p : array_like of float
        The probability of the lower tail, 0 … 1. 0 gives -inf and 1 gives inf; values outside and NaN give NaN.
    df : array_like of float
        Degrees of freedom, above 0 and not necessarily whole; inf is the normal distribution. NaN, 0 and
        negative values give NaN. Broadcast against `p`.

    Returns
    -------
    float or ndarray of float64
        The quantile, in the broadcast shape; a float where both are scalars.

    Raises
    ------
    ArgumentError
        When an argument holds anything but numbers or the shapes do not broadcast.

    Notes
    -----
    -`student_t_isf(p, df)`, with its accuracy and cost. For an upper quantile beyond p = 1 - 1e-8 or so give the
    small tail to `student_t_isf`: p itself has been rounded.

    References
    ----------
    Hill, G. W. (1970). Algorithm 396: Student's t-quantiles. Communications of the ACM 13, 619-620.

    Examples
    --------
    >>> round(student_t_ppf(0.975, 10), 12)
    2.228138851986
    >>> student_t_ppf([0.0, 0.5, 1.0], 3).tolist()
    [-inf, 0.0, inf]
    """
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_ppf, p, df, "p", _QUANTILE_WORK)
