"""Anything with measurements in, `Samples` out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from fastgate.cells import Cells
from fastgate.errors import DataError
from fastgate.frames.forks import require_working_process
from fastgate.frames.moments import from_moments
from fastgate.frames.packing import check_trials, from_lists, from_rows
from fastgate.frames.reading import open_source
from fastgate.frames.samples import Samples
from fastgate.frames.shapes import Layout, recognise
from fastgate.frames.sources import Source

__all__ = ["pack", "read_samples", "samples_of"]


def read_samples(
    source: Any,
    columns: Mapping[str, str] | None = None,
    *,
    shape: str | None = None,
    trials: Literal["mean", "median", "refuse"] = "mean",
) -> Samples:
    """Samples from a file, several files or a frame, whatever the order of its rows.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        As `fastgate.frames.read_frame` takes it. Only the columns of the shape are read; others are ignored.
    columns : mapping of str to str, optional
        From fastgate's column names to yours: ``{"value": "score"}``.
    shape : str, optional
        ``"runs"``, ``"pairs"``, ``"packed"`` (``"packed_runs"``, ``"packed_pairs"``) or ``"moments"``; told by the
        columns by default.
    trials : {"mean", "median", "refuse"}, optional
        What becomes of repeated trials of a case (column ``trial``): they are averaged, since they are not
        independent; or each counts as a duplicate of its case, a fault. A case with an infinite trial is infinite,
        whatever its others are; else one with a missing trial is missing (a lost trial is seldom lost at random).

    Returns
    -------
    Samples

    Raises
    ------
    ArgumentError
        When an argument is not one of the above.
    DataError
        When the source cannot be read, fits no shape, a column is only in some of several files or has an unusable
        type, a key has no name, or moments contradict each other (``min`` above ``max``, ``mean`` outside them, a
        spread that they do not allow, a spread without values).

    Notes
    -----
    Keys may be text, categories, integers or dates, and become text. Values may be floats, integers, booleans or
    decimals, and become float64; null becomes NaN, a missing value. In CSV all columns are text: keys are
    used as they stand, values parsed.

    A cell whose moments are not finite (a missing or infinite ``mean`` or spread of values that are there, an
    infinite ``min`` or ``max``) keeps its ``n``, and its other moments are NaN: it can decide nothing.

    A case that a cell has twice (the same trial twice, where there are trials) is kept twice and counted in
    ``n_duplicates``; other cells are not affected.

    The time is linear in the rows; cells and cases are sorted by their names, so that any order of rows gives
    the same bits.

    Examples
    --------
    >>> import polars as pl
    >>> samples = read_samples(pl.DataFrame({
    ...     "model": ["b", "a", "b", "a"], "suite": "s", "kpi": "k",
    ...     "case": [2, 1, 1, 2], "value": [0.5, 1.0, 2.0, None]}), {"build": "model"})
    >>> samples.index["build"].to_list(), samples.values[1].tolist(), samples.case_names.to_list()
    (['a', 'b'], [2.0, 0.5], ['1', '2'])
    """
    check_trials(trials)
    opened = open_source(source)
    layout = recognise(opened.columns, columns, shape, opened.where)
    return samples_of(opened.read(list(layout.columns.values())), layout, trials, opened)


def samples_of(rows: pl.DataFrame, layout: Layout, trials: str, source: Source) -> Samples:
    """Samples from rows that were read.

    Parameters
    ----------
    rows : polars.DataFrame
        With the layout's columns of the source.
    layout : Layout
    trials : str
        As in `read_samples`.
    source : Source
        Where the rows come from.
    """
    frame = rows.select(pl.col(theirs).alias(ours) for ours, theirs in layout.columns.items())
    form, where = layout.shape, source.where
    if form.name == "moments":
        return from_moments(frame, form.keys, frame.columns[len(form.keys) + 2], where, source.textual)
    if form.name.startswith("packed"):
        return from_lists(frame, form.keys, form.data, where)
    return from_rows(frame, form.keys, form.data[1:], trials, where, source.textual)


def pack(
    source: Any,
    columns: Mapping[str, str] | None = None,
    *,
    shape: str | None = None,
    trials: Literal["mean", "median", "refuse"] = "mean",
) -> pl.DataFrame:
    """A table of one row a cell, its values in a list: the packed shape, quick to store and to read again.

    Parameters
    ----------
    source, columns, shape, trials
        As in `read_samples`.

    Returns
    -------
    polars.DataFrame
        Sorted by the keys: ``build, suite, kpi, values``, or ``candidate, baseline, suite, kpi,
        candidate_values, baseline_values``; with ``cases``, unless the source has none. `read_samples` of it gives
        the same samples, with the same fingerprint.

    Raises
    ------
    ArgumentError, DataError
        As `read_samples`; also when only moments are known.

    Examples
    --------
    >>> import polars as pl
    >>> packed = pack(pl.DataFrame({
    ...     "build": ["a", "a"], "suite": "s", "kpi": "k", "case": ["y", "x"], "value": [1, 2]}))
    >>> packed.row(0)
    ('a', 's', 'k', [2.0, 1.0], ['x', 'y'])
    """
    require_working_process()
    samples = (
        source if isinstance(source, Samples) else read_samples(source, columns, shape=shape, trials=trials)
    )
    if not samples.parts:
        raise DataError(
            "moments cannot be packed",
            expected="the values themselves",
            received="their moments",
            hint="the shape moments is already one row a cell",
        )
    keys = [name for name in samples.index.columns if samples.index.schema[name] == pl.Enum]
    packed = samples.index.select(pl.col(keys).cast(pl.String))
    names = ["values"] if samples.shape == "runs" else ["candidate_values", "baseline_values"]
    lists = {
        name: _lists(part, pl.Series(part.values)) for name, part in zip(names, samples.parts, strict=True)
    }
    if samples.cases is not None:
        ids = samples.case_names.gather(samples.cases)
        lists["cases"] = _lists(samples.parts[0], ids)
    return packed.with_columns(**lists)


def _lists(cells: Cells, flat: pl.Series) -> pl.Series:
    import pyarrow as pa

    items = flat.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    offsets = pa.array(cells.offsets - cells.offsets[0])
    start, stop = int(cells.offsets[0]), int(cells.offsets[-1])
    column = pl.from_arrow(pa.LargeListArray.from_arrays(offsets, items[start:stop]))
    if not isinstance(column, pl.Series):
        raise TypeError(f"expected a list column, got {type(column).__name__}")
    return column.cast(pl.List(flat.dtype)) if column.dtype != pl.List(flat.dtype) else column
