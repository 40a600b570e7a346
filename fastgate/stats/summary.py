"""Moments of many cells at once: from samples, from summaries, and of parts together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.cells import as_cells
from fastgate.errors import ArgumentError
from fastgate.kernels.records import MomentArrays, moment_columns, read_only
from fastgate.kernels.status import NONFINITE, OK, PRECISION_LOSS, TOO_FEW
from fastgate.stats.status import fields, status_names

__all__ = [
    "Moments",
    "cell_moments",
    "mean_arrays",
    "merge_moments",
    "moments",
    "moments_arrays",
    "moments_from_summary",
    "public_moments",
    "variance_arrays",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_TINY = float(np.finfo(np.float64).tiny)


class Moments(NamedTuple):
    """Moments of each cell: arrays of shape (n_cells,), or scalars for a single sample.

    Two of them may be merged (`merge_moments`) and compared (`welch_from_moments`).
    """

    n: int | Integers
    """The values that are not missing."""
    n_missing: int | Integers
    """The NaN values, which were dropped."""
    mean: float | Floats
    """NaN where there are no values."""
    variance: float | Floats
    """m2 / (n - 1); NaN below two values."""
    m2: float | Floats
    """Sum of squared deviations from the mean; 0 below two values."""
    m3: float | Floats
    """Sum of cubed deviations from the mean."""
    shift: float | Floats
    """The first value of the cell."""
    centre: float | Floats
    """The mean minus the shift: what `mean` rounds away when it adds them."""
    constant: bool | npt.NDArray[np.bool_]
    """Whether all values are equal."""
    status: str | npt.NDArray[np.object_]
    """``ok``; ``too_few``: below two values; ``nonfinite``: an infinity among them, the moments are NaN."""


def moments_arrays(values: Floats, offsets: Integers, *, third: bool = False) -> MomentArrays:
    """Moments of the cells ``values[offsets[c]:offsets[c + 1]]``, as the kernels use them.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values,)
    offsets : ndarray of int64, shape (n_cells + 1,)
        Both contiguous and as `fastgate.cells.Cells` checks them.
    third : bool, optional
        Whether to compute `m3` (a third pass, in cache); NaN otherwise.

    Returns
    -------
    MomentArrays
        Read-only arrays of shape (n_cells,).
    """
    from fastgate.kernels.moments import moments_kernel

    out = moment_columns(offsets.size - 1)
    threads.run(moments_kernel, offsets.size - 1, values, offsets, third, out, work=offsets)
    return read_only(out)


def mean_arrays(moments: MomentArrays) -> Floats:
    """The means, shape (n_cells,)."""
    centre = moments.centre
    if moments.exponent.any():
        with np.errstate(over="ignore", under="ignore"):
            centre = np.ldexp(centre, moments.exponent)
    return moments.shift + centre


def variance_arrays(moments: MomentArrays) -> Floats:
    """The sample variances (divisor n − 1), shape (n_cells,); NaN below two values."""
    variance = np.full(moments.n.size, np.nan)
    np.divide(moments.m2, moments.n - 1, out=variance, where=moments.n > 1)
    if moments.exponent.any():
        with np.errstate(over="ignore", under="ignore"):
            variance = np.ldexp(variance, 2 * moments.exponent)
    return variance


def public_moments(arrays: MomentArrays, single: bool) -> Moments:
    """The moments without scaling, statuses as words; scalars for a single cell."""
    m2, m3, centre = arrays.m2, arrays.m3, arrays.centre
    if arrays.exponent.any():
        with np.errstate(over="ignore", under="ignore"):
            centre = np.ldexp(centre, arrays.exponent)
            m2 = np.ldexp(m2, 2 * arrays.exponent)
            m3 = np.ldexp(m3, 3 * arrays.exponent)
    columns = (
        arrays.n,
        arrays.n_missing,
        mean_arrays(arrays),
        variance_arrays(arrays),
        m2,
        m3,
        arrays.shift,
        centre,
        arrays.constant.astype(np.bool_),
        status_names(arrays.status),
    )
    return Moments(*fields(columns, single))


def cell_moments(moments: Moments, name: str) -> tuple[MomentArrays, bool]:
    """Public moments as the kernels use them, and whether they are those of a single cell.

    Raises
    ------
    ArgumentError
        When `moments` is no `Moments` or its fields differ in length.
    """
    if not isinstance(moments, Moments):
        raise ArgumentError(
            f"{name} are not moments",
            expected="the result of fastgate.stats.moments or moments_from_summary",
            received=type(moments).__name__,
            where=f"argument {name}",
            hint="for samples call welch, not welch_from_moments",
        )
    single = np.ndim(moments.n) == 0
    n, n_missing = (np.atleast_1d(np.asarray(field, np.int64)) for field in moments[:2])
    m2, m3, shift, centre = (np.atleast_1d(np.asarray(field, np.float64)) for field in moments[4:8])
    constant = np.atleast_1d(np.asarray(moments.constant, np.int8))
    columns: dict[str, npt.NDArray[Any]] = {
        "n": n,
        "n_missing": n_missing,
        "m2": m2,
        "m3": m3,
        "shift": shift,
        "centre": centre,
        "constant": constant,
    }
    if len({column.shape for column in columns.values()}) != 1:
        raise ArgumentError(
            f"the fields of {name} differ in length",
            expected="one value a cell in each",
            received=", ".join(f"{key}: {column.size}" for key, column in columns.items()),
            where=f"argument {name}",
        )
    finite = np.isfinite(m2) & np.isfinite(shift) & np.isfinite(centre)
    varies = constant == 0
    status = np.full(n.size, OK, np.int8)
    status[varies & (m2 < _TINY)] = PRECISION_LOSS  # squares that underflowed
    status[n < 2] = TOO_FEW
    status[(n > 0) & ~finite] = NONFINITE
    exponent = np.zeros(n.size, np.int64)
    extreme = finite & varies & (m2 > 0.0) & ((m2 < 1e-140) | (m2 > 1e140))
    if extreme.any():
        exponent[extreme] = np.frexp(m2[extreme])[1] // 2
        centre = np.ldexp(centre, -exponent)
        m2 = np.ldexp(m2, -2 * exponent)
        with np.errstate(over="ignore", under="ignore"):
            m3 = np.ldexp(m3, -3 * exponent)
    columns_in_order = (n, n_missing, shift, centre, m2, m3, exponent, constant, status)
    return read_only(MomentArrays._make(np.ascontiguousarray(column) for column in columns_in_order)), single


def moments(sample: Any) -> Moments:
    """Number, mean, variance and third moment of each cell, by the corrected two-pass algorithm.

    Parameters
    ----------
    sample : array_like or Cells or Arrow column
        One dimension: one cell. Two: each row a cell. `fastgate.Cells`, an Arrow or Polars list column or a
        list of sequences: many cells of any sizes. NaN (null) is a missing value: dropped and counted.

    Returns
    -------
    Moments
        Named tuple of arrays of shape (n_cells,), or of scalars for one cell: `n`, `n_missing`, `mean`,
        `variance`, `m2`, `m3`, `shift`, `centre`, `constant`, `status`; its class describes each.

    Raises
    ------
    ArgumentError
        When the sample holds anything but numbers, or has no or more than two dimensions.

    Notes
    -----
    With K the first value: m = mean(x − K), M2 = Σ(x − K − m)² − (Σ(x − K − m))²/n. Relative error of
    `variance` below 4nε (ε = 2⁻⁵²) against exact arithmetic, whatever the mean; values of any magnitude are
    scaled by a power of two where their squares would leave the range of float64. Only the returned `m2`,
    `m3` and `variance` may overflow to infinity or underflow there, which `welch_from_moments` notices and
    `welch` avoids. A cell is constant when its values are equal, never because M2 is 0. The cost is that of
    reading the values once from memory. The result has the same bits for any number of threads.

    References
    ----------
    Chan, T. F., Golub, G. H., LeVeque, R. J. (1983). Algorithms for computing the sample variance: analysis
    and recommendations. The American Statistician 37(3), 242–247, equation 1.7.

    Examples
    --------
    >>> near = moments([1e12 + 0.1, 1e12 + 0.3, 1e12 + 0.2, float("nan")])
    >>> near.n, near.n_missing, round(near.variance, 4), near.status
    (3, 1, 0.01, 'ok')
    >>> moments([[1.0, 2.0, 6.0], [5.0, 5.0, 5.0]]).m2.tolist()
    [14.0, 0.0]
    """
    cells, single = as_cells(sample)
    return public_moments(moments_arrays(cells.values, cells.offsets, third=True), single)


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Moments of each cell whose values came in two parts.

    Parameters
    ----------
    a, b : Moments
        Of the same cells in the same order, or of a single cell each. A part without values changes nothing.

    Returns
    -------
    Moments
        As `moments` of all values together would give, within 1e-14 relative for well-scaled parts;
        `constant` where both parts are, at the same value.

    Raises
    ------
    ArgumentError
        When a or b is no `Moments`, or the numbers of cells differ.

    Notes
    -----
    M2 = M2a + M2b + δ² n_a n_b / n with δ the difference of means, taken without adding the shifts; M3
    likewise. Merging is commutative and associative up to rounding.

    References
    ----------
    Chan, Golub & LeVeque (1983), equation 2.1. Pébay, P. (2008). Formulas for robust, one-pass parallel
    computation of covariances and arbitrary-order statistical moments. Sandia report SAND2008-6212.

    Examples
    --------
    >>> whole = merge_moments(moments([1.0, 2.0]), moments([6.0]))
    >>> whole.n, whole.mean, whole.m2
    (3, 3.0, 14.0)
    """
    from fastgate.kernels.moments import merge_kernel

    left, single_left = cell_moments(a, "a")
    right, single_right = cell_moments(b, "b")
    if left.n.size != right.n.size:
        raise ArgumentError(
            "the parts have different numbers of cells",
            expected=f"{left.n.size} cells, as in a",
            received=f"{right.n.size} cells in b",
            where="argument b",
        )
    out = moment_columns(left.n.size)
    threads.run(merge_kernel, left.n.size, left, right, out, work=20.0)
    return public_moments(out, single_left and single_right)


