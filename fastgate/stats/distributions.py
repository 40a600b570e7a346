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
        ) from None
    out = np.empty(left.size)
    threads.run(
        kernel,
        out.size,
        np.ascontiguousarray(left).reshape(-1),
        np.ascontiguousarray(right).reshape(-1),
        out,
        work=work,
    )
    return out.reshape(left.shape) if left.ndim else float(out[0])


def student_t_sf(t: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """P(T > t)."""
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_sf, t, df, "t", 40.0)


def student_t_two_sided(t: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """P(|T| > |t|)."""
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_two_sided, t, df, "t", 40.0)


def student_t_isf(q: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """The x with P(T > x) = q."""
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_isf, q, df, "q", 300.0)


def student_t_ppf(p: npt.ArrayLike, df: npt.ArrayLike) -> Floats | float:
    """The x with P(T ≤ x) = p."""
    from fastgate.kernels import student_t

    return _evaluate(student_t.student_t_ppf, p, df, "p", 300.0)
