"""Rows of measurements to cells: every value at its place, with the case it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads
from fastgate.frames.codes import Coded, Grouped, Pieces, code_names, for_each, group, pieces_of, place_rows
from fastgate.frames.samples import CaseLists
from fastgate.frames.stretches import Stretches, find_stretches, model_rows

__all__ = ["Placed", "cells_of", "place_measurements"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Placed(NamedTuple):
    """Measurements cell by cell."""

    groups: Grouped
    """The cells' keys. Of its rows nothing but the cells is of use."""
    offsets: Integers
    """Where each cell begins, and the last one ends."""
    lists: CaseLists
    """The cases of each cell or, where there are trials, ``case * n_trials + trial``; sorted."""
    measured: Floats
    """The values, a row for each column of them; NaN where there is none."""
    case_names: pl.Series
    """The cases, sorted."""
    n_trials: int
    """The number of different trials; 0 where there is no such column."""


def cells_of(columns: dict[str, pl.Series], keys: Sequence[str], pieces: Pieces) -> Grouped:
    """The cells; candidates and baselines are builds both, and share their names."""
    kinds = [("candidate", "baseline"), ("build",), ("suite",), ("kpi",)]
    return group({name: columns[name] for name in keys}, [kind for kind in kinds if kind[0] in keys], pieces)


def place_measurements(
    columns: dict[str, pl.Series], keys: Sequence[str], numbers: Sequence[pl.Series]
) -> Placed:
    """Measurements in rows of any order, cell by cell.

    Parameters
    ----------
    columns : dict of str to polars.Series
        `keys`, ``case`` and perhaps ``trial``, as `key_column` returns them.
    keys : sequence of str
        The columns that name a cell.
    numbers : sequence of polars.Series of Float64
        The measurements.

    Notes
    -----
    Rows of a cell that stand together, in the order of cases that other cells have too, take 3 ns of processor time
    each; others 11 to 25.
    """
    pieces = pieces_of([*columns.values(), *numbers])
    stretches = find_stretches(columns, keys, pieces)
    if stretches is not None:
        return _as_they_stand(columns, keys, numbers, pieces, stretches)
    return _anyhow(columns, keys, numbers, pieces)


def _anyhow(
    columns: dict[str, pl.Series], keys: Sequence[str], numbers: Sequence[pl.Series], pieces: Pieces
) -> Placed:
    from fastgate.kernels import grouping

    groups = cells_of(columns, keys, pieces)
    ordering, case_names, n_trials = _code_cases(columns, pieces)
    offsets, entries, measured = place_rows(groups.coded, ordering, numbers, pieces)
    threads.run(grouping.sort_cells, offsets.size - 1, offsets, entries, measured, work=offsets)
    return Placed(groups, offsets, CaseLists.of_each(offsets, entries), measured, case_names, n_trials)


def _code_cases(columns: dict[str, pl.Series], pieces: Pieces) -> tuple[list[Coded], pl.Series, int]:
    """What orders the rows of a cell; the names of the cases; the number of trials."""
    case, case_names = code_names(columns["case"], pieces)
    if "trial" not in columns:
        return [case], case_names, 0
    trial, _ = code_names(columns["trial"], pieces)
    return [case, trial], case_names, trial.size


