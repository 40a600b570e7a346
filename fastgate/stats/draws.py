"""Intervals of ragged draws, as arrays: which kernel, numpy's sort or both of them does the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastgate import threads

__all__ = ["credible_interval_arrays"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

# Values worked on at a time: half a megabyte stays in a core's cache from gathering to searching.
_CHUNK = 65_536


def _highest_density(
    start: int, stop: int, values: Floats, offsets: Integers, mass: float, *out: npt.NDArray[Any]
) -> None:
    """The shortest intervals of the cells start … stop − 1, a chunk of cells after another.

    Where a chunk's cells are of like size, only their tails are gathered and sorted, by one call of numpy's SIMD
    sort (4 000 draws: 8 µs against 14 for sorting them all); any other cell is sorted whole.
    """
    from fastgate.kernels.posterior import PRESORTED, gather_rows, row_length, shortest_of_rows

    while start < stop:
        end = int(np.searchsorted(offsets, offsets[start] + _CHUNK, side="right")) - 1
        end = min(max(end, start + 1), stop)
        bounds = offsets[start : end + 1]
        sizes = np.diff(bounds)
        smallest, largest = int(sizes.min()), int(sizes.max())
        alike = smallest >= PRESORTED and largest <= 2 * smallest
        length = row_length(largest, mass) if alike else 0
        if length:
            rows = np.empty((2 * (end - start), length))
            gathered = np.empty(end - start, np.int8)
            gather_rows(values, bounds, mass, rows.reshape(-1), gathered)
            rows.sort(axis=1)
            shortest_of_rows(rows.reshape(-1), bounds, mass, gathered, *(array[start:end] for array in out))
            for cell in (start + np.flatnonzero(gathered == 0)).tolist():
                _sorted_whole(cell, cell + 1, values, offsets, mass, out)
        else:
            _sorted_whole(start, end, values, offsets, mass, out)
        start = end


def _sorted_whole(
    start: int, stop: int, values: Floats, offsets: Integers, mass: float, out: tuple[npt.NDArray[Any], ...]
) -> None:
    from fastgate.kernels.posterior import PRESORTED, highest_density_interval

    chunk = values[offsets[start] : offsets[stop]].copy()
    bounds = offsets[start : stop + 1] - offsets[start]
    for cell in np.flatnonzero(np.diff(bounds) >= PRESORTED).tolist():
        chunk[bounds[cell] : bounds[cell + 1]].sort()
    highest_density_interval(0, stop - start, chunk, bounds, mass, *(array[start:stop] for array in out))


def credible_interval_arrays(
    values: Floats, offsets: Integers, *, mass: float = 0.95, kind: str = "central"
) -> tuple[Floats, Floats, Floats, Codes]:
    """The intervals of `fastgate.stats.credible_interval`, without checks.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values,)
    offsets : ndarray of int64, shape (n_cells + 1,)
        Both contiguous and as `fastgate.cells.Cells` checks them.
    mass, kind
        As in `fastgate.stats.credible_interval`.

    Returns
    -------
    ci_low, ci_high, width : ndarray of float64, shape (n_cells,)
    status : ndarray of int8, shape (n_cells,)
        Codes, of which `fastgate.stats.status.status_names` gives the words.
    """
    from fastgate.kernels.posterior import central_interval

    n = offsets.size - 1
    out: list[npt.NDArray[Any]] = [np.empty(n) for _ in range(3)]
    out.append(np.empty(n, np.int8))
    if kind == "central":
        threads.run(central_interval, n, values, offsets, 1.0 - mass, *out, work=offsets)
    else:
        threads.run(_highest_density, n, values, offsets, mass, *out, work=offsets)
    return out[0], out[1], out[2], out[3]