def moments_from_summary(
    n: npt.ArrayLike,
    mean: npt.ArrayLike,
    *,
    m2: npt.ArrayLike | None = None,
    variance: npt.ArrayLike | None = None,
    m3: npt.ArrayLike | None = None,
    n_missing: npt.ArrayLike = 0,
    minimum: npt.ArrayLike | None = None,
    maximum: npt.ArrayLike | None = None,
) -> Moments:
    """Moments of cells that another engine has summarised already.

    Parameters
    ----------
    n : array_like of int
        The number of values of each cell, 0 or more.
    mean : array_like of float
        The means; ignored where n is 0.
    m2, variance : array_like of float
        Sums of squared deviations, or sample variances (divisor n − 1): one of the two. 0 or more; ignored
        below two values.
    m3 : array_like of float, optional
        Sums of cubed deviations; NaN without.
    n_missing : array_like of int, optional
        Missing values, for the record.
    minimum, maximum : array_like of float, optional
        The extremes, by which a cell is known to be constant. Without them it is where m2 is exactly 0, and a
        cell of equal values whose computed variance is rounding noise comes out as ``precision_loss``.

    Returns
    -------
    Moments
        Arrays of the broadcast shape, or scalars.

    Raises
    ------
    ArgumentError
        When both or neither of `m2` and `variance` are given, when shapes do not fit together or have more
        than one dimension, when a count is negative or no whole number, or a sum of squares is negative.

    Examples
    --------
    >>> moments_from_summary(3, 3.0, variance=7.0).m2
    14.0
    """
    if (m2 is None) == (variance is None):
        raise ArgumentError(
            "the spread of the values is needed once",
            expected="m2 or variance",
            received="neither" if m2 is None else "both",
        )
    given: dict[str, npt.ArrayLike | None] = {"n": n, "mean": mean, "m2": m2, "variance": variance, "m3": m3}
    given |= {"n_missing": n_missing, "minimum": minimum, "maximum": maximum}
    arrays = {name: np.asarray(field, np.float64) for name, field in given.items() if field is not None}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shape = (-1, -1)
    if len(shape) > 1:
        raise ArgumentError(
            "the summaries do not fit together",
            expected="scalars, or one-dimensional arrays of one length",
            received=", ".join(f"{name}: shape {array.shape}" for name, array in arrays.items()),
        )
    columns = {name: np.atleast_1d(np.broadcast_to(array, shape)) for name, array in arrays.items()}
    for name in ("n", "n_missing"):
        _require(
            name, columns[name], (columns[name] >= 0) & (columns[name] % 1 == 0), "whole numbers of 0 or more"
        )
    count = columns["n"].astype(np.int64)
    spread = columns["m2"] if variance is None else columns["variance"] * (columns["n"] - 1)
    spread = np.where(count < 2, 0.0, spread)
    _require("m2" if variance is None else "variance", spread, ~(spread < 0.0), "0 or more")
    constant = (count > 0) & (spread == 0.0)
    if minimum is not None and maximum is not None:
        constant = (count > 0) & (columns["minimum"] == columns["maximum"])
        spread = np.where(constant, 0.0, spread)
    empty = count == 0
    third = columns["m3"] if m3 is not None else np.full(count.size, np.nan)
    status = np.full(count.size, OK, np.int8)
    status[count < 2] = TOO_FEW
    status[~empty & ~(np.isfinite(spread) & np.isfinite(columns["mean"]))] = NONFINITE
    arrays_out = MomentArrays(
        n=count,
        n_missing=columns["n_missing"].astype(np.int64),
        shift=np.where(empty, np.nan, columns["mean"]),
        centre=np.where(empty, np.nan, 0.0),
        m2=spread,
        m3=np.where(count < 2, 0.0, third),
        exponent=np.zeros(count.size, np.int64),
        constant=constant.astype(np.int8),
        status=status,
    )
    return public_moments(arrays_out, len(shape) == 0)


def _require(name: str, column: Floats, valid: npt.NDArray[np.bool_], expected: str) -> None:
    if valid.all():
        return
    first = int(np.argmin(valid))
    raise ArgumentError(
        f"{name} is outside its domain",
        expected=expected,
        received=repr(column[first].item()),
        where=f"argument {name}, cell {first}",
    )
