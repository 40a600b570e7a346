"""Kernels that average the repeated trials of a case, within cells sorted by case and trial."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.grouping import OUT_COLUMNS
from fastgate.kernels.types import OI, I

__all__ = ["MEAN", "MEDIAN", "REFUSE", "average_trials", "compact"]

COLUMNS: Final = types.Array(types.float64, 2, "C", readonly=True)

# What becomes of repeated trials of one case.
REFUSE: Final = 0
MEAN: Final = 1
MEDIAN: Final = 2


@device
def _typical(values: Any, scratch: Any, rule: Any) -> Any:
    """The mean or median of a case's trials: infinite where one is, else NaN where one is missing."""
    n = values.size
    missing = False
    for i in range(n):
        # An overflow spoils its cell, a missing value may be one that a policy allows: the worse fault counts.
        if np.isinf(values[i]):
            return values[i]
        missing |= np.isnan(values[i])
    if missing:
        return np.nan
    if rule == MEDIAN:
        for i in range(n):
            scratch[i] = values[i]
        ordered = scratch[:n]
        ordered.sort()
        # The two zeros are equal, so that their order is chance: adding 0.0 makes either the positive one.
        upper = ordered[n // 2] + 0.0
        if n % 2:
            return upper
        lower = ordered[n // 2 - 1] + 0.0
        return lower + (upper - lower) / 2.0 if (lower < 0.0) == (upper < 0.0) else (lower + upper) / 2.0
    # Deviations from the first trial: equal trials give exactly their value, so that a constant stays constant.
    first = values[0]
    total = 0.0
    for i in range(1, n):
        total += values[i] - first
    mean = first + total / n
    if np.isinf(mean) or np.isnan(mean):
        mean = 0.0
        for i in range(n):
            mean += values[i] / n
    return mean


@kernel(types.void(types.int64, types.int64, I, types.int64, types.int64, OI, OUT_COLUMNS, OI))
def average_trials(
    start: int, stop: int, offsets: Any, n_trials: int, rule: int, keys: Any, columns: Any, sizes: Any
) -> None:
    """Average the trials of each case, in place, at the beginning of its cell.

    Parameters
    ----------
    offsets : int64, shape (n_cells + 1,)
    n_trials : int64
        An entry's key is ``case * n_trials + trial``; each cell is sorted by it.
    rule : int64
        `MEAN`, `MEDIAN`; `REFUSE` keeps every trial as an entry of its own.
    keys : int64, shape (n,), written
        The case of each entry that remains.
    columns : float64, shape (n_columns, n), written
    sizes : int64, shape (n_cells,), written
        The number of entries that remain in each cell. A case with one trial twice keeps all its entries.
    """
    scratch = np.empty(0, np.float64)
    for cell in range(start, stop):
        lo = offsets[cell]
        part = keys[lo : offsets[cell + 1]]
        kept = 0
        first = 0
        while first < part.size:
            case = part[first] // n_trials
            last = first + 1
            repeated = False
            while last < part.size and part[last] // n_trials == case:
                repeated |= part[last] == part[last - 1]
                last += 1
            if repeated or rule == REFUSE:
                for i in range(first, last):
                    for column in range(columns.shape[0]):
                        columns[column, lo + kept] = columns[column, lo + i]
                    part[kept] = case
                    kept += 1
            else:
                if last - first > scratch.size:
                    scratch = np.empty(2 * (last - first), np.float64)
                for column in range(columns.shape[0]):
                    columns[column, lo + kept] = _typical(
                        columns[column, lo + first : lo + last], scratch, rule
                    )
                part[kept] = case
                kept += 1
            first = last
        sizes[cell] = kept


@kernel(types.void(types.int64, types.int64, I, I, COLUMNS, I, OI, OUT_COLUMNS))
def compact(
    start: int,
    stop: int,
    offsets: Any,
    keys: Any,
    columns: Any,
    new_offsets: Any,
    new_keys: Any,
    new_columns: Any,
) -> None:
    """Copy the first entries of each cell, as many as `new_offsets` has room for, close together."""
    for cell in range(start, stop):
        lo = offsets[cell]
        target = new_keys[new_offsets[cell] : new_offsets[cell + 1]]
        source = keys[lo : lo + target.size]
        for i in range(target.size):
            target[i] = source[i]
        for column in range(columns.shape[0]):
            numbers = new_columns[column, new_offsets[cell] : new_offsets[cell + 1]]
            values = columns[column, lo : lo + target.size]
            for i in range(target.size):
                numbers[i] = values[i]
