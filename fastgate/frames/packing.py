"""From rows of keys, cases and values, or of keys and lists, to cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads
from fastgate.cells import Cells
from fastgate.errors import ArgumentError, DataError
from fastgate.frames.codes import Grouped, code_names, pieces_of
from fastgate.frames.columns import key_column, list_column, number_column
from fastgate.frames.measured_rows import cells_of, place_measurements
from fastgate.frames.samples import CaseLists, Samples, text_hashes

__all__ = ["TRIAL_RULES", "check_trials", "from_lists", "from_rows", "index_of"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TRIAL_RULES: Final = {"refuse": 0, "mean": 1, "median": 2}

T = TypeVar("T", np.float64, np.int64)


def check_trials(rule: object) -> None:
    """Refuse what is no rule for repeated trials.

    Raises
    ------
    ArgumentError
        When it is none of `TRIAL_RULES`.
    """
    if not isinstance(rule, str) or rule not in TRIAL_RULES:
        raise ArgumentError(
            "there is no such rule for repeated trials",
            expected=", ".join(sorted(TRIAL_RULES)),
            received=repr(rule),
        )


# Chunks smaller than this on average cost more than copying them together.
_CHUNK_ROWS = 1 << 14


def from_rows(
    frame: pl.DataFrame, keys: Sequence[str], values: Sequence[str], trials: str, where: str, textual: bool
) -> Samples:
    """Samples from one row a case: the shapes *runs* and *pairs*.

    Parameters
    ----------
    frame : polars.DataFrame
        With the columns `keys`, ``case``, perhaps ``trial``, and `values`.
    keys, values : sequence of str
        The columns that name a cell, and one (runs) or two (pairs) of measurements.
    trials : str
        A name in `TRIAL_RULES`.
    where : str
        The source's name, for messages.
    textual : bool
        Whether numbers are written as text.
    """
    frame = _few_chunks(frame)
    numbers = [number_column(frame[name], name, where, textual=textual) for name in values]
    named = [name for name in (*keys, "case", "trial") if name in frame.columns]
    columns = {name: key_column(frame[name], name, where) for name in named}
    groups, offsets, lists, measured, case_names, n_trials = place_measurements(columns, keys, numbers)
    if "trial" in columns:
        entries, rule = lists.expanded(offsets), TRIAL_RULES[trials]
        offsets, entries, measured = _average(offsets, entries, measured, n_trials, rule)
        lists = CaseLists.of_each(offsets, entries)
    parts = tuple(Cells(column, offsets) for column in measured)
    return _samples(index_of(groups), parts, lists, case_names, _repeats(lists), frame.height)


def _few_chunks(frame: pl.DataFrame) -> pl.DataFrame:
    chunks = max(frame.n_chunks("all"))
    return frame.rechunk() if chunks > 16 + frame.height // _CHUNK_ROWS else frame


def index_of(groups: Grouped) -> pl.DataFrame:
    """The keys of the cells, for pairs also the numbers of their two cells."""
    index = pl.DataFrame(list(groups.keys.values()))
    if "candidate" in index.columns:
        n = index.height
        index = index.with_columns(
            candidate_cell=pl.Series(np.arange(n)), baseline_cell=pl.Series(np.arange(n, 2 * n))
        )
    return index


def _average(
    offsets: Integers, entries: Integers, measured: Floats, n_trials: int, rule: int
) -> tuple[Integers, Integers, Floats]:
    from fastgate.kernels.trials import average_trials, compact

    n_cells = offsets.size - 1
    sizes = np.empty(n_cells, np.int64)
    threads.run(average_trials, n_cells, offsets, n_trials, rule, entries, measured, sizes, work=2 * offsets)
    kept = np.concatenate([[0], np.cumsum(sizes)])
    if kept[-1] == entries.size:
        return offsets, entries, measured
    new_entries = np.empty(kept[-1], np.int64)
    new_measured = np.empty((measured.shape[0], kept[-1]), np.float64)
    threads.run(compact, n_cells, offsets, entries, measured, kept, new_entries, new_measured, work=offsets)
    return kept, new_entries, new_measured


def _repeats(lists: CaseLists) -> Integers:
    """How many entries of each cell repeat a case."""
    from fastgate.kernels import grouping

    repeats = np.empty(lists.offsets.size - 1, np.int64)
    threads.run(grouping.count_repeats, repeats.size, lists.offsets, lists.codes, repeats, work=lists.offsets)
    return repeats[lists.lists]


def _samples(
    index: pl.DataFrame,
    parts: tuple[Cells, ...],
    cases: CaseLists | None,
    case_names: pl.Series,
    duplicates: Integers,
    n_rows: int,
) -> Samples:
    from fastgate.kernels.fingerprint import sum_hashes

    fingerprints = pl.Series([None] * index.height, dtype=pl.UInt64)
    if cases is not None:
        lists, offsets, codes = cases
        sums = np.empty(offsets.size - 1, np.uint64)
        threads.run(sum_hashes, sums.size, offsets, codes, text_hashes(case_names), sums, work=offsets)
        fingerprints = pl.Series(sums[lists])
    index = index.with_columns(
        n_duplicates=pl.Series(duplicates.astype(np.uint32)), case_fingerprint=fingerprints
    )
    shape: Literal["runs", "pairs"] = "pairs" if "candidate" in index.columns else "runs"
    return Samples(shape, index, parts, cases, case_names, None, n_rows)


def from_lists(frame: pl.DataFrame, keys: Sequence[str], values: Sequence[str], where: str) -> Samples:
    """Samples from one row a cell with its values in a list: the packed shapes.

    Parameters
    ----------
    frame : polars.DataFrame
        With the columns `keys` and `values`, perhaps ``cases``.
    keys, values : sequence of str
        The columns that name a cell, and one (runs) or two (pairs) of lists.
    where : str
        The source's name, for messages.

    Notes
    -----
    Values of float64 without nulls, in one chunk, in rows sorted by their keys, are used where they lie; otherwise
    they are copied once. Rows with the same keys become one cell: parts of it, if their cases differ, else
    duplicates; without case ids, duplicates always.
    """
    columns = {name: key_column(frame[name].rechunk(), name, where) for name in keys}
    pieces = pieces_of(list(columns.values()))
    groups = cells_of(columns, keys, pieces)
    rows = groups.coded.every(pieces)
    ordered = bool(np.all(rows[1:] > rows[:-1]))
    order = np.arange(rows.size) if ordered else np.argsort(rows, kind="stable")
    lists = [_chunks(list_column(frame[name], name, where), name, where) for name in values]
    sizes = [np.concatenate([chunk.sizes for chunk in chunks]) for chunks in lists]
    cases, case_names = None, pl.Series(dtype=pl.String)
    if "cases" in frame.columns:
        cases, case_names, lengths = _case_codes(list_column(frame["cases"], "cases", where), where)
        for name, size in zip(values, sizes, strict=True):
            _same_lengths(lengths, size, name, where)
        cases = _arrange([(cases, np.concatenate([[0], np.cumsum(lengths)]))], lengths, order, ordered)
    parts = tuple(
        Cells(
            _arrange([(chunk.values, chunk.offsets) for chunk in chunks], size, order, ordered),
            _cell_offsets(size[order], rows[order], len(groups)),
        )
        for chunks, size in zip(lists, sizes, strict=True)
    )
    case_lists = None
    if cases is not None:
        parts, cases = _sorted(parts, cases)
        case_lists = CaseLists.of_each(parts[0].offsets, cases)
        duplicates = _repeats(case_lists)
    else:
        parts, duplicates = _merged(parts, sizes, rows)
    return _samples(index_of(groups), parts, case_lists, case_names, duplicates, frame.height)


def _chunks(column: pl.Series, name: str, where: str) -> list[Cells]:
    inner = pl.Series(dtype=column.dtype.inner)  # type: ignore[attr-defined]
    number_column(inner, name, where)
    if inner.dtype != pl.Float64:
        column = column.cast(pl.List(pl.Float64))
    return [Cells.from_arrow(chunk.to_arrow()) for chunk in column.get_chunks()]


def _arrange(
    chunks: list[tuple[npt.NDArray[T], Integers]], sizes: Integers, order: Integers, ordered: bool
) -> npt.NDArray[T]:
    """The lists' values in the order of their cells: where they lie if that is it, else copied."""
    from fastgate.kernels import grouping

    if ordered and len(chunks) == 1:
        values, offsets = chunks[0]
        return values[offsets[0] : offsets[-1]]
    places = np.empty(sizes.size, np.int64)
    places[order] = np.cumsum(sizes[order]) - sizes[order]
    out = np.empty(int(sizes.sum()), chunks[0][0].dtype)
    first = 0
    for values, offsets in chunks:
        n = offsets.size - 1
        threads.run(grouping.spread, n, offsets, values, places[first : first + n], out, work=offsets)
        first += n
    return out


