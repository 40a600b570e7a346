"""Posteriors of utilities, per build and alternative: draws, or the parameters of a distribution."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.cells import Cells
from fastgate.errors import DataError
from fastgate.frames.columns import key_column, list_column, number_column
from fastgate.frames.probes import relevant_columns
from fastgate.frames.reading import open_source
from fastgate.frames.shapes import Shape, recognise

__all__ = ["POSTERIOR_SHAPES", "Posteriors", "read_posteriors"]

Floats = npt.NDArray[np.float64]

_KEYS: Final = ("build", "alternative")
POSTERIOR_SHAPES: Final = (
    Shape("draws", _KEYS, ("draws",)),
    Shape("long_draws", _KEYS, ("draw",)),
    Shape("normal", _KEYS, ("mean", "sd|std")),
    Shape("beta", _KEYS, ("alpha", "beta")),
)


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Posteriors, one a row of `index`.

    Parameters
    ----------
    kind : {"draws", "normal", "beta"}
    index : polars.DataFrame
        ``build`` and ``alternative`` as text, sorted; an alternative that a build has twice stands twice.
    draws : Cells or None
        The draws of each posterior; a missing one is NaN.
    first, second : ndarray of float64
        Mean and standard deviation, or alpha and beta; empty for draws. NaN where missing.
    n_rows : int
    fingerprint : str
        A digest of keys and values, whatever the order of rows (for draws, but for their order in a posterior).
    """

    kind: str
    index: pl.DataFrame
    draws: Cells | None
    first: Floats
    second: Floats
    n_rows: int
    fingerprint: str


def read_posteriors(source: Any, columns: Mapping[str, str] | None = None) -> Posteriors:
    """Posteriors from a file, several files or a frame.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        As `fastgate.frames.read_frame` takes it: build, alternative and ``draws`` (a list a row), or ``draw`` (a
        number a row), or ``mean`` and ``sd``, or ``alpha`` and ``beta``.
    columns : mapping of str to str, optional
        From fastgate's column names to yours; those that are none of this table's are not looked at.

    Returns
    -------
    Posteriors

    Raises
    ------
    DataError
        When the source cannot be read, fits no shape or more than one, or a column has an unusable type.

    Examples
    --------
    >>> import polars as pl
    >>> given = read_posteriors(pl.DataFrame(
    ...     {"build": "judge", "alternative": ["y", "x"], "mean": [0.2, -0.2], "sd": [0.1, 0.2]}))
    >>> given.kind, given.index["alternative"].to_list(), given.second.tolist()
    ('normal', ['x', 'y'], [0.2, 0.1])
    """
    opened = open_source(source)
    names = Shape("", (), tuple({name for shape in POSTERIOR_SHAPES for name in shape.names}))
    mapping = relevant_columns(columns, opened.columns, names)
    layout = recognise(opened.columns, mapping, None, opened.where, POSTERIOR_SHAPES)
    read = opened.read(list(layout.columns.values()))
    frame = read.select(
        pl.col(theirs).alias("sd" if ours == "std" else ours) for ours, theirs in layout.columns.items()
    )
    keys = [key_column(frame[name], name, opened.where).cast(pl.String).alias(name) for name in _KEYS]
    data = {}
    for name in frame.columns[len(_KEYS) :]:
        if name == "draws":
            if opened.textual:
                raise DataError(
                    "CSV holds no lists",
                    expected="a column 'draw', a number a row; or lists in Parquet, Arrow or NDJSON",
                    where=opened.where,
                )
            column = list_column(frame[name], name, opened.where)
            number_column(
                column.list.explode(keep_nulls=False, empty_as_null=False).head(0), name, opened.where
            )
            data[name] = column.cast(pl.List(pl.Float64))
        else:
            data[name] = number_column(frame[name], name, opened.where, textual=opened.textual)
    table = pl.DataFrame([*keys, *(column.alias(name) for name, column in data.items())])
    kind = layout.shape.name
    if kind == "long_draws":
        table = table.group_by(_KEYS, maintain_order=True).agg(pl.col("draw").alias("draws"))
        kind = "draws"
    table = table.sort(
        *_KEYS, *([] if kind == "draws" else table.columns[2:]), nulls_last=True, maintain_order=True
    )
    if kind == "draws":
        return _of_draws(table, frame.height)
    first, second = (table[name].fill_null(np.nan).to_numpy().copy() for name in table.columns[2:])
    return Posteriors(
        kind,
        table.select(_KEYS),
        None,
        first,
        second,
        frame.height,
        _digest(kind, table.select(_KEYS), first, second),
    )


def _of_draws(table: pl.DataFrame, n_rows: int) -> Posteriors:
    lists = table["draws"]
    sizes = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    flat = lists.drop_nulls().list.explode(keep_nulls=True, empty_as_null=False)
    values = np.ascontiguousarray(flat.fill_null(np.nan).to_numpy(), np.float64)
    nothing = np.empty(0)
    keys = table.select(_KEYS)
    return Posteriors(
        "draws",
        keys,
        Cells(values, offsets),
        nothing,
        nothing,
        n_rows,
        _digest("draws", keys, offsets, values),
    )


def _digest(kind: str, keys: pl.DataFrame, *arrays: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256(f"fastgate posterior 1 {kind}".encode())
    for row in keys.iter_rows():
        for text in row:
            data = text.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
    for array in arrays:
        canonical = np.where(np.isnan(array), np.nan, array) + 0.0 if array.dtype.kind == "f" else array
        digest.update(np.ascontiguousarray(canonical).tobytes())
    return digest.hexdigest()
