"""From one row of moments a cell, as a database computes them, to cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.codes import pieces_of
from fastgate.frames.columns import key_column, number_column
from fastgate.frames.packing import cells_of, index_of
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
        return np.asarray(column.to_numpy(), np.float64)[first]

    n = _counts(frame, "n", where, textual)[first]
    missing = np.zeros_like(n)
    if "n_missing" in frame.columns:
        missing = _counts(frame, "n_missing", where, textual)[first]
    mean, m2 = numbers("mean"), _sum_of_squares(frame, spread, where, textual)[first]
    constant = m2 == 0.0
    if "min" in frame.columns and "max" in frame.columns:
        least, most = numbers("min"), numbers("max")
        constant = np.where(np.isnan(least) | np.isnan(most), constant, least == most)
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
    scale = {"m2": given, "variance": given * (n - 1)}
    squares = scale.get(spread, given * given * (n - 1))
    # Of one value, databases give no variance (or none of the sample) where its deviation is exactly 0.
    return np.where((n == 1) & (np.isnan(given) | (spread != "m2")), 0.0, squares)
