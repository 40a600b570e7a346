"""Measurements of builds too large for memory: some cases at a time, of which only the moments are kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads
from fastgate.frames.samples import CellMoments, Content, Samples, cell_digests, content_of
from fastgate.kernels.records import MomentArrays, moment_columns, read_only
from fastgate.kernels.status import TOO_FEW

__all__ = ["merged_samples"]

Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_KEYS: Final = ("build", "suite", "kpi")


class _Sums(NamedTuple):
    """What is kept of some cases: each figure is that of all cases together once those of the others are added."""

    keys: pl.DataFrame
    """Build, suite and KPI of each cell."""
    moments: MomentArrays
    sizes: Integers
    duplicates: Integers
    fingerprints: Hashes
    digests: Hashes


def merged_samples(parts: Iterable[Samples], n_rows: int) -> tuple[Samples, Content]:
    """Samples of which the moments are known, from those of parts of their cases.

    Parameters
    ----------
    parts : iterable of Samples
        Of runs, with values and case ids; all values of a case, of whichever cell, in one of them.
    n_rows : int
        The number of rows of the source.

    Returns
    -------
    samples : Samples
        With `merged` moments, within 1e-14 of those of all values together.
    content : Content
        What the values are: that of the same samples in memory.

    References
    ----------
    Chan, Golub & LeVeque (1983), equation 2.1.
    """
    sums: _Sums | None = None
    for part in parts:
        mine = _sums(part)
        sums = mine if sums is None else _merged(sums, mine)
    if sums is None:
        raise AssertionError("no part has rows")
    order = sums.keys.with_row_index().sort(_KEYS)["index"].to_numpy()
    keys = sums.keys[order]
    moments = read_only(MomentArrays._make(column[order] for column in sums.moments))
    index = keys.select(
        *(keys[name].cast(pl.Enum(keys[name].unique().sort())) for name in _KEYS),
        pl.Series("n_duplicates", sums.duplicates[order].astype(np.uint32)),
        pl.Series("case_fingerprint", sums.fingerprints[order]),
    )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean = moments.shift + np.ldexp(moments.centre, moments.exponent)
        m2 = np.ldexp(moments.m2, 2 * moments.exponent)
    given = CellMoments(moments.n, moments.n_missing, mean, m2, moments.constant == 1)
    samples = Samples("runs", index, (), None, pl.Series(dtype=pl.String), given, n_rows, moments)
    return samples, content_of("runs", index, [sums.sizes[order].view(np.uint64), sums.digests[order]])


def _sums(samples: Samples) -> _Sums:
    from fastgate.kernels.moments import moments_kernel

    (cells,) = samples.parts
    moments = _nothing(len(cells))
    threads.run(moments_kernel, len(cells), cells.values, cells.offsets, False, moments, work=cells.offsets)
    index = samples.index
    return _Sums(
        index.select(pl.col(_KEYS).cast(pl.String)),
        moments,
        cells.sizes,
        index["n_duplicates"].cast(pl.Int64).to_numpy(),
        index["case_fingerprint"].to_numpy(),
        cell_digests(samples, cells),
    )


def _nothing(n_cells: int) -> MomentArrays:
    """The moments of cells without values."""
    moments = moment_columns(n_cells)
    for column in moments:
        column[:] = 0
    moments.status[:] = TOO_FEW
    return moments


def _merged(one: _Sums, other: _Sums) -> _Sums:
    from fastgate.kernels.moments import merge_kernel

    known = one.keys.with_row_index("place")
    places = other.keys.join(known, on=_KEYS, how="left", maintain_order="left")["place"]
    new = places.is_null().to_numpy()
    n = one.keys.height + int(new.sum())
    where = places.fill_null(0).cast(pl.Int64).to_numpy().copy()
    where[new] = np.arange(one.keys.height, n)
    here = np.arange(one.keys.height)
    moments = _nothing(n)
    sides = _spread(one.moments, here, n), _spread(other.moments, where, n)
    threads.run(merge_kernel, n, *sides, moments, work=20.0)
    sums: list[Any] = [
        _column(mine, here, n) + _column(theirs, where, n)
        for mine, theirs in zip(one[2:], other[2:], strict=True)
    ]
    return _Sums(pl.concat([one.keys, other.keys.filter(new)]), moments, *sums)


def _spread(moments: MomentArrays, places: Integers, n: int) -> MomentArrays:
    out = _nothing(n)
    columns: Iterable[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = zip(out, moments, strict=True)
    for target, column in columns:
        target[places] = column
    return read_only(out)


def _column(column: npt.NDArray[Any], places: Integers, n: int) -> npt.NDArray[Any]:
    out = np.zeros(n, column.dtype)
    out[places] = column
    return out
