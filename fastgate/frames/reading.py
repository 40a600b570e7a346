"""Opening whatever holds rows: files, and frames of any library."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.frames.files import find_files, open_files
from fastgate.frames.forks import require_working_process
from fastgate.frames.libraries import open_duckdb, open_pandas, open_stream
from fastgate.frames.sources import Source, translated

__all__ = ["open_source", "read_frame"]

_ACCEPTED = (
    "a path, a list of paths or a glob of Parquet, Arrow IPC, CSV or NDJSON files; or a frame: Polars, pandas, "
    "pyarrow, DuckDB, or any other object with __arrow_c_stream__"
)


def read_frame(source: Any, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of a file, of several files, or of any Arrow-compatible frame.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        A path (``str`` or ``os.PathLike``) of a Parquet (``.parquet``, ``.pq``), Arrow IPC (``.arrow``,
        ``.arrows``, ``.ipc``, ``.feather``), CSV (``.csv``, ``.tsv``) or JSON file (``.ndjson``, ``.jsonl``,
        ``.json``), the texts also with ``.gz`` or ``.zst``; a folder of such files; a glob (``**`` crosses
        folders); a list of any of these. Or an object with the Arrow PyCapsule stream interface
        (``__arrow_c_stream__``), or a Polars LazyFrame.
    columns : sequence of str, optional
        Read only these (the formats that can, leave the others on disk); all by default.

    Returns
    -------
    polars.DataFrame
        CSV columns are text, exactly as they stand in the file, so that a build ``1.10`` stays what it is. Several
        files must each have every column that is read. Where their types differ, numbers become wider ones
        (128 bits where 64 do not suffice, else Float64), and integers or dates beside text become text.

    Raises
    ------
    ArgumentError
        When `columns` is no list of names.
    DataError
        When there is no such file, a file is empty, corrupt, of unknown format or unlike the others, a column
        is missing or there twice, there are no rows, or this process is a fork in which Polars cannot work.

    Examples
    --------
    >>> import polars as pl
    >>> read_frame(pl.LazyFrame({"build": ["a", "b"], "value": [1.0, 2.0]}), ["value"])["value"].to_list()
    [1.0, 2.0]
    """
    if columns is not None and (
        isinstance(columns, str)
        or not isinstance(columns, Sequence)
        or not all(isinstance(name, str) for name in columns)
    ):
        raise ArgumentError(
            "the columns to read are no list of names",
            expected="a list or tuple of names, or None for all",
            received=repr(columns)[:100],
            where="argument columns",
        )
    opened = open_source(source)
    return opened.read(opened.columns if columns is None else columns)


def open_source(source: Any) -> Source:
    """A source with the names of its columns, its rows not yet read; parameters and errors as `read_frame`."""
    require_working_process()
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return open_files(find_files(source))
    if (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(path, str | os.PathLike) for path in source)
    ):
        return open_files([file for path in source for file in find_files(path)])
    if isinstance(source, pl.DataFrame):
        return Source("Polars DataFrame", tuple(source.columns), False, source.select)
    if isinstance(source, pl.LazyFrame):
        with translated("the query has no valid schema", "Polars LazyFrame"):
            names = tuple(source.collect_schema().names())
        # Nobody knows how large it is.
        return Source(
            "Polars LazyFrame",
            names,
            False,
            lambda wanted: source.select(wanted).collect(),
            source.select,
            2**62,
        )
    library = type(source).__module__.split(".")[0]
    if library == "pandas" and hasattr(source, "columns"):
        return open_pandas(source)
    if library in ("duckdb", "_duckdb") and hasattr(source, "project"):
        return open_duckdb(source)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return open_stream(source, f"{library} {type(source).__name__}")
    raise DataError(
        "this is not a source of data",
        expected=_ACCEPTED,
        received=_describe(source),
        hint=_advice(source),
    )


def _describe(source: Any) -> str:
    if isinstance(source, list | tuple):
        kinds = sorted({type(item).__name__ for item in source})
        return (
            f"a {type(source).__name__} of {', '.join(kinds)}"
            if kinds
            else f"an empty {type(source).__name__}"
        )
    kind = type(source)
    return f"an object of type {kind.__name__ if kind.__module__ == 'builtins' else _full_name(kind)}"


def _full_name(kind: type) -> str:
    return f"{kind.__module__.split('.')[0]}.{kind.__qualname__}"


def _advice(source: Any) -> str:
    if source is None:
        return "the step before gave nothing: look whether it returns its frame"
    if isinstance(source, list | tuple) and any(hasattr(item, "__arrow_c_stream__") for item in source):
        return "put the frames together first, e.g. with polars.concat([...])"
    if type(source).__module__.split(".")[0] == "numpy":
        return (
            "a gate needs to know what each number is: build a frame with its key columns and the numbers, e.g. "
            "polars.DataFrame({..., 'value': array}); fastgate.stats takes plain arrays"
        )
    return "read or build a frame from it first, e.g. with polars.DataFrame(...)"
