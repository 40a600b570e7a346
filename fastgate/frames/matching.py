"""Cells cut down to the cases that both sides have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.cells import Cells
from fastgate.frames.samples import Samples

__all__ = ["common_cases"]

Integers = npt.NDArray[np.int64]


def common_cases(samples: Samples, candidate_cell: Integers, baseline_cell: Integers) -> Cells:
    """The values of the cases that both cells of each comparison have, in the order of the cases.

    Parameters
    ----------
    samples : Samples
        Of the shape *runs*, with case ids.
    candidate_cell, baseline_cell : ndarray of int64, shape (n,)
        Numbers of cells.

    Returns
    -------
    Cells
        2n cells: the candidate's and the baseline's values of comparison i are cells 2i and 2i + 1.

    Examples
    --------
    >>> import polars as pl
    >>> from fastgate.frames import read_samples
    >>> samples = read_samples(pl.DataFrame({
    ...     "build": ["base", "base", "new", "new"], "suite": "s", "kpi": "k",
    ...     "case": ["a", "b", "b", "c"], "value": [1.0, 2.0, 3.0, 4.0]}))
    >>> both = common_cases(samples, np.array([1]), np.array([0]))
    >>> both[0].tolist(), both[1].tolist()
    ([3.0], [2.0])
    """
    from fastgate.kernels.matching import count_common, gather_common

    cells, cases = samples.values, samples.cases
    assert cells is not None
    assert cases is not None
    n = candidate_cell.size
    counts = np.empty(n, np.int64)
    sides = (candidate_cell, baseline_cell)
    threads.run(count_common, n, cells.offsets, cases, *sides, counts)
    offsets = np.concatenate(([0], np.cumsum(np.repeat(counts, 2))))
    values = np.empty(offsets[-1])
    threads.run(gather_common, n, cells.offsets, cases, cells.values, *sides, offsets, values)
    return Cells(values, offsets)
