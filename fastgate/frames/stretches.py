"""Rows as programs write them: those of a cell stand together and list the cases that others list too.

Then keys are compared with those of the row before, and lists of cases with one another, at the speed of memory;
nothing is hashed but one row of each stretch, and one list of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.frames.codes import Pieces, for_each, words_of

__all__ = ["Stretches", "find_stretches", "model_rows"]

Integers = npt.NDArray[np.int64]

_NOTHING: Final = np.empty(0, np.int64)
# Stretches shorter than this on average are not worth a way of their own.
_ROWS_PER_STRETCH: Final = 16


class Stretches(NamedTuple):
    """Rows in stretches of equal keys, each at longest a piece."""

    bounds: Integers
    """The row in which each stretch begins, and the number of rows."""
    cuts: Integers
    """The first stretch of each piece, and the number of stretches."""
    lists: Integers
    """The list of cases of each stretch; stretches in different pieces share none."""
    models: Integers
    """A stretch with each list."""


def find_stretches(columns: dict[str, pl.Series], keys: Sequence[str], pieces: Pieces) -> Stretches | None:
    """The stretches of rows with the same `keys`; None where rows stand otherwise.

    Parameters
    ----------
    columns : dict of str to polars.Series
        `keys`, ``case`` and perhaps ``trial``, as `key_column` returns them.
    keys : sequence of str
        The columns that name a cell.
    pieces : list of (int, int)
        As `pieces_of` the columns.
    """
    bounds, cuts = _bounds([columns[name] for name in keys], pieces)
    if bounds is None:
        return None
    found = _lists(columns, bounds, cuts, pieces)
    return None if found is None else Stretches(bounds, cuts, *found)


def _bounds(keys: list[pl.Series], pieces: Pieces) -> tuple[Integers | None, Integers]:
    from fastgate.kernels.runs import run_starts

    found = [[_NOTHING] * len(keys) for _ in pieces]
    short = []

    def find(number: int) -> None:
        start, stop = pieces[number]
        room = np.empty((stop - start) // _ROWS_PER_STRETCH + 1, np.int64)
        for column, key in enumerate(keys):
            words, width, _owner = words_of(key[start:stop])
            runs = run_starts(words, width, room)
            if runs < 0:
                short.append(number)
                return
            found[number][column] = room[:runs] + start

    # The first piece already tells most tables that stand otherwise.
    find(0)
    if not short:
        for_each(lambda number: find(number + 1), len(pieces) - 1, pieces[-1][1])
    if short:
        return None, _NOTHING
    # np.unique would hash them: 100 ms where a sort of what is nearly in order takes 5.
    starts = np.sort(np.concatenate([part for parts in found for part in parts]), kind="stable")
    starts = starts[np.append(True, starts[1:] > starts[:-1])]
    cuts = np.searchsorted(starts, [start for start, _ in pieces] + [pieces[-1][1]])
    return np.append(starts, pieces[-1][1]), cuts


def _lists(
    columns: dict[str, pl.Series], bounds: Integers, cuts: Integers, pieces: Pieces
) -> tuple[Integers, Integers] | None:
    from fastgate.kernels.runs import match_lists

    n_stretches = bounds.size - 1
    lists, models = np.empty(n_stretches, np.int64), np.empty(n_stretches, np.int64)
    counts = np.empty(len(pieces), np.int64)

    def match(number: int) -> None:
        start, stop = pieces[number]
        case, case_width, _case = words_of(columns["case"][start:stop])
        trial, trial_width, _trial = _NOTHING, 1, None
        if "trial" in columns:
            trial, trial_width, _trial = words_of(columns["trial"][start:stop])
        mine = slice(cuts[number], cuts[number + 1])
        rows = bounds[cuts[number] : cuts[number + 1] + 1] - start
        counts[number] = match_lists(rows, case, case_width, trial, trial_width, lists[mine], models[mine])

    match(0)
    if counts[0] >= 0:
        for_each(lambda number: match(number + 1), len(pieces) - 1, pieces[-1][1])
    if counts.min() < 0:
        return None
    first = np.cumsum(counts) - counts
    lists += np.repeat(first, np.diff(cuts))
    every = [models[cut : cut + count] + cut for cut, count in zip(cuts[:-1], counts, strict=True)]
    return lists, np.concatenate(every)


def model_rows(stretches: Stretches) -> tuple[Integers, Integers]:
    """The rows of one stretch of each list, list after list; and where each list begins among them.

    Returns
    -------
    rows : ndarray of int64
    offsets : ndarray of int64, shape (n_lists + 1,)
    """
    bounds, models = stretches.bounds, stretches.models
    sizes = bounds[models + 1] - bounds[models]
    offsets = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return np.arange(offsets[-1]) + np.repeat(bounds[models] - offsets[:-1], sizes), offsets