def _cell_offsets(sizes: Integers, cells: Integers, n_cells: int) -> Integers:
    """Where cells begin, from the sizes and (sorted) cells of rows."""
    ends = np.cumsum(sizes)
    if ends.size == n_cells:
        return np.concatenate([[0], ends])
    last = np.searchsorted(cells, np.arange(n_cells), side="right") - 1
    return np.concatenate([[0], ends[last]])


def _case_codes(column: pl.Series, where: str) -> tuple[Integers, pl.Series, Integers]:
    lengths = column.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    flat = column.filter(column.list.len() > 0) if lengths.size and lengths.min() == 0 else column
    flat = key_column(flat.explode().rename("cases"), "cases", where)
    if len(flat) == 0:
        return np.empty(0, np.int64), pl.Series(dtype=pl.String), lengths
    pieces = pieces_of([flat])
    coded, names = code_names(flat, pieces)
    return coded.every(pieces), names, lengths


def _same_lengths(cases: Integers, values: Integers, name: str, where: str) -> None:
    unequal = np.flatnonzero(cases != values)
    if unequal.size:
        row = int(unequal[0])
        raise DataError(
            f"the lists 'cases' and {name!r} are not of the same length",
            expected="one case id for each value",
            received=f"{cases[row]} cases and {values[row]} values in row {row + 1}"
            + (f", and {unequal.size - 1} more rows" if unequal.size > 1 else ""),
            where=where,
        )