def _as_they_stand(
    columns: dict[str, pl.Series],
    keys: Sequence[str],
    numbers: Sequence[pl.Series],
    pieces: Pieces,
    stretches: Stretches,
) -> Placed:
    from fastgate.kernels.runs import copy_lists, copy_values

    starts, sizes = stretches.bounds[:-1], np.diff(stretches.bounds)
    few = {name: columns[name].gather(starts) for name in keys}
    few_pieces = pieces_of(list(few.values()))
    groups = cells_of(few, keys, few_pieces)
    cells = groups.coded.every(few_pieces)
    offsets = np.zeros(len(groups) + 1, np.int64)
    np.cumsum(np.bincount(cells, sizes, len(groups)).astype(np.int64), out=offsets[1:])
    places = _places(cells, sizes, offsets)
    codes, orders, list_offsets, case_names, n_trials = _listed(columns, stretches)
    # Cells in several stretches (pieces cut them, so that there are always a few), and those with a case that stands
    # twice, have lists of their own, to be sorted with their values.
    repeated = _repeated(codes, list_offsets)
    odd = np.bincount(cells, minlength=len(groups)) > 1
    odd[cells[repeated[stretches.lists]]] = True
    lists = np.empty(len(groups), np.int64)
    lists[cells] = stretches.lists
    lists[odd] = np.arange(np.count_nonzero(odd)) + list_offsets.size - 1
    ends = list_offsets[-1] + np.cumsum(np.diff(offsets)[odd])
    own = np.empty(int(np.diff(offsets)[odd].sum()), np.int64)
    every = CaseLists(lists, np.append(list_offsets, ends), np.append(codes, own))
    mine = np.flatnonzero(odd[cells])
    copy_lists(
        every.starts[cells[mine]] + places[mine] - offsets[cells[mine]],
        stretches.lists[mine],
        list_offsets,
        codes,
        every.codes,
    )

    measured = np.empty((len(numbers), offsets[-1]), np.float64)

    def copy(number: int) -> None:
        start, stop = pieces[number]
        here = slice(stretches.cuts[number], stretches.cuts[number + 1])
        rows = starts[here] - start
        for column, target in zip(numbers, measured, strict=True):
            values = np.ascontiguousarray(column.slice(start, stop - start).to_numpy(), np.float64)
            copy_values(rows, places[here], stretches.lists[here], list_offsets, orders, values, target)

    for_each(copy, len(pieces), 2 * pieces[-1][1])
    _sort(np.flatnonzero(odd), offsets, every, measured)
    return Placed(groups, offsets, every, measured, case_names, n_trials)


def _repeated(codes: Integers, offsets: Integers) -> npt.NDArray[np.bool_]:
    """Whether each (sorted) list has an entry twice."""
    from fastgate.kernels import grouping

    repeats = np.empty(offsets.size - 1, np.int64)
    grouping.count_repeats(0, repeats.size, offsets, codes, repeats)
    return repeats > 0


def _sort(cells: Integers, offsets: Integers, lists: CaseLists, measured: Floats) -> None:
    """Sort some cells, whose lists stand one behind the other, by their entries."""
    from fastgate.kernels import grouping

    if not cells.size:
        return
    sizes = np.diff(offsets)[cells]
    begins = np.cumsum(sizes) - sizes
    rows = np.arange(sizes.sum()) + np.repeat(offsets[cells] - begins, sizes)
    first = lists.offsets[lists.lists[cells[0]]]
    values = np.ascontiguousarray(measured[:, rows])
    bounds = np.append(begins, sizes.sum())
    threads.run(grouping.sort_cells, cells.size, bounds, lists.codes[first:], values, work=bounds)
    measured[:, rows] = values


def _places(cells: Integers, sizes: Integers, offsets: Integers) -> Integers:
    """Where each stretch begins among the values: those of a cell come one after the other."""
    if np.all(cells[1:] > cells[:-1]):
        return offsets[:-1]
    order = np.argsort(cells, kind="stable")
    places = np.empty(cells.size, np.int64)
    places[order] = np.cumsum(sizes[order]) - sizes[order]
    return places


def _listed(
    columns: dict[str, pl.Series], stretches: Stretches
) -> tuple[Integers, Integers, Integers, pl.Series, int]:
    """The sorted entries of each list, and which of its rows each of them is; where lists begin; names; trials."""
    rows, offsets = model_rows(stretches)
    few = {name: column.gather(rows) for name, column in columns.items() if name in ("case", "trial")}
    pieces = pieces_of(list(few.values()))
    coded, case_names, n_trials = _code_cases(few, pieces)
    entries = coded[0].every(pieces)
    if n_trials:
        entries = entries * n_trials + coded[1].every(pieces)
    lists = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    orders = np.arange(entries.size) - offsets[lists]
    falls = (entries[1:] <= entries[:-1]) & (lists[1:] == lists[:-1])
    for number in np.unique(lists[1:][falls]).tolist():
        mine = slice(offsets[number], offsets[number + 1])
        orders[mine] = np.argsort(entries[mine], kind="stable")
        entries[mine] = entries[mine][orders[mine]]
    return entries, orders, offsets, case_names, n_trials
