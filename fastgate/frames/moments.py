"""From one row of moments a cell, as a database computes them, to cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.codes import pieces_of
from fastgate.frames.columns import key_column, number_column
from fastgate.frames.measured_rows import cells_of
from fastgate.frames.packing import index_of
from fastgate.frames.samples import CellMoments, Samples

__all__ = ["from_moments"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def from_moments(frame: pl.DataFrame, keys: Sequence[str], spread: str, where: str, textual: bool) -> Samples:
    """Samples of which only the moments are known: the shape *moments*.

    Parameters
    ----------
    frame : polars.DataFrame
        With the columns `keys`, ``n``, ``mean`` and `spread`, perhaps ``n_missing``, ``min``, ``max`` and
        ``case_fingerprint``.
    keys : sequence of str
    spread : {"m2", "variance", "sd", "std"}
        The column with the sum of squared deviations, the variance (of divisor n − 1) or its root.
    where : str
        The source's name, for messages.
    textual : bool
        Whether numbers are written as text.
    """
    frame = frame.rechunk()
    columns = {name: key_column(frame[name], name, where) for name in keys}
    pieces = pieces_of(list(columns.values()))
    groups = cells_of(columns, keys, pieces)
    index = index_of(groups)
    rows = np.bincount(groups.coded.every(pieces), minlength=len(groups))
    first = groups.first_rows

    def numbers(name: str) -> Floats:
        column = number_column(frame[name], name, where, textual=textual)
        return np.asarray(column.to_numpy(), np.float64)

    unknown = np.full(frame.height, np.nan)
    missing = np.zeros(first.size, np.int64)
    if "n_missing" in frame.columns:
        missing = _counts(frame, "n_missing", where, textual)[first]
    given = _Given(
        n=_counts(frame, "n", where, textual),
        mean=numbers("mean"),
        m2=_sum_of_squares(frame, spread, where, textual),
        least=numbers("min") if "min" in frame.columns else unknown,
        most=numbers("max") if "max" in frame.columns else unknown,
    )
    _refuse_contradictions(given, spread, where)
    n, mean, m2, least, most = (column[first] for column in given)
    m2 = np.where((n == 1) & np.isfinite(m2), 0.0, m2)
    constant = np.where(np.isnan(least) | np.isnan(most), m2 == 0.0, least == most)
    # The moments of values that are not finite say nothing, even where some of them look as if they did.
    finite = np.isfinite(mean) & np.isfinite(m2) & ~np.isinf(least) & ~np.isinf(most)
    known = finite | (n == 0)
    mean, m2, constant = np.where(known, mean, np.nan), np.where(known, m2, np.nan), constant & known
    fingerprints = pl.Series([None] * len(groups), dtype=pl.UInt64)
    if "case_fingerprint" in frame.columns:
        fingerprints = _fingerprints(frame["case_fingerprint"], where).gather(first)
    # Two rows for one cell cannot both be it, nor are they known to be parts of it: none of their figures counts.
    broken = rows > 1
    moments = CellMoments(
        np.where(broken, 0, n),
        np.where(broken, 0, missing),
        np.where(broken, np.nan, mean),
        np.where(broken, np.nan, m2),
        constant & ~broken,
    )
    index = index.with_columns(
        n_duplicates=pl.Series((rows - 1).astype(np.uint32)),
        case_fingerprint=pl.when(pl.Series(~broken)).then(fingerprints),
    )
    return Samples("runs", index, (), None, pl.Series(dtype=pl.String), moments, frame.height)


class _Given(NamedTuple):
    """The moments of every row; NaN where a figure is not given."""

    n: Integers
    mean: Floats
    m2: Floats
    least: Floats
    most: Floats


def _refuse_contradictions(given: _Given, spread: str, where: str) -> None:
    """Refuse finite moments that no values have.

    For values between a and b, with mean μ and sum of squared deviations M: a ≤ μ ≤ b, and (b − a)²/2 ≤ M ≤
    n (b − a)²/4 (Popoviciu 1935; the lower limit is two values at the ends, all others in the middle). The mean may
    stray by 8 units in the last place; M, which engines round in many ways, by 10⁻⁹ n max(|a|, |b|)².
    """
    n, mean, m2, least, most = given
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        size = np.fmax(np.abs(least), np.abs(most))
        rounding = 8 * np.spacing(np.where(np.isfinite(size), size, 0.0))
        slack = 1e-9 * n * size * size
        reach = most - least
        ends = (n > 0) & np.isfinite(reach)
        faults = {
            f"n is 0, and {spread} is not": (n == 0) & (m2 != 0) & ~np.isnan(m2),
            f"n is 1, and {spread} is not 0": (n == 1) & np.isfinite(m2) & (m2 > 1e-9 * mean * mean),
            "min is above max": (n > 0) & np.isfinite(least) & np.isfinite(most) & (least > most),
            "mean is below min": (n > 0) & np.isfinite(mean) & np.isfinite(least) & (mean < least - rounding),
            "mean is above max": (n > 0) & np.isfinite(mean) & np.isfinite(most) & (mean > most + rounding),
            "n is 1, and min is not max": ends & (n == 1) & (reach > 0),
            f"{spread} is too large for min and max": ends
            & np.isfinite(m2)
            & (m2 > n * reach * reach / 4 + slack),
            f"{spread} is too small for min and max": ends & (n > 1) & (m2 < reach * reach / 2 - slack),
        }
    for problem, rows in faults.items():
        if rows.any():
            row = int(np.argmax(rows))
            figures = [
                ("n", n),
                ("mean", mean),
                ("sum of squared deviations", m2),
                ("min", least),
                ("max", most),
            ]
            raise DataError(
                f"the moments contradict each other: {problem}",
                expected="moments of the same values, min <= mean <= max, the variance with divisor n - 1",
                received=", ".join(f"{name} {column[row]}" for name, column in figures)
                + f" in row {row + 1}"
                + (f", and {rows.sum() - 1} more rows" if rows.sum() > 1 else ""),
                where=where,
                hint="look at the query that computes them: each must be of the same rows, and unrounded",
            )


def _fingerprints(column: pl.Series, where: str) -> pl.Series:
    if not column.dtype.is_integer() or column.dtype in (pl.Int128,):
        raise DataError(
            "the column 'case_fingerprint' holds no fingerprints",
            expected="integers of up to 64 bits, the same for the same set of cases",
            received=str(column.dtype),
            where=where,
        )
    return column.cast(pl.UInt64, wrap_numerical=True)


def _counts(frame: pl.DataFrame, name: str, where: str, textual: bool) -> Integers:
    column = number_column(frame[name], name, where, textual=textual)
    counts = np.asarray(column.to_numpy(), np.float64)
    # 2**53: beyond it float64 skips whole numbers.
    bad = np.flatnonzero(~((counts >= 0) & (counts <= 2**53) & (counts == np.floor(counts))))
    if bad.size:
        row = int(bad[0])
        raise DataError(
            f"the column {name!r} does not hold counts",
            expected="a whole number of 0 or more in every row",
            received=f"{frame[name][row]} in row {row + 1}",
            where=where,
        )
    return counts.astype(np.int64)


def _sum_of_squares(frame: pl.DataFrame, spread: str, where: str, textual: bool) -> Floats:
    column = number_column(frame[spread], spread, where, textual=textual)
    given = np.asarray(column.to_numpy(), np.float64)
    negative = np.flatnonzero(given < 0)
    if negative.size:
        row = int(negative[0])
        raise DataError(
            f"the column {spread!r} is negative",
            expected="0 or more",
            received=f"{given[row]} in row {row + 1}",
            where=where,
            hint="sum(x^2) - n * mean^2 cancels digits and sign; use the engine's own variance function",
        )
    n = _counts(frame, "n", where, textual)
    squares = given
    if spread != "m2":
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = (given if spread == "variance" else given * given) * (n - 1)
    # No values have no spread, whatever stands there: only what is not 0 is worth a complaint. Of one value,
    # databases give no variance (or none of the sample) where its deviation is exactly 0.
    squares = np.where((n <= 1) & (spread != "m2"), given, squares)
    return np.where((n == 1) & np.isnan(given), 0.0, squares)