def _sorted(parts: tuple[Cells, ...], cases: Integers) -> tuple[tuple[Cells, ...], Integers]:
    """The cells with their entries in the order of their cases; untouched if they are already."""
    from fastgate.kernels import grouping

    offsets = parts[0].offsets
    unsorted = np.empty(offsets.size - 1, np.int8)
    threads.run(grouping.find_unsorted, unsorted.size, offsets, cases, unsorted, work=offsets)
    if not unsorted.any():
        return parts, cases
    entries = cases.copy()
    measured = np.stack([part.values for part in parts])
    threads.run(grouping.sort_cells, unsorted.size, offsets, entries, measured, work=5 * offsets)
    return tuple(Cells(column, offsets) for column in measured), entries


def _merged(
    parts: tuple[Cells, ...], sizes: list[Integers], rows: Integers
) -> tuple[tuple[Cells, ...], Integers]:
    """Cells without case ids: how many values came from a second row, and these cells sorted by value."""
    from fastgate.kernels import grouping

    n_cells = len(parts[0])
    surplus = np.bincount(rows, minlength=n_cells) - 1
    duplicates = surplus.astype(np.int64)
    if not surplus.any():
        return parts, duplicates
    faulty = np.flatnonzero(surplus)
    merged = []
    for part, size in zip(parts, sizes, strict=True):
        largest = np.zeros(n_cells, np.int64)
        np.maximum.at(largest, rows, size)
        duplicates[faulty] = np.maximum(duplicates, part.sizes - largest)[faulty]
        # Equal keys are sorted by value: what the cell holds then does not depend on the order of its rows.
        entries = np.arange(part.values.size)
        for cell in faulty.tolist():
            entries[part.offsets[cell] : part.offsets[cell + 1]] = 0
        measured = part.values.copy()[np.newaxis]
        threads.run(grouping.sort_cells, n_cells, part.offsets, entries, measured, work=part.offsets)
        merged.append(Cells(measured[0], part.offsets))
    return tuple(merged), duplicates
